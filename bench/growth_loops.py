"""What one more loop costs in one server, of 1 to 2,000 that are started at once: time, memory, and the lists of them.

The agent answers at once, so that what is measured is the server's own. All loops of a size are created by a few clients at
once and wait for the slots; those of smaller sizes are in the history by then.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from driving import DONE, program
from figures import Curve, Found, Row, figure, seconds_of, slope
from serving import Clients, Memory, completed, create

from untildone.board import Board
from untildone.store.files import FileStore
from untildone.testing.command_line import CommandLine
from untildone.testing.serving import Server

SLOTS = 8
PAGE, BUSY = 10, 100
"""From so many on, a list is full; and all slots have work: below, it is the time of a loop alone."""
GOAL_MEGABYTES = 1.0
MOST_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Point:
    loops: int
    milliseconds: float
    megabytes: float
    listed: list[float]
    shown: list[float]


def rows(*, quick: bool) -> Iterator[Found]:
    sizes, times = ((1, 10, 40), 5) if quick else ((1, 10, 100, 1000, 2000), 20)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        cli = CommandLine(Path(folder) / "bench")
        instant = str(program(cli.home / "instant", DONE))
        with Server(cli, "--quiet", "--slots", str(SLOTS)) as server:
            clients = Clients(server)
            for loops in sizes:
                points.append(_measured(clients, server, cli, instant, loops, times))
                yield from _rows_of(points[-1])
        yield from _boards(cli.workspace / ".loop", times)
    yield from _slopes(points)


def _rows_of(point: Point) -> Iterator[Row]:
    what = f"of {point.loops:,} at once"
    yield Row(f"a loop, {what}", figure([point.milliseconds], "ms"))
    yield Row(f"memory for a loop, {what}", figure([point.megabytes], "MB"), goal=GOAL_MEGABYTES)
    yield Row(f"the API's list of {PAGE}, after them, {what}", figure(point.listed, "ms"))
    yield Row(f"`untildone list`, after them, {what}", figure(point.shown, "ms"))


def _slopes(points: list[Point]) -> Iterator[Found]:
    """From where all slots have work and every list is full: below, other things are measured."""
    full = [point for point in points if point.loops >= PAGE]
    busy = [point for point in full if point.loops >= BUSY] or full
    span = f"{points[-1].loops:,} beside {busy[0].loops:,} loops"
    yield slope(f"time a loop, {span}", [point.milliseconds for point in busy], "from where all slots have work")
    series = {
        "time a loop": tuple(point.milliseconds for point in full),
        "the API's list": tuple(statistics.median(point.listed) for point in full),
        "untildone list": tuple(statistics.median(point.shown) for point in full),
    }
    for name in ("the API's list", "untildone list"):
        yield slope(f"{name}, {points[-1].loops:,} beside {full[0].loops:,} loops", series[name])
    sizes = tuple(float(point.loops) for point in full)
    yield Curve("loops", "What one more loop costs in a server", "loops started at once", sizes, series)


def _measured(clients: Clients, server: Server, cli: CommandLine, command: str, loops: int, times: int) -> Point:
    assert server.process is not None
    memory, done = Memory(server.process.pid), completed(server)
    memory.start()
    took = seconds_of(lambda: _driven(clients, server, command, loops, done + loops))
    most = memory.end()
    listed = [seconds_of(lambda: server.client.get(f"/api/loops?limit={PAGE}")) * 1000 for _ in range(times)]
    shown = [seconds_of(lambda: cli.run("list")) * 1000 for _ in range(max(3, times // 4))]
    return Point(loops, took / loops * 1000, most / loops, listed, shown)


def _driven(clients: Clients, server: Server, command: str, loops: int, until: int) -> None:
    clients.at_once(create, [command] * loops)
    deadline = time.monotonic() + MOST_SECONDS
    while completed(server) < until:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{loops} loops are not done after {MOST_SECONDS:g} s")
        # Each look costs the server something, the more the more loops it has.
        time.sleep(max(0.01, min(1.0, loops / 500)))


def _boards(root: Path, times: int) -> Iterator[Row]:
    """What the dashboard asks for every second."""
    board = Board({"bench": FileStore(root)})
    first = seconds_of(board.rows) * 1000
    again = figure([seconds_of(board.rows) * 1000 for _ in range(times)], "ms")
    number = len(board.rows())
    yield Row(f"the dashboard's list of {number:,}, the first time", figure([first], "ms"))
    listing = [_listing_seconds(root) * 1000 for _ in range(3)]
    yield Row(f"the dashboard's list of {number:,}, again", again, "`ls -l` of the same folders", figure(listing, "ms"))


def _listing_seconds(root: Path) -> float:
    return seconds_of(
        lambda: subprocess.run(["ls", "-l", root, root / "history"], stdout=subprocess.DEVNULL, check=True)
    )
