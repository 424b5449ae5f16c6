"""Adds up what one test runner said in the output of a command."""

from __future__ import annotations

import re
from collections import Counter, deque

from untildone.gates.check import patterns

Counts = Counter[str]


class Spoken:
    """What one runner said so far, in constant memory.

    A runner that the command names n times has n summaries, the last ones, which say how many tests passed. What any summary says to
    have failed has failed: code under test could print a better one later. Only a command that repeats failed tests, as
    `pytest || pytest --lf` does, is judged by the last one.
    """

    def __init__(self, runner: str, runs: int | None, *, repeats_failed: bool = False) -> None:
        """`runs` is how many times the command names the runner; None: in a loop."""
        self._runner = runner
        self._runs = runs
        self._repeats_failed = repeats_failed
        self._failed_before: Counts = Counter()
        """What summaries report to have failed that do not count otherwise."""
        self._closed: deque[Counts] = deque()
        """The summaries before the present one that count: one less than there are runs."""
        self._total: Counts = Counter()
        self._open: Counts | None = None
        """The groups that the lines of the present summary have reported; None: no summary has begun."""
        self._announced = 0
        self._progress: Counts = Counter()
        self._complete = False
        self._summaries = 0
        self._unmistakable = False

    def started(self, sign: re.Match[str]) -> None:
        self._announced += _groups(sign)["total"]
        self._complete = 0 < self._announced <= self._progress.total()
        self._unmistakable |= self._runner != "tap"

    def progressed(self, sign: re.Match[str]) -> None:
        if dots := sign.groupdict().get("dots"):
            self._progress += Counter(_DOTS[dot] for dot in dots if dot in _DOTS)
            self._complete = sign["done"] == (sign["of"] or "100")
        else:
            self._progress += _counted(_groups(sign))
            self._complete = self._runner == "go" or 0 < self._announced <= self._progress.total()
            self._unmistakable |= self._runner == "go"

    def summed_up(self, sign: re.Match[str]) -> None:
        self._unmistakable = True
        self.led_up(sign)

    def detailed(self, sign: re.Match[str]) -> None:
        """A line that belongs to the present summary if that has a heading, and else is text."""
        groups = _groups(sign)
        if self._open is None or self._open.keys() & groups.keys():
            return
        if any(name.startswith("heading") for name in self._open):
            self._open.update(groups)

    def led_up(self, sign: re.Match[str]) -> None:
        groups = _groups(sign)
        if package := groups.keys() & {"package_passed", "package_failed"}:
            groups = self._package(package.pop())
        if self._open is None or not groups or not self._open or self._open.keys() & groups.keys():
            self._begin()
        assert self._open is not None
        self._open.update(groups)

    @property
    def recognised(self) -> bool:
        """Whether these lines are surely those of the runner, and not of a program that prints alike."""
        return bool(self._runs != 0 or self._unmistakable or (self._announced and self._progress))

    def _package(self, verdict: str) -> Counts:
        """A line about a Go package sums up the lines about its tests before it, and decides whether they failed."""
        tests, self._progress = self._progress, Counter()
        if verdict == "package_failed":
            return Counter(failed=max(1, tests["failed"]), passed=tests["passed"], skipped=tests["skipped"])
        return Counter(passed=tests["passed"], skipped=tests["skipped"]) if tests else Counter(passed=1)

    def _begin(self) -> None:
        """Begin a new summary: a line repeats what the present one has reported already."""
        if self._open is not None:
            self._close(_counted(self._open))
        self._open = Counter()
        self._summaries += 1

    def _close(self, counts: Counts) -> None:
        if self._runs is None or self._runner in patterns.SUMMARY_OF_EACH_PART:
            self._total += counts
        elif self._runs:
            self._closed.append(counts)
            if len(self._closed) >= self._runs:
                self._failed_before |= _failures(self._closed.popleft())
        else:
            self._failed_before |= _failures(counts)
            self._total += counts - _failures(counts)

    @property
    def summaries(self) -> int:
        return self._summaries or int(self._complete)

    @property
    def counts(self) -> Counts:
        """The tests that the summaries which count report, by result."""
        if self._open is None:
            return self._progress if self._complete else Counter()
        total = sum(self._closed, self._total + _counted(self._open))
        total["failed"] = total["failed"] or total["units"] or self.failed_before
        return total

    @property
    def failed_before(self) -> int:
        """The failures that a summary before those that count reports."""
        return 0 if self._repeats_failed else self._failed_before["failed"] or self._failed_before["units"]

    @property
    def unfinished(self) -> int:
        """Tests that the runner announced and gave no result for."""
        if self.summaries and self._runner not in patterns.REPORT_ALL_THEY_ANNOUNCE:
            return _unaccounted(self._open or Counter())
        results = self.counts
        return max(0, self._announced - results["passed"] - results["failed"] - results["skipped"])


_DOTS = {".": "passed", "F": "failed", "E": "failed", "s": "skipped", "x": "xfailed", "X": "xpassed"}


def _failures(counts: Counts) -> Counts:
    return Counter({name: counts[name] for name in ("failed", "units") if counts[name]})


def _groups(sign: re.Match[str]) -> Counts:
    """What a matched line reports, by the name of the group."""
    groups: Counts = Counter()
    for name, text in sign.groupdict().items():
        if text is None:
            continue
        if name == "outcomes":
            groups.update({"outcomes": 0}, **_outcomes(text))
        elif name.startswith("one_"):
            groups[name.removeprefix("one_")] = 1
        else:
            groups[name] = int(text) if text.isdigit() else 0
    return groups


def _outcomes(text: str) -> Counts:
    """The numbers in a list of outcomes such as `1 failed, 2 skipped` or `failures=1, skipped=2`."""
    pairs = [(word, number) for number, word in re.findall(r"(\d+) ([a-z]+(?: [a-z]+)*)", text)]
    pairs += re.findall(r"([a-z]+(?: [a-z]+)*)(?:=|: )(\d+)", text.lower())
    counts: Counts = Counter()
    for word, number in pairs:
        for words, field in patterns.WORDS.items():
            if re.fullmatch(words, word):
                counts[field] += int(number)
    return counts


def _unaccounted(groups: Counts) -> int:
    """How many tests a summary counts in its total and in no result: a filter may have left out the line with the failures."""
    if "total" not in groups or "passed" not in groups:
        return 0
    return max(0, groups["total"] - sum(number for name, number in groups.items() if name in _RESULTS))


_RESULTS = frozenset(patterns.FIELDS) - {"total", "units"}


def _counted(groups: Counts) -> Counts:
    """Tests by result: passed, failed, skipped, xfailed, xpassed; and failed units."""
    counts: Counts = Counter()
    for name, number in groups.items():
        if name in patterns.FIELDS:
            counts[patterns.FIELDS[name]] += number
    if "passed" not in counts:
        counts["passed"] = max(
            0, counts["total"] - sum(counts[name] for name in ("failed", "skipped", "xfailed", "xpassed"))
        )
    del counts["total"]
    return counts
