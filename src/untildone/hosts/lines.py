"""Framing: chunks of bytes become lines, in memory that does not grow with the output."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_LINE = 4 * 1024 * 1024
KEPT_OF_LONGER = 64 * 1024


class LineFramer:
    """Hands on each whole line without its line end. Of one over `LONGEST_LINE`: its beginning and a marker."""

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._pending = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._keep(first)
        if not others:
            return
        self._hand_on_pending()
        for line in others[:-1]:
            self._on_line(line[:-1] if line.endswith(b"\r") else line)
        self._keep(others[-1])

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
