"""The Postgres store compared with the file store: appends, loads, lists, and the delay of a message."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from figures import Row, figure, growth, seconds_of, taking_turns
from tests.support.postgres import Cluster, programs
from tests.support.store_conformance import iteration, loop_created

from untildone.core.events import MessageSent
from untildone.store import Journal, Store
from untildone.store.files import FileStore
from untildone.store.postgres import PostgresStore

BASELINE = "files on the same disk"
LOADS = 801


def rows(*, quick: bool) -> Iterator[Row]:
    appends, loops, rounds = (60, 200, (30, 100, 300)) if quick else (300, 1000, (30, 100, 300, 1000, 3000))
    with _stores() as (files, database, elsewhere):
        yield from _appends(files, database, appends)
        yield _concurrent_appends(database, appends)
        yield _list(files, database, loops)
        yield from _loads(files, database, rounds)
        yield _message_delay(database, elsewhere, 20 if quick else 100)


@contextmanager
def _stores() -> Iterator[tuple[Store, Store, Store]]:
    """A file store, a Postgres store with synchronous commits, and a second connection to the same database."""
    bin_folder = programs()
    if bin_folder is None:
        raise SystemExit("Postgres is not installed")
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(tempfile.mkdtemp(prefix="pg-")), bin_folder, settings={})
        try:
            cluster.start()
            address = cluster.create_database()
            one, other = (PostgresStore(address, folder=Path(folder) / "own") for _ in range(2))
            with closing(one), closing(other):
                yield FileStore(Path(folder) / ".loop"), one, other
        finally:
            cluster.close()


def _appends(files: Store, database: Store, times: int) -> Iterator[Row]:
    for what, events in (("an append of one event", 1), ("an append of one iteration's events", 3)):
        took: dict[str, list[float]] = {}
        for kind, store in (("files", files), ("database", database)):
            store.create(loop_created(f"loop-append-{events}"))
            with store.lease(f"loop-append-{events}") as journal:
                append = _appending(journal, events)
                took[kind] = [seconds_of(append) * 1000 for _ in range(times)]
        yield Row(what, figure(took["database"], "ms"), BASELINE, figure(took["files"], "ms"))


def _appending(journal: Journal, events: int) -> Callable[[], object]:
    return lambda: journal.append(*iteration(1)[:events])


def _concurrent_appends(database: Store, times: int) -> Row:
    """Appends of eight loops at once to one database server."""

    def write(number: int) -> float:
        database.create(loop_created(f"loop-crowd-{number}"))
        with database.lease(f"loop-crowd-{number}") as journal:
            return seconds_of(lambda: [journal.append(MessageSent("hello")) for _ in range(times)]) / times * 1000

    alone = write(0)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(write, range(1, 9)))
    return Row("an append while eight loops append", figure(together, "ms"), "one loop alone", figure([alone], "ms"))


def _survey(store: Store, names: tuple[str, ...]) -> None:
    list(store.survey(names))


def _list(files: Store, database: Store, loops: int) -> Row:
    took: dict[str, list[float]] = {}
    for kind, store in (("files", files), ("database", database)):
        for number in range(loops):
            store.create(loop_created(f"loop-list-{number:05d}"))
        names = tuple(name for name in store.ids() if name.startswith("loop-list-"))
        took[kind] = [seconds_of(partial(_survey, store, names)) * 1000 for _ in range(5)]
    return Row(f"a list of {loops:,} loops", figure(took["database"], "ms"), BASELINE, figure(took["files"], "ms"))


def _loads(files: Store, database: Store, sizes: Sequence[int]) -> Iterator[Row]:
    """Loads with a current checkpoint, for journals of different lengths."""
    for kind, store in (("files", files), ("Postgres", database)):
        for size in sizes:
            store.create(loop_created(f"loop-{size}"))
            with store.lease(f"loop-{size}") as journal:
                for number in range(0, size, 10):
                    events = [event for each in range(number, number + 10) for event in iteration(each + 1)]
                    journal.append(*events, sync=False)
        costs: dict[int, list[float]] = {size: [] for size in sizes}
        for size in taking_turns(sizes, LOADS):
            costs[size].append(seconds_of(partial(store.load, f"loop-{size}")) * 1000)
        yield from growth(f"a load from {kind}, by rounds", sizes, list(zip(*costs.values(), strict=True)), "ms")


def _message_delay(database: Store, elsewhere: Store, times: int) -> Row:
    """The delay from a message in one process until the runner in another reads it."""
    database.create(loop_created("loop-heard"))
    delays: list[float] = []
    with database.lease("loop-heard") as runner, closing(elsewhere.open("loop-heard")) as control:
        runner.catch_up()
        for _ in range(times):
            began = time.perf_counter()
            control.append(MessageSent("hello"))
            while not runner.catch_up():
                time.sleep(0.001)
            delays.append((time.perf_counter() - began) * 1000)
    return Row("a message until the runner has read it", figure(delays, "ms"))


if __name__ == "__main__":
    for row in rows(quick=True):
        print(row)
