"""Workspaces for loops: separate folders with files that must not change, and small disks that can be filled or made read-only."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.command_line import CommandLine

CLOCK = Path(__file__).parent / "clock"
RUN = "CHAOS_RUN"
"""Environment variable that marks all processes of a run."""
SMALL = "size=16m"
ALLOWED = (".loop", ".claude", ".git", "work-", "proof-", "children-")
"""Prefixes of the names that a loop and its agents may add to a workspace."""


class Sandbox:
    """A workspace with its own home folder and clock."""

    def __init__(self, folder: Path, run: str, *, is_small: bool = False, has_git: bool = False) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.is_small = is_small
        self.disk = threading.Lock()
        """Held while the disk is full or read-only."""
        if is_small:
            _mount("-t", "tmpfs", "-o", SMALL, "none", str(folder))
        self.cli = CommandLine(folder)
        self.clock = folder / "clock"
        environment = self.cli.environment
        environment[RUN] = run
        environment["UNTILDONE_PASS_ENV"] = "CHAOS_*"
        environment["CHAOS_CLOCK"] = str(self.clock)
        environment["PYTHONPATH"] = f"{CLOCK}{os.pathsep}{environment['PYTHONPATH']}"
        self.store = self.cli.store()
        self.untouched = self._write_files()
        if has_git:
            self._make_repository()

    def _write_files(self) -> dict[str, tuple[str, int]]:
        workspace = self.cli.workspace
        (workspace / "src").mkdir()
        for name in ("README.md", "src/main.py", "SUPERVISOR.md"):
            (workspace / name).write_text(f"This is {name}. It must not change.\n")
        (self.folder / "outside.txt").write_text("This file is outside the workspace.\n")
        return self._snapshot()

    def _make_repository(self) -> None:
        person = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
        for arguments in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "Initial files"]):
            git = ["git", "-C", str(self.cli.workspace), *arguments]
            subprocess.run(git, check=True, capture_output=True, env=self.cli.environment, timeout=60)

    def _snapshot(self) -> dict[str, tuple[str, int]]:
        """Content and modification time of every file that loops and agents must not change."""
        files = [self.folder / "outside.txt"]
        for place, folders, names in os.walk(self.cli.workspace):
            folders[:] = [name for name in folders if not name.startswith(ALLOWED)]
            files += [Path(place, name) for name in names if not name.startswith(ALLOWED)]
        return {
            path.relative_to(self.folder).as_posix(): (path.read_text(errors="replace"), path.stat().st_mtime_ns)
            for path in files
        }

    def touched(self) -> list[str]:
        """Names of files that were changed, added or removed although loops and agents must not touch them."""
        now = self._snapshot()
        return [name for name in {*now, *self.untouched} if now.get(name) != self.untouched.get(name)]

    def move_clock(self, seconds: float) -> None:
        """Shift the wall clock of the processes in this sandbox."""
        with suppress(OSError):
            self.clock.write_text(f"{seconds}")

    @contextmanager
    def full(self) -> Iterator[None]:
        """Fill the disk for the duration of the context."""
        filler = self.folder / "filler"
        _fill(filler)
        try:
            yield
        finally:
            filler.unlink(missing_ok=True)

    @contextmanager
    def read_only(self, patience: float = 5.0) -> Iterator[bool]:
        """Mount the disk read-only for the duration of the context; yield whether that worked.

        The kernel refuses while a process has a file open for writing.
        """
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


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True, timeout=30)


def _remount(folder: Path, how: str) -> bool:
    done = subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=False, capture_output=True, timeout=30)
    return done.returncode == 0


def may_mount(folder: Path) -> bool:
    """Whether this process can mount a tmpfs."""
    try:
        folder.mkdir()
        _mount("-t", "tmpfs", "-o", SMALL, "none", str(folder))
        subprocess.run(["umount", str(folder)], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return False
    return True
