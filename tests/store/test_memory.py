"""A store with a cache behaves like one without, and reads the entries of other processes."""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.support.command_line import until
from tests.support.store_conformance import StoreConformance, StoreFactory, iteration, loop_created

from untildone.core.errors import LoopNotFound
from untildone.core.events import Entry, MessageSent
from untildone.core.loop import Loop
from untildone.store.files import FileStore
from untildone.store.journal_file import entries_after
from untildone.store.memory import Memory
from untildone.store.reading import LineReader


def remembering(root: Path) -> FileStore:
    return FileStore(root, memory=Memory())


class TestRememberingStore(StoreConformance):
    @pytest.fixture
    def factory(self, tmp_path: Path) -> StoreFactory:
        return partial(remembering, tmp_path / ".loop")


def test_entries_of_other_processes_are_read(tmp_path: Path) -> None:
    ours, theirs = remembering(tmp_path / ".loop"), FileStore(tmp_path / ".loop")
    ours.create(loop_created("loop-1"))
    for number in range(3):
        with closing(theirs.open("loop-1")) as journal:
            journal.append(MessageSent(f"message {number}"))
        assert ours.load("loop-1") == theirs.load("loop-1")


def test_a_truncated_journal_is_read_again(tmp_path: Path) -> None:
    store = remembering(tmp_path / ".loop")
    store.create(loop_created("loop-1"))
    journal = store.progress("loop-1") / "execution.log.jsonl"
    size = journal.stat().st_size
    with closing(store.open("loop-1")) as opened:
        opened.append(MessageSent("lost"))
    assert store.load("loop-1").asked[-1] == "lost"
    with journal.open("r+") as file:
        file.truncate(size)
    with closing(store.open("loop-1")) as opened:
        assert "bytes are left" in opened.repairs[0]


def test_a_deleted_loop_leaves_the_cache(tmp_path: Path) -> None:
    store = remembering(tmp_path / ".loop")
    store.create(loop_created("loop-1"))
    store.load("loop-1")
    store.delete("loop-1")
    with pytest.raises(LoopNotFound):
        store.load("loop-1")
    assert store.ids() == ()
    store.create(loop_created("loop-1", "Another."))
    assert store.load("loop-1").description == "Another."


def test_the_cache_is_bounded() -> None:
    memory = Memory(most=2)
    store = FileStore(Path("nowhere"), memory=memory)
    assert store.memory is memory
    for name in ("a", "b", "c"):
        memory.keep(name, None)  # type: ignore[arg-type]
    assert list(memory.names()) == ["b", "c"]


def test_entries_are_read_part_by_part(tmp_path: Path) -> None:
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created("loop-1"))
    with closing(store.open("loop-1")) as journal:
        for number in range(1, 30):
            journal.append(*iteration(number, "x" * 3000 if number == 7 else ""), sync=False)
        everything = list(journal.entries())
    path, offset = store.progress("loop-1") / "execution.log.jsonl", 0
    found: list[Entry] = []
    while True:
        entries, end = entries_after(
            path, offset, LineReader("loop-1", store.seals.of("loop-1"), last_seal=None), most=1000
        )
        if end == offset:
            break
        found, offset = [*found, *entries], end
    assert found == everything


def test_a_runner_reports_what_was_read_before_and_does_not_count(tmp_path: Path) -> None:
    store = remembering(tmp_path / ".loop")
    store.create(loop_created("loop-1"))
    path = store.progress("loop-1") / "execution.log.jsonl"
    with path.open("ab") as file:
        file.write(b"not an entry\n")
    store.load("loop-1")
    with store.lease("loop-1") as journal:
        assert any("does not match" in repair for repair in journal.repairs)


class Reads:
    """A store that answers for a loop from its cache, because the files have not changed for a moment. Counts how often they are read."""

    def __init__(self, root: Path) -> None:
        self.store, self.count = remembering(root), 0
        self.store.create(loop_created("loop-1"))
        self.store.on_change = self._note
        with closing(self.store.open("loop-1")) as journal:
            journal.append(MessageSent("a message"))
        self.settle()

    def _note(self, _loop_id: str, _loop: Loop | None) -> None:
        self.count += 1

    def settle(self) -> None:
        until(lambda: not self.reads_again(), 10)

    def reads_again(self) -> bool:
        before = self.count
        self.store.load("loop-1")
        return self.count > before

    @property
    def journal(self) -> Path:
        return self.store.progress("loop-1") / "execution.log.jsonl"


def test_an_entry_that_somebody_rewrites_does_not_count_although_size_and_time_of_the_file_stay(tmp_path: Path) -> None:
    reads = Reads(tmp_path / ".loop")
    times = reads.journal.stat()
    with reads.journal.open("r+b") as file:
        content = file.read()
        file.seek(content.index(b"a message"))
        file.write(b"a forgery")
    os.utime(reads.journal, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert reads.journal.stat().st_size == times.st_size
    assert reads.reads_again()
    assert "a forgery" not in reads.store.load("loop-1").asked
    with closing(reads.store.open("loop-1")) as journal:
        assert journal.repairs


def test_a_loop_without_its_head_is_not_ours_any_more(tmp_path: Path) -> None:
    reads = Reads(tmp_path / ".loop")
    assert not reads.store.load("loop-1").not_ours
    reads.store.seals.head(reads.store.root, "loop-1").delete()
    assert reads.store.load("loop-1").not_ours


def test_a_loop_whose_head_says_that_entries_are_missing_is_read_again(tmp_path: Path) -> None:
    reads = Reads(tmp_path / ".loop")
    head = reads.store.seals.head(reads.store.root, "loop-1").path
    head.write_bytes(head.read_bytes().replace(b"2 ", b"9 ", 1))
    assert reads.reads_again()
    with closing(reads.store.open("loop-1")) as journal:
        assert "are missing" in journal.repairs[0]


def test_a_journal_that_was_put_back_from_a_copy_is_read_again(tmp_path: Path) -> None:
    reads = Reads(tmp_path / ".loop")
    copy = reads.journal.with_name("copy")
    copy.write_bytes(reads.journal.read_bytes())
    with closing(reads.store.open("loop-1")) as journal:
        journal.append(MessageSent("another"))
    reads.settle()
    os.replace(copy, reads.journal)
    assert reads.reads_again()
