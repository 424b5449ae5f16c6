"""Single trials: one run of one tool in a sandbox, and its result."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import psutil
from proof.compare.sandbox import CHECK, PATIENCE, Sandbox, exit_code_of, lives, new_sandbox, processes_in, until
from proof.compare.tool import Tool

GRACE = 5.0
"""Seconds after which a living process counts as an orphan."""
SECOND_CTRL_C = 1.0
KILLED_CALL_TAKES = 4.0
SAMPLE_EVERY = 0.02
SHORT_LIVED = 0.1
"""Age in seconds below which processes are not counted: a fork before exec looks as large as its parent."""


class End(Enum):
    """How a run ended."""

    DONE = "done"
    BELIEVED = "believed"
    """Ended before the cap with exit code 0, but the work is not done."""
    CAP = "reached the cap"
    GAVE_UP = "gave up"
    """Ended before the cap with another exit code."""
    CRASHED = "crashed"
    NEVER = "no end"
    """Was killed on timeout."""


CRASH = re.compile(r"^Traceback \(most recent call last\):|^\s+at .+:\d+:\d+\)?$", re.MULTILINE)
"""The traceback that Python and JavaScript print for an uncaught error."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run: exit code (None if killed on timeout), number of agent calls, and whether the work is done."""

    cap: int
    code: int | None
    calls: int
    is_done: bool
    printed: str = ""

    @property
    def end(self) -> End:
        if self.code is None:
            return End.NEVER
        if self.code < 0 or (self.code and CRASH.search(self.printed)):
            return End.CRASHED
        if self.is_done:
            return End.DONE
        if self.calls >= self.cap:
            return End.CAP
        return End.GAVE_UP if self.code else End.BELIEVED


@dataclass(frozen=True, slots=True)
class Restart:
    calls: int
    at_once: int
    """The highest number of agents running at the same time."""


@dataclass(frozen=True, slots=True)
class Pace:
    start_up: float
    """Seconds from the start of the tool to the first agent call."""
    between: float
    """Median seconds from the end of a call to the start of the next."""


def run(tool: Tool, cap: int, *, check: str | None = CHECK, **behaviour: str | int | float) -> Run:
    with new_sandbox(check, **behaviour) as sandbox:
        code = exit_code_of(tool.run(sandbox, cap))
        sandbox.require_calls(tool.name)
        return Run(cap, code, len(sandbox.calls), sandbox.is_done, sandbox.printed)


class EndMethod(Enum):
    """How a tool is ended. TERM and KILL go to its process only; Ctrl-C goes to its process group, as from a terminal.

    Ctrl-C is repeated after a second, because some tools finish the agent's turn after the first one.
    """

    CTRL_C = "Ctrl-C, twice"
    TERM = "TERM"
    KILL = "KILL"


def send(process: subprocess.Popen[bytes], method: EndMethod) -> None:
    match method:
        case EndMethod.CTRL_C:
            press_ctrl_c(process)
            if not until(lambda: process.poll() is not None, SECOND_CTRL_C):
                press_ctrl_c(process)
        case EndMethod.TERM:
            process.terminate()
        case EndMethod.KILL:
            process.kill()


def press_ctrl_c(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)


def children_started(family: Sequence[psutil.Process]) -> bool:
    """Whether the children have executed their programs: before that they handle signals like their parent."""
    try:
        return bool(family) and all(child.name() == "sleep" for child in family[1:])
    except psutil.Error:
        return False


def orphans(tool: Tool, cap: int, method: EndMethod) -> int:
    """How many of an agent and its two children still run GRACE seconds after the signal."""
    with new_sandbox(behaviour="forks") as sandbox:
        process = tool.run(sandbox, cap)
        until(lambda: children_started(sandbox.family) or process.poll() is not None, PATIENCE)
        sandbox.require_calls(tool.name)
        family = sandbox.family
        send(process, method)
        until(lambda: not any(map(lives, family)), GRACE)
        return sum(map(lives, family))


def restart(tool: Tool, cap: int, killed_in: int) -> Restart:
    """Kill the tool during a call, restart it as documented, and count the calls at the end."""
    with new_sandbox(behaviour="slow", slow_on=killed_in, seconds=KILLED_CALL_TAKES) as sandbox:
        first = tool.run(sandbox, cap)
        until(lambda: sandbox.slow_call == killed_in or first.poll() is not None)
        sandbox.require_calls(tool.name)
        first.kill()
        first.wait()
        exit_code_of(tool.restart(sandbox, cap))
        until(lambda: not processes_in(sandbox), 2 * KILLED_CALL_TAKES)
        return Restart(len(sandbox.calls), sandbox.most_at_once)


def pace(tool: Tool, iterations: int) -> Pace:
    with new_sandbox(check=None, behaviour="never") as sandbox:
        tool.prepare(sandbox)
        started = time.time()
        exit_code_of(tool.launch(sandbox, tool.start(iterations)))
        sandbox.require_calls(tool.name)
        calls = sandbox.calls
        gaps = [after.began - before.ended for before, after in pairwise(calls) if before.ended]
        return Pace(calls[0].began - started, statistics.median(gaps))


def memory(tool: Tool, cap: int) -> int:
    """Peak resident memory of the tool and its helpers in bytes, without the agent."""
    with new_sandbox(check=None, behaviour="slow", slow_on=0, seconds=0.4) as sandbox:
        process = tool.run(sandbox, cap)
        most, deadline = 0, time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            most = max(most, resident(sandbox))
            time.sleep(SAMPLE_EVERY)
        sandbox.require_calls(tool.name)
        return most


def resident(sandbox: Sandbox) -> int:
    now, agents = time.time(), {call.pid for call in sandbox.calls}
    return sum(resident_now(process, agents, now) for process in processes_in(sandbox))


def resident_now(process: psutil.Process, agents: set[int], now: float) -> int:
    try:
        is_agent = process.pid in agents or process.ppid() in agents
        is_young = now - process.create_time() < SHORT_LIVED
        size: int = process.memory_info().rss
        return 0 if is_agent or is_young else size
    except psutil.Error:
        return 0
