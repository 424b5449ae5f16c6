"""Takes the output of a program: redacts it, stores it, splits it into lines, keeps the end of its errors."""

from __future__ import annotations

from collections.abc import Callable

from untildone.core.protection.secrets import Redactor
from untildone.system.program.lines import LineFramer
from untildone.system.program.spawn import Spawn

STDERR_TAIL = 16 * 1024
"""Bytes of standard error that are kept."""


class Output:
    """Redacts standard output, writes it to the spool and splits it into lines."""

    def __init__(self, spawn: Spawn, on_line: Callable[[bytes], None]) -> None:
        self._spool = spawn.spool
        if self._spool is not None:
            # Fail before the program starts if its output cannot be stored.
            self._spool.write(b"")
        self._redacting = None if spawn.redactor is None else spawn.redactor.stream()
        self._framer = LineFramer(on_line, together=spawn.lines_together)

    def take(self, chunk: bytes) -> None:
        self._pass_on(self._redacting.feed(chunk) if self._redacting else chunk)

    def finish(self) -> None:
        if self._redacting:
            self._pass_on(self._redacting.flush())
        self._framer.finish()

    def close(self) -> None:
        if self._spool is not None:
            self._spool.close()

    def _pass_on(self, chunk: bytes) -> None:
        if not chunk:
            return
        if self._spool is not None:
            self._spool.write(chunk)
        self._framer.feed(chunk)


class Tail:
    """The last bytes of standard error, redacted, without the lines that `is_other` takes."""

    def __init__(self, redactor: Redactor | None, is_other: Callable[[bytes], bool] | None = None) -> None:
        self._redacting = None if redactor is None else redactor.stream()
        self._is_other = is_other
        self._framer = LineFramer(self._sort)
        self._kept = b""

    def take(self, chunk: bytes) -> None:
        self._pass_on(self._redacting.feed(chunk) if self._redacting else chunk)

    def text(self) -> str:
        if self._redacting:
            self._pass_on(self._redacting.flush())
        self._framer.finish()
        return self._kept.decode(errors="replace")

    def _pass_on(self, chunk: bytes) -> None:
        if self._is_other is None:
            self._keep(chunk)
        else:
            self._framer.feed(chunk)

    def _sort(self, line: bytes) -> None:
        if self._is_other is None or not self._is_other(line):
            self._keep(line + b"\n")

    def _keep(self, chunk: bytes) -> None:
        self._kept = (self._kept + chunk)[-STDERR_TAIL:]
