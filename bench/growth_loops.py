"""What one more loop costs in a server, of 1 to 2,000 that are started at once: time, memory, and the lists of them.

Each number of loops has a server of its own, so that it is what the server has seen. Smaller numbers are driven several times,
before, between and after the larger ones, in new servers each time: what else the machine does changes in the minutes that those
take. One server of each number stays, and all of these are asked for their lists in turns.

A loop alone is shown, and many are judged beside it; but the line of growth begins where all slots have work for a while: below, it
would begin with the dearest size and hide what grows after it.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
from driving import DONE, program
from figures import FLAT, Curve, Found, Row, figure, grown, growth, seconds_of, taking_turns
from serving import Clients, Memory, completed, create
from tests.support.command_line import CommandLine
from tests.support.serving import Server

from untildone.operations.loop_table import LoopTable
from untildone.store.files import FileStore

SLOTS = 8
WARM_UP = 20
"""Loops that a new server drives before anything is measured; enough for a full page too."""
PAGE = 10
LOOK_EVERY = 0.05
"""The same at every size: each look costs the server something."""
MOST_KILOBYTES = 16.0
"""For one more loop, where there are many; those of a few are lost in what the server takes for itself."""
MANY = 1000
SOME = 200
"""Loops that a server drives at least, a few at once: what few take differs more from one time to the next."""
MOST_SECONDS = 200.0


@dataclass(frozen=True, slots=True)
class Sizes:
    order: tuple[int, ...]
    """In which so many are driven at once, each time in a new server."""
    alone: int
    """How often one is driven alone."""
    lists: int
    """How often each server is asked for its list by the API."""
    shown: int
    """And by `untildone list`."""

    @property
    def judged(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.order)))


FULL = Sizes((50, 100, 300, 1000, 300, 50, 100, 2000, 100, 300, 50), alone=15, lists=401, shown=40)
QUICK = Sizes((10, 20, 40, 10, 20), alone=3, lists=20, shown=3)


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
    """What a loop took, in milliseconds and kilobytes."""

    clock: float
    processor: float
    """Of the server and all that it started, which depends less on what else runs."""
    kilobytes: float


def rows(*, quick: bool) -> Iterator[Found]:
    sizes = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as name, ExitStack() as ends:
        folder = Path(name)
        with _place(folder / "alone") as place:
            alone, own_process = [_cost(place, 1) for _ in range(sizes.alone)], _own_process(place)
        costs: dict[int, list[Cost]] = {size: [] for size in sizes.judged}
        places: dict[int, Place] = {}
        for number, size in enumerate(sizes.order):
            with ExitStack() as end:
                # The last server of each size stays for its lists.
                stays = size not in sizes.order[number + 1 :]
                place = (ends if stays else end).enter_context(_place(folder / str(number)))
                costs[size] += [_cost(place, size) for _ in range(1 if stays else max(1, SOME // size))]
                places |= {size: place} if stays else {}
        yield from _rows_of(costs, alone, own_process)
        yield from _costs(costs, alone)
        ordered = [places[size] for size in sizes.judged]
        yield from _boards(ordered[-1].cli.workspace / ".loop", sizes.lists)
        yield from _lists(sizes, ordered)


@contextmanager
def _place(folder: Path) -> Iterator[Place]:
    cli = CommandLine(folder)
    instant = str(program(cli.home / "instant", DONE))
    with Server(cli, "--quiet", "--slots", str(SLOTS)) as server:
        place = Place(cli, server, Clients(server), instant)
        _driven(place, WARM_UP)
        yield place


def _own_process(place: Place) -> float:
    """The kilobytes of `untildone run` for one loop, at most: what it takes without a server."""
    words = ("run", "A job", "--agent", "command", "--command", place.command)
    process, most = place.cli.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), 0
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
    for size, found in ((1, alone), *costs.items()):
        what = f"of {size:,} at once"
        yield Row(f"a loop, {what}", figure([each.clock for each in found], "ms"))
        yield Row(f"time of the processor for a loop, {what}", figure([each.processor for each in found], "ms"))
        yield Row(
            f"memory for a loop, {what}",
            figure([each.kilobytes for each in found], "KB"),
            "a process of its own, `untildone run`",
            figure([own_process], "KB"),
            limit=MOST_KILOBYTES if size >= MANY else None,
        )


def _costs(costs: dict[int, list[Cost]], alone: Sequence[Cost]) -> Iterator[Found]:
    sizes, series = tuple(costs), dict[str, tuple[float, ...]]()
    for name, what in (("clock", "time of a loop"), ("processor", "time of the processor for a loop")):
        found = [statistics.median(getattr(each, name) for each in costs[size]) for size in sizes]
        most = figure([getattr(each, name) for each in costs[sizes[-1]]], "ms")
        # The mean: the system counts the processor's time in ticks, of which a loop takes two or three.
        one = figure([statistics.fmean(getattr(each, name) for each in alone)], "ms")
        yield Row(f"{what}, of {sizes[-1]:,} at once", most, "a loop alone in a server", one, goal=FLAT)
        yield from growth(f"{what}, by loops at once", sizes, [found], "ms")
        series[what] = tuple(found)
    yield Curve("loops", "What one more loop costs in a server", "loops started at once", sizes, series)


def _lists(sizes: Sizes, places: Sequence[Place]) -> Iterator[Found]:
    """All servers are asked in turns."""
    numbers, series = sizes.judged, dict[str, tuple[float, ...]]()
    asked = [("the API's list, all ended", Place.listed, sizes.lists), ("`untildone list`", Place.shown, sizes.shown)]
    for what, ask, times in asked:
        turns = _turns(ask, places, times)
        yield from growth(f"{what}, by loops", numbers, turns, "ms", f"besides {WARM_UP} others")
        series[what] = grown(numbers, turns).levels
    for number, place in zip(numbers, places, strict=True):
        place.rest(number)
    what = "the API's list, none ended"
    turns = _turns(Place.listed, places, sizes.lists)
    yield from growth(f"{what}, by loops", numbers, turns, "ms")
    series[what] = grown(numbers, turns).levels
    yield Curve("lists", "What a list of loops costs", "loops", tuple(map(float, numbers)), series)


def _turns(asked: Callable[[Place], float], places: Sequence[Place], times: int) -> list[tuple[float, ...]]:
    took: dict[str, list[float]] = {place.server.url: [] for place in places}
    for place in taking_turns(places, times):
        took[place.server.url].append(asked(place))
    return list(zip(*took.values(), strict=True))


def _boards(root: Path, times: int) -> Iterator[Row]:
    """What the dashboard asks for every second, if nobody has looked for it already."""
    board = LoopTable({"bench": FileStore(root)})
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
