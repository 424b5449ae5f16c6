"""Ctrl-C, a closing terminal and a polite kill: each asks the loop to save and rest."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 5.0
"""So many seconds after the first Ctrl-C, a third one ends the program without waiting for anything."""


class _Interruption:
    def __init__(self, interrupt: Callable[[int], bool]) -> None:
        self._interrupt = interrupt
        self._times = 0
        self._first = 0.0
        self._at_it = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        # A signal may come while the one before it is being handled.
        if not self._at_it:
            self._at_it = True
            self._take(number)
            self._at_it = False

    def _take(self, number: int) -> None:
        if self._times == 0:
            self._times = int(self._interrupt(number))
            self._first = time.monotonic()
            return
        self._times += 1
        if self._times >= 3 and time.monotonic() - self._first > PATIENCE:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)


@contextmanager
def interrupted_by_signals(interrupt: Callable[[int], bool]) -> Iterator[None]:
    """Within it, signals that ask to end call `interrupt` until it says that it is enough. An ignored hangup stays ignored."""
    handler = _Interruption(interrupt)
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old if old is not None else signal.SIG_DFL)
