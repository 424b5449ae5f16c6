"""Reads what test runners report in the output of a command, and compares it with the runners that the command names."""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum, auto
from functools import cache

from untildone.core.answers.gate_output import plain_line
from untildone.core.plugins.gate import RunnerReport
from untildone.gates.check import patterns
from untildone.gates.check.failing import Names
from untildone.gates.check.named import missing, named
from untildone.gates.check.spoken import Spoken

SUMMARY_CHARACTERS = 500
"""No test runner's summary line is longer."""
JSON_SUMMARY = '{"num'
"""How the JSON reports of jest and vitest begin: one line of any length, with the numbers first."""


class Evidence(Enum):
    STARTED = auto()
    PROGRESS = auto()
    SUMMARY = auto()
    LEADING = auto()
    FOLLOWING = auto()


@cache
def _signs() -> tuple[tuple[str, Evidence, re.Pattern[str]], ...]:
    tables = (
        (Evidence.STARTED, patterns.STARTED),
        (Evidence.PROGRESS, patterns.PROGRESS),
        (Evidence.SUMMARY, patterns.SUMMARIES),
        (Evidence.LEADING, patterns.LEADING),
        (Evidence.FOLLOWING, patterns.FOLLOWING),
    )
    return tuple((runner, evidence, re.compile(text)) for evidence, table in tables for runner, text in table)


@cache
def _any_sign() -> re.Pattern[str]:
    """All patterns in one, without groups: rejects most lines with a single match."""
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", sign.pattern) for _, _, sign in _signs()))


class Reading:
    """Reads the output of a command, line by line and in constant memory."""

    def __init__(self, command: str = "") -> None:
        self._naming = named(command)
        self._spoken: dict[str, Spoken] = {}
        self._names = Names()

    def feed(self, line: str) -> None:
        json = line.startswith(JSON_SUMMARY)
        plain = line[:SUMMARY_CHARACTERS] if json else plain_line(line[-4 * SUMMARY_CHARACTERS :])
        self._names.feed(plain)
        if len(plain) > SUMMARY_CHARACTERS or not _any_sign().match(plain):
            return
        for runner, evidence, pattern in _signs():
            if sign := pattern.match(plain):
                self._take(runner, evidence, sign)
                return

    def _take(self, runner: str, evidence: Evidence, sign: re.Match[str]) -> None:
        if runner not in self._spoken:
            runs, again = self._naming.runs_of(runner), self._naming.repeats_failed(runner)
            self._spoken[runner] = Spoken(runner, runs, repeats_failed=again)
        spoken = self._spoken[runner]
        match evidence:
            case Evidence.STARTED:
                spoken.started(sign)
            case Evidence.PROGRESS:
                spoken.progressed(sign)
            case Evidence.SUMMARY:
                spoken.summed_up(sign)
            case Evidence.LEADING:
                spoken.led_up(sign)
            case Evidence.FOLLOWING:
                spoken.detailed(sign)

    @property
    def report(self) -> RunnerReport | None:
        """None if no known test runner spoke or was named, or if the command wants its tests to fail."""
        counted = {
            name: spoken for name, spoken in self._spoken.items() if spoken.recognised and self._naming.counts(name)
        }
        if self._naming.negated or not (counted or self._naming.runs):
            return None
        total = sum((spoken.counts for spoken in counted.values()), Counter[str]())
        return RunnerReport(
            runners=tuple(counted),
            passed=total["passed"],
            failed=total["failed"],
            skipped=total["skipped"],
            xfailed=total["xfailed"],
            xpassed=total["xpassed"],
            failed_before=sum(spoken.failed_before for spoken in counted.values()),
            unfinished=sum(spoken.unfinished for spoken in counted.values()),
            failing=self._names.of(tuple(counted)),
            missing="; ".join(missing(self._naming, {name: spoken.summaries for name, spoken in counted.items()})),
        )


def read(output: str, command: str = "") -> RunnerReport | None:
    """What test runners report in the output of `command`."""
    reading = Reading(command)
    for line in output.split("\n"):
        reading.feed(line)
    return reading.report
