"""What a benchmark finds: rows with a figure, its spread and what it stands beside, and curves over a growing size.

A benchmark is a file with `rows(*, quick)`, which yields these one by one. Less is better in every figure.
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

Thing = TypeVar("Thing")

TIMES = "times"
"""The unit of a figure that is a ratio already."""
FLAT = 1.10
"""The goal of every growth: the line through all sizes rises by ten percent at most, from the smallest to the largest."""
BUMP = 1.25
"""And no size costs more than this beside the middle one."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The middle of several measurements, and the quartiles around it."""

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
    measured = sorted(values)
    if len(measured) < 4:
        return Figure(statistics.median(measured), measured[0], measured[-1], unit)
    low, middle, high = statistics.quantiles(measured, n=4, method="inclusive")
    return Figure(middle, low, high, unit)


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    figure: Figure | None = None
    beside: str = ""
    """The alternative, and below it its figure."""
    other: Figure | None = None
    goal: float | None = None
    """The most that the ratio, or without the alternative's figure the figure, is meant to be."""
    limit: float | None = None
    """The most that the figure itself is meant to be, whatever it stands beside."""
    note: str = ""
    error: str = ""

    @property
    def ratio(self) -> float | None:
        return self.figure.middle / self.other.middle if self.figure and self.other and self.other.middle else None

    @property
    def met(self) -> bool | None:
        own = self.figure.middle if self.figure else None
        pairs = ((self.ratio if self.other else own, self.goal), (own, self.limit))
        judged = [reached <= most for reached, most in pairs if reached is not None and most is not None]
        return all(judged) if judged else None


@dataclass(frozen=True, slots=True)
class Curve:
    """What one more of something costs, beside what it costs at the middle size, as that grows."""

    name: str
    title: str
    grows: str
    """What grows, along the horizontal axis."""
    sizes: tuple[float, ...]
    series: dict[str, tuple[float, ...]]
    """By what is measured: the cost at each size."""

    def relative(self, name: str) -> tuple[float, ...]:
        """Beside the middle size, as bumps are judged."""
        middle = statistics.median(self.series[name])
        return tuple(value / middle if middle else 1.0 for value in self.series[name])


Found = Row | Curve


def verdict(rows: Iterable[Row], *, judged: bool) -> int:
    """The exit code: 1 if something was not measured, or if a goal was missed where goals are judged."""
    return 1 if any(row.error or (judged and row.met is False) for row in rows) else 0


@dataclass(frozen=True, slots=True)
class Grown:
    """How a cost changes as a size grows: a line through all sizes, and the size that sticks out most."""

    levels: tuple[float, ...]
    """The cost at each size: of all turns the middle, after each turn is laid beside its own mean."""
    fitted: float
    """The line at the largest size, as a multiple of the line at the smallest: least squares over the logarithm of the size."""
    bump: float
    """The dearest size, as a multiple of the middle one: what a line may hide."""


def grown(sizes: Sequence[float], turns: Sequence[Sequence[float]]) -> Grown:
    """Of sizes that took turns: of each turn, the cost at each size.

    A machine that is slow for a while is slow for a whole turn, which its mean takes out. Least squares, not the middle of all
    slopes: what grows with the size itself shows at the largest sizes only, and the middle of all slopes passes it over.
    """
    means = [statistics.fmean(turn) for turn in turns]
    usual = statistics.median(means)
    beside = [[cost / mean if mean else 1.0 for cost in turn] for turn, mean in zip(turns, means, strict=True)]
    levels = tuple(usual * statistics.median(each) for each in zip(*beside, strict=True))
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
    """Two goals: that the line is flat, and that no size sticks out of it."""
    found = grown(sizes, turns)
    spread = figure([_fitted(sizes, turn) for turn in turns], TIMES)
    by_size = ", ".join(f"{size:,g}: {_number(level)}" for size, level in zip(sizes, found.levels, strict=True))
    yield Row(
        f"{what}: growth from {sizes[0]:,g} to {sizes[-1]:,g}",
        Figure(found.fitted, min(spread.low, found.fitted), max(spread.high, found.fitted), TIMES),
        beside="the line at the smallest size",
        goal=FLAT,
        note=f"{by_size} {unit}{'; ' if note else ''}{note}",
    )
    bump = Figure(found.bump, found.bump, found.bump, TIMES)
    yield Row(f"{what}: the dearest size", bump, beside="the middle size", goal=BUMP)


def taking_turns(things: Sequence[Thing], turns: int, most_seconds: float = float("inf")) -> Iterator[Thing]:
    """Each of them once a turn, another one first each time: so that what the machine does meanwhile meets all alike.

    After so many seconds no other turn begins.
    """
    began = time.monotonic()
    for turn in range(turns):
        if turn and time.monotonic() - began > most_seconds:
            return
        first = turn % len(things)
        yield from (*things[first:], *things[:first])


def as_line(found: Found) -> str:
    return json.dumps({"kind": type(found).__name__, **asdict(found)})


def from_line(line: str) -> Found:
    fields = json.loads(line)
    if fields.pop("kind") == "Curve":
        series = {name: tuple(values) for name, values in fields.pop("series").items()}
        return Curve(**{**fields, "sizes": tuple(fields["sizes"]), "series": series})
    figures = {name: Figure(**fields[name]) if fields[name] else None for name in ("figure", "other")}
    return Row(**{**fields, **figures})


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def processor_seconds_of(command: Sequence[str], **options: object) -> tuple[float, float]:
    """By the clock, and of the processor, which depends less on what else runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = seconds_of(lambda: subprocess.run(command, **options))  # type: ignore[call-overload]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
