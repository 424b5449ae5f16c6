"""Opens and reads the file of a journal: whole lines, and the entries after an offset."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.events import Entry
from untildone.store.lines import DamagedLine, ForeignLine
from untildone.store.reading import LineReader
from untildone.system import disk

_CHUNK = 1 << 20
_TAIL = 1 << 12
"""Bytes that are read first in search of the start of a line."""
_OPEN = os.O_APPEND


def opened(path: Path) -> tuple[int, StoreError | None]:
    """The open file; if it can only be read, also the error to raise on writing."""
    with disk.as_store_error(path):
        try:
            return os.open(path, os.O_RDWR | _OPEN), None
        except OSError as problem:
            if problem.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            return os.open(path, os.O_RDONLY | _OPEN), disk.store_error(problem, path)


def entries_after(path: Path, offset: int, reader: LineReader, most: int = _CHUNK) -> tuple[tuple[Entry, ...], int]:
    """The entries after `offset`, about `most` bytes of them, and the offset where they end. Lines that do not count are skipped."""
    with disk.as_store_error(path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        lines = list(whole_lines(descriptor, offset, min(size, offset + most)))
        while not lines and offset + most < size:
            # The line is longer than `most`.
            most *= 4
            lines = list(whole_lines(descriptor, offset, min(size, offset + most)))
    finally:
        os.close(descriptor)
    return tuple(readable((line for _, line in lines), reader)), lines[-1][0] if lines else offset


def readable(lines: Iterable[bytes], reader: LineReader) -> Iterator[Entry]:
    """The entries of lines. Foreign and damaged lines are skipped."""
    for content in lines:
        try:
            line = reader.read(content)
        except ForeignLine:
            continue
        except DamagedLine:
            reader.skip()
            continue
        reader.take(line)
        yield line.entry


def whole_lines(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Each line that ends between two offsets, with the offset where it ends."""
    position, rest = start, b""
    while position < end and (chunk := disk.read_at(descriptor, position, min(_CHUNK, end - position))):
        at = position - len(rest)
        position += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            at += len(line) + 1
            yield at, line


def line_before(descriptor: int, end: int) -> bytes:
    """The line that ends at `end`. If no line ends there, the result is not a valid entry."""
    begin, content = end, b""
    while begin and b"\n" not in content[:-1]:
        step = min(begin, _TAIL + len(content))
        begin -= step
        content = disk.read_at(descriptor, begin, step) + content
    return content[:-1].rpartition(b"\n")[2]
