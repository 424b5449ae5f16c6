"""Runs the commands of gates and collects the results. The gates themselves judge."""

from __future__ import annotations

import hashlib
import signal
from collections import deque
from collections.abc import Callable, Mapping

from untildone.core.actions import AskSupervisor, GateStep, InspectWorkspace, RunCommand, RunTrials
from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.gate import CommandEnd, CommandRan, Gate, WorkspaceFacts
from untildone.core.protection.secrets import Redactor
from untildone.core.values.hints import assert_never
from untildone.core.values.value import dataclass
from untildone.system.program import process
from untildone.system.program.process import Ended
from untildone.system.program.spawn import Cause, Spawn

TAIL_LINES = 80
TAIL_BYTES = 8 * 1024
SHORTEST = 0.5
"""With less time left than this, in seconds, no command is started."""
# A shell reports "killed by signal 9" as exit code 137. Programs use the codes of other signals for ends of their own.
_FATAL = frozenset({"SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV", "SIGTERM"})
_ENDS = {
    Cause.EXITED: CommandEnd.EXITED,
    Cause.TIMED_OUT: CommandEnd.TIMED_OUT,
    Cause.INTERRUPTED: CommandEnd.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Room:
    """Where and how the commands of gates run."""

    folder: str
    environment: Mapping[str, str]
    interrupted: Callable[[], bool]
    """Called while a command runs; True ends the command."""
    redactor: Redactor | None = None
    groups: set[int] | None = None
    """Collects the process groups of processes that outlive their command."""
    time_left: Callable[[], float] | None = None
    """The seconds until the deadline of the host; None: it has none."""
    argv: Callable[[str], tuple[str, ...]] = lambda command: ("/bin/sh", "-c", command)
    """The command line that runs a shell command."""
    launcher: tuple[str, ...] = ()
    """A program with its arguments that starts every command line, outside of boxes and rooms: see `system.keeper`."""
    left_out: frozenset[str] = frozenset()
    """Variables of the person that commands do not get."""


def run_step(
    gate: Gate, step: GateStep, loop: Loop, findings: Mapping[str, CommandRan], signs: tuple[str, ...] = ()
) -> GateResult:
    """The gate's verdict on one of its steps. `findings` are the results of commands, `signs` the tampering report."""
    match step.need:
        case RunCommand():
            return gate.judge(loop, step, findings[step.command])
        case InspectWorkspace():
            return gate.judge(loop, step, WorkspaceFacts(loop.start, loop.changes, signs))
        case AskSupervisor() | RunTrials():
            raise ValueError("a question to the supervisor is a turn, and a proof has trials: neither is a step to run")
        case _:
            assert_never(step.need)


def run_command(need: RunCommand, room: Room) -> CommandRan:
    """Run the command with a shell in the room, within its timeout and the time that the host has left."""
    left = None if room.time_left is None else round(room.time_left(), 1)
    if left is not None and left < SHORTEST:
        return CommandRan(CommandEnd.NOT_STARTED, problem="there was no time left for it in the stop hook")
    timeout = need.timeout if left is None else min(need.timeout, left)
    spawn = Spawn(
        (*room.launcher, *room.argv(need.command)),
        room.environment,
        room.folder,
        timeout=timeout,
        merge_stderr=True,
        redactor=room.redactor,
    )
    output = _Output(need.command)
    try:
        ended = process.run(spawn, output.take, room.interrupted)
    except UntilDoneError as error:
        problem = f"could not be started: {error.sentence.rstrip('.')}"
        return CommandRan(CommandEnd.NOT_STARTED, problem=problem)
    if room.groups is not None and ended.leftover_group is not None:
        room.groups.add(ended.leftover_group)
    hurried = left is not None and left < need.timeout and ended.cause is Cause.TIMED_OUT
    problem = f"did not finish within the {left:g} s that the stop hook had left" if hurried else ""
    return output.ran(ended, problem)


class _Output:
    """Keeps a bounded part of a command's output: its tail, its hash, and what test runners report in it."""

    def __init__(self, command: str) -> None:
        from untildone.gates.check.runners import Reading  # only a claim needs its tables

        self._hash = hashlib.sha256()
        self._last: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._reading = Reading(command)

    def take(self, line: bytes) -> None:
        self._hash.update(line + b"\n")
        self._last.append(line[-TAIL_BYTES:])
        self._reading.feed(line.decode(errors="replace"))

    def ran(self, ended: Ended, problem: str) -> CommandRan:
        return CommandRan(
            end=_ENDS[ended.cause],
            exit_code=ended.exit_code,
            killed_by=_killing_signal(ended.exit_code),
            seconds=ended.seconds,
            tail=b"\n".join(self._last)[-TAIL_BYTES:].decode(errors="replace"),
            output_sha256=self._hash.hexdigest(),
            report=self._reading.report,
            problem=problem,
        )


def _killing_signal(exit_code: int) -> int | None:
    """The signal that killed the command or the program inside its shell; None: it exited by itself."""
    if exit_code < 0:
        return -exit_code
    fatal = {number.value for number in signal.Signals if number.name in _FATAL}
    return exit_code - 128 if exit_code - 128 in fatal else None
