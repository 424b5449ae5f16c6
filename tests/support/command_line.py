"""Runs the command line in tests: real processes with their own workspace, home folder and settings."""

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

from untildone.store.files import FileStore
from untildone.store.seals import Seals
from untildone.system import state_folder

PATIENCE = 90.0
REPOSITORY = Path(__file__).parents[2]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended."""

    code: int
    output: str
    errors: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output parsed as JSON lines."""
        return [json.loads(line) for line in self.output.splitlines()]


class CommandLine:
    """A workspace and a home folder in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.workspace.mkdir(parents=True)
        self.home.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            # Without the repository: rooms compare what is on this path, and other tests write their pictures there.
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if Path(path) != REPOSITORY),
            "UNTILDONE_RETRY_DELAY": "0.05",
            # Checks of most tests leave traces in the workspace; tests of rooms choose theirs.
            "UNTILDONE_ROOM": "plain",
            # Agents run in a box where the machine allows it, as for users. Those of most tests keep notes beside the workspace.
            "UNTILDONE_ALLOW_WRITE": json.dumps([str(folder), str(self.home)]),
            "LANG": "C.UTF-8",
        }

    def without_box(self) -> None:
        """Run agents and checks of this test outside of a box; the test says why."""
        self.environment["UNTILDONE_SANDBOX"] = "off"

    def start(self, *arguments: str, before: tuple[str, ...] = (), **options: Any) -> subprocess.Popen[str]:
        """Start a command; `before` is a wrapper program with its arguments."""
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
        """Run a command and wait for its end. `given` goes to its standard input."""
        stdin = {} if given is None else {"stdin": subprocess.PIPE}
        return finish(self.start(*arguments, **{**stdin, **options}), patience=patience, given=given)

    def script(self, *turns: dict[str, Any] | list[dict[str, Any]]) -> tuple[str, ...]:
        """Arguments of `run` that make the scripted agent play these turns."""
        path = self.workspace.parent / f"script-{len(list(self.workspace.parent.glob('script-*')))}.json"
        path.write_text(json.dumps(turns))
        return "--agent", "scripted", "--", "--script", str(path)

    def project(self, *turns: dict[str, Any], **settings: Any) -> None:
        """Write settings of the project with which the scripted agent plays these turns."""
        _flag, agent, _dashes, *script = self.script(*turns)
        chosen = {"agent": agent, "args": script, **settings}
        lines = (f"{name} = {json.dumps(value)}\n" for name, value in chosen.items())
        (self.workspace / "untildone.toml").write_text("".join(lines))

    def shown(self, name: str = "last") -> dict[str, Any]:
        """The checkpoint of a loop."""
        ended = self.run("show", name, "--json")
        assert ended.code == 0, ended.errors
        (checkpoint,) = ended.records
        return checkpoint

    def store(self) -> FileStore:
        """The loops of the workspace, with the seals of the home folder in which the commands run."""
        return FileStore(self.workspace / ".loop", seals=Seals(state_folder.folder(self.environment)))

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


def until(look: Callable[[], Result | None], patience: float = PATIENCE) -> Result:
    """Call `look` until it returns something true; return that."""
    deadline = time.monotonic() + patience
    while not (result := look()):
        assert time.monotonic() < deadline, f"no result within {patience} s"
        time.sleep(0.02)
    return result
