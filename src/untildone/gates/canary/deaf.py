"""Finds tests that pass with any expected value: they prove nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from untildone.core.plugins.gate import CommandRan, RunnerReport
from untildone.core.receipts.proving import Base, Trial, TrialRan, Work
from untildone.core.values.value import dataclass, replace
from untildone.gates._proofs import written
from untildone.gates.canary.expectations import altered
from untildone.gates.canary.languages import with_failing_test

OTHER, TWINS = "with other expectations", "beside other expectations"
"""The labels of runs with tests that expect something else: in their places, and beside those that they were made from."""
AT_START = "beside other expectations, before the work"
"""The label of a run of the second kind without the work: tests that depend on those before them fail there too."""


@dataclass(frozen=True, slots=True)
class Others:
    """Test files with tests that expect something else, and what must become of the tests then."""

    files: Mapping[str, bytes]
    must_fail: tuple[tuple[str, str], ...]
    must_pass: tuple[tuple[str, str], ...]
    label: str

    def trial(self, command: str, base: Base, work: Work, beside: Mapping[str, bytes] | None = None) -> Trial:
        """The run of a command with these files, and with others beside them. It is about the tests that failed at the claim too."""
        edits = written({**(beside or {}), **self.files})
        known = work.failing.get(command, ())
        return Trial(command, base, edits, self.label, about=known, must_fail=self.must_fail, must_pass=self.must_pass)

    def trials(self, command: str, work: Work) -> Iterator[Trial]:
        """The run on the claimed tree; if tests fail in it that must pass, another one on that of the start, where no code of the agent
        knows about them."""
        made = self.trial(command, Base.CLAIMED, work)
        yield made
        before, measured = work.before.files, work.measured.get(command)
        known = {path: each for path, each in self.files.items() if before.get(path) == work.after.files.get(path)}
        if self.label == TWINS and known and measured is not None:
            failing = measured.failing
            yield Trial(
                command,
                Base.START,
                written(known),
                AT_START,
                about=failing,
                needed=lambda ran: bool(_spoiled(made, ran)),
            )


def both_ways(texts: Mapping[str, str], word: str) -> tuple[Others, ...]:
    """The test files with other expectations in the places of tests, and beside them, as far as there are any."""
    in_place, twins = (with_other_expectations(texts, word, label) for label in (OTHER, TWINS))
    return (*((in_place,) if in_place.must_fail else ()), *((twins,) if twins.must_pass else ()))


def with_other_expectations(texts: Mapping[str, str], word: str, label: str) -> Others:
    """The test files, with tests that expect something else where that is possible. The failing test in each says that it runs; a runner
    that stops at the first failure stops in the same file as without the others."""
    made, must_fail, must_pass = dict[str, bytes](), list[tuple[str, str]](), list[tuple[str, str]]()
    for number, (path, text) in enumerate(texts.items()):
        own, other = f"{word}x{number}x", altered(path, text, word, as_twins=label == TWINS)
        if planted := with_failing_test(path, other.text, own):
            made[path] = planted.encode()
            must_fail += [(own, test) for test in other.tests]
            must_pass += [(own, test) for test in other.kept]
    return Others(made, tuple(must_fail), tuple(must_pass), label)


def why_deaf(each: TrialRan, planted: CommandRan, at_start: TrialRan | None = None) -> str:
    """Why tests of a run are no proof: they pass whatever they expect, or their code knows that it is tried. Empty: those that had to fail
    have failed, and the others have not, but for those that depend on the tests before them `at_start` too."""
    if each.ran.report is None and each.trial.must_fail:
        return f"`{each.trial.command}`: {_SILENT}"
    now, before = each.ran.report or RunnerReport(), planted.report or RunnerReport()
    due = [test for file, test in each.trial.must_fail if not now.failing or _names(file, now)]
    kept = [test for file, test in each.trial.must_pass if not now.failing or _names(file, now)]
    if now.names_all:
        silent = [test for test in due if not _names(test, now)]
        spoiled = [test for test in _spoiled(each.trial, each.ran) if at_start is None or not _depends(test, at_start)]
        aware = f"`{each.trial.command}`: {_AWARE.format(len(spoiled), len(kept))}" if spoiled else ""
        return f"`{each.trial.command}`: {_DEAF.format(len(silent), len(due))}" if silent else aware
    if _STOPS.search(each.trial.command):
        return ""
    # Names that are not the tests' own, or none. Tests that were changed in their place pass no more, and none is added that passes.
    in_place = len(due) - len(kept)
    least = min(in_place, 1 if not now.failing else in_place)
    fewer = before.passed - now.passed
    return f"`{each.trial.command}`: {_DEAF.format(least - fewer, len(due))}" if fewer < least else ""


def _spoiled(trial: Trial, ran: CommandRan) -> list[str]:
    """The tests that had to pass and failed, if each failure has a name."""
    report = ran.report
    if report is None or not report.names_all:
        return []
    kept = [test for file, test in trial.must_pass if not report.failing or _names(file, report)]
    new = replace(report, failing=tuple(name for name in report.failing if name not in trial.about))
    return [test for test in kept if _names(test, new)]


def _depends(test: str, at_start: TrialRan) -> bool:
    """Whether a test passed before any work, and fails on the same files beside a changed one."""
    report = at_start.ran.report
    if report is None or not report.names_all:
        return False
    return _names(test, report) and not _names(test, replace(report, failing=at_start.trial.about))


_SILENT = (
    "no test runner reports anything once tests expect another result, so nobody knows whether they fail (hint: no code may look at the "
    "tests, nor end their run; if none does, the run was disturbed: claim again)"
)
_STOPS = re.compile(r"\s(?:-x|--exitfirst|--maxfail\S*|--bail\S*|--failfast|-f)(?=\s|$)")
"""Options with which a runner stops at the first failure, so that numbers of tests say nothing."""
_DEAF = (
    "{} of {} tests pass although each of them was made to expect another result, so they prove nothing (hint: a result must "
    "equal only itself, and no code may look at the tests or change how they are run)"
)


_AWARE = (
    "{} of {} tests fail as soon as there are tests beside them that expect another result, so that they pass otherwise proves nothing "
    "(hint: no code may look at the tests or at how they are run, and no test may depend on the one before it)"
)


def _names(pattern: str, report: RunnerReport) -> bool:
    matcher = re.compile(pattern)
    return any(matcher.search(name.removesuffix(" (error)")) for name in report.failing)
