"""The output of an agent in a file, which may move to the history while it is being read."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.system import disk

_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT


class FileSpool:
    """The output of one turn, in a file."""

    def __init__(self, locate: Callable[[], Path]) -> None:
        self._locate = locate
        """Returns the current path: an ended loop moves to the history."""
        self._descriptor: int | None = None
        self._path: Path | None = None

    def write(self, content: bytes) -> None:
        try:
            if self._descriptor is None:
                self._path = self._locate()
                self._descriptor = os.open(self._path, _APPENDING, 0o600)
                content = self._line_end() + content
            unwritten = memoryview(content)
            while unwritten:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def _line_end(self) -> bytes:
        """A line end, if an earlier attempt was cut off in the middle of a line."""
        assert self._path is not None
        with open(self._path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                return b""
            file.seek(size - 1)
            return b"" if file.read(1) == b"\n" else b"\n"

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def size(self) -> int | None:
        return disk.read_if_exists(lambda: self._locate().stat().st_size)

    def written_at(self) -> float | None:
        return disk.read_if_exists(lambda: self._locate().stat().st_mtime)

    def read(self, start: int, count: int) -> bytes:
        def read() -> bytes:
            with open(self._locate(), "rb") as file:
                file.seek(start)
                return file.read(count)

        return disk.read_if_exists(read) or b""


def _unwritable(path: Path | None, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"The disk is full: the output cannot be written to {path}.", "free some space, then resume")
    return StoreError(
        f"The output cannot be written to {path}: {error.strerror}.", "make the folder writable, then resume"
    )
