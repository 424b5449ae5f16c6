"""The person's terminal: raw while the agent runs, and restored afterwards."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import sys
import termios
import time
from types import TracebackType
from typing import Any

from untildone.core.errors import UsageError

Attributes = list[Any]
DRAIN_WITHIN = 5.0
"""Seconds that a terminal may take to accept the last output."""
_INPUT, _OUTPUT, _CONTROL, _LOCAL, _CHARACTERS = 0, 1, 2, 3, 6


class Terminal:
    """The person's terminal, raw within `with`. Opened again, so that other processes' reads do not become non-blocking."""

    def __init__(self) -> None:
        if not (_is_terminal(sys.stdin) and _is_terminal(sys.stdout)):
            raise UsageError(
                "There is no terminal here.", "run it in one; without one: untildone run --mode supervise TASK"
            )
        self.descriptor = _own_description()
        self.attributes: Attributes = termios.tcgetattr(self.descriptor)

    def __enter__(self) -> Terminal:
        self.be_raw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.be_as_before()
        os.close(self.descriptor)

    def be_raw(self) -> None:
        """Make the terminal raw. In the background this stops the process, like any job."""
        _set(self.descriptor, raw(self.attributes))

    def be_as_before(self) -> None:
        """Restore the terminal, also from the background."""
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            _set(self.descriptor, self.attributes)
        except (termios.error, OSError):
            return  # It is gone.
        finally:
            signal.signal(signal.SIGTTOU, before)

    def size(self) -> bytes:
        return fcntl.ioctl(self.descriptor, termios.TIOCGWINSZ, bytes(8))

    def show(self, content: bytes) -> None:
        """Write all of the content, unless the terminal takes too long."""
        deadline = time.monotonic() + DRAIN_WITHIN
        while content and time.monotonic() < deadline:
            try:
                content = content[os.write(self.descriptor, content) :]
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:
                return


def _own_description() -> int:
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(os.ttyname(0), flags)
    except OSError:
        # In a container, the name of the terminal may be unknown.
        return os.open("/dev/tty", flags)


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):
        return False


def set_size(descriptor: int, size: bytes) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, size)


def raw(attributes: Attributes) -> Attributes:
    """The attributes for raw mode: all bytes unchanged, in both directions, without buffering."""
    changed = list(attributes)
    changed[_INPUT] &= ~(
        termios.IGNBRK
        | termios.BRKINT
        | termios.PARMRK
        | termios.ISTRIP
        | termios.INLCR
        | termios.IGNCR
        | termios.ICRNL
        | termios.IXON
    )
    changed[_OUTPUT] &= ~termios.OPOST
    changed[_CONTROL] = changed[_CONTROL] & ~(termios.CSIZE | termios.PARENB) | termios.CS8
    changed[_LOCAL] &= ~(termios.ECHO | termios.ECHONL | termios.ICANON | termios.ISIG | termios.IEXTEN)
    characters = list(changed[_CHARACTERS])
    characters[termios.VMIN], characters[termios.VTIME] = 1, 0
    changed[_CHARACTERS] = characters
    return changed


def _set(descriptor: int, attributes: Attributes) -> None:
    """Set the attributes without discarding pending input."""
    while True:
        try:
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
            return
        except termios.error as problem:
            if problem.args[0] == errno.EIO:
                # The terminal is gone; its hang-up signal follows.
                return
            if problem.args[0] != errno.EINTR:
                raise
