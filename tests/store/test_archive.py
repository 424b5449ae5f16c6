"""Archiving: after a crash or a concurrent call at any moment, the loop is complete, in one place, and readable."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.store_conformance import COMPLETES, iteration, loop_created

from untildone.core.errors import UsageError
from untildone.core.events import MessageSent, StartRequested
from untildone.core.loop import Loop
from untildone.core.values.codec import timestamp
from untildone.store import Signatures
from untildone.store.files import FileStore

NAME = "loop-1"
RECEIPT, REPORT = '{"outcome": "claimed"}\n', "# Mend it.\n"


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / ".loop")


def ended_loop(store: FileStore, name: str = NAME) -> Loop:
    store.create(loop_created(name))
    with store.lease(name) as journal:
        journal.append(StartRequested(), *iteration(1), *COMPLETES)
        return journal.loop


def assert_archived(store: FileStore, loop: Loop) -> None:
    name = loop.loop_id
    folder = store.root / "history" / f"{timestamp(loop.created_at)[:10]}_{name}"
    assert (folder / "receipt.json").read_text() == RECEIPT
    assert (folder / "report.md").read_text() == REPORT
    assert (folder / "execution.log.jsonl").exists()
    assert (folder / f"{name}.json").exists()
    assert list(store.root.glob(f"{name}*")) == []
    assert store.load(name) == loop
    assert store.receipt(name) == (folder / "receipt.json").read_text()


def test_an_ended_loop_moves_to_the_history_with_receipt_and_report(store: FileStore) -> None:
    loop = ended_loop(store)
    store.archive(NAME, RECEIPT, REPORT)
    assert_archived(store, loop)
    store.archive(NAME, "another", "another")
    assert_archived(store, loop)


@pytest.mark.parametrize("moved", range(7))
def test_interrupted_archiving_is_completed_by_the_next_call(store: FileStore, moved: int) -> None:
    """Interrupted before the folder was moved (0), after it (1), and after each of the checkpoint files."""
    loop = ended_loop(store)
    live, folder = store.root / f"{NAME}.progress", store.root / "history" / f"{timestamp(loop.created_at)[:10]}_{NAME}"
    (live / "receipt.json").write_text(RECEIPT)
    (live / "report.md").write_text(REPORT)
    folder.parent.mkdir()
    if moved > 0:
        os.replace(live, folder)
    for path in sorted(store.root.glob(f"{NAME}.json*"))[: max(0, moved - 1)]:
        os.replace(path, folder / path.name)
    assert store.load(NAME) == loop
    assert (store.ids(), store.find("last"), store.is_driven(NAME)) == ((NAME,), NAME, False)
    with closing(store.open(NAME)) as journal:
        assert [entry.seq for entry in journal.entries()] == list(range(1, loop.seq + 1))
    store.archive(NAME, RECEIPT, REPORT)
    assert_archived(store, loop)


def test_two_archiving_processes_and_one_control_do_not_block_each_other(store: FileStore) -> None:
    names = [f"loop-{number:02d}" for number in range(12)]
    loops = {name: ended_loop(store, name) for name in names}

    def say(name: str) -> None:
        for number in range(5):
            with closing(FileStore(store.root).open(name)) as journal:
                journal.append(MessageSent(f"thank you {number}"), sync=False)

    with ThreadPoolExecutor(4) as pool:
        for name in names:
            archiving = [pool.submit(FileStore(store.root).archive, name, RECEIPT, REPORT) for _ in range(2)]
            for done in (*archiving, pool.submit(say, name)):
                done.result(30)
    for name in names:
        with closing(store.open(name)) as journal:
            said = [entry.event for entry in journal.entries() if isinstance(entry.event, MessageSent)]
            assert said == [MessageSent(f"thank you {number}") for number in range(5)]
            assert journal.loop.status is loops[name].status
        assert_archived(store, journal.loop)


def test_a_control_from_a_journal_opened_before_the_move_is_kept(store: FileStore) -> None:
    ended_loop(store)
    with closing(store.open(NAME)) as journal:
        store.archive(NAME, RECEIPT, REPORT)
        journal.append(MessageSent("thank you"))
        assert_archived(store, journal.loop)
    assert not (store.root / f"{NAME}.progress").exists()


def test_a_loop_is_not_mistaken_for_one_whose_id_has_the_same_ending(store: FileStore) -> None:
    loops = {name: ended_loop(store, name) for name in ("b", "a_b", "c-a_b")}
    for name in ("a_b", "c-a_b"):
        store.archive(name, RECEIPT, REPORT)
    assert store.load("b") == loops["b"]
    store.archive("b", RECEIPT, REPORT)
    for loop in loops.values():
        assert_archived(store, loop)
    assert store.ids() == ("a_b", "b", "c-a_b")


def test_a_history_folder_that_a_person_moved_away_is_empty(store: FileStore) -> None:
    ended_loop(store)
    store.archive(NAME, RECEIPT, REPORT)
    shutil.rmtree(store.root / "history")
    assert store.ids() == ()


@pytest.mark.parametrize("name", ["loop-20200131-000000000-abc123", "loop-2020-01-31", "any-name"])
def test_an_archived_loop_is_found_whatever_date_its_id_contains(tmp_path: Path, name: str) -> None:
    store = FileStore(tmp_path / ".loop", clock=lambda: 1794782647.0)
    loop = ended_loop(store, name)
    store.archive(name, RECEIPT, REPORT)
    assert_archived(store, loop)
    ended_loop(store, f"{name}-2")
    store.archive(f"{name}-2", RECEIPT, REPORT)
    assert store.load(name) == loop
    with pytest.raises(UsageError, match="already a loop"):
        store.create(loop_created(name))
    assert store.signatures() == Signatures({}, {each: store.signature(each) for each in (name, f"{name}-2")})
