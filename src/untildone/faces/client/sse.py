"""Server-sent events: bytes become messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 64 << 20
"""Bytes of one message that are kept."""


class TooLong(ValueError):
    """A message is longer than any that untildone sends."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. A comment, which shows that the server is there, has no data."""

    event: str = ""
    data: str = ""


class Parser:
    """Takes the bytes of a stream as they come, and gives the messages that are complete."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest: list[bytes] = []
        self._kept = 0
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Message]:
        """The messages that end in this chunk. TooLong if one grows past the limit."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            whole = b"".join((*self._rest, line))
            self._rest.clear()
            yield from self._line(whole.removesuffix(b"\r").decode("utf-8", "replace"))
        self._rest.append(rest)
        self._kept += len(chunk)
        if self._kept > self._longest:
            raise TooLong

    def _line(self, line: str) -> Iterator[Message]:
        name, _, value = line.partition(":")
        if not line:
            yield from self._end()
        elif not name:
            yield Message()
        elif name == "data":
            self._data.append(value.removeprefix(" "))
        elif name == "event":
            self._event = value.removeprefix(" ")

    def _end(self) -> Iterator[Message]:
        if self._data:
            yield Message(self._event, "\n".join(self._data))
        self._event, self._kept = "", 0
        self._data.clear()
