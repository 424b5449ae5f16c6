"""A desk for real agent programs: a home and a workspace of its own, a scripted model API, and the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.journals import journal_lines

from untildone.system import orphans
from untildone.testing.modelapi import Fault, ModelAPI, Step, ToolCall, environment

ROOT = Path(__file__).parents[2]
AGENTS = ("claude", "codex", "copilot", "gemini", "opencode")
ACP_AGENTS = ("acp:codex", "acp:copilot", "acp:gemini", "acp:opencode")
CLAIM = "<promise>COMPLETE</promise>"
PATIENCE = 200.0
GONE_WITHIN = 2.0
"""Seconds after which nothing of a stopped loop may be left."""

Event = dict[str, Any]

_WRITES: Mapping[str, tuple[str, str, str]] = {
    "claude": ("Write", "file_path", "content"),
    "copilot": ("create", "path", "file_text"),
    "gemini": ("write_file", "file_path", "content"),
    "opencode": ("write", "filePath", "content"),
}
_SHELLS = {
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "copilot": ("bash", "command"),
    "gemini": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
}


def program_of(agent: str) -> str:
    """The program behind an agent: `acp:NAME` drives the same one as NAME."""
    return agent.removeprefix("acp:")


def writes(agent: str, file: Path, content: str) -> ToolCall:
    """The agent's own tool that writes a new file; Codex has none but its shell."""
    agent = program_of(agent)
    if agent not in _WRITES:
        return shell(agent, f"printf '%s\\n' '{content}' > '{file}'")
    tool, path, text = _WRITES[agent]
    return ToolCall(tool, {path: str(file), text: f"{content}\n"})


def shell(agent: str, command: str) -> ToolCall:
    tool, name = _SHELLS[program_of(agent)]
    return ToolCall(tool, {name: command, "description": "a step of the work"})


def claims(text: str = "Done.") -> Step:
    return Step(text=f"{text}\n{CLAIM}")


def at_its_limit(agent: str, seconds: int) -> Step:
    """A rate limit that lifts in some seconds, in the form in which the program passes the time on."""
    told = f"Slow down. Please try again in {seconds}s."
    give_up = {"x-should-retry": "false"}
    match program_of(agent):
        case "codex":
            return Step(fault=Fault.ERROR_EVENT, error={"code": "rate_limit_exceeded", "message": told})
        case "opencode":
            return Step(status=429, headers={"retry-after": str(seconds), "retry-after-ms": "1"}, repeat=6)
        case _:
            return Step(status=429, headers=give_up, error={"message": told})


def broken(agent: str) -> Step:
    """An answer that breaks off, each time; where the program would try for minutes, an error that it gives up on."""
    if agent == "opencode":
        return Step(status=500, headers={"retry-after-ms": "1"}, repeat="forever")
    return Step(fault=Fault.CUT, text="an answer that is cut in its middle", repeat="forever")


@cache
def bin_folder(agent: str) -> Path:
    command = [str(ROOT / "scripts" / "install-agents"), "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return next(Path(line) for line in listed.stdout.splitlines() if (Path(line) / agent).exists())


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command of untildone came to."""

    code: int
    events: tuple[Event, ...]
    errors: str

    def of(self, *names: str) -> list[Event]:
        return [event for event in self.events if event["event"] in names]

    @property
    def end(self) -> Event:
        return self.events[-1]


@dataclass(frozen=True, slots=True)
class Desk:
    agent: str
    api: ModelAPI
    folder: Path
    env: Mapping[str, str]

    @property
    def workspace(self) -> Path:
        return self.folder / "work"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "untildone", *arguments],
            cwd=self.workspace,
            env={**self.env, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def begin(self, task: str, *flags: str, **variables: str) -> subprocess.Popen[str]:
        return self.start("run", task, "--json", "--agent", self.agent, *flags, **variables)

    def finish(self, process: subprocess.Popen[str]) -> Ran:
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        events = tuple(json.loads(line) for line in output.splitlines() if line.startswith("{"))
        return Ran(process.returncode, events, errors)

    def command(self, *arguments: str) -> Ran:
        return self.finish(self.start(*arguments))

    def run(self, task: str, *flags: str) -> Ran:
        return self.finish(self.begin(task, *flags))

    def journal(self) -> list[Event]:
        """Every whole line of the loop's journal, wherever the loop is by now."""
        return [json.loads(line) for line in journal_lines(self.workspace / ".loop")]

    def happened(self, name: str) -> list[Event]:
        return [event for event in self.journal() if event["event"] == name]

    def processes(self) -> list[int]:
        """Everything that the loop started and that still runs."""
        return orphans.find(orphans.mark(self.journal()[0]["loop_id"])[0])


@contextmanager
def open_desk(agent: str, folder: Path) -> Iterator[Desk]:
    (folder / "work").mkdir()
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    program_name = program_of(agent)
    bins, found = bin_folder(program_name), f"{bin_folder(program_name)}:{node}:/usr/bin:/bin"
    with ModelAPI() as api:
        program = environment(
            program_name,
            api.url,
            folder / "home",
            path=f"{bin_folder('codex-acp')}:{found}" if agent == "acp:codex" else found,
            retries=0,
            package_cache=bins.parents[3] / "copilot-packages",
        )
        # Checks of these tests leave traces in the workspace and beside it.
        # The packages too: an ordinary user may have to run these tests with an interpreter of the system.
        packages = (path for path in sys.path if path.endswith("site-packages"))
        python_path = os.pathsep.join((str(ROOT / "src"), *packages))
        if agent == "acp:codex":
            program |= {"CODEX_PATH": str(bins / "codex"), "CODEX_API_KEY": "test-key"}
        ours = {"PYTHONPATH": python_path, "UNTILDONE_RETRY_DELAY": "0.1", "UNTILDONE_ROOM": "plain"}
        yield Desk(agent, api, folder, {**program, **ours})


def trust_workspace(desk: Desk) -> None:
    """Claude Code at a terminal need not ask whether it may work there."""
    config = desk.home / ".claude.json"
    projects = {str(desk.workspace.resolve()): {"hasTrustDialogAccepted": True}}
    config.write_text(json.dumps({**json.loads(config.read_text()), "projects": projects}))


def until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience} s for {what}"
        time.sleep(0.02)


def running(word: str) -> list[int]:
    """The processes whose command line holds the word."""
    return [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit() and word in _cmdline(place)]


def _cmdline(place: Path) -> str:
    try:
        return (place / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
