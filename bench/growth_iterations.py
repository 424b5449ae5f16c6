"""What one more iteration costs after 10 to 100,000 others: time, memory, and what is written.

To drive 100,000 real iterations takes too long, so the history before each point is made: the entries of a real iteration are
appended through the store again and again, with their own numbers, each with its output. The iterations that are measured are
real, in a new process. The sizes take turns, and a history is what it was before each: else what the machine does meanwhile
looks like growth.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driving import INSTANT, Stage, drive_alone, program, with_command
from figures import Curve, Found, Row, figure, grown, growth, taking_turns

from untildone.core.events import Event, TurnEnded, TurnStarted
from untildone.core.loop import output_name
from untildone.core.model import Role
from untildone.core.value import replace
from untildone.store import checkpoint

FIRST = 10
"""Real ones: enough for the last but one to come after the warning that the budget is nearly used up."""
AT_A_TIME, SOME = 400, 100
QUICK = (10, 100, 1000), 3, 20
FULL = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000), 15, 25
"""Sizes, turns, and iterations in each."""
MOST_SECONDS = 100
UNITS = {"time": "ms", "memory": "MB", "time to load": "ms", "checkpoint": "bytes"}
MADE = "the history before is made by appending real entries through the store; the sizes take turns"


@dataclass(frozen=True, slots=True)
class History:
    """A loop after so many iterations, and what brings it back there."""

    stage: Stage
    size: int
    journal_bytes: int
    checkpoint: dict[Path, bytes]

    def restore(self) -> None:
        os.truncate(_journal(self.stage), self.journal_bytes)
        for path, content in self.checkpoint.items():
            # A backup may be a second name of the same file.
            path.unlink(missing_ok=True)
            path.write_bytes(content)
        for name in self.stage.store.output_names(self.stage.loop_id)[self.size :]:
            _output(self.stage, int(name)).unlink()
        os.sync()


@dataclass(frozen=True, slots=True)
class Point:
    """Some more iterations, after so many."""

    milliseconds: list[float]
    megabytes: float
    load: float
    journal: float
    checkpoint: float

    @property
    def costs(self) -> dict[str, float]:
        return {
            "time": statistics.median(self.milliseconds),
            "memory": self.megabytes,
            "time to load": self.load,
            "checkpoint": self.checkpoint,
        }


def rows(*, quick: bool) -> Iterator[Found]:
    sizes, turns, rounds = QUICK if quick else FULL
    points: dict[int, list[Point]] = {size: [] for size in sizes}
    with tempfile.TemporaryDirectory() as folder:
        agent = program(Path(folder) / "agent.sh", INSTANT)
        histories = [_history(Path(folder) / str(size), agent, size) for size in sizes]
        for history in taking_turns(histories, turns, MOST_SECONDS):
            points[history.size].append(_measured(history, rounds))
    for size in sizes:
        times = [each for point in points[size] for each in point.milliseconds]
        yield Row(f"an iteration after {size:,} others", figure(times, "ms"), note=_note(points[size][-1]))
    yield from _grown(points)


def _note(point: Point) -> str:
    return (
        f"at most {point.megabytes:.1f} MB, loaded in {point.load:.1f} ms, "
        f"{point.journal:.0f} bytes of journal each, checkpoint {point.checkpoint:,.0f} bytes"
    )


def _grown(points: dict[int, list[Point]]) -> Iterator[Found]:
    """Every turn has its own figure at every size."""
    turns = [[point.costs for point in turn] for turn in zip(*points.values(), strict=True)]
    series: dict[str, tuple[float, ...]] = {}
    for name, unit in UNITS.items():
        costs = [[cost[name] for cost in turn] for turn in turns]
        yield from growth(f"{name}, by iterations before", tuple(points), costs, unit, MADE if name == "time" else "")
        series[name] = grown(tuple(points), costs).levels
    yield Curve("iterations", "What one more iteration costs", "iterations before it", tuple(points), series)


def _measured(history: History, rounds: int) -> Point:
    stage = history.stage
    history.restore()
    told = drive_alone(stage, rounds)
    return Point(
        [seconds * 1000 for seconds in told["iterations"]],
        told["peak_kb"] / 1024,
        told["load"] * 1000,
        (_journal(stage).stat().st_size - history.journal_bytes) / rounds,
        _checkpoint(stage).stat().st_size,
    )


def _history(workspace: Path, agent: Path, size: int) -> History:
    stage = with_command(workspace, agent, FIRST)
    stage.drive()
    _make_history(stage, size)
    kept = {path: path.read_bytes() for path in checkpoint.files(_checkpoint(stage)) if path.exists()}
    return History(stage, size, _journal(stage).stat().st_size, kept)


def _journal(stage: Stage) -> Path:
    return stage.store.progress(stage.loop_id) / "execution.log.jsonl"


def _output(stage: Stage, number: int) -> Path:
    return _journal(stage).parent / "output" / f"{output_name(Role.WORKER, number)}.jsonl"


def _checkpoint(stage: Stage) -> Path:
    return stage.store.root / f"{stage.loop_id}.json"


def _make_history(stage: Stage, size: int) -> None:
    """Append the last real iteration again, with other numbers and words, until there are so many."""
    with stage.store.lease(stage.loop_id) as journal:
        template = _last_iteration(list(deque((entry.event for entry in journal.entries()), maxlen=SOME)))
        done = journal.loop.spend.iterations
        for numbers in _batches(range(done + 1, size + 1)):
            journal.append(*(event for number in numbers for event in _numbered(template, number)), sync=False)
            _print_again(stage, numbers)
        journal.append()


def _print_again(stage: Stage, numbers: range) -> None:
    """One file under many names: what could grow is the folder, and files of their own take several times as long to make."""
    first, *others = (_output(stage, number) for number in numbers)
    first.write_text(f"working on it, call {numbers[0]}\n")
    for other in others:
        os.link(first, other)


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
