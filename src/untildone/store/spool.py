"""What an agent prints, in a file: appended to as it comes, wherever the file is by then when somebody reads it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.system import disk

NEXT = ".next"
"""The file of the next output, while it has no name of its own: empty, and no output yet."""
_WRITING = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)


class FileSpool:
    def __init__(self, locate: Callable[[], Path]) -> None:
        self._locate = locate
        """Where the file is now: an ended loop moves to the history."""
        self._descriptor: int | None = None
        self._path: Path | None = None

    def write(self, content: bytes) -> None:
        try:
            if self._descriptor is None:
                self._path = self._locate()
                self._descriptor = _opened(self._path)
            unwritten = memoryview(content)
            while unwritten:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def make_ready(self) -> None:
        """The file of the next one, beside this: to make it takes a worn file system longer than all else."""
        if self._path is not None:
            with suppress(OSError):
                os.close(_made(self._path.with_name(NEXT), os.O_EXCL))

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def size(self) -> int | None:
        return disk.if_there(lambda: self._locate().stat().st_size)

    def read(self, start: int, count: int) -> bytes:
        def read() -> bytes:
            with open(self._locate(), "rb") as file:
                file.seek(start)
                return file.read(count)

        return disk.if_there(read) or b""


def _opened(path: Path) -> int:
    try:
        return os.open(path, _WRITING)
    except FileNotFoundError:
        _take_over(path.with_name(NEXT), path)
        return _made(path)


def _take_over(ready: Path, path: Path) -> None:
    with suppress(OSError):
        found = os.lstat(ready)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not found.st_size:
            os.rename(ready, path)


def _made(path: Path, only: int = 0) -> int:
    return os.open(path, _WRITING | os.O_CREAT | only, 0o600)


def _unwritable(path: Path | None, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"The disk is full: the output cannot be written to {path}.", "free some space, then resume")
    return StoreError(
        f"The output cannot be written to {path}: {error.strerror}.", "make the folder writable, then resume"
    )
