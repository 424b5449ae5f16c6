"""The cost of one more megabyte of output when an agent prints 1 MB to 10 GB in one turn: time and peak memory.

The baseline is the same program piped into `cat >file`. Files are in a memory file system if it has room, because this is not
about disks. Such a file system slows down as it fills, for `cat` too. So wall-clock time is judged as a multiple of `cat`, and
CPU time is the user time of untildone's own code, without kernel time. Both programs keep their files until the end of their
part, and memory is touched once beforehand, because first use is several times slower. Sizes and programs take turns.

The first megabytes cost more for both. They are reported, but growth is judged from 100 MB on: below that `cat` takes only
milliseconds by the clock, most of them for its start, and untildone less than a tenth of a second of CPU time.
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
from figures import Curve, Result, Row, figure, grown, growth, seconds_of, taking_turns

IN_MEMORY = Path("/dev/shm")
LINE = "a line of output that is longer than a word or two, as programs print them"
PRINTS = f"#!/bin/sh\ncat > /dev/null\nyes '{LINE}' | head -c {{size}}\necho \"call $$\"\n"
MEGABYTE = 10**6
QUICK = {1: 10, 10: 4, 100: 2, 200: 1}
FULL = {1: 40, 10: 40, 30: 14, 100: 5, 300: 2, 1000: 1, 3000: 1, 10_000: 1}
"""Megabytes → how often they are printed in each turn."""
SILENT_TIMES = 20
TURNS, MOST_SECONDS = 3, 80
BASELINE = "`cat >file`"
MULTIPLE, USER, PEAK = "time, as a multiple of `cat >file`", "user CPU time", "peak memory"
NOTES = {USER: "without kernel time, which `cat` needs too"}


@dataclass(frozen=True, slots=True)
class Judged:
    """Measurements that share a plot."""

    name: str
    title: str
    units: dict[str, str]


FIRST_JUDGED = 100
"""Megabytes from which on growth is judged."""
JUDGED = (
    Judged("output", "Cost of a megabyte of output", {USER: "ms/MB", PEAK: "MB"}),
    Judged("output-clock", "Cost of a megabyte of output by the clock", {MULTIPLE: "times"}),
)


@dataclass(frozen=True, slots=True)
class Printed:
    """Measurements of one size, in milliseconds per megabyte."""

    ours: list[float]
    cat: list[float]
    user: float
    """User CPU time of untildone; a mean, because it is counted in ticks."""
    system: float
    peak: float

    @property
    def costs(self) -> dict[str, float]:
        ours, cat = statistics.median(self.ours), statistics.median(self.cat)
        return {MULTIPLE: ours / cat if cat else 1.0, USER: self.user, PEAK: self.peak}


def rows(*, quick: bool) -> Iterator[Result]:
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
        yield from _grown(judged, {size: turns for size, turns in printed.items() if size >= FIRST_JUDGED})


def _row(place: Path, size: int, turns: Sequence[Printed]) -> Row:
    ours = figure([each for turn in turns for each in turn.ours], "ms/MB")
    cat = figure([each for turn in turns for each in turn.cat], "ms/MB")
    user, system = (statistics.median(getattr(turn, kind) for turn in turns) for kind in ("user", "system"))
    peak = max(turn.peak for turn in turns)
    note = f"{place}; CPU: {user:.2f} user, {system:.2f} kernel; peak memory {peak:.1f} MB"
    return Row(f"a megabyte, of {size:,} in a turn", ours, BASELINE, cat, note=note)


def _grown(judged: Judged, printed: dict[int, list[Printed]]) -> Iterator[Result]:
    sizes, series = tuple(printed), dict[str, tuple[float, ...]]()
    turns = [[each.costs for each in turn] for turn in zip(*printed.values(), strict=True)]
    for name, unit in judged.units.items():
        costs = [[cost[name] for cost in turn] for turn in turns]
        yield from growth(f"{name}, by MB of output", sizes, costs, unit, NOTES.get(name, ""))
        series[name] = grown(sizes, costs).levels
    yield Curve(judged.name, judged.title, "megabytes that the agent prints in a turn", sizes, series)


def _place_for(size: int) -> Path | None:
    """A folder with room for the largest size: in memory if possible, else on disk."""
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
    """Measure one size, in alternating order, and subtract the time of a turn that prints almost nothing."""
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
    """Milliseconds per megabyte without the start time."""
    return [max(0.0, each - start) / size for each in milliseconds]


@dataclass(frozen=True, slots=True)
class Ours:
    """Milliseconds of whole turns."""

    clock: list[float]
    user: float
    system: float
    peak: float


def _ours(agent: Path, times: int) -> Ours:
    workspace = agent.parent / "work"
    result = drive_alone(with_command(workspace, agent, 1), times)
    shutil.rmtree(workspace)
    processor, user = (statistics.fmean(result[name]) * 1000 for name in ("processor", "user"))
    return Ours([seconds * 1000 for seconds in result["programs"]], user, processor - user, result["peak_kb"] / 1024)


def _cats(agent: Path, times: int) -> list[float]:
    outs = [agent.parent / f"out{number}" for number in range(times)]
    took = [_cat(agent, out) * 1000 for out in outs]
    for out in outs:
        out.unlink()
    return took


def _cat(agent: Path, out: Path) -> float:
    """Seconds of the agent piped into `cat`, as untildone reads it."""
    command = ["sh", "-c", '"$0" | cat > "$1"', str(agent), str(out)]
    return seconds_of(lambda: subprocess.run(command, stdin=subprocess.DEVNULL, check=True))
