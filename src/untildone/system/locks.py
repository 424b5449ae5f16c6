"""File locks, which the operating system releases when the holder dies. Every wait for one is bounded."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 10.0
"""Seconds to wait for the lock of an open file: a writer holds it for the time of one write to disk."""
_TRIES, _BETWEEN_TRIES = 20, 0.005
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.02


class LockHeld(Exception):
    """Another process holds the lock for longer than the caller waits. `holder` names it, as far as it is known."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"{holder} holds the lock")
        self.holder = holder


def _lock(descriptor: int) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _look(descriptor: int) -> None:
    """Raises OSError if another process holds the lock. Shared, so that two callers at once do not see each other as holders."""
    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextmanager
def locked(descriptor: int, within: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of an open file. Raises LockHeld if another process holds it for longer than `within` seconds."""
    _take(descriptor, within)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _take(descriptor: int, within: float) -> None:
    """Tries again and again: a blocking call could not be given up, and a process of an agent may hold the lock for ever."""
    deadline, pause = time.monotonic() + within, _SHORTEST_PAUSE
    while True:
        try:
            return _lock(descriptor)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockHeld(_holder(descriptor)) from None
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _holder(descriptor: int) -> str:
    """The process that holds the lock, by Linux's list of locks: `process 12 (python3)`."""
    inode = f":{os.fstat(descriptor).st_ino}"
    try:
        with open("/proc/locks", encoding="ascii") as file:
            held = [line.split() for line in file if "FLOCK" in line and " -> " not in line]
        pid = next(fields[4] for fields in held if len(fields) > 5 and fields[5].endswith(inode))
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return f"process {pid} ({file.read().strip()})"
    except (OSError, StopIteration, ValueError):
        return "another process"


def try_lock(path: Path) -> int | None:
    """Take a file's lock for as long as the returned descriptor stays open; None if another process holds it.

    Tries for a moment, because a caller of `is_locked` also holds the lock for an instant.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(_TRIES):
        try:
            _lock(descriptor)
            return descriptor
        except OSError:
            time.sleep(_BETWEEN_TRIES)
    os.close(descriptor)
    return None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; False if the file does not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        _look(descriptor)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
