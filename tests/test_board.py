"""All loops at a glance: in order, current, and quick however many there are."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from untildone.board import Board
from untildone.core.errors import LoopNotFound
from untildone.core.events import Rested, StartRequested
from untildone.core.model import Outcome, Status
from untildone.store.files import FileStore
from untildone.testing.store_conformance import loop_created


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, FileStore]:
    return {name: FileStore(tmp_path / name / ".loop") for name in ("one", "two")}


def test_loops_of_all_workspaces_newest_first(stores: dict[str, FileStore]) -> None:
    board = Board(stores)
    assert board.rows() == ()
    for number in range(6):
        stores[("one", "two")[number % 2]].create(loop_created(f"loop-{number}"))
    assert [(row.loop_id, row.workspace) for row in board.rows()[:2]] == [("loop-5", "two"), ("loop-4", "one")]
    first = board.page(limit=4)
    assert ([row.loop_id for row in first.rows], first.cursor) == (["loop-5", "loop-4", "loop-3", "loop-2"], "loop-2")
    rest = board.page(cursor=first.cursor, limit=4)
    assert ([row.loop_id for row in rest.rows], rest.cursor) == (["loop-1", "loop-0"], None)


def test_what_changes_shows(stores: dict[str, FileStore]) -> None:
    board, store = Board(stores), stores["one"]
    store.create(loop_created("loop-1"))
    assert board.counts() == {"created": 1}
    with closing(store.open("loop-1")) as journal:
        journal.append(StartRequested())
        assert board.page(Status.RUNNING).rows[0].loop_id == "loop-1"
        journal.append(Rested(Outcome.VERIFIED))
    store.archive("loop-1", "{}", "")
    (row,) = board.page(Status.COMPLETED).rows
    assert row.outcome is Outcome.VERIFIED
    store.delete("loop-1")
    assert board.rows() == ()
    with pytest.raises(LoopNotFound):
        board.find("loop-1")


def test_a_loop_that_cannot_be_read_is_shown_as_damaged(stores: dict[str, FileStore]) -> None:
    board, store = Board(stores), stores["one"]
    store.create(loop_created("loop-1"))
    for path in store.root.glob("loop-1.json*"):
        path.unlink()
    journal = store.root / "loop-1.progress" / "execution.log.jsonl"
    journal.unlink()
    journal.mkdir()
    (row,) = board.rows()
    assert (row.status, bool(row.problem), board.counts()) == (None, True, {"damaged": 1})


@pytest.mark.parametrize("name", ["loop-9", "../loop-1", "", "x" * 300, "last"])
def test_only_a_whole_id_is_found(stores: dict[str, FileStore], name: str) -> None:
    stores["two"].create(loop_created("loop-1"))
    board = Board(stores)
    assert board.find("loop-1")[0] == "two"
    with pytest.raises(LoopNotFound):
        board.find(name)
