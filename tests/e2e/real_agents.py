"""A desk for the real agent programs: a home and a workspace of its own, a scripted model API, and untildone's command line."""

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

from untildone.hosts import orphans
from untildone.testing.modelapi import ModelAPI, Step, ToolCall, environment

INSTALL_AGENTS = Path(__file__).parents[2] / "scripts" / "install-agents"
SOURCE = Path(__file__).parents[2] / "src"
CLAIM = "<promise>COMPLETE</promise>"
PATIENCE = 60.0

Event = dict[str, Any]


@cache
def bin_folder(agent: str) -> Path:
    listed = subprocess.run([INSTALL_AGENTS, "--list"], capture_output=True, text=True, timeout=30, check=True)
    return next(Path(line) for line in listed.stdout.splitlines() if (Path(line) / agent).exists())


def writes(agent: str, file: Path, content: str) -> ToolCall:
    """The call of the agent's own tool that writes a file."""
    match agent:
        case "claude":
            return ToolCall("Write", {"file_path": str(file), "content": content})
        case "codex":
            return ToolCall("exec_command", {"cmd": f"printf '%s\\n' '{content}' > '{file}'"})
        case "copilot":
            return ToolCall("bash", {"command": f"printf '%s\\n' '{content}' > '{file}'", "description": "write"})
        case "gemini":
            return ToolCall("write_file", {"file_path": str(file), "content": content})
        case "opencode":
            return ToolCall("write", {"filePath": str(file), "content": content})
    raise ValueError(agent)


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
            [sys.executable, "-m", "untildone.faces.cli", *arguments],
            cwd=self.workspace,
            env={**self.env, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str]) -> Ran:
        try:
            output, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        events = tuple(json.loads(line) for line in output.splitlines() if line.startswith("{"))
        return Ran(process.returncode, events, errors)

    def command(self, *arguments: str, **variables: str) -> Ran:
        return self.finish(self.start(*arguments, **variables))

    def run(self, task: str, *flags: str) -> Ran:
        return self.command("run", "--json", "--agent", self.agent, *flags[: _own(flags)], task, *flags[_own(flags) :])

    def begin(self, task: str, *flags: str) -> subprocess.Popen[str]:
        return self.start("run", "--json", "--agent", self.agent, *flags, task)

    def shown(self) -> Event:
        (checkpoint, *_) = self.command("show", "last", "--json").events
        return checkpoint

    def processes(self) -> list[int]:
        """Everything that the loop started and that still runs."""
        return orphans.find(orphans.mark(str(self.shown()["loop_id"]))[0])


def _own(flags: tuple[str, ...]) -> int:
    return flags.index("--") if "--" in flags else len(flags)


@contextmanager
def open_desk(agent: str, folder: Path, *, retries: int = 0) -> Iterator[Desk]:
    (folder / "work").mkdir()
    node = Path(shutil.which("node") or "/usr/bin/node").parent
    bins = bin_folder(agent)
    with ModelAPI() as api:
        program = environment(
            agent,
            api.url,
            folder / "home",
            path=f"{bins}:{node}:/usr/bin:/bin",
            retries=retries,
            package_cache=bins.parents[3] / "copilot-packages",
        )
        ours = {"PYTHONPATH": str(SOURCE), "UNTILDONE_RETRY_DELAY": "0.1"}
        yield Desk(agent, api, folder, {**program, **ours})


def until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience} s for {what}"
        time.sleep(0.02)


def claim(text: str = "Done.") -> Step:
    return Step(text=f"{text}\n{CLAIM}")
