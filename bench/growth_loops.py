"""The cost of one more loop in a server with 1 to 400 loops started at once: time, memory, and lists of loops.

Each loop takes a snapshot of the workspace and runs its agent in a box, which is most of its cost. The five sizes, each double the one
before, show growth as well as larger ones, which would take longer than the time limit.

Each number of loops gets a new server. Smaller numbers are measured several times, before, between and after the larger
ones, because the load of the machine changes over these minutes. One server of each size is kept, and these are asked for
their lists in turn.

A single loop is measured too, and many are compared with it: by the clock on an idle machine, by CPU time while the other cores
have work, as they have with many loops. Cores share caches and clock rates, so the same work takes more CPU time beside other work.
The growth line starts at the size at which all slots are busy for a while: smaller sizes cost more per loop and would hide later growth.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from driving import DONE, program
from figures import FLAT, Curve, Result, Row, figure, grown, growth, seconds_of, taking_turns
from serving import Clients, Memory, completed, create
from tests.support.command_line import CommandLine
from tests.support.serving import Server

from untildone.operations.loop_table import LoopTable
from untildone.store.files import FileStore

SLOTS = 8
WARM_UP = 20
"""Loops that a new server drives before measuring; enough to fill a page."""
PAGE = 10
LOOK_EVERY = 0.05
"""Seconds between polls, the same at every size because each poll costs the server time."""
MOST_KILOBYTES = 32.0
"""Goal for the memory of one more loop at large sizes; at small ones the server's own memory dominates.

Python's objects of a loop that has ended take 4 KB. The rest is what eight slots take for a while, and what the allocator keeps.
"""
MANY = 400
SOME = 50
"""The least number of loops that is measured at a size: small numbers vary more and are repeated."""
MOST_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Sizes:
    order: tuple[int, ...]
    """The numbers of loops at once, in the order of measurement, each in a new server."""
    alone: int
    """How often a single loop is measured."""
    lists: int
    """How often each server is asked for its list through the API."""
    shown: int
    """How often `untildone list` is measured."""

    @property
    def judged(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.order)))


FULL = Sizes((25, 50, 100, 200, 50, 25, 400, 100, 50, 25), alone=15, lists=201, shown=20)
QUICK = Sizes((10, 20, 40, 10, 20), alone=3, lists=20, shown=3)


@dataclass(frozen=True, slots=True)
class Place:
    """A server with its own workspace and clients."""

    cli: CommandLine
    server: Server
    clients: Clients
    command: str

    def listed(self) -> float:
        """Milliseconds of a list request to the API."""
        return seconds_of(lambda: self.server.client.get(f"/api/v1/loops?limit={PAGE}").raise_for_status()) * 1000

    def shown(self) -> float:
        """Milliseconds of `untildone list`."""
        return seconds_of(lambda: self.cli.run("list")) * 1000

    def rest(self, loops: int) -> None:
        """Create this many more loops without starting them."""
        self.clients.at_once(partial(create, start=False), [self.command] * loops)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one loop in milliseconds and kilobytes."""

    clock: float
    processor: float
    """CPU time of the server and its children."""
    kilobytes: float


def rows(*, quick: bool) -> Iterator[Result]:
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as name, ExitStack() as ends:
        folder = Path(name)
        with _place(folder / "alone") as place:
            alone, own_process = [_cost(place, 1) for _ in range(sizes.alone)], _own_process(place)
            with _other_cores_busy():
                beside = [_cost(place, 1) for _ in range(sizes.alone)]
        costs: dict[int, list[Cost]] = {size: [] for size in sizes.judged}
        places: dict[int, Place] = {}
        for number, size in enumerate(sizes.order):
            with ExitStack() as end:
                # The last server of each size is kept for the lists.
                stays = size not in sizes.order[number + 1 :]
                place = (ends if stays else end).enter_context(_place(folder / str(number)))
                costs[size] += [_cost(place, size) for _ in range(1 if stays else max(1, SOME // size))]
                places |= {size: place} if stays else {}
        yield from _rows_of(costs, alone, own_process)
        yield from _costs(costs, {"clock": alone, "processor": beside})
        ordered = [places[size] for size in sizes.judged]
        yield from _table_rows(ordered[-1].cli.workspace / ".loop", sizes.lists)
        yield from _lists(sizes, ordered)


@contextmanager
def _place(folder: Path) -> Iterator[Place]:
    cli = CommandLine(folder)
    instant = str(program(cli.home / "instant", DONE))
    with Server(cli, "--quiet", "--slots", str(SLOTS)) as server:
        place = Place(cli, server, Clients(server), instant)
        _driven(place, WARM_UP)
        yield place


@contextmanager
def _other_cores_busy() -> Iterator[None]:
    """Keep all cores but one busy, with processes that give way to others."""
    command = [sys.executable, "-c", "while True: pass"]
    busy = [subprocess.Popen(command) for _ in range((os.cpu_count() or 1) - 1)]
    try:
        for process in busy:
            os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _own_process(place: Place) -> float:
    """Peak kilobytes of `untildone run` for one loop, without a server."""
    arguments = ("run", "A job", "--agent", "command", "--command", place.command)
    process, most = place.cli.start(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
    while process.poll() is None:
        with suppress(psutil.Error):
            most = max(most, psutil.Process(process.pid).memory_info().rss)
        time.sleep(0.01)
    return most / 1024


def _cost(place: Place, loops: int) -> Cost:
    assert place.server.process is not None
    memory = Memory(place.server.process.pid)
    memory.start()
    before = _processor_seconds(place.server)
    clock = seconds_of(lambda: _driven(place, loops))
    processor = _processor_seconds(place.server) - before
    return Cost(clock / loops * 1000, processor / loops * 1000, memory.end() * 1024 / loops)


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


def _rows_of(costs: dict[int, list[Cost]], alone: Sequence[Cost], own_process: float) -> Iterator[Row]:
    for size, measured in ((1, alone), *costs.items()):
        what = f"of {size:,} at once"
        yield Row(f"a loop, {what}", figure([each.clock for each in measured], "ms"))
        yield Row(f"CPU time for a loop, {what}", figure([each.processor for each in measured], "ms"))
        yield Row(
            f"memory for a loop, {what}",
            figure([each.kilobytes for each in measured], "KB"),
            "a separate process, `untildone run`",
            figure([own_process], "KB"),
            limit=MOST_KILOBYTES if size >= MANY else None,
        )


def _costs(costs: dict[int, list[Cost]], alone: dict[str, Sequence[Cost]]) -> Iterator[Result]:
    sizes, series = tuple(costs), dict[str, tuple[float, ...]]()
    kinds = (
        ("clock", "time of a loop", "a loop alone in a server"),
        ("processor", "CPU time for a loop", "a loop alone in a server, the other cores busy"),
    )
    for name, what, baseline in kinds:
        medians = [statistics.median(getattr(each, name) for each in costs[size]) for size in sizes]
        most = figure([getattr(each, name) for each in costs[sizes[-1]]], "ms")
        # The mean, because CPU time is counted in ticks, of which a loop takes two or three.
        one = figure([statistics.fmean(getattr(each, name) for each in alone[name])], "ms")
        yield Row(f"{what}, of {sizes[-1]:,} at once", most, baseline, one, goal=FLAT)
        yield from growth(f"{what}, by loops at once", sizes, [medians], "ms")
        series[what] = tuple(medians)
    yield Curve("loops", "Cost of one more loop in a server", "loops started at once", sizes, series)


def _lists(sizes: Sizes, places: Sequence[Place]) -> Iterator[Result]:
    """Measure the lists of all servers in turn."""
    numbers, series = sizes.judged, dict[str, tuple[float, ...]]()
    lists = [("the API's list, all ended", Place.listed, sizes.lists), ("`untildone list`", Place.shown, sizes.shown)]
    for what, ask, times in lists:
        turns = _turns(ask, places, times)
        yield from growth(f"{what}, by loops", numbers, turns, "ms", f"plus {WARM_UP} warm-up loops")
        series[what] = grown(numbers, turns).levels
    for number, place in zip(numbers, places, strict=True):
        place.rest(number)
    what = "the API's list, none ended"
    turns = _turns(Place.listed, places, sizes.lists)
    yield from growth(f"{what}, by loops", numbers, turns, "ms")
    series[what] = grown(numbers, turns).levels
    yield Curve("lists", "Cost of a list of loops", "loops", tuple(map(float, numbers)), series)


def _turns(asked: Callable[[Place], float], places: Sequence[Place], times: int) -> list[tuple[float, ...]]:
    took: dict[str, list[float]] = {place.server.url: [] for place in places}
    for place in taking_turns(places, times):
        took[place.server.url].append(asked(place))
    return list(zip(*took.values(), strict=True))


def _table_rows(root: Path, times: int) -> Iterator[Row]:
    """The table that the dashboard polls every second, without its cache."""
    table = LoopTable({"bench": FileStore(root)})
    first = seconds_of(table.rows) * 1000
    again = figure([seconds_of(table.rows) * 1000 for _ in range(times)], "ms")
    number = len(table.rows())
    yield Row(f"the dashboard's list of {number:,}, the first time", figure([first], "ms"))
    listing = [_listing_seconds(root) * 1000 for _ in range(3)]
    yield Row(f"the dashboard's list of {number:,}, again", again, "`ls -l` of the same folders", figure(listing, "ms"))


def _listing_seconds(root: Path) -> float:
    return seconds_of(
        lambda: subprocess.run(["ls", "-l", root, root / "history"], stdout=subprocess.DEVNULL, check=True)
    )
