"""A stand-in for Claude Code at a terminal: it reads lines, answers each, and asks the hooks of its `--settings`.

It needs nothing but its file. `write_terminal_agent` puts it into a folder as `claude`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def write_terminal_agent(folder: Path, name: str = "claude") -> Path:
    """Put it first on PATH with this folder."""
    return write_program(folder, f'exec "{sys.executable}" -I -S "{Path(__file__).absolute()}" "$@"', name)


def write_program(folder: Path, shell_lines: str, name: str = "claude") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{shell_lines}\n")
    program.chmod(0o755)
    return program


def main(arguments: list[str]) -> int:
    settings, session_id = _settings(arguments), _value(arguments, "--resume") or str(uuid.uuid4())
    print(f"session {session_id}", flush=True)
    number = 0
    for line in sys.stdin:
        words = line.strip()
        if words == "exit":
            return 0
        answer = _ask(settings, "UserPromptSubmit", session_id, {"prompt": words})
        if answer.get("decision") == "block":
            print(f"held: {answer['reason']}", flush=True)
            continue
        number = _work(settings, session_id, number, answer)
    return 0


def _work(settings: Json, session_id: str, number: int, answer: Json) -> int:
    """Answer, and again as often as the hook sends it back; how many answers there were."""
    _tell(answer)
    held = False
    while True:
        number += 1
        message = f"Answer {number}."
        print(message, flush=True)
        told = {"last_assistant_message": message, "stop_hook_active": held}
        answer = _ask(settings, "Stop", session_id, told)
        _tell(answer)
        held = answer.get("decision") == "block"
        print(f"sent back: {answer['reason']}" if held else "your turn", flush=True)
        if not held:
            return number


def _tell(answer: Json) -> None:
    if answer.get("systemMessage"):
        print(f"told: {answer['systemMessage']}", flush=True)
    if added := answer.get("hookSpecificOutput", {}).get("additionalContext"):
        print(f"added: {added}", flush=True)


def _ask(settings: Json, event: str, session_id: str, fields: Json) -> Json:
    answers: Json = {}
    for entry in settings.get("hooks", {}).get(event, []):
        for hook in entry["hooks"]:
            if hook.get("statusMessage"):
                print(f"({hook['statusMessage']})", flush=True)
            told = {"session_id": session_id, "cwd": str(Path.cwd()), "hook_event_name": event, **fields}
            ended = subprocess.run(hook["command"], shell=True, input=json.dumps(told).encode(), stdout=subprocess.PIPE)
            answers |= json.loads(ended.stdout or b"{}")
    return answers


def _settings(arguments: list[str]) -> Json:
    file = _value(arguments, "--settings")
    found: Json = json.loads(Path(file).read_text()) if file else {}
    return found


def _value(arguments: list[str], flag: str) -> str:
    return next((word.partition("=")[2] for word in arguments if word.startswith(f"{flag}=")), "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
