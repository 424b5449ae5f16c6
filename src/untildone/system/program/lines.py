"""Splits chunks of bytes into lines, in memory that does not grow with the output."""

from __future__ import annotations

from collections.abc import Callable

LONGEST_LINE = 4 * 1024 * 1024
"""Bytes. A longer line is cut."""
KEPT_BYTES = 64 * 1024
"""Bytes that are kept of a line that is cut."""
FLOOD, FLOOD_SAMPLE = 64, 16 * 1024
"""A chunk is a flood if its first `FLOOD_SAMPLE` bytes contain more than `FLOOD` lines."""


class LineFramer:
    """Calls `on_line` with each line, without its line end. A line over `LONGEST_LINE` is cut and gets a marker.

    With `together`, the lines of a flood are passed on in one call, with the line ends between them.
    """

    def __init__(self, on_line: Callable[[bytes], None], *, together: bool = False) -> None:
        self._on_line = on_line
        self._together = together
        self._pending = bytearray()
        self._length = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the output."""
        if self._together and chunk.count(b"\n", 0, FLOOD_SAMPLE) > FLOOD:
            self._feed_together(chunk)
            return
        first, *others = chunk.split(b"\n")
        self._keep(first)
        if not others:
            return
        self._emit_pending()
        for line in others[:-1]:
            self._on_line(line[:-1] if line.endswith(b"\r") else line)
        self._keep(others[-1])

    def _feed_together(self, chunk: bytes) -> None:
        first, last = chunk.index(b"\n"), chunk.rindex(b"\n")
        self._keep(chunk[:first])
        self._emit_pending()
        lines = chunk[first + 1 : last]
        self._on_line(lines.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in lines else lines)
        self._keep(chunk[last + 1 :])

    def finish(self) -> None:
        """Pass on a last line that has no line end."""
        if self._length:
            self._emit_pending()

    def _keep(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= LONGEST_LINE:
            self._pending += piece
        elif len(self._pending) < KEPT_BYTES:
            self._pending += piece[: KEPT_BYTES - len(self._pending)]
        else:
            del self._pending[KEPT_BYTES:]

    def _emit_pending(self) -> None:
        line, length = bytes(self._pending), self._length
        self._pending, self._length = bytearray(), 0
        if length > LONGEST_LINE:
            line = line[:KEPT_BYTES] + b" [line cut: it had %d bytes]" % length
        self._on_line(line.removesuffix(b"\r"))
