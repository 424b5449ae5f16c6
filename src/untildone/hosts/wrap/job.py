"""The agent as a job of its own terminal: a small process, the leader, leads the session like a shell and reports to wrap.

Without the leader, the agent could not be suspended, because no process in its session could continue it. The leader also
survives a wrap that is killed: then it restores the person's terminal, lets the run's loops rest and deletes its folder.
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
"""The reports of the leader, each with a number: the agent's pid, the signal or status, or the errno of a failed start."""
_REPORT = struct.Struct("=ci")
_GO_ON = b"C"
_KEPT_UNDOING = 1024


@dataclass(frozen=True, slots=True)
class Program:
    """The program to run. `env` is its whole environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    folder: str = ""
    """The folder of the run. The leader deletes it if wrap is killed."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that the program inherits beside its terminal."""
    keeps_box: bool = False
    """Whether the program keeps a box, and the agent in it begins with a launcher: then keys that interrupt must not end the program."""


@dataclass(slots=True)
class Job:
    """The agent, its terminal and its leader, from the side of wrap."""

    leader: int
    descriptor: int
    """The master side of the agent's terminal."""
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
        """Read the reports of the leader."""
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
        """Have the leader continue the suspended agent."""
        self.stopped = False
        with contextlib.suppress(OSError):
            self.reports.send(_GO_ON)

    def signal(self, number: int) -> None:
        """Send a signal to the agent's process group, like its terminal would."""
        if self.agent is not None and not self.is_over:
            for target in _targets(self.agent) if number == signal.SIGTERM else (-self.agent,):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(target, number)

    def keep_undoing(self, sequence: bytes) -> None:
        """Store the bytes that the leader writes to the person's terminal if wrap is killed."""
        kept = sequence[:_KEPT_UNDOING]
        self.memory[: 2 + len(kept)] = struct.pack("=H", len(kept)) + kept

    def close(self) -> None:
        """End the leader and close the agent's terminal."""
        self.reports.close()
        os.close(self.descriptor)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.leader, 0)


def _targets(agent: int) -> tuple[int, ...]:
    """The processes that are asked to end: not those that keep a box, because everything in it would end at once."""
    if not orphans.keeps_box(agent):
        return (-agent,)
    members = (pid for pid, process in orphans.scan()[0].items() if process.group == agent)
    return tuple(pid for pid in members if not orphans.keeps_box(pid))


def _has_ended(reports: socket.socket) -> bool:
    try:
        return reports.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def start(program: Program, outer: Terminal) -> Job:
    """Start the program in a new terminal with the settings of the person's terminal."""
    ours, theirs = socket.socketpair()
    memory = mmap.mmap(-1, 2 + _KEPT_UNDOING)
    errors = None if os.isatty(2) else os.dup(2)
    size = outer.size()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        leader, descriptor = pty.fork()
    except OSError as problem:
        raise UsageError(
            f"No terminal can be made for the agent: {problem.strerror or problem}.", "free some terminals"
        ) from None
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
    """The leader, in its own process."""

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
        self._report(STARTED, self._agent)
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
                self._report(REFUSED, problem.errno or 1)
            finally:
                os._exit(127)
        return pid

    def _become_agent(self) -> NoReturn:
        """Execute the program in a process group of its own, in the foreground of the terminal, with default signals."""
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN if self._program.keeps_box else signal.SIG_DFL)
        signal.signal(signal.SIGHUP, _HANGUP)
        if self._errors is not None:
            os.dup2(self._errors, 2)
        self._choose_descriptors()
        os.chdir(self._program.cwd)
        os.execve(self._program.argv[0], self._program.argv, dict(self._program.env))

    def _choose_descriptors(self) -> None:
        """A box gets its own descriptors only: a folder that the person's shell left open would lead out of it."""
        left_open = map(int, os.listdir("/proc/self/fd")) if self._program.keeps_box else ()
        for descriptor in {*left_open, *self._program.descriptors} - {0, 1, 2}:
            # That of the listing is closed again.
            with contextlib.suppress(OSError):
                os.set_inheritable(descriptor, descriptor in self._program.descriptors)

    def _look(self) -> None:
        pid, status = os.waitpid(self._agent, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            self._report(STOPPED, os.WSTOPSIG(status))
        else:
            self._report(ENDED, status)
            self._wait_for_end()

    def _obey(self) -> None:
        order = self._receive()
        if order == _GO_ON:
            os.killpg(self._agent, signal.SIGCONT)
        elif not order:
            self._clean_up()

    def _wait_for_end(self) -> NoReturn:
        """Keep the agent's terminal open until wrap has read all its output."""
        while self._receive():
            continue
        os._exit(0)

    def _receive(self) -> bytes:
        """One order of wrap; empty: wrap has ended."""
        try:
            return self._reports.recv(1)
        except OSError:
            return b""

    def _report(self, kind: bytes, number: int) -> None:
        with contextlib.suppress(OSError):
            self._reports.send(_REPORT.pack(kind, number))

    def _clean_up(self) -> NoReturn:
        """Wrap was killed: does what wrap does at its end. If this process is killed too, the guard ends the agent."""
        (length,) = struct.unpack("=H", self._memory[:2])
        self._outer.show(self._memory[2 : 2 + length])
        if _is_still_raw(self._outer):
            self._outer.be_as_before()
        orphans.end_marked(orphans.marks_in(self._program.env) - orphans.marks_in(os.environ))
        if self._program.folder:
            self._leave_loops()
            shutil.rmtree(self._program.folder, ignore_errors=True)
        os._exit(0)

    def _leave_loops(self) -> None:
        from untildone.core.protection.secrets import Redactor
        from untildone.hosts.wrap.leaving import leave

        for _ in leave(self._program.folder, Redactor.from_environment(self._program.env)):
            continue


_HANGUP = signal.SIG_IGN if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else signal.SIG_DFL
"""The agent inherits whether a hangup is ignored, as under `nohup`."""


def _is_still_raw(outer: Terminal) -> bool:
    """Whether no other program has changed the terminal since wrap made it raw."""
    try:
        return termios.tcgetattr(outer.descriptor) == terminal.raw(outer.attributes)
    except (termios.error, OSError):
        return False
