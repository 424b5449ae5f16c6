"""Copies bytes between the person's terminal and the agent's, unchanged, until the agent has ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator

from untildone.hosts.wrap import terminal
from untildone.hosts.wrap.job import Job
from untildone.hosts.wrap.screen_modes import ScreenModes
from untildone.hosts.wrap.terminal import Terminal

PIECE = 1 << 12
"""The most bytes that a terminal returns in one read."""
AT_ONCE = 1 << 16
"""The most bytes of output that are shown before other events are handled."""
MOST_WAITING = 1 << 18
"""The most bytes that are buffered for a slow reader; then reading from the other side stops."""
GOES_WITHIN = 3.0
"""Seconds that an agent may take to end after the person's terminal was closed."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP)
_NOTICED = (*_PASSED_ON, signal.SIGHUP, signal.SIGWINCH, signal.SIGCONT)


class Pump:
    """Copies bytes for one job."""

    def __init__(self, job: Job, outer: Terminal, typed: Callable[[bytes], None] = lambda _: None) -> None:
        """`typed` gets what the person types."""
        self._job = job
        self._typed = typed
        self._outer = outer
        self._modes = ScreenModes()
        self._to_agent = bytearray()
        self._to_person = bytearray()
        self._gone_since: float | None = None
        self._poll = select.poll()
        self._masks: tuple[int, int] | None = None
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wakes, False)

    def run(self) -> None:
        """Copy until the agent has ended and all its output is shown; then reset the terminal modes that it left on."""
        with self._signals():
            self._resize()
            while not self._job.is_over:
                self._turn()
            self._show_the_rest()

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """Deliver signals as bytes in a pipe, so that one poll waits for everything."""
        before = {number: signal.signal(number, lambda *_: None) for number in _NOTICED}
        signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            os.close(self._woken)
            os.close(self._wakes)

    def _turn(self) -> None:
        for descriptor, what in self._watched().poll(None if self._gone_since is None else 50):
            if descriptor == self._woken:
                self._act_on_signals()
            elif descriptor == self._job.reports.fileno():
                self._job.hear()
            elif descriptor == self._job.descriptor:
                self._serve_agent(what)
            else:
                self._serve_person(what)
        if self._job.stopped:
            self._suspend()
        if self._gone_since is not None and time.monotonic() - self._gone_since > GOES_WITHIN:
            self._job.signal(signal.SIGKILL)

    def _watched(self) -> select.poll:
        agent = select.POLLIN * (len(self._to_person) < MOST_WAITING) | select.POLLOUT * bool(self._to_agent)
        person = select.POLLIN * (len(self._to_agent) < MOST_WAITING) | select.POLLOUT * bool(self._to_person)
        if self._masks != (agent, person):
            self._masks = (agent, person)
            self._poll.register(self._woken, select.POLLIN)
            self._poll.register(self._job.reports.fileno(), select.POLLIN)
            self._poll.register(self._job.descriptor, agent)
            if self._gone_since is None:
                self._poll.register(self._outer.descriptor, person)
        return self._poll

    def _serve_agent(self, what: int) -> None:
        if what & select.POLLOUT:
            self._write_to_agent()
        if what & (select.POLLIN | select.POLLHUP):
            self._pass_on()

    def _pass_on(self) -> bool:
        """Show up to AT_ONCE bytes of the agent's output. False: there was none.

        Each piece is shown before the next one is read, so that the system can prepare the next one meanwhile.
        """
        size = 0
        while size < AT_ONCE and (piece := _read(self._job.descriptor)):
            size += len(piece)
            self._show(piece)
        return size > 0

    def _show(self, piece: bytes) -> None:
        if self._modes.watch(piece):
            self._job.keep_undoing(self._modes.undoing)
        if self._gone_since is None:
            self._to_person += piece
            self._write_to_person()

    def _serve_person(self, what: int) -> None:
        if what & select.POLLOUT:
            self._write_to_person()
        if what & select.POLLIN and len(self._to_agent) < MOST_WAITING:
            piece = _read(self._outer.descriptor) or b""
            self._typed(piece)
            self._to_agent += piece
            self._write_to_agent()
        if what & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
            self._lose_person()

    def _write_to_agent(self) -> None:
        _write(self._job.descriptor, self._to_agent)

    def _write_to_person(self) -> None:
        _write(self._outer.descriptor, self._to_person)

    def _act_on_signals(self) -> None:
        for number in _read(self._woken) or b"":
            if number == signal.SIGWINCH:
                self._resize()
            elif number == signal.SIGCONT:
                # A shell may have changed the terminal meanwhile.
                self._outer.be_raw()
                self._resize()
            elif number == signal.SIGHUP:
                self._lose_person()
            elif number in _PASSED_ON:
                self._job.signal(number)

    def _resize(self) -> None:
        with contextlib.suppress(OSError):
            terminal.set_size(self._job.descriptor, self._outer.size())

    def _lose_person(self) -> None:
        """The person's terminal was closed: sends the agent a hangup, and stops reading from the terminal."""
        if self._gone_since is None:
            self._gone_since = time.monotonic()
            self._poll.unregister(self._outer.descriptor)
            self._to_person.clear()
            self._job.signal(signal.SIGHUP)
            self._job.signal(signal.SIGCONT)

    def _suspend(self) -> None:
        """The agent was suspended: suspends this whole job. When the shell continues it, the agent is continued too."""
        while self._pass_on():
            continue
        self._outer.show(bytes(self._to_person))
        self._to_person.clear()
        self._outer.be_as_before()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(0, signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, lambda *_: None)
        self._outer.be_raw()
        self._resize()
        self._job.go_on()

    def _show_the_rest(self) -> None:
        while self._pass_on():
            continue
        if self._gone_since is None:
            self._outer.show(bytes(self._to_person) + self._modes.undoing)


def _read(descriptor: int) -> bytes | None:
    """Available bytes; None: there are none now, or the descriptor is closed."""
    try:
        return os.read(descriptor, PIECE) or None
    except OSError:
        return None


def _write(descriptor: int, content: bytearray) -> None:
    """Write as much as possible without blocking and remove it from `content`. Clear `content` if the reader is gone."""
    try:
        if content:
            del content[: os.write(descriptor, content)]
    except BlockingIOError:
        return
    except OSError:
        content.clear()
