"""The actions of the scripted agent: one method for each field of a turn."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    Part = dict[str, Any]

PROMISE = "<promise>COMPLETE</promise>"
MARKER = "[TASK_COMPLETED]"
REFUSED = {"read": ("write", "append", "delete", "run"), "edit": ("run",)}


class ScriptError(Exception):
    """The script is wrong. The message is one sentence that names the turn and the field."""


class Actions:
    """Runs the fields of a turn and keeps the state of the call: prompt, messages, usage."""

    def __init__(self, options: argparse.Namespace, prompt: str) -> None:
        self.prompt = prompt
        self.system_prompt: str = options.system_prompt
        self.claimed_by: str = options.claim
        self.refused: tuple[str, ...] = REFUSED.get(options.permissions, ())
        self.call = 0
        self.messages: list[str] = []
        self.usage: Part = {}
        self.denials: list[str] = []

    def emit(self, event: str, **fields: object) -> None:
        """Print an event as a JSON line."""
        sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
        sys.stdout.flush()

    def text(self, text: str) -> str:
        return text.replace("{call}", str(self.call)).replace("{word}", self.word())

    def word(self) -> str:
        """The word that the prompt names for a reviewer's agreement; empty if it names none."""
        named: list[str] = re.findall(r"The word of this question is (\w+)\.", self.prompt)
        return named[-1] if named else ""

    def say(self, texts: str | list[str]) -> None:
        for text in each(texts):
            self.messages.append(self.text(text))
            self.emit("say", text=self.text(text))

    def think(self, texts: str | list[str]) -> None:
        for text in each(texts):
            self.emit("think", text=self.text(text))

    def echo(self, value: bool) -> None:  # noqa: FBT001 (a field of the script)
        """Repeat the system prompt and the prompt, as a confused agent does."""
        if value:
            self.say("\n\n".join(text for text in (self.system_prompt, self.prompt) if text))

    def claim(self, value: str | bool) -> None:  # noqa: FBT001 (a field of the script)
        """Append the claim to the last message."""
        if not value:
            return
        claim = self.text(value) if isinstance(value, str) else self.claimed_by or self.claim_asked_for()
        self.messages.append("\n\n".join([*self.messages[-1:], claim]))
        self.emit("say", text=claim)

    def claim_asked_for(self) -> str:
        """The claim that the prompts ask for."""
        prompts = f"{self.system_prompt}\n{self.prompt}"
        if self.word():
            lines: list[str] = re.findall(r"alone on its line and exactly so: (.+)$", self.prompt, re.MULTILINE)
            return lines[-1]
        promises: list[str] = re.findall(r"<promise>[^<>\n]+</promise>", prompts)
        if promises:
            return promises[-1]
        return MARKER if MARKER in prompts else PROMISE

    def write(self, files: dict[str, str]) -> None:
        self.put("write", files, "w")

    def append(self, files: dict[str, str]) -> None:
        self.put("append", files, "a")

    def put(self, tool: str, files: dict[str, str], mode: str) -> None:
        for name, text in files.items():
            path = inside(name)
            if self.may(tool, name):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, mode, encoding="utf-8") as file:
                    file.write(self.text(text))
                self.emit("tool_end", tool=tool, ok=True, summary=f"{len(text)} characters")

    def delete(self, names: str | list[str]) -> None:
        for name in each(names):
            path = inside(name)
            if self.may("delete", name):
                existed = os.path.lexists(path)
                if existed:
                    os.remove(path)
                self.emit("tool_end", tool="delete", ok=existed, summary=name if existed else f"there is no {name}")

    def run(self, argv: list[str]) -> None:
        import subprocess

        if not self.may("run", " ".join(argv)):
            return
        try:
            ran = subprocess.run(argv, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        except OSError as reason:
            self.emit("tool_end", tool="run", ok=False, summary=str(reason))
        else:
            self.emit("tool_end", tool="run", ok=ran.returncode == 0, summary=(ran.stdout + ran.stderr)[:2000])

    def may(self, tool: str, summary: str) -> bool:
        """Report the use of a tool; return whether the permissions allow it."""
        self.emit("tool", tool=tool, summary=summary)
        if tool in self.refused:
            self.denials.append(tool)
            self.emit("tool_end", tool=tool, ok=False, summary="not permitted")
        return tool not in self.refused

    def flood(self, size: int) -> None:
        line = json.dumps({"event": "progress", "text": "x" * 4000}).encode() + b"\n"
        raw(line * 16, size - 1)
        raw(b"\n")

    def huge_line(self, size: int) -> None:
        raw(b'{"event":"progress","text":"')
        raw(b"x" * 65536, size)
        raw(b'"}\n')

    def garbage(self, lines: str | list[str]) -> None:
        for line in each(lines):
            raw(line.encode("utf-8", "surrogateescape") + b"\n")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def hang(self, value: bool) -> None:  # noqa: FBT001 (a field of the script)
        while value:
            time.sleep(3600)

    def ignore_term(self, value: bool) -> None:  # noqa: FBT001 (a field of the script)
        if value:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def child(self, value: Part) -> None:
        """Start a process in its own session; it outlives the agent unless it is killed."""
        import subprocess

        trap = 'trap "" TERM; ' if value.get("ignore_term") else ""
        output = None if value.get("keep_output") else subprocess.DEVNULL
        child = subprocess.Popen(
            ["sh", "-c", f'{trap}exec sleep "$1"', "sh", str(value.get("seconds", 60))],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        if "pid_file" in value:
            with open(inside(value["pid_file"]), "a", encoding="utf-8") as file:
                file.write(f"{child.pid}\n")

    def spend(self, usage: Part) -> None:
        """Report what the turn has used so far."""
        self.usage.update(usage)
        self.emit("used", **self.usage)

    def fail(self, value: str | Part) -> NoReturn:
        failure = {"kind": value} if isinstance(value, str) else value
        message = failure.get("message") or f"the script says: {failure['kind']}"
        self.emit("failure", kind=failure["kind"], message=message, reset_in=failure.get("reset_in"))
        leave(1)

    def crash(self, value: bool | int) -> None:  # noqa: FBT001 (a field of the script)
        if value:
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGKILL if value is True else value)

    def exit(self, code: int) -> NoReturn:
        leave(code)

    def answer(self) -> None:
        """Print the final answer with the usage."""
        text = self.messages[-1] if self.messages else ""
        spent = {"tokens": (len(self.prompt) + len(text)) // 4, "cost_usd": 0.0, **self.usage}
        self.emit("answer", text=text, denials=self.denials, **spent)


def inside(name: str) -> str:
    """The absolute path of a file in the workspace. Raises ScriptError for a path or link that leads out of it."""
    root = os.path.realpath(os.getcwd())
    path = os.path.realpath(os.path.join(root, name))
    if not path.startswith(root + os.sep):
        raise ScriptError(f"'{name}' is not inside the workspace")
    return path


def each(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


def raw(piece: bytes, size: int | None = None) -> None:
    """Write the piece repeatedly until `size` bytes are written; without a size, once."""
    left = len(piece) if size is None else size
    while left > 0:
        left -= sys.stdout.buffer.write(piece[:left])
    sys.stdout.buffer.flush()


def leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.exit(code)
