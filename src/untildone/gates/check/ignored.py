"""Failures that were there before a loop began and do not block its claims (`--ignore-failing`)."""

from __future__ import annotations

from collections.abc import Collection

from untildone.core.judging.wording import names
from untildone.core.loop import Loop
from untildone.core.model import Measured
from untildone.core.plugins.gate import CommandEnd, CommandRan
from untildone.core.receipts.proving import IGNORE_FAILING
from untildone.core.values.value import replace

FAILED_TESTS = (1, 100, 101)
"""The exit codes with which the runners say that tests failed, and nothing else."""


def known(loop: Loop, command: str) -> Measured | None:
    """What the check said before any work, if tests that failed then may fail at a claim; else None."""
    if not loop.settings.options.get(IGNORE_FAILING):
        return None
    return next((each for each in loop.baseline if each.command == command and each.failing), None)


def without(ran: CommandRan, failing: Collection[str], passed: int = 1) -> CommandRan:
    """The run as if these tests had not failed. It stays as it is if another one failed, if a failed test has no name, or if
    fewer than `passed` tests passed: then some did not run. They count neither now nor at the start."""
    report = ran.report
    if ran.end is not CommandEnd.EXITED or ran.exit_code not in FAILED_TESTS or report is None or not report.failed:
        return ran
    if not report.names_all or report.failed_before or report.passed < max(1, passed):
        return ran
    if not set(report.failing) <= set(failing):
        return ran
    before = ran.at_start and replace(ran.at_start, failed=max(0, ran.at_start.failed - report.failed))
    return replace(ran, exit_code=0, report=replace(report, failed=0, failing=()), at_start=before)


def of_claim(ran: CommandRan, before: Measured | None) -> CommandRan:
    """Both runs of a check without the failures of the start."""
    if before is None:
        return ran
    again = None if ran.as_changed is None else without(ran.as_changed, before.failing, before.passed)
    return replace(without(ran, before.failing, before.passed), as_changed=again)


def ignored(ran: CommandRan, before: Measured | None) -> tuple[str, ...]:
    """The failures of a run that were ignored."""
    report = ran.report
    return report.failing if before and report and of_claim(ran, before).report != report else ()


def why_new(ran: CommandRan, before: Measured | None) -> str:
    """A sentence about the newly failing tests, for a check in which known failures are ignored; empty: they cannot be determined."""
    if before is None or ran.report is None:
        return ""
    new = sorted(set(ran.report.failing) - set(before.failing))
    return f"{names(tuple(new))} did not fail when the loop began" if new else ""
