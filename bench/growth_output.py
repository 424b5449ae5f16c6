"""What one more megabyte of output costs, of 1 MB to 10 GB that an agent prints in one turn: time, and memory at most.

Beside it, the same program writing to a file by itself. In a file system in memory where there is room, as this is not about disks.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
from driving import drive_alone, program, with_command
from figures import Curve, Figure, Found, Row, figure, seconds_of, slope

IN_MEMORY = Path("/dev/shm")
LINE = "a line of output that is longer than a word or two, as programs print them"
PRINTS = f"#!/bin/sh\ncat > /dev/null\nyes '{LINE}' | head -c {{size}}\necho \"call $$\"\n"
MEGABYTE = 10**6
QUICK = {1: 10, 10: 4, 100: 2}
FULL = {1: 100, 10: 30, 100: 9, 1000: 3, 10_000: 1}
"""Megabytes, and how often they are printed."""


@dataclass(frozen=True, slots=True)
class Point:
    megabytes: int
    ours: Figure
    bare: Figure
    peak: float


def rows(*, quick: bool) -> Iterator[Found]:
    points = []
    silent = _silent(10 if quick else 100)
    for megabytes, times in (QUICK if quick else FULL).items():
        place = _place_for(megabytes * MEGABYTE * times)
        if place is None:
            yield Row(f"{megabytes:,} MB of output", error="left out: neither memory nor disk has room for it")
            continue
        point = _measured(place, megabytes, times, silent)
        points.append(point)
        note = f"{place}; at most {point.peak:.1f} MB of memory"
        yield Row(f"a megabyte, of {megabytes:,} in a turn", point.ours, "written to a file", point.bare, note=note)
    yield from _slopes(points)


def _slopes(points: list[Point]) -> Iterator[Found]:
    series = {
        "time a megabyte": tuple(point.ours.middle for point in points),
        "memory at most": tuple(point.peak for point in points),
    }
    for name, values in series.items():
        yield slope(f"{name}, {points[-1].megabytes:,} beside {points[0].megabytes:,} MB", values)
    sizes = tuple(float(point.megabytes) for point in points)
    yield Curve("output", "What a megabyte of output costs", "megabytes that the agent prints in a turn", sizes, series)


def _place_for(size: int) -> Path | None:
    """Memory, with as much again left free; else a disk with some space to spare."""
    if IN_MEMORY.is_dir() and min(_free(IN_MEMORY), psutil.virtual_memory().available) > 2 * size:
        return IN_MEMORY
    disk = Path(tempfile.gettempdir())
    return disk if _free(disk) > 1.2 * size + 10**9 else None


def _free(place: Path) -> int:
    return shutil.disk_usage(place).free


def _silent(times: int) -> tuple[float, float]:
    """Seconds of a turn that prints next to nothing, here and alone."""
    with tempfile.TemporaryDirectory() as folder:
        agent = program(Path(folder) / "agent.sh", PRINTS.format(size=0))
        turns = drive_alone(with_command(Path(folder) / "work", agent, 1), times + 1)["programs"]
        alone = [_alone(agent, Path(folder) / "out") for _ in range(times)]
    return statistics.median(turns), statistics.median(alone)


def _measured(place: Path, megabytes: int, times: int, silent: tuple[float, float]) -> Point:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        agent = program(Path(folder) / "agent.sh", PRINTS.format(size=megabytes * MEGABYTE))
        alone = [_alone(agent, Path(folder) / "out") for _ in range(times)]
        told = drive_alone(with_command(Path(folder) / "work", agent, 1), times)
    ours, bare = (
        figure([max(0.0, seconds - start) / megabytes * 1000 for seconds in measured], "ms/MB")
        for measured, start in zip((told["programs"], alone), silent, strict=True)
    )
    return Point(megabytes, ours, bare, told["peak_kb"] / 1024)


def _alone(agent: Path, out: Path) -> float:
    with open(out, "wb") as file:
        took = seconds_of(lambda: subprocess.run([agent], stdin=subprocess.DEVNULL, stdout=file, check=True))
    os.unlink(out)
    return took
