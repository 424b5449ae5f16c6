"""Locks that the operating system releases when their holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES, _BETWEEN_TRIES = 20, 0.005

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, *, wait: bool) -> None:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

    def _look(descriptor: int) -> None:
        _lock(descriptor, wait=False)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int, *, wait: bool) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    def _look(descriptor: int) -> None:
        """Fails if somebody has the lock. Shared, so that two who look at once do not take each other for its holder."""
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file for a moment, waiting for it if need be."""
    _lock(descriptor, wait=True)
    try:
        yield
    finally:
        _unlock(descriptor)


def try_lock(path: Path) -> int | None:
    """Take a file's lock for as long as the returned descriptor stays open; None if somebody has it.

    Tried for a moment: somebody who only looks whether it is taken is in the way no longer than that.
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
