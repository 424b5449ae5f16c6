"""What one more megabyte of output costs, of 1 MB to 10 GB that an agent prints in one turn: time, and memory at most.

Beside it, the same program writing to a file by itself. In a file system in memory where there is room, as this is not about
disks. That has a growth of its own: memory which nothing has used yet takes several times as long to fill, and only the largest
sizes get to it. So all of it is used once before; and the sizes take turns.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from driving import drive_alone, program, with_command
from figures import Curve, Found, Row, figure, growth, seconds_of, taking_turns

IN_MEMORY = Path("/dev/shm")
LINE = "a line of output that is longer than a word or two, as programs print them"
PRINTS = f"#!/bin/sh\ncat > /dev/null\nyes '{LINE}' | head -c {{size}}\necho \"call $$\"\n"
MEGABYTE = 10**6
QUICK = {1: 10, 10: 4, 100: 2}
FULL = {1: 40, 10: 12, 100: 5, 1000: 2, 10_000: 1}
"""Megabytes, and how often they are printed in each turn."""
TURNS, MOST_SECONDS = 3, 120
OURS, PROCESSOR, ALONE, PEAK = "time a megabyte", "processor time a megabyte", "the file alone", "memory at most"
BESIDE = "time a megabyte, as a multiple of the file alone"
NOT_OURS = (OURS, ALONE)
"""In these is how the file system takes more the more it holds, which differs from hour to hour."""
NOTES = {
    OURS: "with the file system's own growth",
    BESIDE: "without the file system's own growth",
    PROCESSOR: "of untildone's own process, which also writes the file",
    ALONE: "the file system's own growth",
}


@dataclass(frozen=True, slots=True)
class Size:
    megabytes: int
    times: int
    place: Path


@dataclass(frozen=True, slots=True)
class Printed:
    """So many megabytes, printed a few times: milliseconds for each megabyte."""

    ours: list[float]
    processor: list[float]
    alone: list[float]
    peak: float

    @property
    def costs(self) -> dict[str, float]:
        by_name = {OURS: self.ours, PROCESSOR: self.processor, ALONE: self.alone, PEAK: [self.peak]}
        costs = {name: statistics.median(values) for name, values in by_name.items()}
        return {**costs, BESIDE: costs[OURS] / costs[ALONE]} if costs[ALONE] else costs


def rows(*, quick: bool) -> Iterator[Found]:
    sizes = []
    for megabytes, times in (QUICK if quick else FULL).items():
        place = _place_for(megabytes * MEGABYTE * times)
        if place is None:
            yield Row(f"{megabytes:,} MB of output", error="left out: neither memory nor disk has room for it")
        else:
            sizes.append(Size(megabytes, times, place))
    _use_memory(max((size.megabytes * size.times for size in sizes if size.place == IN_MEMORY), default=0))
    printed: dict[int, list[Printed]] = {size.megabytes: [] for size in sizes}
    for size in taking_turns(sizes, TURNS, MOST_SECONDS):
        printed[size.megabytes].append(_printed(size))
    yield from map(_row, sizes, printed.values())
    yield from _grown(printed)


def _row(size: Size, turns: Sequence[Printed]) -> Row:
    ours = figure([each for turn in turns for each in turn.ours], "ms/MB")
    alone = figure([each for turn in turns for each in turn.alone], "ms/MB")
    note = f"{size.place}; at most {max(turn.peak for turn in turns):.1f} MB of memory"
    return Row(f"a megabyte, of {size.megabytes:,} in a turn", ours, "written to a file", alone, note=note)


def _grown(printed: dict[int, list[Printed]]) -> Iterator[Found]:
    (first, few), *_, (last, many) = printed.items()
    for name in few[0].costs:
        turns = [(one.costs[name], other.costs[name]) for one, other in zip(few, many, strict=True)]
        yield growth(f"{name}, {last:,} beside {first:,} MB", turns, NOTES.get(name, ""), judged=name not in NOT_OURS)
    series = {name: tuple(_middle(name, turns) for turns in printed.values()) for name in few[0].costs}
    sizes = tuple(map(float, printed))
    yield Curve("output", "What a megabyte of output costs", "megabytes that the agent prints in a turn", sizes, series)


def _middle(name: str, turns: Sequence[Printed]) -> float:
    return statistics.median(turn.costs[name] for turn in turns)


def _place_for(size: int) -> Path | None:
    """Memory, with as much again left free; else a disk with some space to spare."""
    if IN_MEMORY.is_dir() and min(_free(IN_MEMORY), psutil.virtual_memory().available) > 2 * size:
        return IN_MEMORY
    disk = Path(tempfile.gettempdir())
    return disk if _free(disk) > 1.2 * size + 10**9 else None


def _free(place: Path) -> int:
    return shutil.disk_usage(place).free


def _use_memory(megabytes: int) -> None:
    if megabytes:
        with tempfile.NamedTemporaryFile(dir=IN_MEMORY) as file:
            for _ in range(megabytes):
                file.write(bytes(MEGABYTE))


def _printed(size: Size) -> Printed:
    with tempfile.TemporaryDirectory(dir=size.place) as folder:
        silent = _measured(Path(folder) / "silent", 0, max(10, size.times))
        full = _measured(Path(folder) / "full", size.megabytes, size.times)
    start = silent.costs
    ours, processor, alone = (
        [max(0.0, each - start[name]) / size.megabytes for each in values]
        for name, values in ((OURS, full.ours), (PROCESSOR, full.processor), (ALONE, full.alone))
    )
    return Printed(ours, processor, alone, full.peak)


def _measured(place: Path, megabytes: int, times: int) -> Printed:
    """Milliseconds for all of it, with what a turn takes that prints next to nothing."""
    agent = program(place / "agent.sh", PRINTS.format(size=megabytes * MEGABYTE))
    alone = [_alone(agent, place / "out") for _ in range(times)]
    told = drive_alone(with_command(place / "work", agent, 1), times)
    ours, processor, alone = (
        [seconds * 1000 for seconds in measured] for measured in (told["programs"], told["processor"], alone)
    )
    return Printed(ours, processor, alone, told["peak_kb"] / 1024)


def _alone(agent: Path, out: Path) -> float:
    with open(out, "wb") as file:
        took = seconds_of(lambda: subprocess.run([agent], stdin=subprocess.DEVNULL, stdout=file, check=True))
    os.unlink(out)
    return took
