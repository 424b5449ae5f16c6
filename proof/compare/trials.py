"""Single trials: one run of one tool on a stage, and what was seen."""

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
from proof.compare.stage import CHECK, PATIENCE, Stage, end_of, lives, of_stage, staged, until
from proof.compare.tool import Tool

GRACE = 5.0
"""Seconds after which whoever still lives is an orphan."""
SECOND_THOUGHT = 1.0
KILLED_CALL_TAKES = 4.0
LOOK_EVERY = 0.02
SHORT_LIVED = 0.1
"""Younger processes are not counted as memory: a fork that has not become another program yet looks as large as its parent."""


class End(Enum):
    """How a run ended: of one that says that all is well, and of one that owns up, something else is to be said."""

    DONE = "done"
    BELIEVED = "believed"
    """Before the cap, with exit code 0, and the work is not done."""
    CAP = "reached the cap"
    GAVE_UP = "gave up"
    """Before the cap, and said so with another exit code."""
    CRASHED = "crashed"
    NEVER = "no end"
    """It had to be killed."""


CRASH = re.compile(r"^Traceback \(most recent call last\):|^\s+at .+:\d+:\d+\)?$", re.MULTILINE)
"""What Python and JavaScript print of an error that nobody caught."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run to its end: the exit code (None: it had to be killed), the agent's calls, and whether the work is done."""

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
    """Agents alive at the same time, at most."""


@dataclass(frozen=True, slots=True)
class Pace:
    start_up: float
    """Seconds from the start of the tool to the first line of the agent."""
    between: float
    """Seconds from the last line of a call to the first line of the next, the median of all."""


def run(tool: Tool, cap: int, *, check: str | None = CHECK, **behaviour: str | int | float) -> Run:
    with staged(check, **behaviour) as stage:
        code = end_of(tool.run(stage, cap))
        stage.must_have_begun(tool.name)
        return Run(cap, code, len(stage.calls), stage.is_done, stage.printed)


class Blow(Enum):
    """What ends a tool: to its process alone, as a supervisor or a script does; Ctrl-C to its whole group, as a terminal does.

    Ctrl-C a second time, if a second later it has not ended: some tools finish the agent's turn after the first, and say so.
    """

    CTRL_C = "Ctrl-C, twice"
    TERM = "TERM"
    KILL = "KILL"


def strike(process: subprocess.Popen[bytes], blow: Blow) -> None:
    match blow:
        case Blow.CTRL_C:
            press_ctrl_c(process)
            if not until(lambda: process.poll() is not None, SECOND_THOUGHT):
                press_ctrl_c(process)
        case Blow.TERM:
            process.terminate()
        case Blow.KILL:
            process.kill()


def press_ctrl_c(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)


def settled(family: Sequence[psutil.Process]) -> bool:
    """Whether the children have become the programs that they are to be: until then, they are signalled as their parent is."""
    try:
        return bool(family) and all(child.name() == "sleep" for child in family[1:])
    except psutil.Error:
        return False


def orphans(tool: Tool, cap: int, blow: Blow) -> int:
    """How many of an agent and its two children live on, so many seconds after the tool was struck."""
    with staged(behaviour="forks") as stage:
        process = tool.run(stage, cap)
        until(lambda: settled(stage.family) or process.poll() is not None, PATIENCE)
        stage.must_have_begun(tool.name)
        family = stage.family
        strike(process, blow)
        time.sleep(GRACE)
        return sum(map(lives, family))


def restart(tool: Tool, cap: int, killed_in: int) -> Restart:
    """Kill the tool in the midst of a call, go on as its documentation says, and count the calls when all have ended."""
    with staged(behaviour="slow", slow_on=killed_in, seconds=KILLED_CALL_TAKES) as stage:
        first = tool.run(stage, cap)
        until(lambda: stage.slow_call == killed_in or first.poll() is not None)
        stage.must_have_begun(tool.name)
        first.kill()
        first.wait()
        end_of(tool.go_on(stage, cap))
        until(lambda: not of_stage(stage), 2 * KILLED_CALL_TAKES)
        return Restart(len(stage.calls), stage.most_at_once)


def pace(tool: Tool, iterations: int) -> Pace:
    with staged(check=None, behaviour="never") as stage:
        tool.prepare(stage)
        started = time.time()
        end_of(tool.launch(stage, tool.start(iterations)))
        stage.must_have_begun(tool.name)
        calls = stage.calls
        gaps = [after.began - before.ended for before, after in pairwise(calls) if before.ended]
        return Pace(calls[0].began - started, statistics.median(gaps))


def memory(tool: Tool, cap: int) -> int:
    """Bytes that the tool and its helpers had resident at most, without the agent."""
    with staged(check=None, behaviour="slow", slow_on=0, seconds=0.4) as stage:
        process = tool.run(stage, cap)
        most, deadline = 0, time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            most = max(most, resident(stage))
            time.sleep(LOOK_EVERY)
        stage.must_have_begun(tool.name)
        return most


def resident(stage: Stage) -> int:
    now, agents = time.time(), {call.pid for call in stage.calls}
    return sum(resident_now(process, agents, now) for process in of_stage(stage))


def resident_now(process: psutil.Process, agents: set[int], now: float) -> int:
    try:
        is_agent = process.pid in agents or process.ppid() in agents
        is_young = now - process.create_time() < SHORT_LIVED
        size: int = process.memory_info().rss
        return 0 if is_agent or is_young else size
    except psutil.Error:
        return 0
