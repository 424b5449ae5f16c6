"""The command line as a test uses it: real processes in a workspace of its own, with a home and settings of nobody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

PATIENCE = 30.0
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    output: str
    errors: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as lines of JSON; a line that is none is an error."""
        return [json.loads(line) for line in self.output.splitlines()]


class CommandLine:
    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.workspace.mkdir(parents=True)
        self.home.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "UNTILDONE_RETRY_DELAY": "0.05",
            "LANG": "C.UTF-8",
        }

    def start(self, *arguments: str, before: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[str]:
        """`before` is a program that runs the command."""
        usual: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "cwd": self.workspace,
            "env": self.environment,
            "text": True,
        }
        command = [*before, sys.executable, "-m", "untildone", *arguments]
        return subprocess.Popen(command, **{**usual, **options})

    def run(self, *arguments: str, given: str | None = None, patience: float = PATIENCE, **options: Any) -> Ended:
        """Run a command to its end. `given` goes to its standard input."""
        stdin = {} if given is None else {"stdin": subprocess.PIPE}
        return finish(self.start(*arguments, **{**stdin, **options}), patience=patience, given=given)

    def script(self, *turns: dict[str, Any] | list[dict[str, Any]]) -> tuple[str, ...]:
        """What makes `run` play these turns: the agent, and behind `--` its script."""
        path = self.workspace.parent / f"script-{len(list(self.workspace.parent.glob('script-*')))}.json"
        path.write_text(json.dumps(turns))
        return "--agent", "scripted", "--", "--script", str(path)

    def shown(self, name: str = "last") -> dict[str, Any]:
        """The checkpoint of a loop."""
        ended = self.run("show", name, "--json")
        assert ended.code == 0, ended.errors
        (checkpoint,) = ended.records
        return checkpoint

    @property
    def loops(self) -> list[dict[str, Any]]:
        return self.run("list", "--json", "--all").records


def finish(process: subprocess.Popen[str], *, patience: float = PATIENCE, given: str | None = None) -> Ended:
    try:
        output, errors = process.communicate(given, timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        raise AssertionError(f"still running after {patience} s:\n{output}\n{errors}") from None
    return Ended(process.returncode, output or "", errors or "")


def until(look: Callable[[], Found | None], patience: float = PATIENCE) -> Found:
    """What a look finds, once it finds something."""
    deadline = time.monotonic() + patience
    while not (found := look()):
        assert time.monotonic() < deadline, f"nothing found within {patience} s"
        time.sleep(0.02)
    return found
