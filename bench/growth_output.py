"""What one more megabyte of output costs, of 1 MB to 10 GB that an agent prints in one turn: time, and memory at most.

Beside it, the same program with its output through a pipe into `cat >file`. In a file system in memory where there is room, as
this is not about disks. That has a growth of its own: the more it holds, the longer the system takes to find room for more, for
`cat` as for everybody. So what is judged by the clock is the multiple of `cat`, and by the processor what untildone's own code
takes, without what the system does for it. Both keep what they wrote until the end of their part, and both find memory that was
used before, as memory which nothing has used yet takes several times as long to fill. The sizes take turns, and so do the two.

The first megabytes are dearer, for both, than those that follow: they are shown, and growth is judged from 10 MB on; by the clock
from 100 MB on, as `cat` is done with less in some milliseconds, most of which are its start.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from driving import drive_alone, program, with_command
from figures import Curve, Found, Row, figure, grown, growth, seconds_of, taking_turns

IN_MEMORY = Path("/dev/shm")
LINE = "a line of output that is longer than a word or two, as programs print them"
PRINTS = f"#!/bin/sh\ncat > /dev/null\nyes '{LINE}' | head -c {{size}}\necho \"call $$\"\n"
MEGABYTE = 10**6
QUICK = {1: 10, 10: 4, 100: 2, 200: 1}
FULL = {1: 40, 10: 40, 30: 14, 100: 5, 300: 2, 1000: 1, 3000: 1, 10_000: 1}
"""Megabytes, and how often they are printed in each turn."""
SILENT_TIMES = 20
TURNS, MOST_SECONDS = 3, 80
BESIDE = "`cat >file`"
MULTIPLE, USER, PEAK = "time, as a multiple of `cat >file`", "processor time of its own code", "memory at most"
NOTES = {USER: "without the time of the system, which fills memory for `cat` as well"}


@dataclass(frozen=True, slots=True)
class Judged:
    """What is judged together: from so many megabytes on."""

    name: str
    title: str
    first: int
    units: dict[str, str]


JUDGED = (
    Judged("output", "What a megabyte of output costs", 10, {USER: "ms/MB", PEAK: "MB"}),
    Judged("output-clock", "What a megabyte of output costs by the clock", 100, {MULTIPLE: "times"}),
)


@dataclass(frozen=True, slots=True)
class Printed:
    """So many megabytes, printed a few times: milliseconds for each megabyte."""

    ours: list[float]
    cat: list[float]
    user: float
    """Of the processor, for untildone's own code. The system counts it in ticks: so it is the mean of all."""
    system: float
    peak: float

    @property
    def costs(self) -> dict[str, float]:
        ours, cat = statistics.median(self.ours), statistics.median(self.cat)
        return {MULTIPLE: ours / cat if cat else 1.0, USER: self.user, PEAK: self.peak}


def rows(*, quick: bool) -> Iterator[Found]:
    sizes = QUICK if quick else FULL
    place = _place_for(max(size * times for size, times in sizes.items()) * MEGABYTE)
    if place is None:
        yield Row("a megabyte of output", error="neither memory nor disk has room for the largest size")
        return
    if place == IN_MEMORY:
        _use_memory(max(size * times for size, times in sizes.items()))
    printed: dict[int, list[Printed]] = {size: [] for size in sizes}
    for size in taking_turns(tuple(sizes), TURNS, MOST_SECONDS):
        printed[size].append(_printed(place, size, sizes[size], number=len(printed[size])))
    yield from (_row(place, size, turns) for size, turns in printed.items())
    for judged in JUDGED:
        yield from _grown(judged, {size: turns for size, turns in printed.items() if size >= judged.first})


def _row(place: Path, size: int, turns: Sequence[Printed]) -> Row:
    ours = figure([each for turn in turns for each in turn.ours], "ms/MB")
    cat = figure([each for turn in turns for each in turn.cat], "ms/MB")
    user, system = (statistics.median(getattr(turn, kind) for turn in turns) for kind in ("user", "system"))
    peak = max(turn.peak for turn in turns)
    note = (
        f"{place}; processor: {user:.2f} of its own code, {system:.2f} of the system; at most {peak:.1f} MB of memory"
    )
    return Row(f"a megabyte, of {size:,} in a turn", ours, BESIDE, cat, note=note)


def _grown(judged: Judged, printed: dict[int, list[Printed]]) -> Iterator[Found]:
    sizes, series = tuple(printed), dict[str, tuple[float, ...]]()
    turns = [[each.costs for each in turn] for turn in zip(*printed.values(), strict=True)]
    for name, unit in judged.units.items():
        costs = [[cost[name] for cost in turn] for turn in turns]
        yield from growth(f"{name}, by MB of output", sizes, costs, unit, NOTES.get(name, ""))
        series[name] = grown(sizes, costs).levels
    yield Curve(judged.name, judged.title, "megabytes that the agent prints in a turn", sizes, series)


def _place_for(size: int) -> Path | None:
    """One for all sizes. Memory, with some left free; else a disk with some space to spare."""
    room = 1.3 * size + 10**9
    if IN_MEMORY.is_dir() and min(_free(IN_MEMORY), psutil.virtual_memory().available) > room:
        return IN_MEMORY
    disk = Path(tempfile.gettempdir())
    return disk if _free(disk) > room else None


def _free(place: Path) -> int:
    return shutil.disk_usage(place).free


def _use_memory(megabytes: int) -> None:
    with tempfile.NamedTemporaryFile(dir=IN_MEMORY) as file:
        for _ in range(megabytes):
            file.write(bytes(MEGABYTE))


def _printed(place: Path, size: int, times: int, number: int) -> Printed:
    """Another one of the two first in each turn; without what a turn takes that prints next to nothing."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        silent, agent = (
            program(Path(folder) / name / "agent.sh", PRINTS.format(size=megabytes * MEGABYTE))
            for name, megabytes in (("silent", 0), ("full", size))
        )
        if number % 2:
            ours, cat = _ours(agent, times), _cats(agent, times)
        else:
            cat, ours = _cats(agent, times), _ours(agent, times)
        cat_start, start = _cats(silent, SILENT_TIMES), _ours(silent, SILENT_TIMES)
    return Printed(
        _for_each(size, ours.clock, statistics.median(start.clock)),
        _for_each(size, cat, statistics.median(cat_start)),
        _for_each(size, [ours.user], start.user)[0],
        _for_each(size, [ours.system], start.system)[0],
        ours.peak,
    )


def _for_each(size: int, milliseconds: Sequence[float], start: float) -> list[float]:
    """Of each megabyte."""
    return [max(0.0, each - start) / size for each in milliseconds]


@dataclass(frozen=True, slots=True)
class Ours:
    """Milliseconds for all of it."""

    clock: list[float]
    user: float
    system: float
    peak: float


def _ours(agent: Path, times: int) -> Ours:
    workspace = agent.parent / "work"
    told = drive_alone(with_command(workspace, agent, 1), times)
    shutil.rmtree(workspace)
    processor, user = (statistics.fmean(told[name]) * 1000 for name in ("processor", "user"))
    return Ours([seconds * 1000 for seconds in told["programs"]], user, processor - user, told["peak_kb"] / 1024)


def _cats(agent: Path, times: int) -> list[float]:
    outs = [agent.parent / f"out{number}" for number in range(times)]
    took = [_cat(agent, out) * 1000 for out in outs]
    for out in outs:
        out.unlink()
    return took


def _cat(agent: Path, out: Path) -> float:
    """As untildone does it: through a pipe."""
    command = ["sh", "-c", '"$0" | cat > "$1"', str(agent), str(out)]
    return seconds_of(lambda: subprocess.run(command, stdin=subprocess.DEVNULL, check=True))
