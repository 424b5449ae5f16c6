"""Runs one program: starts it in its own session, splits its output into lines, ends its process tree at a limit or on interruption."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from untildone.core.errors import AgentMissing, BoxNotMade, ResourcesShort, UntilDoneError, UsageError
from untildone.core.plugins.agent_io import Conversation
from untildone.core.protection.secrets import Redactor
from untildone.system import apart, orphans
from untildone.system.lines import LineFramer
from untildone.system.pipes import Pipes, Stream

LOOK_EVERY = 0.02
"""Seconds between two calls of `interrupted`."""
LOOK_FOR_THE_END_EVERY = 0.004
"""Seconds between two looks at a process tree that is being ended. Short, because a person waits for it."""
LINGER = 0.2
"""Seconds for which output is still read after the program ended while other processes hold its pipe open."""
ASK_GRACE = 5.0
"""Seconds that a program has to end by itself after SIGINT, or to end its turn when it is asked to, at its limit, before its process
tree is ended."""
CANCEL_GRACE = 2.0
"""Seconds that a program has to end its turn on an interruption, if it can be asked to. A person waits for it."""
LEAVE_GRACE = 1.0
"""Seconds that a program has to exit after the end of its conversation, before its process group is ended."""
OPEN_WITHIN = 120.0
"""Seconds that a program has to open its session in a conversation."""
TERM_GRACE = 1.5
"""Seconds that a process tree has to end after SIGTERM before it is killed."""
MOST_LATE = 1 << 15
"""Bytes that a program may print between two conversations, errors too. One that prints more is not used any longer: it may print without
end, and never read the next prompt. Half of what a pipe holds, so that one that is not read meanwhile is noticed."""
STDERR_TAIL = 16 * 1024
"""Bytes of standard error that are kept."""


class Spool(Protocol):
    """Stores the output of a program while it runs."""

    def write(self, content: bytes) -> None: ...

    def close(self) -> None: ...


class Cause(StrEnum):
    """Why a program ended."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    USED_UP = "used_up"
    """It has used what it may use, beside time."""
    INTERRUPTED = "interrupted"
    UNANSWERED = "unanswered"
    """It did not open its session in time."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """A program to run. `env` is its whole environment: nothing else is inherited."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes | None = None
    """None: standard input is empty."""
    spool: Spool | None = None
    """Receives the redacted output."""
    timeout: float | None = None
    """Seconds; None: no timeout."""
    timeout_now: Callable[[], float | None] | None = None
    """Returns the current timeout in place of `timeout`, because a person may change it during the run; None: no timeout."""
    used_up: Callable[[], bool] | None = None
    """Returns whether the program has used what it may use, beside time; None: there is no such limit."""
    ends_on_sigint: bool = False
    """Whether the program ends in an orderly way on SIGINT. At a limit it gets that first; the process tree is ended afterwards."""
    conversation: Conversation | None = None
    """Writes to the program, whose standard input stays open until the turn has ended. `on_line` must feed it."""
    stays: bool = False
    """Whether the program stays open when its conversation has come to its end, for the next one."""
    open_within: float = OPEN_WITHIN
    """Seconds that the program has to open its session in a conversation."""
    boxed: str = ""
    """The program that `argv` starts in a box; empty: there is no box."""
    merge_stderr: bool = False
    on_error_line: Callable[[bytes], bool] | None = None
    """Gets each line of standard error, and returns whether it is no error output, so that it is not kept."""
    lines_together: bool = False
    """Whether many lines that arrive at once may be passed to `on_line` in one call."""
    redactor: Redactor | None = None
    descriptors: tuple[int, ...] = ()
    """Descriptors that the program inherits, beside those of its input and output."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended."""

    exit_code: int
    """Negative if a signal ended the program. 0 if its conversation came to its end, however the program ended afterwards."""
    cause: Cause
    stderr_tail: str
    seconds: float
    leftover_group: int | None = None
    """The process group of the program, if other members outlived it."""
    open: Open | None = None
    """The program, if it stays open for the next conversation."""


def run(
    spawn: Spawn, on_line: Callable[[bytes], None], interrupted: Callable[[], bool], on: Open | None = None
) -> Ended:
    """Run a program to its end, a limit or an interruption, and call `on_line` with each line of its output.

    `on`: the program that an earlier run left open. Of `spawn`, only what concerns the new conversation counts then."""
    started = time.monotonic()
    output, errors = _Output(spawn, on_line), _Tail(spawn.redactor, spawn.on_error_line)
    try:
        program = on or _opened(spawn)
        child = program.child
        listener = _Listener(spawn, child, program.pipes, {Stream.OUTPUT: output, Stream.ERRORS: errors})
        cause = listener.listen(started, interrupted)
        output.finish()
    finally:
        output.close()
    if listener.stays:
        return Ended(0, cause, errors.text(), time.monotonic() - started, open=program)
    exit_code = _reap(child)
    if listener.left_since is not None and cause is Cause.EXITED:
        exit_code = 0
    seconds = time.monotonic() - started
    if spawn.boxed and exit_code in _BOX_FAILED:
        _raise_if_not_started(spawn, _BOX_FAILED[exit_code], errors.text())
    leftover = _leftover_group(child.pid) if cause is Cause.EXITED else None
    return Ended(exit_code, cause, errors.text(), seconds, leftover)


@dataclass(frozen=True, slots=True)
class Open:
    """A program that waits for its next conversation. Nobody reads its output meanwhile but `late`."""

    child: subprocess.Popen[bytes]
    pipes: Pipes

    def late(self) -> tuple[bytes, ...] | None:
        """The lines that it has printed since its conversation ended; None: it has ended, or it prints too much, or it is in the middle
        of a line, whose end would be read in the next conversation."""
        printed, size = bytearray(), 0
        while chunks := self.pipes.wait(0.0):
            printed += b"".join(chunk for stream, chunk in chunks if stream is Stream.OUTPUT)
            size += sum(len(chunk) for _, chunk in chunks)
            if size > MOST_LATE:
                return None
        is_whole = not printed or printed.endswith(b"\n")
        return None if self.pipes.exited or self.pipes.all_read or not is_whole else tuple(bytes(printed).splitlines())

    def end(self) -> Ended:
        """Let it leave: its input is closed, and its process group is ended if it does not leave in time. The exit code is 0, unless it
        had ended before."""
        started, had_ended = time.monotonic(), self._is_gone()
        self.pipes.close_input()
        while not self.pipes.exited and time.monotonic() - started < LEAVE_GRACE:
            self.pipes.wait(LOOK_EVERY)
        _end_group(self.child, self._is_gone)
        self.pipes.close()
        exit_code = _reap(self.child)
        return Ended(
            exit_code if had_ended else 0, Cause.EXITED, "", time.monotonic() - started, _leftover_group(self.child.pid)
        )

    def _is_gone(self) -> bool:
        return self.child.poll() is not None


def _opened(spawn: Spawn) -> Open:
    child = _start(spawn)
    return Open(child, Pipes(child, spawn.stdin, keep_input_open=spawn.conversation is not None))


class _Output:
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


class _Tail:
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


@dataclass(slots=True)
class _Listener:
    """Reads the output of one child until it has ended, and ends it at a limit or on interruption."""

    spawn: Spawn
    child: subprocess.Popen[bytes]
    pipes: Pipes
    sinks: Mapping[Stream, _Output | _Tail]
    cause: Cause = Cause.EXITED
    ending: threading.Thread | None = None
    over_since: float | None = field(default=None, init=False)
    left_since: float | None = field(default=None, init=False)
    """When the conversation came to its end; None: it has not, or there is none."""
    stays: bool = field(default=False, init=False)
    """Whether the conversation came to its end, and the program waits for the next one."""

    def listen(self, started: float, interrupted: Callable[[], bool]) -> Cause:
        try:
            self._listen(started, interrupted)
        except BaseException:
            self._end_now()
            raise
        finally:
            if not self.stays:
                self.pipes.close()
        return self.cause

    def _listen(self, started: float, interrupted: Callable[[], bool]) -> None:
        deadline = _deadline(started, self.spawn.timeout)
        now, next_look = started, started + LOOK_EVERY
        self._converse()
        while not self._is_over(now):
            for stream, chunk in self.pipes.wait(max(0.0, min(next_look, deadline) - now)):
                self.sinks[stream].take(chunk)
                self._end_if_used_up()
            self._converse()
            now = time.monotonic()
            if now >= min(next_look, deadline):
                next_look = now + (LOOK_EVERY if self.ending is None else LOOK_FOR_THE_END_EVERY)
                if self.ending is None and not self.pipes.exited:
                    deadline = self._look(interrupted, started, deadline)
                deadline = deadline if now < deadline else float("inf")

    def _look(self, interrupted: Callable[[], bool], started: float, deadline: float) -> float:
        """End the child if it is interrupted, at its limit or late. Returns the deadline, which `timeout_now` may have moved."""
        if self.left_since is not None:
            if time.monotonic() - self.left_since >= LEAVE_GRACE:
                self._end(Cause.EXITED)
            return deadline
        if interrupted():
            self._end(Cause.INTERRUPTED)
            return deadline
        self._end_if_used_up()
        if self.spawn.timeout_now is not None:
            deadline = _deadline(started, self.spawn.timeout_now())
        if self.ending is None and time.monotonic() >= deadline:
            self._end(Cause.TIMED_OUT)
        self._end_if_silent(started)
        return deadline

    def _converse(self) -> None:
        """Write what the conversation has to say. At its end, close the input, so that the program exits, unless it stays."""
        talk = self.spawn.conversation
        if talk is None or self.left_since is not None:
            return
        self.pipes.send(talk.outgoing())
        if talk.has_ended:
            self.left_since = time.monotonic()
            self.stays = self.spawn.stays and self.ending is None and self.pipes.is_quiet
        if (talk.has_ended and not self.stays) or talk.has_said_all:
            self.pipes.close_input()

    def _end_if_silent(self, started: float) -> None:
        """End a child that opens no session."""
        talk, patience = self.spawn.conversation, self.spawn.open_within
        if talk is None or self.ending is not None or talk.is_open or time.monotonic() - started < patience:
            return
        talk.give_up(patience)
        self._end(Cause.UNANSWERED)

    def _end_if_used_up(self) -> None:
        """End the child as soon as its output says that it is at its limit: it may begin the next message at once."""
        if self.ending is None and not self.pipes.exited and self.spawn.used_up is not None and self.spawn.used_up():
            self._end(Cause.USED_UP)

    def _end(self, cause: Cause) -> None:
        self.cause = cause
        talk = self.spawn.conversation
        if talk is None or talk.has_ended:
            self.pipes.close_input()
        elif not self._is_asked_by_signal:
            talk.interrupt()
            self._converse()
        self.ending = threading.Thread(target=self._end_all, daemon=True)
        self.ending.start()

    @property
    def _is_asked_by_signal(self) -> bool:
        """Whether the program is asked to end by SIGINT: a message to it may come when it has already begun with the next one."""
        return self.spawn.ends_on_sigint and self.cause in (Cause.TIMED_OUT, Cause.USED_UP)

    def _end_all(self) -> None:
        if self.cause is Cause.EXITED:
            _end_group(self.child, lambda: self.pipes.exited)
            return
        talk = self.spawn.conversation
        if self._is_asked_by_signal:
            orphans.interrupt(self.child.pid)
            _wait(lambda: self.pipes.exited, ASK_GRACE)
        elif talk is not None and not talk.has_said_all:
            patience = CANCEL_GRACE if self.cause is Cause.INTERRUPTED else ASK_GRACE
            _wait(lambda: self.pipes.exited or self.left_since is not None, patience)
            if self.cause is not Cause.INTERRUPTED and self.left_since is not None:
                # It may still have to write down what it was asked to end.
                _wait(lambda: self.pipes.exited, LEAVE_GRACE)
        _end_tree(self.spawn, self.child)

    def _is_over(self, now: float) -> bool:
        """Whether the child is gone (with its tree, if it is being ended) and its output is read or `LINGER` has passed."""
        if self.stays:
            return True
        still_there = self.ending.is_alive() if self.ending else not self.pipes.exited
        if still_there:
            return False
        self.over_since = self.over_since or now
        return self.pipes.all_read or now - self.over_since >= LINGER

    def _end_now(self) -> None:
        self.pipes.close_input()
        if self.ending is None:
            _end_tree(self.spawn, self.child)
        else:
            self.ending.join()
        _reap(self.child)


def _deadline(started: float, timeout: float | None) -> float:
    return float("inf") if timeout is None else started + timeout


def _end_tree(spawn: Spawn, child: subprocess.Popen[bytes]) -> None:
    marks = orphans.marks_in(spawn.env) - orphans.marks_in(os.environ)
    orphans.end_marked(marks, groups=frozenset({child.pid}), grace=TERM_GRACE)


def _end_group(child: subprocess.Popen[bytes], is_gone: Callable[[], bool]) -> None:
    """End a program after its last answer, with what is in its process group, and leave alone what it started apart from that."""
    for number, patience in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, LINGER)):
        if not is_gone():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, number)
            _wait(is_gone, patience)


def _wait(is_over: Callable[[], bool], seconds: float) -> None:
    patience = time.monotonic() + seconds
    while not is_over() and time.monotonic() < patience:
        time.sleep(LOOK_FOR_THE_END_EVERY)


def _reap(child: subprocess.Popen[bytes]) -> int:
    try:
        return child.wait(timeout=LINGER)
    except subprocess.TimeoutExpired:
        return -9


def _leftover_group(group: int) -> int | None:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return group
    return group


def _start(spawn: Spawn) -> subprocess.Popen[bytes]:
    try:
        return apart.start(lambda: _popen(spawn), spawn.env)
    except (OSError, ValueError) as error:
        raise _start_error(spawn, error) from error


def _popen(spawn: Spawn) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        spawn.argv,
        bufsize=0,
        stdin=subprocess.DEVNULL if spawn.stdin is None and spawn.conversation is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if spawn.merge_stderr else subprocess.PIPE,
        env=spawn.env,
        cwd=spawn.cwd,
        start_new_session=True,
        pass_fds=spawn.descriptors,
    )


_BOX_FAILED = {1: "bwrap: ", 125: "untildone: ", 126: "untildone: ", 127: "untildone: "}
"""Exit codes of bubblewrap, and of the program in a box that starts the real one, with the beginning of what they then print."""
_ERRNOS = {
    os.strerror(number): number for number in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ENOEXEC)
}


def _raise_if_not_started(spawn: Spawn, beginning: str, errors: str) -> None:
    """Raise if the box, and not the program in it, has failed: then one line that begins so is all that was printed."""
    said = errors.strip()
    if not said.startswith(beginning) or "\n" in said:
        return
    reason, program = said.rpartition(": ")[2], spawn.boxed
    if reason not in _ERRNOS or program not in said:
        told = said.removeprefix(beginning)
        raise BoxNotMade(f"The sandbox cannot be made: {told}.", "try it with: untildone sandbox -- true")
    if _ERRNOS[reason] == errno.ENOENT and _is_runnable(program, spawn):
        raise AgentMissing(f"The sandbox hides the program '{program}'.", "show its folder with --allow-read")
    raise _start_error(spawn, OSError(_ERRNOS[reason], reason))


def _is_runnable(program: str, spawn: Spawn) -> bool:
    """Whether a program exists outside of its box, with the interpreter that its first line names."""
    path = shutil.which(program, path=spawn.env.get("PATH"))
    try:
        with open(path or "", "rb") as file:
            words = file.readline(256).removeprefix(b"#!").split() if path else []
    except OSError:
        return False
    return not words or not words[0].startswith(b"/") or os.path.exists(words[0])


def _start_error(spawn: Spawn, error: OSError | ValueError) -> UntilDoneError:
    program = spawn.boxed or spawn.argv[0]
    if not os.path.isdir(spawn.cwd):
        return UsageError(f"The folder {spawn.cwd} does not exist.", "name an existing folder with --dir")
    if isinstance(error, ValueError):
        return UsageError(f"'{program}' cannot be given a NUL character.", "remove the NUL character from the task")
    match error.errno:
        case errno.ENOENT if os.path.exists(os.path.join(spawn.cwd, program)):
            return AgentMissing(
                f"'{program}' names an interpreter that does not exist.", "look at its first line, or install it again"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return AgentMissing(f"The program '{program}' was not found.", "install it, or put its folder on PATH")
        case errno.EACCES | errno.EPERM:
            return AgentMissing(f"The program '{program}' is not executable.", f"allow it: chmod +x {program}")
        case errno.ENOEXEC:
            return AgentMissing(
                f"'{program}' is not a program for this machine.", "a script starts with a line such as #!/bin/sh"
            )
        case errno.E2BIG:
            return AgentMissing(
                f"The command line or the environment for '{program}' is too long.",
                "shorten the task, put it in a file that the task names, or use an agent that reads standard input",
            )
        case errno.EAGAIN | errno.ENOMEM | errno.EMFILE | errno.ENFILE:
            return ResourcesShort(
                f"The program '{program}' cannot be started: {error.strerror}.", "free memory, processes or open files"
            )
    return AgentMissing(f"The program '{program}' cannot be started: {error.strerror}.", "try to start it by hand")
