"""Standard output carries data, standard error carries messages. Writing to a closed pipe is no error: the rest is dropped."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping
from typing import Any, TextIO


class Output:
    """Standard output or standard error. Its methods raise no exception."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.gone = stream is None
        """Whether writing has failed: the pipe is closed, or the disk is full."""

    @property
    def is_terminal(self) -> bool:
        return not self.gone and self._stream is not None and self._stream.isatty()

    def line(self, text: str) -> None:
        """Write a line of text."""
        self.raw(f"{text}\n".encode(self._encoding, "replace"))

    def prose(self, text: str) -> None:
        """Write a line for people, which at a terminal is broken between words."""
        from untildone.faces.cli import wrapping

        columns = shutil.get_terminal_size().columns if self.is_terminal else None
        for part in text.split("\n"):
            for row in [part] if columns is None else wrapping.rows(part, columns):
                self.line(row)

    def record(self, fields: Mapping[str, Any]) -> None:
        """Write an object as a line of JSON, always in UTF-8."""
        import json

        self.json(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))

    def json(self, text: str) -> None:
        """Write a line that is JSON already."""
        self.raw(f"{text}\n".encode("utf-8", "replace"))

    def raw(self, content: bytes) -> None:
        """Write bytes and flush."""
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
    """Standard output: results, for programs."""
    return Output(sys.stdout)


def talk() -> Output:
    """Standard error: messages, for people."""
    return Output(sys.stderr)


def report_error(sentence: str, hint: str) -> None:
    """Write an error and its hint to standard error."""
    out = talk()
    out.prose(f"untildone: {sentence}")
    if hint:
        out.prose(f"hint: {hint}")


def close_quietly() -> None:
    """Flush both streams, and redirect a broken one to /dev/null: the interpreter would report it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(text: str) -> str:
    """User input for use in a sentence: without control characters, at most 200 characters."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= 200 else f"{shown[:199]}…"
