"""What gate results mean: did a test run, do all gates agree, what is the agent told, is it the same failure again."""

from __future__ import annotations

import hashlib
import re
from enum import Enum, auto
from functools import cache

from untildone.core.model import GateResult

GATE_CHARACTERS = 4000
REPORT_CHARACTERS = 12000
COMMAND_CHARACTERS = 300
ROOM_FOR_THE_REST = 60
LONGEST_FENCE = 20
SUMMARY_CHARACTERS = 500
"""No test runner's summary line is longer."""

# A runner announces what it is about to run and sums up what it did; the summary is believed. A line stands for as many
# tests as its groups say: `one` for one, `outcomes` for those of a list such as `1 failed, 2 skipped` that were run,
# `skipped` for so many less, any other for its number.
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


# Patterns are compiled when first needed: the stop hook imports this and seldom needs one.
@cache
def _signs() -> tuple[tuple[str, Evidence, re.Pattern[str]], ...]:
    tables = ((Evidence.ANNOUNCED, _ANNOUNCEMENTS), (Evidence.SUMMED_UP, _SUMMARIES))
    return tuple((runner, evidence, re.compile(text)) for evidence, table in tables for runner, text in table)


@cache
def _any_sign() -> re.Pattern[str]:
    """All in one, without their groups: most lines match none, and this says so at once."""
    return re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", sign.pattern) for _, _, sign in _signs()))


_RAN = r"(\d+) (?:subtests )?(?:passed|failed|errors?|xfailed|xpassed)\b"
_ANSI = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"


class Tally:
    """Counts, line by line and in constant memory, the tests that the runners it recognises say they ran."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Evidence], int] = {}

    def feed(self, line: str) -> None:
        plain = plain_line(line[-4 * SUMMARY_CHARACTERS :])
        if len(plain) > SUMMARY_CHARACTERS or not _any_sign().match(plain):
            return
        for runner, evidence, pattern in _signs():
            if found := pattern.match(plain):
                key = (runner, evidence)
                self._counts[key] = self._counts.get(key, 0) + _counted(found)
                return

    @property
    def tests(self) -> int | None:
        """How many tests ran, over all runners; None if no test runner was recognised."""
        runners = {runner for runner, _ in self._counts}
        return sum(max(0, self._believed(runner)) for runner in runners) if runners else None

    def _believed(self, runner: str) -> int:
        announced = self._counts.get((runner, Evidence.ANNOUNCED), 0)
        return self._counts.get((runner, Evidence.SUMMED_UP), announced)


def _counted(found: re.Match[str]) -> int:
    total = 0
    for name, text in found.groupdict().items():
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


def plain_line(line: str) -> str:
    """The line as a person sees it: without colours, and only what a carriage return left standing."""
    without_colours = re.sub(_ANSI, "", line) if "\x1b" in line else line
    return without_colours.rstrip().rsplit("\r", 1)[-1]


def tests_run(output: str) -> int | None:
    """How many tests the output says were run: None if it is not a test runner's, 0 if it is, and none was run."""
    tally = Tally()
    for line in output.split("\n"):
        tally.feed(line)
    return tally.tests


def ran_no_test(output: str) -> bool:
    """Whether a test runner speaks here and ran nothing, whatever its exit code."""
    return tests_run(output) == 0


def verdict(results: tuple[GateResult, ...]) -> bool:
    """Whether every gate agrees. Without a gate there is nobody to agree."""
    return bool(results) and all(result.passed for result in results)


def failure_report(results: tuple[GateResult, ...]) -> str:
    """What the agent is told about the gates that failed; bounded, so that a prompt stays a prompt."""
    failed = [result for result in results if not result.passed]
    report = ""
    for position, result in enumerate(failed):
        section = _section(result)
        if len(report) + len(section) > REPORT_CHARACTERS - ROOM_FOR_THE_REST:
            return f"{report}More gates failed: {len(failed) - position}."
        report += section + "\n\n"
    return report.rstrip()


_LAST_LINES = "The last lines of its output:"


def _section(result: GateResult) -> str:
    headline = _headline(result)
    output = "\n".join(plain_line(line) for line in result.tail.split("\n")).strip("\n")
    if not output:
        return headline
    room = GATE_CHARACTERS - len(headline) - len(_LAST_LINES) - 3 * LONGEST_FENCE
    if result.gate == "review":
        return f"{headline}\n{_beginning(output, room)}"
    fence = _fence_around(output)
    return f"{headline} {_LAST_LINES}\n{fence}\n{_end(output, room)}\n{fence}"


def _fence_around(output: str) -> str:
    """Longer than any run of backticks inside, up to a length that no honest output has."""
    longest = max((len(run) for run in re.findall("`+", output)), default=0)
    return "`" * min(max(3, longest + 1), LONGEST_FENCE)


def _headline(result: GateResult) -> str:
    reason = _beginning(result.reason, COMMAND_CHARACTERS) or "it does not agree"
    match result.gate:
        case "check":
            return f"The check `{_beginning(result.command, COMMAND_CHARACTERS)}` failed: {reason}."
        case "require_change":
            return f"The claim is not believed: {reason}."
        case "review":
            return f"The review does not pass: {reason}."
        case other:
            return f"The gate `{other}` failed: {reason}."


def _beginning(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def _end(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    kept = text[-room:]
    first_line, line_end, whole_lines = kept.partition("\n")
    return "…\n" + (whole_lines if line_end and len(first_line) < room // 2 else kept)


_PASSING = (
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?", "<time>"),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\b", "<time>"),
    (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"(?:/private)?(?:/var/folders/\w+/\w+/T|/var/tmp|/tmp|/dev/shm)/[^/\s'\":,;)\]]+", "<tmp>"),
    (r"\bpytest-\d+\b", "<tmp>"),
    (r"(?i)[A-Za-z]:\\[^\s'\":]*?\\Temp\\[^\\\s'\":]+", "<tmp>"),
    (r"((?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):)\d+", r"\1<port>"),
    (r"(?i)\b(seed|pid|process|thread)(\W{1,3}|-seed\W)\d+", r"\1 <number>"),
    (r"==\d+==", "<number>"),
    (r"\b\d+(?:\.\d+)?(?: ?(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?))\b", "<duration>"),
    (r"(?:<duration> )+<duration>", "<duration>"),
    (r"([=\-_~*#.─━])\1{3,}", r"\1"),
    (r"\s+", " "),
)


def _normalised(line: str) -> str:
    line = plain_line(line)
    for pattern, replacement in _PASSING:
        line = re.sub(pattern, replacement, line)
    return line.strip()


def signature(results: tuple[GateResult, ...]) -> str:
    """Equal for the same gates failing in the same way. What differs from run to run does not count: times, addresses,
    temporary paths, and the order of lines, since parallel test runs print in any order. Empty if no gate failed."""
    failed = [result for result in results if not result.passed]
    if not failed:
        return ""
    digest = hashlib.sha256()
    for result in failed:
        lines = sorted({_normalised(line) for line in result.tail.split("\n")})
        digest.update("\0".join((result.gate, result.command, result.reason, *lines, "\n")).encode("utf-8", "replace"))
    return digest.hexdigest()
