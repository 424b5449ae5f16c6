"""Where loops work: folders of their own with files that nobody may touch, and small disks that can fill up and go read-only."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.command_line import CommandLine

from untildone.store.files import FileStore

CLOCK = Path(__file__).parent / "clock"
RUN = "CHAOS_RUN"
"""The environment variable that all processes of a run carry."""
SMALL = "size=16m"
OURS = (".loop", ".claude", ".git", "work-", "proof-", "children-")
"""How the names begin that a loop and its agents may add to a workspace."""


class Ground:
    """A workspace, its home and its clock."""

    def __init__(self, folder: Path, run: str, *, is_small: bool = False, has_git: bool = False) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.is_small = is_small
        self.disk = threading.Lock()
        """Held while something is done to the disk."""
        if is_small:
            _mount("-t", "tmpfs", "-o", SMALL, "none", str(folder))
        self.cli = CommandLine(folder)
        self.clock = folder / "clock"
        environment = self.cli.environment
        environment[RUN] = run
        environment["CHAOS_CLOCK"] = str(self.clock)
        environment["PYTHONPATH"] = f"{CLOCK}{os.pathsep}{environment['PYTHONPATH']}"
        self.store = FileStore(self.cli.workspace / ".loop")
        self.untouched = self._furnish()
        if has_git:
            self._make_repository()

    def _furnish(self) -> dict[str, tuple[str, int]]:
        workspace = self.cli.workspace
        (workspace / "src").mkdir()
        for name in ("README.md", "src/main.py", "SUPERVISOR.md"):
            (workspace / name).write_text(f"This is {name}, and it stays as it is.\n")
        (self.folder / "beside.txt").write_text("This is not even in the workspace.\n")
        return self._standing()

    def _make_repository(self) -> None:
        person = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        for words in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "What there is"]):
            git = ["git", "-C", str(self.cli.workspace), *words]
            subprocess.run(git, check=True, capture_output=True, env=self.cli.environment, timeout=60)

    def _standing(self) -> dict[str, tuple[str, int]]:
        """Every file that is nobody's work, with its content and the time of its last change."""
        files = [self.folder / "beside.txt"]
        for place, folders, names in os.walk(self.cli.workspace):
            folders[:] = [name for name in folders if not name.startswith(OURS)]
            files += [Path(place, name) for name in names if not name.startswith(OURS)]
        return {
            path.relative_to(self.folder).as_posix(): (path.read_text(errors="replace"), path.stat().st_mtime_ns)
            for path in files
        }

    def touched(self) -> list[str]:
        """What is not as it was, or was not there, outside of what belongs to loops and agents."""
        now = self._standing()
        return [name for name in {*now, *self.untouched} if now.get(name) != self.untouched.get(name)]

    def move_clock(self, seconds: float) -> None:
        with suppress(OSError):
            self.clock.write_text(f"{seconds}")

    @contextmanager
    def full(self) -> Iterator[None]:
        """The disk has no room while this lasts."""
        filler = self.folder / "filler"
        _fill(filler)
        try:
            yield
        finally:
            filler.unlink(missing_ok=True)

    @contextmanager
    def read_only(self, patience: float = 5.0) -> Iterator[bool]:
        """The disk can only be read while this lasts; whether it could be made so: not while somebody has a file open to write."""
        deadline = time.monotonic() + patience
        while not (done := _remount(self.folder, "ro")) and time.monotonic() < deadline:
            time.sleep(0.05)
        try:
            yield done
        finally:
            _remount(self.folder, "rw")

    def close(self) -> None:
        if self.is_small:
            subprocess.run(["umount", "-l", str(self.folder)], check=False, capture_output=True)


def _fill(path: Path) -> None:
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True, timeout=30)


def _remount(folder: Path, how: str) -> bool:
    done = subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=False, capture_output=True, timeout=30)
    return done.returncode == 0


def may_mount(folder: Path) -> bool:
    try:
        folder.mkdir()
        _mount("-t", "tmpfs", "-o", SMALL, "none", str(folder))
        subprocess.run(["umount", str(folder)], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    return True
