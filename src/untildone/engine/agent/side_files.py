"""The files in which an agent program notes what it uses while it works: each whole line that is appended to them, once."""

from __future__ import annotations

import glob
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice

from untildone.system.program.lines import LineFramer

LOOK_EVERY = 0.02
"""Seconds between two looks at the sizes of the files."""
SEARCH_EVERY = 0.2
"""Seconds between two searches for new files, at least."""
SEARCH_SHARE = 20
"""The pause after a search, as a multiple of the time that the search took."""
MOST_FILES = 64
CHUNK = 1 << 20
"""Bytes that are read of a file at a look, at most."""
LAST_CHUNKS = 64
"""How many looks follow one another after the end of the program, at most, at all files together."""


class SideFiles:
    """The files of some glob patterns, from their present ends on."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._patterns = patterns
        self._files = {path: _Tail(path, _size(path)) for path in self._found()}
        self._look_from = self._search_from = 0.0

    def lines(self) -> Iterator[bytes]:
        """The lines since the last call. Costs next to nothing if it is called too early."""
        now = time.monotonic()
        if not self._patterns or now < self._look_from:
            return
        self._look_from = now + LOOK_EVERY
        if now >= self._search_from:
            self._search(now)
        for file in self._files.values():
            yield from file.lines()

    def last_lines(self) -> Iterator[bytes]:
        """The lines since the last call, of a program that has ended."""
        if self._patterns:
            self._search(time.monotonic())
        # Each file has its own number of reads: an agent can fill one file to keep the other from being read.
        looks = LAST_CHUNKS // max(1, len(self._files))
        for file in self._files.values():
            for _ in range(looks):
                if not file.has_more():
                    break
                yield from file.lines()

    def _search(self, now: float) -> None:
        for path in self._found():
            if path not in self._files and len(self._files) < MOST_FILES:
                self._files[path] = _Tail(path, 0)
        self._search_from = now + max(SEARCH_EVERY, SEARCH_SHARE * (time.monotonic() - now))

    def _found(self) -> list[str]:
        return list(islice(chain.from_iterable(map(glob.iglob, self._patterns)), MOST_FILES))


class _Tail:
    """The lines of one file from an offset on. A file that has become shorter is another one: it is read from its end on."""

    def __init__(self, path: str, offset: int) -> None:
        self._path = path
        self._offset = offset
        self._lines: list[bytes] = []
        self._framer = LineFramer(self._lines.append)

    def has_more(self) -> bool:
        return _size(self._path) > self._offset

    def lines(self) -> list[bytes]:
        size = _size(self._path)
        if size < self._offset:
            self._offset, self._framer = size, LineFramer(self._lines.append)
        if size > self._offset:
            self._read()
        lines = self._lines[:]
        self._lines.clear()
        return lines

    def _read(self) -> None:
        with suppress(OSError):
            # The agent can put a link or a pipe in the place of the file.
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    content = os.pread(descriptor, CHUNK, self._offset)
                    self._offset += len(content)
                    self._framer.feed(content)
            finally:
                os.close(descriptor)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
