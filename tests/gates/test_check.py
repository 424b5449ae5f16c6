"""The gate `check`: why a command fails."""

from __future__ import annotations

import pytest

from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.gates.check import why_failed

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
