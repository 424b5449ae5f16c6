"""Results of benchmarks: rows with a figure, its spread and a baseline, and curves over a growing size.

A benchmark is a file with `rows(*, quick)`, which yields results. Lower is better in every figure.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

Item = TypeVar("Item")

TIMES = "times"
"""The unit of a figure that is a ratio."""
FLAT = 1.10
"""Goal for growth: the fitted line rises by at most ten percent from the smallest size to the largest."""
BUMP = 1.25
"""Goal for growth: no size costs more than this multiple of the median size."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The median of several measurements with its quartiles."""

    middle: float
    low: float
    high: float
    unit: str

    def __str__(self) -> str:
        spread = "" if self.low == self.high else f" ({_number(self.low)} to {_number(self.high)})"
        return f"{_number(self.middle)} {self.unit}{spread}"


def _number(amount: float) -> str:
    digits = 0 if abs(amount) >= 100 else 1 if abs(amount) >= 10 else 2 if abs(amount) >= 0.1 or not amount else 4
    return f"{amount:,.{digits}f}"


def figure(values: Iterable[float], unit: str) -> Figure:
    """Median and quartiles; with fewer than four values, median and range."""
    measured = sorted(values)
    if len(measured) < 4:
        return Figure(statistics.median(measured), measured[0], measured[-1], unit)
    low, middle, high = statistics.quantiles(measured, n=4, method="inclusive")
    return Figure(middle, low, high, unit)


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    figure: Figure | None = None
    baseline: str = ""
    """The name of the baseline; `baseline_figure` is its figure."""
    baseline_figure: Figure | None = None
    goal: float | None = None
    """The highest acceptable ratio; without a baseline figure, the highest acceptable figure."""
    limit: float | None = None
    """The highest acceptable figure, independent of the baseline."""
    note: str = ""
    error: str = ""

    @property
    def ratio(self) -> float | None:
        return (
            self.figure.middle / self.baseline_figure.middle
            if self.figure and self.baseline_figure and self.baseline_figure.middle
            else None
        )

    @property
    def met(self) -> bool | None:
        own = self.figure.middle if self.figure else None
        pairs = ((self.ratio if self.baseline_figure else own, self.goal), (own, self.limit))
        judged = [reached <= most for reached, most in pairs if reached is not None and most is not None]
        return all(judged) if judged else None


@dataclass(frozen=True, slots=True)
class Curve:
    """The cost of one more item as a size grows."""

    name: str
    title: str
    grows: str
    """The label of the horizontal axis."""
    sizes: tuple[float, ...]
    series: dict[str, tuple[float, ...]]
    """The name of a measurement → its cost at each size."""

    def relative(self, name: str) -> tuple[float, ...]:
        """The costs as multiples of the median cost."""
        middle = statistics.median(self.series[name])
        return tuple(value / middle if middle else 1.0 for value in self.series[name])


Result = Row | Curve


def verdict(rows: Iterable[Row], *, judged: bool) -> int:
    """The exit code: 1 if a benchmark failed, or if goals are judged and one was missed."""
    return 1 if any(row.error or (judged and row.met is False) for row in rows) else 0


@dataclass(frozen=True, slots=True)
class Grown:
    """How a cost changes as a size grows: a fitted line, and the most expensive size."""

    levels: tuple[float, ...]
    """The cost at each size: the median over all turns, each normalised by its mean."""
    fitted: float
    """The fitted line at the largest size divided by that at the smallest (least squares over the logarithm of the size)."""
    bump: float
    """The cost of the most expensive size as a multiple of the median."""


def grown(sizes: Sequence[float], turns: Sequence[Sequence[float]]) -> Grown:
    """Fit a line to the costs. `turns` holds, for each turn, the cost at each size.

    A machine that is slow for a while is slow for a whole turn, which dividing by the mean removes. Least squares is used
    instead of the median of all slopes, because linear growth shows only at the largest sizes and the median ignores it.
    """
    means = [statistics.fmean(turn) for turn in turns]
    usual = statistics.median(means)
    normalised = [[cost / mean if mean else 1.0 for cost in turn] for turn, mean in zip(turns, means, strict=True)]
    levels = tuple(usual * statistics.median(each) for each in zip(*normalised, strict=True))
    middle = statistics.median(levels)
    return Grown(levels, _fitted(sizes, levels), max(levels) / middle if middle else 1.0)


def _fitted(sizes: Sequence[float], costs: Sequence[float]) -> float:
    along = [math.log(size) for size in sizes]
    rise, level = statistics.linear_regression(along, costs)
    first, last = (level + rise * place for place in (along[0], along[-1]))
    if first > 0:
        return last / first
    return math.inf if last > first else 1.0


def growth(
    what: str, sizes: Sequence[float], turns: Sequence[Sequence[float]], unit: str, note: str = ""
) -> Iterator[Row]:
    """Two rows with goals: the line is flat, and no size is much more expensive than the median."""
    result = grown(sizes, turns)
    spread = figure([_fitted(sizes, turn) for turn in turns], TIMES)
    by_size = ", ".join(f"{size:,g}: {_number(level)}" for size, level in zip(sizes, result.levels, strict=True))
    yield Row(
        f"{what}: growth from {sizes[0]:,g} to {sizes[-1]:,g}",
        Figure(result.fitted, min(spread.low, result.fitted), max(spread.high, result.fitted), TIMES),
        baseline="the fitted line at the smallest size",
        goal=FLAT,
        note=f"{by_size} {unit}{'; ' if note else ''}{note}",
    )
    bump = Figure(result.bump, result.bump, result.bump, TIMES)
    yield Row(f"{what}: the most expensive size", bump, baseline="the median size", goal=BUMP)


def taking_turns(items: Sequence[Item], turns: int, most_seconds: float = float("inf")) -> Iterator[Item]:
    """Yield each item once a turn, in rotating order, so that other load on the machine affects all alike.

    No turn starts after `most_seconds`.
    """
    began = time.monotonic()
    for turn in range(turns):
        if turn and time.monotonic() - began > most_seconds:
            return
        first = turn % len(items)
        yield from (*items[first:], *items[:first])


def as_line(result: Result) -> str:
    """The result as a JSON line."""
    return json.dumps({"kind": type(result).__name__, **asdict(result)})


def from_line(line: str) -> Result:
    fields = json.loads(line)
    if fields.pop("kind") == "Curve":
        series = {name: tuple(values) for name, values in fields.pop("series").items()}
        return Curve(**{**fields, "sizes": tuple(fields["sizes"]), "series": series})
    figures = {name: Figure(**fields[name]) if fields[name] else None for name in ("figure", "baseline_figure")}
    return Row(**{**fields, **figures})


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds_of(command: Sequence[str], **options: object) -> tuple[float, float]:
    """Wall-clock and CPU seconds of a command. CPU time depends less on other load."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = seconds_of(lambda: subprocess.run(command, **options))  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
