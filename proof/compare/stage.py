"""A stage: a workspace, a home and a stand-in agent of its own for one run of one tool, and an end to all that was started on it."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

AGENT = Path(__file__).with_name("agent.sh")
CHECK = "grep -qx done result.txt"
TASK = "Write the file result.txt. It holds one line, the word: done"
MARK = "COMPARE_STAGE"
PATIENCE = 180.0
"""Seconds after which a run counts as one that does not end."""


class DidNotBegin(Exception):
    """A tool did not call the agent: what it does with agents cannot be told, and no figure must look as if it could."""

    def __init__(self, name: str, printed: str) -> None:
        super().__init__(f"{name} did not call the agent. It printed:\n{printed}")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the agent, as the agent itself wrote it down; a call that was killed has no end."""

    pid: int
    began: float
    ended: float | None


@dataclass(frozen=True, slots=True)
class Stage:
    folder: Path
    check: str | None = CHECK
    """What the tool may verify with, if it can."""

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def programs(self) -> Path:
        return self.folder / "programs"

    def environment(self, *paths: Path) -> dict[str, str]:
        """Nothing of the person's own: a home, a dummy key, and a PATH on which `claude` is the stand-in."""
        search = [str(self.programs), *map(str, paths), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "PATH": os.pathsep.join(search),
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "ANTHROPIC_API_KEY": "dummy-key",
            MARK: str(self.folder),
        }

    def start(self, command: list[str], *paths: Path) -> subprocess.Popen[bytes]:
        with (self.folder / "printed").open("ab") as printed:
            return subprocess.Popen(
                command,
                cwd=self.workspace,
                env=self.environment(*paths),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def must_have_begun(self, name: str) -> None:
        if not self.calls:
            raise DidNotBegin(name, self.printed[-2000:])

    @property
    def printed(self) -> str:
        return (self.folder / "printed").read_text(errors="replace")

    @property
    def calls(self) -> list[Call]:
        ended = dict(self._stamps("ended"))
        return [Call(pid, at, ended.get(pid)) for pid, at in self._stamps("begun")]

    @property
    def family(self) -> list[psutil.Process]:
        """The agent that forks, its child, and its child in a session of its own; empty before all three live."""
        path = self.programs / "family"
        words = path.read_text().split() if path.exists() else []
        return [psutil.Process(int(word)) for word in words] if len(words) == 3 else []

    @property
    def slow_call(self) -> int:
        """The number of the call that is slow, once it is."""
        path = self.programs / "slow"
        return int(path.read_text() or 0) if path.exists() else 0

    @property
    def most_at_once(self) -> int:
        """Of slow agents: how many were alive at the same time, at most, each time when one began."""
        path = self.programs / "living"
        return max(map(int, path.read_text().split())) if path.exists() else 0

    @property
    def is_done(self) -> bool:
        """Whether the work is done, whatever anybody says."""
        return subprocess.run(["sh", "-c", CHECK], cwd=self.workspace, stderr=subprocess.DEVNULL).returncode == 0

    def _stamps(self, name: str) -> list[tuple[int, float]]:
        path = self.programs / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(pid), float(at)) for pid, at in (line.split() for line in lines)]


@contextlib.contextmanager
def staged(check: str | None = CHECK, **behaviour: str | int | float) -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="compare-"))
    # Not before the end: after many files were deleted, some file systems are slow to make new ones, and the next run would pay.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    stage = Stage(folder, check)
    try:
        for name in ("workspace", "home", "tmp", "programs"):
            (folder / name).mkdir()
        shutil.copy(AGENT, stage.programs / "claude")
        (stage.programs / "claude").chmod(0o755)
        (stage.programs / "behaviour").write_text("".join(f"{name}={value}\n" for name, value in behaviour.items()))
        subprocess.run(["git", "init", "-q"], cwd=stage.workspace, env=stage.environment(), check=True)
        yield stage
    finally:
        end_all_of(stage)


def end_all_of(stage: Stage) -> None:
    """Twice, as something may have started another in between."""
    for _ in range(2):
        for process in of_stage(stage):
            with contextlib.suppress(psutil.Error):
                process.kill()
        until(lambda: not of_stage(stage), 10)


def of_stage(stage: Stage) -> list[psutil.Process]:
    """Every living process that was started on the stage: its environment says so."""
    return [process for process in psutil.process_iter() if stands_on(process, stage)]


def stands_on(process: psutil.Process, stage: Stage) -> bool:
    try:
        return process.environ().get(MARK) == str(stage.folder) and lives(process)
    except (psutil.Error, OSError):
        return False


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def until(holds: Callable[[], object], patience: float = PATIENCE) -> bool:
    """Wait until it holds; whether it did."""
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def end_of(process: subprocess.Popen[bytes], patience: float = PATIENCE) -> int | None:
    """Its exit code, or None if it had to be killed."""
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None
