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
    """Within it, signals that ask to end call `interrupt` until it says that it is enough. An ignored hangup stays ignored.

    Afterwards too, unless it fails: how the loop came to rest is what the program has to tell, and a signal comes too late.
    """
    handler = _Interruption(interrupt)
    before = {number: signal.signal(number, handler) for number in _numbers() if _is_heard(number)}
    try:
        yield
    except BaseException:
        for number, old in before.items():
            signal.signal(number, old if old is not None else signal.SIG_DFL)
        raise


def deaf_to_the_end() -> None:
    """Where a loop has come to rest, not even the last moment of the program lets a signal change its exit code."""
    for number in _numbers():
        if isinstance(signal.getsignal(number), _Interruption):
            signal.signal(number, signal.SIG_IGN)


def _numbers() -> tuple[signal.Signals, ...]:
    return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _is_heard(number: signal.Signals) -> bool:
    return number in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(number) is not signal.SIG_IGN
