"""Signals that end the program (SIGINT, SIGTERM, SIGHUP): each interrupts the loop, which saves its state and rests."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 5.0
"""Seconds after the first Ctrl-C from which a third one ends the program at once."""


class _Interruption:
    """A signal handler. Calls `interrupt` until that returns True, and then counts further signals."""

    def __init__(self, interrupt: Callable[[int], bool]) -> None:
        self._interrupt = interrupt
        self._times = 0
        self._first = 0.0
        self._handling = False

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        # A signal may come while the one before it is being handled.
        if not self._handling:
            self._handling = True
            self._take(number)
            self._handling = False

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
    """Call `interrupt` for each signal until it returns True. An ignored SIGHUP stays ignored.

    The handlers stay installed after a normal exit, so that a late signal cannot change the exit code.
    """
    handler = _Interruption(interrupt)
    before = {number: signal.signal(number, handler) for number in _numbers() if _is_heard(number)}
    try:
        yield
    except BaseException:
        for number, old in before.items():
            signal.signal(number, old if old is not None else signal.SIG_DFL)
        raise


@contextmanager
def ctrl_c_afterwards() -> Iterator[None]:
    """Raise the KeyboardInterrupt of the first Ctrl-C in this block at its end, so that what it begins is known. A second one is raised
    at once."""
    came = False

    def note(_number: int, _frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def ignore_late_signals() -> None:
    """Ignore further signals once a loop has come to rest, so that they cannot change the exit code."""
    for number in _numbers():
        if isinstance(signal.getsignal(number), _Interruption):
            signal.signal(number, signal.SIG_IGN)


def _numbers() -> tuple[signal.Signals, ...]:
    return (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _is_heard(number: signal.Signals) -> bool:
    return number in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(number) is not signal.SIG_IGN
