"""Runs a program in a pseudo-terminal: types text, presses keys and waits for output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 30.0
ROWS, COLUMNS = 50, 160
_MOVES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|.)|\r")
_WHERE_IS_THE_CURSOR, _HERE = b"\x1b[6n", b"\x1b[1;1R"


class Terminal:
    """Runs a program until the `with` block ends and keeps its output, without cursor movements."""

    def __init__(self, argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.pid, self._leader = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(argv[0], list(argv), {"TERM": "xterm-256color", **environment})
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._raw = b""
        self._position = 0
        self.code: int | None = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._leader)

    @property
    def text(self) -> str:
        return _MOVES.sub("", self._raw.decode("utf-8", "replace"))

    @property
    def output(self) -> bytes:
        """The raw output so far."""
        return self._raw

    def type(self, text: str) -> None:
        os.write(self._leader, text.encode())

    def send(self, content: bytes, patience: float = PATIENCE) -> None:
        """Write any amount of input, reading the output meanwhile to avoid a deadlock."""
        deadline, unsent = time.monotonic() + patience, memoryview(content)
        while unsent:
            assert time.monotonic() < deadline, f"{len(unsent)} bytes were not taken"
            self._read(0.0)
            _, ready, _ = select.select([], [self._leader], [], 0.05)
            unsent = unsent[os.write(self._leader, unsent[:512]) :] if ready else unsent

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._leader, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, condition: Callable[[], object], patience: float = PATIENCE) -> None:
        """Wait until `condition()` is true, reading the output meanwhile."""
        deadline = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < deadline, f"waited {patience} s; it shows:\n{self.text[self._position :]}"
            self._read()

    @property
    def attributes(self) -> list[Any]:
        """The terminal attributes, as `stty -a` shows them."""
        return termios.tcgetattr(self._leader)

    def enter(self, text: str) -> None:
        self.type(f"{text}\r")

    def shows(self, words: str, patience: float = PATIENCE) -> str:
        """Wait until this text appears after the text of the previous wait; return the output before it."""
        deadline = time.monotonic() + patience
        while (at := self.text.find(words, self._position)) < 0:
            assert time.monotonic() < deadline, f"{words!r} is not in:\n{self.text[self._position :]}"
            self._read()
        before, self._position = self.text[self._position : at], at + len(words)
        return before

    def ends(self, patience: float = PATIENCE) -> int:
        """Wait for the end of the program; return its exit code."""
        deadline = time.monotonic() + patience
        while self.code is None:
            assert time.monotonic() < deadline, f"it has not ended:\n{self.text[self._position :]}"
            self._read()
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if ended else None
        while self._read():
            continue
        return self.code

    @property
    def is_cooked(self) -> bool:
        """Whether the terminal edits lines and echoes, as a shell's does."""
        local = termios.tcgetattr(self._leader)[3]
        return bool(local & termios.ICANON) and bool(local & termios.ECHO)

    def _read(self, seconds: float = 0.05) -> bool:
        ready, _, _ = select.select([self._leader], [], [], seconds)
        try:
            chunk = os.read(self._leader, 65536) if ready else b""
        except OSError:
            return False
        self._raw += chunk
        if _WHERE_IS_THE_CURSOR in chunk:
            os.write(self._leader, _HERE)
        return bool(chunk)
