"""Standard output is data, standard error is talk. Writing to a reader who left is no error: it is not said any more."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import Any, TextIO


class Output:
    """One of the two streams. Nothing it does raises."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.gone = stream is None
        """The reader left, or the disk behind it is full."""

    @property
    def is_terminal(self) -> bool:
        return not self.gone and self._stream is not None and self._stream.isatty()

    def line(self, text: str) -> None:
        self.raw(f"{text}\n".encode(self._encoding, "replace"))

    def record(self, fields: Mapping[str, Any]) -> None:
        """A line of JSON, which is UTF-8 wherever it goes."""
        import json

        self.json(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))

    def json(self, text: str) -> None:
        self.raw(f"{text}\n".encode("utf-8", "replace"))

    def raw(self, content: bytes) -> None:
        if self.gone or self._stream is None:
            return
        try:
            self._stream.buffer.write(content)
            self._stream.flush()
        except (OSError, ValueError):
            self.gone = True

    @property
    def _encoding(self) -> str:
        return getattr(self._stream, "encoding", None) or "utf-8"


def data() -> Output:
    return Output(sys.stdout)


def talk() -> Output:
    return Output(sys.stderr)


def tell_error(sentence: str, hint: str) -> None:
    out = talk()
    out.line(f"untildone: {sentence}")
    if hint:
        out.line(f"hint: {hint}")


def close_quietly() -> None:
    """The interpreter flushes at exit and complains where the reader has left: give it nothing to complain of."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(text: str) -> str:
    """A word of the person's in a sentence: no control characters, no endless lines."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= 200 else f"{shown[:199]}…"
