"""Keys pressed while an agent works: Esc interrupts it, other keys are kept for the next prompt."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ESCAPE = b"\x1b"
REST_OF_SEQUENCE = 0.05
"""Seconds within which the bytes of an arrow key follow their Esc. An Esc key sends one byte only."""
LOOK_EVERY = 0.2


class KeyWatch:
    """Reads the terminal key by key in a thread. Restores the terminal's settings at the end, also at exit."""

    def __init__(self, on_escape: Callable[[], None]) -> None:
        self._on_escape = on_escape
        self._typed = b""
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._before: list[Any] | None = None

    def __enter__(self) -> KeyWatch:
        self._begin()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._end()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Stop reading the terminal while other code reads it."""
        was_watching = self._thread is not None
        self._end()
        try:
            yield
        finally:
            if was_watching:
                self._begin()

    def typed_line(self) -> str | None:
        """Take the first line that was entered, if there is one."""
        line, entered, rest = self._typed.replace(b"\r", b"\n").partition(b"\n")
        if not entered:
            return None
        self._typed = rest
        return _printable(line)

    def typed_ahead(self) -> str:
        """Take the text that was typed and not entered."""
        typed, self._typed = self._typed, b""
        return _printable(typed)

    def _begin(self) -> None:
        if not _is_ours():
            return
        self._before = termios.tcgetattr(sys.stdin.fileno())
        atexit.register(self._restore)
        tty.setcbreak(sys.stdin.fileno(), termios.TCSANOW)
        self._over.clear()
        self._thread = threading.Thread(target=self._watch, name="keys", daemon=True)
        self._thread.start()

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._over.set()
            thread.join()
            self._restore()
            atexit.unregister(self._restore)

    def _restore(self) -> None:
        before, self._before = self._before, None
        if before is not None and _is_ours():
            with contextlib.suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)

    def _watch(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while not self._over.is_set():
                if _has_input(LOOK_EVERY) and not self._take():
                    return

    def _take(self) -> bool:
        """Read the keys that are there. Returns False at the end of the input."""
        keys = os.read(sys.stdin.fileno(), 4096)
        if keys == ESCAPE and not _has_input(REST_OF_SEQUENCE):
            self._on_escape()
        elif ESCAPE not in keys:
            self._typed += keys
        return bool(keys)


def _printable(typed: bytes) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in typed.decode("utf-8", "ignore")).strip()


def _has_input(seconds: float) -> bool:
    """Whether input can be read. A background job must not read: the terminal would stop it."""
    ready, _, _ = select.select([sys.stdin.fileno()], [], [], seconds)
    return bool(ready) and _is_ours()


def _is_ours() -> bool:
    """Whether this process may use the terminal now."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False
