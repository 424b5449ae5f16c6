"""Proofs: how long the baseline and `red_first` take compared with one run of the check, and whether mutants keep to their time."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from figures import Row, figure

from untildone.core.actions import RunCommand, RunTrials
from untildone.core.events import WorkspaceSeen
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, GateResult, LoopSettings
from untildone.core.plugins.gate import CommandRan
from untildone.core.receipts.proving import TrialsRan
from untildone.core.values.value import replace
from untildone.engine.verdicts import gating, judging, loop_rooms
from untildone.gates import baseline, gate_of
from untildone.system.box import sandbox
from untildone.workspace.look import Workspace

GOAL = 2.2
"""Baseline and red first together, in runs of the check."""
SECONDS = 2.0
"""What the check takes, besides its tests."""
ONE = "one run of the check"
LATE = 2.0
"""Seconds within which trials end that run when their time is over."""
TEST = """\
import unittest
from calc import {name}


class Test(unittest.TestCase):
    def test_it(self):
        self.assertEqual({name}(2), 4)
"""
FUNCTION = "def {name}(a):\n    return a {sign} 2\n\n\n"


def rows(*, quick: bool) -> Iterator[Row]:
    if problem := sandbox.problem():
        raise SystemExit(str(problem))
    with _stage(0.2 if quick else SECONDS) as stage:
        yield from _both(stage, times=1 if quick else 5)
        for allowed in (1.0,) if quick else (3.0, 6.0):
            yield _mutants(stage, allowed)


class Stage:
    """A project whose agent has done its work and added a test."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.check = f"sleep {seconds} && {sys.executable} -m unittest"
        folder.mkdir()
        calc = folder / "calc.py"
        calc.write_text(FUNCTION.format(name="double", sign="-"))
        (folder / "test_calc.py").write_text(TEST.format(name="double"))
        self._workspace = Workspace(str(folder), "loop-bench")
        settings = LoopSettings("ralph", AgentChoice("command", "command"), str(folder), checks=(self.check,))
        loop = Loop("loop-bench", "bench", "bench", settings, Budget(), time.time(), time.time())
        seen = loop_rooms.recorded(WorkspaceSeen(self._workspace.look()), loop, self._workspace)
        loop = replace(loop, start=seen.changes, start_record=seen.record, start_programs=seen.programs)
        self.begun = replace(loop, changes=loop.start)
        calc.write_text("".join(FUNCTION.format(name=name, sign="*") for name in ("double", *_names())))
        (folder / "test_more.py").write_text(TEST.format(name="double_0"))
        self.claimed = replace(loop, changes=self._workspace.look(loop.start))

    def checked(self) -> tuple[Loop, float]:
        """The loop with the result of its check, and the seconds that the check took with its room."""
        started = time.monotonic()
        found = self._judge(self.claimed).findings([RunCommand(self.check, 600)], lambda _: None, lambda: False) or {}
        took, ran = time.monotonic() - started, found[self.check]
        return replace(self.claimed, gates=(_passed(self.check, ran),)), took

    def proved(self, loop: Loop, name: str, seconds: float = 600.0) -> tuple[TrialsRan, float]:
        """What the trials of a proof say, and the seconds that they took with their rooms."""
        started = time.monotonic()
        gate = gate_of(loop.settings, name)
        assert gate is not None
        found = self._judge(loop).prove(gate, RunTrials(name, 600.0, seconds), lambda *_: None, lambda: False)
        if found is None or found.problem:
            raise SystemExit(f"The proof could not run: {found}")
        return found, time.monotonic() - started

    def _judge(self, loop: Loop) -> judging.Judge:
        return judging.Judge(loop, self._workspace, (), gating.Room(self._workspace.path, os.environ, lambda: False))


def _names() -> list[str]:
    return [f"double_{number}" for number in range(12)]


def _passed(command: str, ran: CommandRan) -> GateResult:
    if ran.exit_code != 0 or ran.report is None:
        raise SystemExit(f"The check failed: {ran.tail}")
    return GateResult("check", command, passed=True, tests=ran.report.words, seconds=ran.seconds)


@contextmanager
def _stage(seconds: float) -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="prove-", dir="/var/tmp"))
    try:
        yield Stage(folder / "work", seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _both(stage: Stage, times: int) -> Iterator[Row]:
    once, runs, both = [], [], []
    for _ in range(times):
        before, first = stage.proved(stage.begun, "baseline")
        loop, _ = stage.checked()
        loop = replace(loop, baseline=baseline.measured(stage.begun, before))
        after, second = stage.proved(loop, "red_first")
        once.append(loop.gates[0].seconds)
        runs.append(sum(each.ran.seconds for each in (*before.runs, *after.runs)))
        both.append(first + second)
    what, one = "baseline and red first", figure(once, "s")
    yield Row(f"{what}: their runs of the check", figure(runs, "s"), ONE, one, GOAL)
    # As everywhere, what is waited for on a busy machine takes many times as long: rooms are made of many short programs.
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    note = "not judged: the machine is busy" if busy else ""
    yield Row(f"{what}, with their rooms", figure(both, "s"), ONE, one, None if busy else GOAL, note=note)


def _mutants(stage: Stage, allowed: float) -> Row:
    loop, _ = stage.checked()
    found, took = stage.proved(loop, "mutants", allowed)
    note = f"{len(found.runs)} of {found.planned} trials ran"
    return Row(f"mutants that may take {allowed:g} s", figure([took], "s"), limit=allowed + LATE, note=note)


if __name__ == "__main__":
    for row in rows(quick=True):
        print(row)
