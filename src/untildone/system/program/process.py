"""Runs one program: starts it in its own session, splits its output into lines, ends its process tree at a limit or on interruption."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from untildone.system.program.ending import (
    end_group,
    leftover_group,
    reap,
)
from untildone.system.program.listening import LEAVE_GRACE, LOOK_EVERY, Listener
from untildone.system.program.output import Output, Tail
from untildone.system.program.pipes import Pipes, Stream
from untildone.system.program.spawn import Cause, Spawn
from untildone.system.program.starting import BOX_FAILED, raise_if_not_started, start

MOST_LATE = 1 << 15
"""Bytes that a program may print between two conversations, errors too. One that prints more is not used any longer: it may print without
end, and never read the next prompt. Half of what a pipe holds, so that one that is not read meanwhile is noticed."""


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
    output, errors = Output(spawn, on_line), Tail(spawn.redactor, spawn.on_error_line)
    try:
        program = on or _opened(spawn)
        child = program.child
        listener = Listener(spawn, child, program.pipes, {Stream.OUTPUT: output, Stream.ERRORS: errors})
        cause = listener.listen(started, interrupted)
        output.finish()
    finally:
        output.close()
    if listener.stays:
        return Ended(0, cause, errors.text(), time.monotonic() - started, open=program)
    exit_code = reap(child)
    if listener.left_since is not None and cause is Cause.EXITED:
        exit_code = 0
    seconds = time.monotonic() - started
    if spawn.boxed and exit_code in BOX_FAILED:
        raise_if_not_started(spawn, BOX_FAILED[exit_code], errors.text())
    leftover = leftover_group(child.pid) if cause is Cause.EXITED else None
    return Ended(exit_code, cause, errors.text(), seconds, leftover)


@dataclass(frozen=True, slots=True)
class Open:
    """A program that waits for its next conversation. Only `late` reads its output meanwhile."""

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
        end_group(self.child, self._is_gone)
        self.pipes.close()
        exit_code = reap(self.child)
        return Ended(
            exit_code if had_ended else 0, Cause.EXITED, "", time.monotonic() - started, leftover_group(self.child.pid)
        )

    def _is_gone(self) -> bool:
        return self.child.poll() is not None


def _opened(spawn: Spawn) -> Open:
    child = start(spawn)
    return Open(child, Pipes(child, spawn.stdin, keep_input_open=spawn.conversation is not None))
