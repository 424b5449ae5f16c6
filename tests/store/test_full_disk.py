"""A full disk and a read-only folder: reported in a sentence, nothing lost, and the loop continues when it is fixed."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.support.store_conformance import folded, heard, iteration, loop_created, process

from untildone.core.errors import StoreError
from untildone.core.events import MessageSent, StartRequested
from untildone.store.files import FileStore
from untildone.store.seals import Seals

NAME = "loop-1"
MAY_MOUNT_BIT = 21


def may_mount() -> bool:
    status = Path("/proc/self/status")
    if os.geteuid() != 0 or not status.exists():
        return False
    (held,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("CapEff:"))
    return bool(int(held, 16) >> MAY_MOUNT_BIT & 1)


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", place], check=True, timeout=30)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True, timeout=30)


class FullDisk:
    def __init__(self, place: Path) -> None:
        self._filler = place / "filler"

    def fill(self) -> None:
        with open(self._filler, "wb", buffering=0) as file:
            for size in (4096, 1):
                while True:
                    try:
                        file.write(b"x" * size)
                    except OSError:
                        break

    def free(self) -> None:
        self._filler.unlink()


class SizeLimit:
    """A limit on file sizes, which needs no permission to mount a small disk."""

    def __init__(self, place: Path) -> None:
        self._usual = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, self._usual[1]))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._usual)


Shortage = Callable[[Path], FullDisk | SizeLimit]
SHORTAGES: list[Shortage] = [SizeLimit, FullDisk] if may_mount() else [SizeLimit]


def append_until_full(store: FileStore, text: str) -> StoreError:
    with closing(store.open(NAME)) as journal:
        for number in range(1000):
            before = journal.loop
            try:
                journal.append(MessageSent(f"{number} {text}"), MessageSent(f"{number} again"))
            except StoreError as problem:
                assert journal.loop == before
                return problem
    raise AssertionError("the disk never was full")


def live_through_shortage(connection: Connection, place: Path, shortage: Shortage) -> None:
    store, short = FileStore(place / ".loop"), shortage(place)
    store.create(loop_created(NAME))
    with store.lease(NAME) as runner:
        runner.append(StartRequested(), *iteration(1))
        short.fill()
        problem = append_until_full(store, "x" * 3000)
        full = store.load(NAME)
        runner.catch_up()
        assert runner.loop == full
        with closing(store.open(NAME)) as journal:
            assert (folded(journal.entries()), journal.repairs) == (full, [])
        short.free()
        runner.append(*iteration(2))
        assert store.load(NAME) == runner.loop
    with closing(store.open(NAME)) as journal:
        assert [entry.seq for entry in journal.entries()] == list(range(1, journal.loop.seq + 1))
        assert journal.repairs == []
    connection.send((problem.sentence, problem.hint, full.seq < store.load(NAME).seq))


def end_in_shortage(connection: Connection, place: Path, shortage: Shortage) -> None:
    """The runner ends while no checkpoint can be written."""
    store, short = FileStore(place / ".loop"), shortage(place)
    store.create(loop_created(NAME))
    with store.lease(NAME) as runner:
        runner.append(StartRequested(), *(event for number in range(1, 40) for event in iteration(number)))
        short.fill()
        append_until_full(store, "x" * 3000)
        runner.catch_up()
        truth = runner.loop
    assert store.load(NAME) == truth
    short.free()
    with store.lease(NAME) as runner:
        assert runner.loop.spend == truth.spend
    connection.send("the same")


def create_in_shortage(connection: Connection, place: Path, shortage: Shortage) -> None:
    store, short = FileStore(place / ".loop"), shortage(place)
    store.create(loop_created(NAME))
    short.fill()
    with pytest.raises(StoreError) as caught:
        store.create(loop_created("loop-2", "x" * 40_000))
    assert (store.ids(), len(list(store.root.glob("loop-2*")))) == ((NAME,), 0)
    short.free()
    store.create(loop_created("loop-2", "x" * 40_000))
    connection.send((caught.value.sentence, store.ids()))


@pytest.fixture(params=SHORTAGES, ids=lambda shortage: shortage.__name__)
def shortage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shortage]:
    chosen: Shortage = request.param
    if chosen is SizeLimit:
        yield chosen
    else:
        with small_disk(tmp_path):
            yield chosen


def test_a_full_disk_is_reported_and_survived(tmp_path: Path, shortage: Shortage) -> None:
    with process(live_through_shortage, tmp_path, shortage) as (_, connection):
        sentence, hint, went_on = heard(connection)
    words = "The disk is full" if shortage is FullDisk else "File too large"
    assert words in sentence
    assert str(tmp_path) in sentence
    assert hint
    assert went_on


def test_a_loop_may_end_while_the_disk_is_full(tmp_path: Path, shortage: Shortage) -> None:
    with process(end_in_shortage, tmp_path, shortage) as (_, connection):
        assert heard(connection) == "the same"


def test_a_loop_that_does_not_fit_on_the_disk_is_not_created(tmp_path: Path, shortage: Shortage) -> None:
    with process(create_in_shortage, tmp_path, shortage) as (_, connection):
        sentence, ids = heard(connection)
    assert "cannot" in sentence.lower()
    assert ids == (NAME, "loop-2")


def use_without_permission(connection: Connection, place: Path) -> None:
    """Uses relative paths, because a user who is not the owner may not have access to the parent folders."""
    os.chdir(place)
    store = FileStore(Path(".loop"), seals=Seals("state"))
    if os.geteuid() == 0:
        os.seteuid(65534)
    sentences = []
    for use in (lambda: store.create(loop_created("loop-2")), lambda: store.lease(NAME).__enter__()):
        with pytest.raises(StoreError) as caught:
            use()
        sentences.append(caught.value.sentence)
    with closing(store.open(NAME)) as journal:
        with pytest.raises(StoreError) as caught:
            journal.append(MessageSent("hello"))
        sentences.append(caught.value.sentence)
        entries = len(list(journal.entries()))
    connection.send((sentences, entries, store.load(NAME), store.is_driven(NAME), store.ids()))


def test_a_folder_that_may_only_be_read_can_be_read(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".loop", seals=Seals(str(tmp_path / "state")))
    loop = store.create(loop_created(NAME))
    everything = [tmp_path, *tmp_path.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with process(use_without_permission, tmp_path) as (_, connection):
            sentences, entries, loaded, driven, ids = heard(connection)
    finally:
        for path in everything:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert all("Cannot write" in sentence and "Permission denied" in sentence for sentence in sentences)
    assert (entries, loaded, driven, ids) == (1, loop, False, (NAME,))
