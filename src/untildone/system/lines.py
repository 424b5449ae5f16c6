"""Framing: chunks of bytes become lines, in memory that does not grow with the output."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_LINE = 4 * 1024 * 1024
KEPT_OF_LONGER = 64 * 1024
FLOOD, GLANCE = 64, 16 * 1024
"""So many lines in the first bytes of a chunk are more than anybody reads one by one."""


class LineFramer:
    """Hands on each whole line without its line end. Of one over `LONGEST_LINE`: its beginning and a marker.

    With `together`, the lines of a flood are handed on many at a time, with the line ends between them.
    """

    def __init__(self, on_line: Callable[[bytes], None], *, together: bool = False) -> None:
        self._on_line = on_line
        self._together = together
        self._pending = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> None:
        if self._together and chunk.count(b"\n", 0, GLANCE) > FLOOD:
            self._feed_together(chunk)
            return
        first, *others = chunk.split(b"\n")
        self._keep(first)
        if not others:
            return
        self._hand_on_pending()
        for line in others[:-1]:
            self._on_line(line[:-1] if line.endswith(b"\r") else line)
        self._keep(others[-1])

    def _feed_together(self, chunk: bytes) -> None:
        first, last = chunk.index(b"\n"), chunk.rindex(b"\n")
        self._keep(chunk[:first])
        self._hand_on_pending()
        lines = chunk[first + 1 : last]
        self._on_line(lines.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in lines else lines)
        self._keep(chunk[last + 1 :])

    def finish(self) -> None:
        """The output is over: a last line without a line end counts too."""
        if self._length:
            self._hand_on_pending()

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= LONGEST_LINE:
            self._pending += piece
        elif len(self._pending) < KEPT_OF_LONGER:
            self._pending += piece[: KEPT_OF_LONGER - len(self._pending)]
        else:
            del self._pending[KEPT_OF_LONGER:]

    def _hand_on_pending(self) -> None:
        line, length = bytes(self._pending), self._length
        self._pending, self._length = bytearray(), 0
        if length > LONGEST_LINE:
            line = line[:KEPT_OF_LONGER] + b" [line cut: it had %d bytes]" % length
        self._on_line(line.removesuffix(b"\r"))
