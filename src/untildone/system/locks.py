"""File locks, which the operating system releases when the holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES, _BETWEEN_TRIES = 20, 0.005


def _lock(descriptor: int, *, wait: bool) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _look(descriptor: int) -> None:
    """Raises OSError if another process holds the lock. Shared, so that two callers at once do not see each other as holders."""
    fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file, after waiting for it if necessary."""
    _lock(descriptor, wait=True)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def try_lock(path: Path) -> int | None:
    """Take a file's lock for as long as the returned descriptor stays open; None if another process holds it.

    Tries for a moment, because a caller of `is_locked` also holds the lock for an instant.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    for _ in range(_TRIES):
        try:
            _lock(descriptor, wait=False)
            return descriptor
        except OSError:
            time.sleep(_BETWEEN_TRIES)
    os.close(descriptor)
    return None


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; False if the file does not exist."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        _look(descriptor)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)
