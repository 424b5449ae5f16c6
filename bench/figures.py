"""What a benchmark finds: rows with a figure, its spread and what it stands beside, and curves over a growing size.

A benchmark is a file with `rows(*, quick)`, which yields these one by one. Less is better in every figure.
"""

from __future__ import annotations

import json
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
"""The goal of every slope: within ten percent of the smallest size."""


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
    """The most that the ratio, or without an alternative the figure, is meant to be."""
    note: str = ""
    error: str = ""

    @property
    def ratio(self) -> float | None:
        return self.figure.middle / self.other.middle if self.figure and self.other and self.other.middle else None

    @property
    def met(self) -> bool | None:
        reached = self.ratio if self.other else self.figure and self.figure.middle
        return None if self.goal is None or reached is None else reached <= self.goal


@dataclass(frozen=True, slots=True)
class Curve:
    """What one more of something costs, beside what it cost at the smallest size, as that grows."""

    name: str
    title: str
    grows: str
    """What grows, along the horizontal axis."""
    sizes: tuple[float, ...]
    series: dict[str, tuple[float, ...]]
    """By what is measured: the cost at each size."""

    def relative(self, name: str) -> tuple[float, ...]:
        values = self.series[name]
        return tuple(value / values[0] if values[0] else 1.0 for value in values)


Found = Row | Curve


def slope(what: str, values: Sequence[float], note: str = "") -> Row:
    """The cost at the largest size, as a multiple of that at the smallest."""
    ratio = values[-1] / values[0] if values[0] else 1.0
    return Row(what, Figure(ratio, ratio, ratio, TIMES), goal=FLAT, note=note)


def growth(what: str, turns: Iterable[tuple[float, float]], note: str = "", *, judged: bool = True) -> Row:
    """The same of sizes that took turns: of each turn, the costs at the smallest and the largest."""
    ratios = figure((last / first if first else 1.0 for first, last in turns), TIMES)
    return Row(what, ratios, goal=FLAT if judged else None, note=note)


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
