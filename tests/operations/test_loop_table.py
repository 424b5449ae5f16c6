"""All loops at a glance: in order, current, and quick however many there are."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.store_conformance import COMPLETES, loop_created

from untildone.core.errors import LoopNotFound
from untildone.core.events import Event, LoopRenamed, Rested, StartRequested
from untildone.core.kinds import Host
from untildone.core.model import Outcome, Status
from untildone.operations.loop_table import LoopTable, Row
from untildone.operations.loop_table.index import LoopIndex
from untildone.store import Signatures
from untildone.store.files import FileStore


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, FileStore]:
    return {name: FileStore(tmp_path / name / ".loop") for name in ("one", "two")}


def test_loops_of_all_workspaces_newest_first(stores: dict[str, FileStore]) -> None:
    table = LoopTable(stores)
    assert table.rows() == ()
    for number in range(6):
        stores[("one", "two")[number % 2]].create(loop_created(f"loop-{number}"))
    assert [(row.loop_id, row.workspace) for row in table.rows()[:2]] == [("loop-5", "two"), ("loop-4", "one")]
    assert [row.loop_id for row in table.rows()[2:]] == ["loop-3", "loop-2", "loop-1", "loop-0"]


def test_what_changes_shows(stores: dict[str, FileStore]) -> None:
    table, store = LoopTable(stores), stores["one"]
    store.create(loop_created("loop-1"))
    assert table.counts() == {"created": 1}
    with closing(store.open("loop-1")) as journal:
        journal.append(StartRequested())
        assert [(row.loop_id, row.status) for row in table.rows()] == [("loop-1", Status.RUNNING)]
        journal.append(*COMPLETES)
    store.archive("loop-1", "{}", "")
    (row,) = table.rows()
    assert row.outcome is Outcome.CLAIMED
    store.delete("loop-1")
    assert table.rows() == ()
    with pytest.raises(LoopNotFound):
        table.find("loop-1")


def test_a_loop_that_cannot_be_read_is_shown_as_damaged(stores: dict[str, FileStore]) -> None:
    table, store = LoopTable(stores), stores["one"]
    store.create(loop_created("loop-1"))
    for path in store.root.glob("loop-1.json*"):
        path.unlink()
    journal = store.root / "loop-1.progress" / "execution.log.jsonl"
    journal.unlink()
    journal.mkdir()
    (row,) = table.rows()
    assert (row.status, bool(row.problem), table.counts()) == (None, True, {"damaged": 1})


@pytest.mark.parametrize("name", ["loop-9", "../loop-1", "", "x" * 300, "last"])
def test_only_a_whole_id_is_found(stores: dict[str, FileStore], name: str) -> None:
    stores["two"].create(loop_created("loop-1"))
    table = LoopTable(stores)
    assert table.find("loop-1")[0] == "two"
    with pytest.raises(LoopNotFound):
        table.find(name)


FOR_EVER = 1e9
"""A table that trusts a look so long finds out by itself only what it is told."""


def write(store: FileStore, loop_id: str, *events: Event) -> None:
    with closing(store.open(loop_id)) as journal:
        journal.append(*events)


def shown(table: LoopTable) -> dict[str, tuple[str, str]]:
    """What the table says of each loop: its status and its title."""
    return {row.loop_id: (row.status.value if row.status else row.problem, row.title) for row in table.rows()}


class TestWithoutALook:
    """The store that a process uses tells of what it reads and writes; nobody has to look at the journals for that."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> FileStore:
        return FileStore(tmp_path / ".loop")

    @pytest.fixture
    def table(self, store: FileStore) -> LoopTable:
        table = LoopTable({"here": store}, FOR_EVER)
        assert table.rows() == ()
        return table

    def test_what_this_process_does_is_in_the_next_answer(self, table: LoopTable, store: FileStore) -> None:
        store.create(loop_created("loop-1"))
        assert table.counts() == {"created": 1}
        write(store, "loop-1", StartRequested())
        assert table.counts() == {"running": 1}
        with store.lease("loop-1", Host.SERVER) as journal:
            journal.append(LoopRenamed("Another title"))
            assert table.rows()[0].title == "Another title"
            journal.append(*COMPLETES)
        assert [row.status for row in table.rows()] == [Status.COMPLETED]
        store.archive("loop-1", "{}", "")
        assert table.counts() == {"completed": 1}
        store.delete("loop-1")
        assert (table.rows(), table.counts()) == ((), {})

    def test_what_others_write_is_there_once_this_process_has_read_it(self, table: LoopTable, store: FileStore) -> None:
        other = FileStore(store.root)
        other.create(loop_created("loop-1"))
        write(other, "loop-1", StartRequested())
        assert table.rows() == ()
        assert store.load("loop-1").status is Status.RUNNING
        assert table.counts() == {"running": 1}

    def test_a_look_finds_all_that_others_did(self, table: LoopTable, store: FileStore) -> None:
        other = FileStore(store.root)
        for number in range(4):
            other.create(loop_created(f"loop-{number}"))
            write(other, f"loop-{number}", StartRequested())
        table.look("here")
        assert table.counts() == {"running": 4}
        for name in ("loop-0", "loop-1"):
            write(other, name, Rested(Outcome.STOPPED))
            other.archive(name, "{}", "")
        other.delete("loop-1")
        write(other, "loop-2", LoopRenamed("Another title"))
        table.look("here")
        assert {name: said[0] for name, said in shown(table).items()} == {
            "loop-0": "failed",
            "loop-2": "running",
            "loop-3": "running",
        }
        assert shown(table)["loop-2"][1] == "Another title"

    def test_a_loop_that_cannot_be_read_and_then_can(self, table: LoopTable, store: FileStore) -> None:
        store.create(loop_created("loop-1"))
        journal = store.root / "loop-1.progress" / "execution.log.jsonl"
        kept = journal.rename(journal.with_name("kept"))
        journal.mkdir()
        table.look("here")
        assert table.counts() == {"damaged": 1}
        journal.rmdir()
        kept.rename(journal)
        table.look("here")
        assert table.counts() == {"created": 1}


class Meanwhile(FileStore):
    """Lets something happen right after it has looked at the journals, before anybody knows what was seen."""

    happens: Callable[[], object] = staticmethod(lambda: None)

    def signatures(self) -> Signatures:
        seen = super().signatures()
        self.happens()
        return seen


class TestDuringALook:
    @pytest.fixture
    def store(self, tmp_path: Path) -> Meanwhile:
        store = Meanwhile(tmp_path / ".loop")
        store.create(loop_created("loop-1"))
        return store

    @pytest.fixture
    def table(self, store: Meanwhile) -> LoopTable:
        table = LoopTable({"here": store}, FOR_EVER)
        assert table.counts() == {"created": 1}
        return table

    def test_a_new_loop_stays(self, table: LoopTable, store: Meanwhile) -> None:
        store.happens = lambda: store.create(loop_created("loop-2"))
        table.look("here")
        assert list(shown(table)) == ["loop-2", "loop-1"]

    def test_a_deleted_loop_does_not_come_back(self, table: LoopTable, store: Meanwhile) -> None:
        write(FileStore(store.root), "loop-1", StartRequested())
        store.happens = lambda: store.delete("loop-1")
        table.look("here")
        assert table.rows() == ()

    def test_a_newer_word_counts(self, table: LoopTable, store: Meanwhile) -> None:
        store.happens = lambda: write(store, "loop-1", StartRequested())
        table.look("here")
        assert table.counts() == {"running": 1}


STEPS = st.tuples(
    st.sampled_from(["create", "start", "rename", "end", "delete", "look"]),
    st.sampled_from(["here", "elsewhere"]),
    st.integers(0, 3).map(lambda number: f"loop-{number}"),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(STEPS, max_size=15))
def test_whoever_does_what_in_any_order_the_board_tells_how_it_is(steps: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = FileStore(Path(folder) / ".loop")
        stores = {"here": own, "elsewhere": FileStore(own.root)}
        table = LoopTable({"here": own}, FOR_EVER)
        table.rows()
        # Ids carry a time and a random part: no new loop gets the id of a deleted one.
        deleted: set[str] = set()
        for step, by, loop_id in steps:
            if step == "delete" and loop_id in own.ids():
                deleted.add(loop_id)
            if step == "create" and loop_id in deleted:
                continue
            if step == "look":
                table.look("here")
            elif do(step, stores[by], loop_id) and by == "here" and loop_id in own.ids():
                loop = own.load(loop_id)
                assert shown(table)[loop_id] == (loop.status.value, loop.title)
        table.look("here")
        assert shown(table) == {
            loop.loop_id: (loop.status.value, loop.title) for loop in map(own.load, reversed(own.ids()))
        }


def do(step: str, store: FileStore, loop_id: str) -> bool:
    """Take the step, and return whether it changed anything: only then the table hears of it at once."""
    if (loop_id in store.ids()) == (step == "create"):
        return False
    match step:
        case "create":
            store.create(loop_created(loop_id))
        case "delete":
            store.delete(loop_id)
        case _ if store.load(loop_id).status.ended:
            return False
        case "start":
            write(store, loop_id, StartRequested())
        case "rename":
            write(store, loop_id, LoopRenamed(f"Title {store.load(loop_id).seq}"))
        case "end":
            write(store, loop_id, StartRequested(), *COMPLETES)
            store.archive(loop_id, "{}", "")
    return True


def test_many_write_while_many_look(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".loop")
    table = LoopTable({"here": store}, FOR_EVER)
    table.rows()
    over, missed = threading.Event(), []

    def look() -> None:
        while not over.is_set():
            table.look("here")

    def work(worker: int) -> None:
        for number in range(8):
            name = f"loop-{worker}-{number}"
            store.create(loop_created(name))
            write(store, name, StartRequested())
            missed.extend([name] if shown(table).get(name, ("",))[0] != "running" else [])
            write(store, name, *COMPLETES)
            store.archive(name, "{}", "")
            if number % 2:
                store.delete(name)
                missed.extend([f"{name} is back"] if name in shown(table) else [])

    lookers = [threading.Thread(target=look) for _ in range(2)]
    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in (*lookers, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    over.set()
    for thread in lookers:
        thread.join()
    table.look("here")
    assert (missed, table.counts()) == ([], {"completed": 12})


ROWS = st.builds(
    Row,
    st.integers(0, 30).map(lambda number: f"loop-{number:02}"),
    st.just("here"),
    st.sampled_from([*Status, None]),
    seq=st.integers(0, 9),
)


@given(st.lists(st.one_of(ROWS, st.integers(0, 30)), max_size=60))
def test_an_index_is_a_sorted_list_that_is_counted(changes: list[Row | int]) -> None:
    shelf, plain = LoopIndex(), dict[str, Row]()
    for change in changes:
        if isinstance(change, Row):
            shelf.put(change)
            plain[change.loop_id] = change
        else:
            shelf.drop(f"loop-{change:02}")
            plain.pop(f"loop-{change:02}", None)
    rows = tuple(plain[name] for name in sorted(plain, reverse=True))
    assert shelf.rows() == rows
    assert shelf.counts() == Counter(row.status.value if row.status else "damaged" for row in rows)
