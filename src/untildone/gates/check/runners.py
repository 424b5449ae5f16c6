"""How many tests the output of a command reports as run, for the test runners known here."""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import cache

from untildone.core.gate_output import plain_line

SUMMARY_CHARACTERS = 500
"""No test runner's summary line is longer."""

# A runner announces what it is about to run and sums up what it did; where there is a summary, only that counts. The groups
# of a pattern say how many tests a line stands for: `one` is one test, `outcomes` is a list such as `1 failed, 2 skipped`
# of which those that ran count, `skipped` is subtracted, any other group is added.
_ANNOUNCEMENTS = (
    ("pytest", r"(?:collecting \.\.\. )?collected 0 items(?: / .*)?$"),
    ("pytest", r"(?:collecting \.\.\. )?collected \d+ items? / .*/ (?P<run>\d+) selected"),
    ("pytest", r"(?:collecting \.\.\. )?collected (?P<run>\d+) items?(?: / \d+ skipped)?$"),
    ("pytest", r"\d+ workers? \[(?P<run>\d+) items?\]$"),
    ("jest", r"No tests found(?:,? exiting with code \d+| related to files changed)"),
    ("vitest", r"No test files found\b"),
    ("playwright", r"Error: No tests found"),
    ("go", r"\?\s+\S+\s+\[no test files\]$"),
    ("go", r"\t+\S+\t+coverage: [\d.]+% of statements"),
    ("go", r"ok\s+\S+\s+(?:[\d.]+s|\(cached\)).*\[no tests to run\]$"),
    ("go", r"(?P<one>ok)\s+\S+\s+(?:[\d.]+s|\(cached\))"),
    ("go", r"(?P<one>FAIL)\s+\S+\s+[\d.]+s$"),
    ("go", r"(?:testing: warning: no tests to run|no tests to run|no packages to test)$"),
    ("cargo", r"running (?P<run>\d+) tests?$"),
    ("nextest", r"error: no tests to run$"),
    ("node", r"(?:#|ℹ) tests +(?P<run>\d+)$"),
    ("deno", r"error: No test modules found"),
    ("rspec", r"No examples found\.$"),
    ("phpunit", r"No tests executed!$"),
    ("pest", r" *INFO +No tests found\.$"),
    ("maven", r"\[INFO\] No tests to run\.$"),
    ("gradle", r"> Task \S*:test (?:NO-SOURCE|SKIPPED)$"),
    ("gradle", r"(?P<one>>) Task \S*:test(?: UP-TO-DATE| FROM-CACHE| FAILED)?$"),
    ("dotnet", r"No test (?:is available in|matches the given testcase filter) "),
    ("ctest", r"No tests were found!!!$"),
    ("googletest", r"\[=+\] Running (?P<run>\d+) tests? from \d+ test (?:suite|case)s?\.$"),
    ("catch2", r"No (?:tests ran|test cases matched .*)$"),
)
_PYTEST_OUTCOMES = (
    r"(?=.*\b\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed)\b)\d+ [a-z ]+(?:, \d+ [a-z ]+)*"
)
_SUMMARIES = (
    ("pytest", r"(?:=+ )?no tests ran in [\d.]+ ?s"),
    ("pytest", r"(?:=+ )?(?:no|\d+(?:/\d+)?) tests? collected(?: \(.*\))?(?:, .*)? in [\d.]+s"),
    ("pytest", rf"(?:=+ )?(?P<outcomes>{_PYTEST_OUTCOMES}) in [\d.]+ ?s(?:econds)?(?: \([^)]*\))?(?: =+)?$"),
    ("unittest", r"Ran (?P<run>\d+) tests? in [\d.]+s$"),
    ("unittest", r"(?:OK|FAILED) \(.*\bskipped=(?P<skipped>\d+)"),
    ("unittest", r"NO TESTS RAN(?: \(.*\))?$"),
    ("jest", r"Tests: +(?P<outcomes>(?:\d+ [a-z]+, )*\d+ total)$"),
    ("vitest", r" *Tests  (?P<outcomes>no tests|\d+ \w+(?: \| \d+ \w+)* \(\d+\))$"),
    ("playwright", r" +(?P<run>\d+) passed \([\d.]+m?s?\)$"),
    ("go", r"(?P<one>---) (?:PASS|FAIL): \S+ \([\d.]+s\)$"),
    ("go", r"--- SKIP: \S+ \([\d.]+s\)$"),
    ("gotestsum", r"DONE (?P<run>\d+) tests?(?:, (?P<skipped>\d+) skipped)?.* in [\d.]+s$"),
    ("cargo", r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; \d+ ignored;"),
    ("nextest", r" *Summary \[.*\] +(?P<run>\d+)(?:/\d+)? tests? run:"),
    ("node", r"(?:#|ℹ) (?:pass|fail) +(?P<run>\d+)$"),
    ("mocha", r" *(?P<run>\d+) (?:passing(?: \([\d.]+\w+\))?|failing)$"),
    ("bun", r"Ran (?P<run>\d+) tests? across \d+ files?\."),
    ("deno", r"(?:ok|FAILED) \| (?P<passed>\d+) passed.* \| (?P<failed>\d+) failed"),
    ("rspec", r"(?P<run>\d+) examples?, \d+ failures?(?:, (?P<skipped>\d+) pending)?"),
    ("minitest", r"(?P<run>\d+) (?:runs|tests), \d+ assertions, .*\b(?P<skipped>\d+) (?:skips|omissions)\b"),
    ("exunit", r"(?:\d+ doctests?, )?(?P<run>\d+) tests?, \d+ failures?(?:, (?P<skipped>\d+) (?:skipped|excluded))?$"),
    ("phpunit", r"OK \((?P<run>\d+) tests?, \d+ assertions?\)$"),
    ("phpunit", r"Tests: (?P<run>\d+), Assertions: \d+(?:.*\bSkipped: (?P<skipped>\d+))?"),
    ("maven", r"(?:\[\w+\] )?Tests run: (?P<run>\d+), Failures: \d+, Errors: \d+, Skipped: (?P<skipped>\d+)"),
    ("dotnet", r"(?:Passed|Failed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+)"),
    ("dotnet", r" *Test summary: total: \d+, failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: \d+"),
    ("pest", r" *Tests: +(?P<outcomes>\d+ [a-z]+(?:, \d+ [a-z]+)*) \(\d+ assertions?\)$"),
    ("googletest", r"\[  (?:PASSED|FAILED)  \] (?P<run>\d+) tests?(?:\.|, listed below:)$"),
    ("catch2", r"All tests passed \((?:\d+|no) assertions? in (?P<run>\d+) test cases?\)$"),
    ("catch2", r"test cases: +\d+ \|(?P<outcomes>(?: +\d+ [a-z ]+(?:\||$))+)$"),
    ("doctest", r"\[doctest\] test cases: +\d+ \| +(?P<passed>\d+) passed \| +(?P<failed>\d+) failed"),
    ("xctest", r"\s*Executed (?P<run>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?\d+ failures? "),
    ("swift", r"\W{0,3}Test run with (?P<run>\d+) tests?(?: in \d+ suites?)? (?:passed|failed) after "),
    ("ctest", r"\d+% tests passed, \d+ tests? failed out of (?P<run>\d+)"),
)


class Evidence(Enum):
    ANNOUNCED = auto()
    SUMMED_UP = auto()


# Patterns are compiled when first used: the stop hook imports this module and seldom runs a check.
@cache
def _signs() -> tuple[tuple[str, Evidence, re.Pattern[str]], ...]:
    tables = ((Evidence.ANNOUNCED, _ANNOUNCEMENTS), (Evidence.SUMMED_UP, _SUMMARIES))
    return tuple((runner, evidence, re.compile(text)) for evidence, table in tables for runner, text in table)


@cache
def _any_sign() -> re.Pattern[str]:
    """All patterns in one, without groups: rejects most lines with a single match."""
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", sign.pattern) for _, _, sign in _signs()))


_RAN = r"(\d+) (?:subtests )?(?:passed|failed|errors?|xfailed|xpassed)\b"


class Tally:
    """Counts the tests that known runners report, line by line and in constant memory."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Evidence], int] = {}

    def feed(self, line: str) -> None:
        plain = plain_line(line[-4 * SUMMARY_CHARACTERS :])
        if len(plain) > SUMMARY_CHARACTERS or not _any_sign().match(plain):
            return
        for runner, evidence, pattern in _signs():
            if sign := pattern.match(plain):
                key = (runner, evidence)
                self._counts[key] = self._counts.get(key, 0) + _counted(sign)
                return

    @property
    def tests(self) -> int | None:
        """How many tests ran, over all runners; None if no test runner was recognised."""
        runners = {runner for runner, _ in self._counts}
        return sum(max(0, self._believed(runner)) for runner in runners) if runners else None

    def _believed(self, runner: str) -> int:
        announced = self._counts.get((runner, Evidence.ANNOUNCED), 0)
        return self._counts.get((runner, Evidence.SUMMED_UP), announced)


def _counted(sign: re.Match[str]) -> int:
    """How many tests a matched line stands for."""
    total = 0
    for name, text in sign.groupdict().items():
        match name:
            case "outcomes":
                total += sum(int(number) for number in re.findall(_RAN, text))
            case "one":
                total += 1
            case "skipped":
                total -= int(text or 0)
            case _:
                total += int(text or 0)
    return total


def count_tests(output: str) -> int | None:
    """How many tests the output reports as run; None if no test runner is recognised, 0 if one is and ran nothing."""
    tally = Tally()
    for line in output.split("\n"):
        tally.feed(line)
    return tally.tests
