"""The agent as a job of a terminal of its own: a small process leads the session, as a shell would, and reports.

Without that process, the agent could not be suspended: nobody in its session would be there to continue it. It also
outlives a wrap that is killed: then it puts the person's terminal right, the run's loops to rest and its folder away.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pty
import select
import shutil
import signal
import socket
import struct
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from untildone.core.errors import UsageError
from untildone.hosts.wrap import terminal
from untildone.hosts.wrap.terminal import Terminal
from untildone.system import orphans

STARTED, STOPPED, ENDED, REFUSED = b"P", b"S", b"E", b"X"
"""What the leader reports, each with a number: the agent's pid, how it stands, or why it cannot be started."""
_REPORT = struct.Struct("=ci")
_GO_ON = b"C"
_KEPT_UNDOING = 1024


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. `env` is complete."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    folder: str = ""
    """What is put away if wrap itself cannot."""


@dataclass(slots=True)
class Job:
    """The agent, its terminal and its leader, as wrap sees them."""

    leader: int
    descriptor: int
    """The other end of the agent's terminal."""
    reports: socket.socket
    memory: mmap.mmap
    agent: int | None = None
    status: int | None = None
    stopped: bool = False
    refused: int = 0
    _partial: bytes = field(default=b"", repr=False)

    @property
    def is_over(self) -> bool:
        return self.status is not None or self.refused != 0

    def hear(self) -> None:
        """Read what the leader reports."""
        try:
            self._partial += self.reports.recv(_REPORT.size * 16)
        except BlockingIOError:
            return
        except OSError:
            pass
        while len(self._partial) >= _REPORT.size:
            kind, number = _REPORT.unpack(self._partial[: _REPORT.size])
            self._partial = self._partial[_REPORT.size :]
            self._take(kind, number)
        if not self.is_over and _has_ended(self.reports):
            self.status = signal.SIGKILL

    def _take(self, kind: bytes, number: int) -> None:
        match kind:
            case b"P":
                self.agent = number
            case b"S":
                self.stopped = True
            case b"E":
                self.status = number
            case _:
                self.refused = number

    def go_on(self) -> None:
        self.stopped = False
        with contextlib.suppress(OSError):
            self.reports.send(_GO_ON)

    def signal(self, number: int) -> None:
        """To the agent's process group, as its terminal would send it."""
        if self.agent is not None and not self.is_over:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.agent, number)

    def keep_undoing(self, sequence: bytes) -> None:
        """What the leader shows to the person's terminal if wrap is killed."""
        kept = sequence[:_KEPT_UNDOING]
        self.memory[: 2 + len(kept)] = struct.pack("=H", len(kept)) + kept

    def close(self) -> None:
        """The leader goes, and with it the agent's terminal."""
        self.reports.close()
        os.close(self.descriptor)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.leader, 0)


def _has_ended(reports: socket.socket) -> bool:
    try:
        return reports.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def start(program: Program, outer: Terminal) -> Job:
    """Start it in a terminal that is set as the person's is."""
    ours, theirs = socket.socketpair()
    memory = mmap.mmap(-1, 2 + _KEPT_UNDOING)
    errors = None if os.isatty(2) else os.dup(2)
    size = outer.size()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        leader, descriptor = pty.fork()
    except OSError as problem:
        raise UsageError(f"No terminal can be made for the agent: {problem.strerror}.", "free some terminals") from None
    if leader == 0:
        ours.close()
        _Leader(program, outer, theirs, memory, errors).lead(size)
    theirs.close()
    os.set_blocking(ours.fileno(), False)
    os.set_blocking(descriptor, False)
    if errors is not None:
        os.close(errors)
    return Job(leader, descriptor, ours, memory)


class _Leader:
    """The leader's own life, in its own process."""

    def __init__(
        self, program: Program, outer: Terminal, reports: socket.socket, memory: mmap.mmap, errors: int | None
    ) -> None:
        self._program = program
        self._outer = outer
        self._reports = reports
        self._memory = memory
        self._errors = errors
        self._agent = 0

    def lead(self, size: bytes) -> NoReturn:
        try:
            self._lead(size)
        finally:
            os._exit(0)

    def _lead(self, size: bytes) -> None:
        for number in (signal.SIGHUP, signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        termios.tcsetattr(0, termios.TCSANOW, self._outer.attributes)
        terminal.set_size(0, size)
        self._agent = self._start()
        self._tell(STARTED, self._agent)
        while True:
            ready, _, _ = select.select([self._reports.fileno(), wake], [], [])
            if wake in ready:
                os.read(wake, 64)
                self._look()
            if self._reports.fileno() in ready:
                self._obey()

    def _start(self) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                self._become_agent()
            except OSError as problem:
                self._tell(REFUSED, problem.errno or 1)
            finally:
                os._exit(127)
        return pid

    def _become_agent(self) -> NoReturn:
        """In a group of its own, which has the terminal, with the signals that any program is started with."""
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, _HANGUP)
        if self._errors is not None:
            os.dup2(self._errors, 2)
        os.chdir(self._program.cwd)
        os.execve(self._program.argv[0], self._program.argv, dict(self._program.env))

    def _look(self) -> None:
        pid, status = os.waitpid(self._agent, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            self._tell(STOPPED, os.WSTOPSIG(status))
        else:
            self._tell(ENDED, status)
            self._wait_for_end()

    def _obey(self) -> None:
        word = self._told()
        if word == _GO_ON:
            os.killpg(self._agent, signal.SIGCONT)
        elif not word:
            self._tidy_up()

    def _wait_for_end(self) -> NoReturn:
        """The agent's terminal stays open until all that it showed has been read."""
        while self._told():
            continue
        os._exit(0)

    def _told(self) -> bytes:
        try:
            return self._reports.recv(1)
        except OSError:
            return b""

    def _tell(self, kind: bytes, number: int) -> None:
        with contextlib.suppress(OSError):
            self._reports.send(_REPORT.pack(kind, number))

    def _tidy_up(self) -> NoReturn:
        """Wrap was killed: what it would have put right at its end is done here. If this is killed too, its guard ends the agent."""
        (length,) = struct.unpack("=H", self._memory[:2])
        self._outer.show(self._memory[2 : 2 + length])
        if _is_still(self._outer):
            self._outer.be_as_before()
        orphans.end_marked(orphans.marks_in(self._program.env) - orphans.marks_in(os.environ))
        if self._program.folder:
            self._leave_loops()
            shutil.rmtree(self._program.folder, ignore_errors=True)
        os._exit(0)

    def _leave_loops(self) -> None:
        from untildone.core.secrets import Redactor
        from untildone.hosts.wrap.leaving import leave

        for _ in leave(self._program.folder, Redactor.from_environment(self._program.env)):
            continue


_HANGUP = signal.SIG_IGN if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else signal.SIG_DFL
"""Whoever started us may want a hangup to be ignored."""


def _is_still(outer: Terminal) -> bool:
    """Nobody else has set the terminal since."""
    try:
        return termios.tcgetattr(outer.descriptor) == terminal.raw(outer.attributes)
    except (termios.error, OSError):
        return False
