"""What one more iteration costs after 10 to 100,000 others: time, memory, and what is written.

To drive 100,000 real iterations takes too long, so the history before each point is made: the entries of real iterations are
appended through the store again and again, with their own numbers. The iterations that are measured are real, in a new process.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driving import INSTANT, Stage, drive_alone, program, with_command
from figures import Curve, Found, Row, figure, slope

from untildone.core.events import Event, TurnEnded, TurnStarted
from untildone.core.value import replace

FIRST = 5
AT_A_TIME, SOME = 400, 100
MADE = "the history before is made by appending real entries through the store"


@dataclass(frozen=True, slots=True)
class Point:
    """One more iteration, after so many."""

    size: int
    milliseconds: list[float]
    megabytes: float
    load: float
    journal: float
    checkpoint: float


def rows(*, quick: bool) -> Iterator[Found]:
    sizes, rounds = ((10, 100, 1000), 40) if quick else ((10, 100, 1000, 10_000, 100_000), 300)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        stage = with_command(Path(folder) / "workspace", program(Path(folder) / "agent.sh", INSTANT), FIRST)
        stage.drive()
        drive_alone(stage, rounds=10)
        for size in sizes:
            _make_history(stage, size)
            points.append(_measured(stage, size, rounds))
            yield Row(
                f"an iteration after {size:,} others", figure(points[-1].milliseconds, "ms"), note=_note(points[-1])
            )
    yield from _slopes(points)
    yield Curve("iterations", "What one more iteration costs", "iterations before it", sizes, _series(points))


def _note(point: Point) -> str:
    return (
        f"at most {point.megabytes:.1f} MB, loaded in {point.load:.1f} ms, "
        f"{point.journal:.0f} bytes of journal each, checkpoint {point.checkpoint:,.0f} bytes"
    )


def _series(points: list[Point]) -> dict[str, tuple[float, ...]]:
    return {
        "time": tuple(statistics.median(point.milliseconds) for point in points),
        "memory": tuple(point.megabytes for point in points),
        "time to load": tuple(point.load for point in points),
        "checkpoint": tuple(point.checkpoint for point in points),
    }


def _slopes(points: list[Point]) -> Iterator[Row]:
    span = f"{points[-1].size:,} beside {points[0].size:,} iterations"
    for name, values in _series(points).items():
        yield slope(f"{name}, {span}", values, MADE if name == "time" else "")


def _measured(stage: Stage, size: int, rounds: int) -> Point:
    journal = stage.store.progress(stage.loop_id) / "execution.log.jsonl"
    before = journal.stat().st_size
    told = drive_alone(stage, rounds)
    return Point(
        size,
        [seconds * 1000 for seconds in told["iterations"]],
        told["peak_kb"] / 1024,
        told["load"] * 1000,
        (journal.stat().st_size - before) / rounds,
        (stage.store.root / f"{stage.loop_id}.json").stat().st_size,
    )


def _make_history(stage: Stage, size: int) -> None:
    """Append the last real iteration again, with other numbers and words, until there are so many."""
    with stage.store.claim(stage.loop_id) as journal:
        template = _last_iteration(list(deque((entry.event for entry in journal.entries()), maxlen=SOME)))
        done = journal.loop.spend.iterations
        for numbers in _batches(range(done + 1, size + 1)):
            journal.append(*(event for number in numbers for event in _numbered(template, number)), sync=False)
        journal.append()


def _batches(numbers: range) -> Iterator[range]:
    return (numbers[start : start + AT_A_TIME] for start in range(0, len(numbers), AT_A_TIME))


def _last_iteration(events: list[Event]) -> list[Event]:
    starts = [place for place, event in enumerate(events) if isinstance(event, TurnStarted)]
    return events[starts[-2] : starts[-1]]


def _numbered(template: list[Event], number: int) -> Iterator[Event]:
    for event in template:
        match event:
            case TurnStarted():
                yield replace(event, iteration=number)
            case TurnEnded(answer=answer):
                yield replace(event, iteration=number, answer=replace(answer, text=f"working on it, call {number}"))
            case _:
                yield event
