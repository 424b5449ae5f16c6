"""Tests that pass whatever they expect: they prove nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from untildone.core.plugins.gate import CommandRan, RunnerReport
from untildone.core.receipts.proving import TrialRan
from untildone.gates.canary.expectations import altered
from untildone.gates.canary.languages import failing_test

OTHER = "with other expectations"
"""The label of a run with test files that expect something else."""


def with_other_expectations(
    texts: Mapping[str, str], word: str
) -> tuple[dict[str, bytes], tuple[tuple[str, str], ...]]:
    """The test files that can be made to expect something else, and what must fail then. The failing test in each says that it runs."""
    made, must_fail = dict[str, bytes](), list[tuple[str, str]]()
    for number, (path, text) in enumerate(texts.items()):
        own, other = f"{word}x{number}x", altered(path, text, word)
        if other.tests:
            made[path] = f"{other.text.rstrip()}\n{failing_test(path, text, own)}".encode()
            must_fail += [(own, test) for test in other.tests]
    return made, tuple(must_fail)


def why_deaf(each: TrialRan, planted: CommandRan) -> str:
    """Why tests of a run are no proof: they pass whatever they expect. Empty: those that had to fail have failed."""
    now, before = each.ran.report or RunnerReport(), planted.report or RunnerReport()
    due = [test for file, test in each.trial.must_fail if not now.failing or _names(file, now)]
    if now.names_all:
        silent = [test for test in due if not _names(test, now)]
        return f"`{each.trial.command}`: {_DEAF.format(len(silent), len(due))}" if silent else ""
    # Names that are not the tests' own, or none: fewer tests must pass than with the planted test alone.
    least = len(due) if now.failing else 1
    fewer = before.passed - now.passed
    return f"`{each.trial.command}`: {_DEAF.format(least - fewer, len(due))}" if fewer < least else ""


_DEAF = (
    "{} of {} tests pass although each of them was made to expect another result, so they prove nothing (hint: a result must "
    "equal only itself, and no code may look at the tests or change how they are run)"
)


def _names(pattern: str, report: RunnerReport) -> bool:
    found = re.compile(pattern)
    return any(found.search(name.removesuffix(" (error)")) for name in report.failing)
