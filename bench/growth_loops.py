"""What one more loop costs in one server, of 1 to 2,000 that are started at once: time, memory, and the lists of them.

The agent answers at once, so that what is measured is the server's own. All loops of a size are created by a few clients at
once and wait for the slots; those of smaller sizes are in the history by then. What a loop costs where there are few is measured
in new servers, right before and after the largest size: what else the machine does changes in the minutes between two sizes.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from driving import DONE, program
from figures import Curve, Found, Row, figure, growth, seconds_of, taking_turns
from serving import Clients, Memory, completed, create

from untildone.board import Board
from untildone.store.files import FileStore
from untildone.testing.command_line import CommandLine
from untildone.testing.serving import Server

SLOTS = 8
WARM_UP = 20
"""Loops that a new server drives before anything is measured; enough for a full page too."""
PAGE = 10
NEW_RUNS = 3
ASKED = 20
"""So many times as often: an answer takes milliseconds, and differs from the next by more than the sizes do."""
LOOK_EVERY = 0.05
"""The same at every size: each look costs the server something."""
GOAL_MEGABYTES = 1.0
MOST_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Sizes:
    at_once: tuple[int, ...]
    few: int
    """So many give all slots work for a while: below, it is the time of a loop alone."""
    resting: int
    times: int


FULL = Sizes((1, 10, 100, 1000, 2000), few=100, resting=2000, times=40)
QUICK = Sizes((1, 10, 40), few=20, resting=20, times=5)


@dataclass(frozen=True, slots=True)
class Place:
    """A server with a workspace of its own, and those who call it."""

    cli: CommandLine
    server: Server
    clients: Clients
    command: str

    def listed(self) -> float:
        """The milliseconds of the API's list."""
        return seconds_of(lambda: self.server.client.get(f"/api/loops?limit={PAGE}").raise_for_status()) * 1000

    def shown(self) -> float:
        """Those of `untildone list`."""
        return seconds_of(lambda: self.cli.run("list")) * 1000

    def rest(self, loops: int) -> None:
        """So many more loops, which are not started."""
        self.clients.at_once(partial(create, start=False), [self.command] * loops)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a loop took, in milliseconds."""

    clock: float
    processor: float
    """Of the server and all that it started, which depends less on what else runs."""


@dataclass(frozen=True, slots=True)
class Point:
    loops: int
    cost: Cost
    megabytes: float
    listed: list[float]
    shown: list[float]


def rows(*, quick: bool) -> Iterator[Found]:
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder, _place(Path(folder) / "bench") as old:
        points, few = [], _few(Path(folder) / "before", sizes.few)
        for loops in sizes.at_once:
            points.append(_measured(old, loops, sizes.times))
            yield from _rows_of(points[-1])
        few += _few(Path(folder) / "after", sizes.few)
        yield from _boards(old.cli.workspace / ".loop", sizes.times)
        yield from _costs(points[-1], few, sizes.few)
        with _place(Path(folder) / "new") as new:
            yield from _lists(new, old, sizes)
        yield from _curves(points)


@contextmanager
def _place(folder: Path) -> Iterator[Place]:
    cli = CommandLine(folder)
    instant = str(program(cli.home / "instant", DONE))
    with Server(cli, "--quiet", "--slots", str(SLOTS)) as server:
        place = Place(cli, server, Clients(server), instant)
        _driven(place, WARM_UP)
        yield place


def _few(folder: Path, loops: int) -> list[Cost]:
    """In a new server, several times."""
    with _place(folder) as new:
        return [_cost(new, loops) for _ in range(NEW_RUNS)]


def _measured(place: Place, loops: int, times: int) -> Point:
    assert place.server.process is not None
    memory = Memory(place.server.process.pid)
    memory.start()
    cost, most = _cost(place, loops), memory.end()
    listed = [place.listed() for _ in range(times)]
    shown = [place.shown() for _ in range(max(3, times // 8))]
    return Point(loops, cost, most / loops, listed, shown)


def _cost(place: Place, loops: int) -> Cost:
    before = _processor_seconds(place.server)
    clock = seconds_of(lambda: _driven(place, loops))
    return Cost(clock / loops * 1000, (_processor_seconds(place.server) - before) / loops * 1000)


def _processor_seconds(server: Server) -> float:
    assert server.process is not None
    times = psutil.Process(server.process.pid).cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _driven(place: Place, loops: int) -> None:
    until = completed(place.server) + loops
    place.clients.at_once(create, [place.command] * loops)
    deadline = time.monotonic() + MOST_SECONDS
    while completed(place.server) < until:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{loops} loops are not done after {MOST_SECONDS:g} s")
        time.sleep(LOOK_EVERY)


def _rows_of(point: Point) -> Iterator[Row]:
    what = f"of {point.loops:,} at once"
    yield Row(f"a loop, {what}", figure([point.cost.clock], "ms"))
    yield Row(f"time of the processor for a loop, {what}", figure([point.cost.processor], "ms"))
    yield Row(f"memory for a loop, {what}", figure([point.megabytes], "MB"), goal=GOAL_MEGABYTES)
    yield Row(f"the API's list of {PAGE}, after them, {what}", figure(point.listed, "ms"))
    yield Row(f"`untildone list`, after them, {what}", figure(point.shown, "ms"))


def _costs(many: Point, few: Sequence[Cost], loops: int) -> Iterator[Row]:
    span = f"{many.loops:,} beside {loops:,} loops"
    note = f"{loops:,} in a new server, {len(few)} times, before and after"
    yield growth(f"time a loop, {span}", [(each.clock, many.cost.clock) for each in few], note)
    turns = [(each.processor, many.cost.processor) for each in few]
    yield growth(f"time of the processor for a loop, {span}", turns, note)


def _lists(new: Place, old: Place, sizes: Sizes) -> Iterator[Row]:
    """The two servers are asked in turns."""
    ended = sum(sizes.at_once) + WARM_UP
    span = f"{ended:,} beside {WARM_UP} loops"
    asked = ASKED * sizes.times
    yield growth(f"the API's list, {span}", _turns(Place.listed, new, old, asked), "all have ended")
    yield growth(f"untildone list, {span}", _turns(Place.shown, new, old, sizes.times), "all have ended")
    old.rest(sizes.resting)
    new.rest(PAGE)
    span = f"{sizes.resting:,} beside {PAGE} loops"
    yield growth(f"the API's list, {span}", _turns(Place.listed, new, old, asked), "none of them has ended")


def _turns(asked: Callable[[Place], float], new: Place, old: Place, times: int) -> list[tuple[float, float]]:
    took: dict[str, list[float]] = {new.server.url: [], old.server.url: []}
    for place in taking_turns((new, old), max(2, times)):
        took[place.server.url].append(asked(place))
    return list(zip(*took.values(), strict=True))


def _curves(points: list[Point]) -> Iterator[Found]:
    """From where every list is full."""
    full = [point for point in points if point.loops >= PAGE]
    series = {
        "time of the processor for a loop": tuple(point.cost.processor for point in full),
        "the API's list": tuple(statistics.median(point.listed) for point in full),
        "untildone list": tuple(statistics.median(point.shown) for point in full),
    }
    sizes = tuple(float(point.loops) for point in full)
    yield Curve("loops", "What one more loop costs in a server", "loops started at once", sizes, series)


def _boards(root: Path, times: int) -> Iterator[Row]:
    """What the dashboard asks for every second, if nobody has looked for it already."""
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
