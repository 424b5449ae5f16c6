"""The gate `check`: why a command fails."""

from __future__ import annotations

import pytest

from untildone.core.apply import apply
from untildone.core.events import BaselineRan, Entry, FailuresExplained
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, Measured
from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.core.values.value import replace
from untildone.gates import baseline
from untildone.gates.check import GATE, ignored, why_failed

NONE = RunnerReport(runners=("pytest",))
PASSED = RunnerReport(runners=("pytest",), passed=3)
FAILED = RunnerReport(runners=("pytest",), passed=3, failed=2, skipped=1)
SILENT = RunnerReport(missing="pytest printed no summary: no sign that tests ran")


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        (CommandRan(CommandEnd.EXITED, 0), ""),
        (CommandRan(CommandEnd.EXITED, 0, report=PASSED), ""),
        (CommandRan(CommandEnd.EXITED, 0, report=RunnerReport(("pytest",), xpassed=1)), ""),
        (CommandRan(CommandEnd.EXITED, 2), "exit code 2"),
        (CommandRan(CommandEnd.EXITED, 1, report=PASSED), "exit code 1"),
        (CommandRan(CommandEnd.EXITED, 1, report=FAILED), "exit code 1"),
        (CommandRan(CommandEnd.EXITED, 2, report=SILENT), "exit code 2"),
        (CommandRan(CommandEnd.EXITED, 5, report=NONE), "ran no test"),
        (CommandRan(CommandEnd.EXITED, 0, report=NONE), "ran no test"),
        (CommandRan(CommandEnd.EXITED, 0, report=RunnerReport(("pytest",), skipped=2)), "ran no test: 2 skipped"),
        (
            CommandRan(CommandEnd.EXITED, 0, report=RunnerReport(("pytest",), xfailed=6)),
            "ran no test: 6 expected to fail",
        ),
        (
            CommandRan(CommandEnd.EXITED, 0, report=FAILED),
            "the exit code is 0, but pytest reports 2 failed, 3 passed, 1 skipped",
        ),
        (CommandRan(CommandEnd.EXITED, 0, report=SILENT), "pytest printed no summary: no sign that tests ran"),
        (
            CommandRan(CommandEnd.EXITED, 0, report=RunnerReport(("cargo",), passed=2, unfinished=4)),
            "cargo announced tests without a result: 4",
        ),
        (CommandRan(CommandEnd.EXITED, 137, killed_by=9), "killed by signal 9"),
        (CommandRan(CommandEnd.TIMED_OUT, -15), "timed out after 5 s"),
        (CommandRan(CommandEnd.TIMED_OUT, -15, problem="the host had 2 s left"), "the host had 2 s left"),
        (CommandRan(CommandEnd.INTERRUPTED, -15), "interrupted"),
        (
            CommandRan(CommandEnd.NOT_STARTED, problem="could not be started: no shell"),
            "could not be started: no shell",
        ),
    ],
)
def test_a_failure_has_a_reason_and_success_has_none(ran: CommandRan, reason: str) -> None:
    assert why_failed(ran, timeout=5) == reason


KNOWN = Measured("pytest -q", "exit code 1", passed=3, failing=("old", "older"))


@pytest.mark.parametrize(
    ("failing", "failed", "passed", "exit_code", "holds"),
    [
        (("old", "older"), 2, 3, 1, True),
        (("old",), 1, 4, 1, True),
        (("old", "new"), 2, 3, 1, False),
        (("old",), 2, 3, 1, False),
        (("old",), 1, 2, 1, False),
        (("old",), 1, 3, 2, False),
    ],
    ids=["the same fail", "one was fixed", "a new one fails", "one has no name", "fewer pass", "not for tests only"],
)
def test_only_failures_of_the_start_are_ignored(
    failing: tuple[str, ...], failed: int, passed: int, exit_code: int, holds: bool
) -> None:
    report = RunnerReport(("pytest",), passed, failed, failing=failing)
    options = {"ignore_failing": True}
    settings = LoopSettings(
        mode="ralph",
        worker=AgentChoice("x", "command"),
        workspace="/w",
        checks=("pytest -q",),
        options=options,
    )
    loop = Loop("loop-x", "x", "x", settings, Budget(), 0.0, 0.0)
    ran = CommandRan(CommandEnd.EXITED, exit_code, report=report)
    step = GATE.steps(loop)[0]
    result = GATE.judge(replace(loop, baseline=(KNOWN,)), step, ran)
    assert (result.passed, result.failing) == (holds, failing if holds else ())
    assert not GATE.judge(loop, step, ran).passed
    if "new" in failing:
        assert result.reason == "exit code 1; new did not fail when the loop began"


@pytest.mark.parametrize(("skipped", "holds"), [(0, True), (1, False)])
def test_ignored_failures_count_neither_now_nor_at_the_start(skipped: int, holds: bool) -> None:
    report = RunnerReport(("pytest",), passed=4 - skipped, failed=1, skipped=skipped, failing=("old",))
    at_start = RunnerReport(("pytest",), passed=3, failed=2, failing=("old", "older"))
    ran = CommandRan(CommandEnd.EXITED, 1, report=report, at_start=at_start, may_hide=("calc.py",))
    assert (not why_failed(ignored.of_claim(ran, KNOWN), 60)) is holds


@pytest.mark.parametrize("answer", [True, False])
def test_what_a_person_says_of_old_failures_counts_and_is_asked_once(answer: bool) -> None:
    settings = LoopSettings("ralph", AgentChoice("scripted", "scripted"), "", checks=("pytest -q",))
    loop = Loop("loop-1", "A job", "A job", settings, Budget(), 0.0, 0.0)
    assert baseline.question(loop) is None
    loop = apply(loop, Entry(1, 0.0, BaselineRan((KNOWN,))))
    question = baseline.question(loop)
    assert question is not None
    assert question.choices == (baseline.FIX, baseline.IGNORE)
    assert ignored.known(loop, "pytest -q") is None
    loop = apply(loop, Entry(2, 0.0, FailuresExplained(ignored=answer)))
    assert loop.failures_explained
    assert (ignored.known(loop, "pytest -q") is not None) is answer
    assert ("may fail at the end" in loop.baseline[0].sentence) is answer
    unnamed = apply(loop, Entry(3, 0.0, BaselineRan((replace(KNOWN, failing=()),))))
    assert baseline.question(unnamed) is None
