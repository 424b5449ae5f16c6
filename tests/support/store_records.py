"""Conformance tests for what a store does besides the journal: lists, output, documents, archiving, serving.

class TestRecordsInFiles(RecordsConformance):
    @pytest.fixture
    def factory(self, tmp_path):
        return partial(FileStore, tmp_path / ".loop")
"""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.store_conformance import COMPLETES, StoreFactory, folded, iteration, loop_created

from untildone.core.errors import LoopBusy, LoopNotFound
from untildone.core.events import Entry, LoopRenamed, MessageSent, StartRequested
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.store import Signatures, Store

SECRET = "sesame-0123456789"


def all_after(store: Store, loop_id: str, place: int = 0) -> tuple[list[Entry], int]:
    """Every entry after a position, over several calls, and the position after the last."""
    entries: list[Entry] = []
    while True:
        fresh, end = store.entries_after(loop_id, place)
        if end == place:
            return entries, place
        entries += fresh
        place = end


class RecordsConformance:
    @pytest.fixture
    def factory(self) -> StoreFactory:
        raise NotImplementedError("a subclass names its store")

    @pytest.fixture
    def store(self, factory: StoreFactory) -> Store:
        store = factory()
        store.redactor = Redactor({"KEY": SECRET})
        return store

    def test_a_survey_returns_the_states_of_loops(self, store: Store) -> None:
        for name in ("loop-1", "loop-2", "loop-3"):
            store.create(loop_created(name, f"The task of {name}."))
        with store.lease("loop-2"):
            listed = list(store.survey(("loop-3", "loop-2", "gone", "loop-1")))
        assert [each.loop_id for each in listed] == ["loop-3", "loop-2", "loop-1"]
        assert [each.driven for each in listed] == [False, True, False]
        assert next(each.loop and each.loop.description for each in listed) == "The task of loop-3."
        assert list(store.survey(())) == []

    def test_a_signature_changes_with_the_journal(self, factory: StoreFactory, store: Store) -> None:
        store.create(loop_created("loop-1"))
        store.create(loop_created("loop-2"))
        before, other = store.signature("loop-1"), store.signature("loop-2")
        assert before is not None
        assert store.signature("loop-1") == before
        assert store.signature("loop-3") is None
        with closing(store.open("loop-1")) as journal:
            journal.append(LoopRenamed("Another title"))
        assert store.signature("loop-1") != before
        assert store.signature("loop-2") == other
        assert store.signatures() == Signatures({name: store.signature(name) for name in ("loop-1", "loop-2")}, {})

    def test_on_change_is_called_at_once(self, factory: StoreFactory, store: Store) -> None:
        changes: list[Loop | None] = []
        store.on_change = lambda _loop_id, loop: changes.append(loop)
        assert store.create(loop_created("loop-1")) == changes[-1]
        with closing(store.open("loop-1")) as journal:
            journal.append(LoopRenamed("By a person"))
            assert journal.loop == changes[-1]
        with store.lease("loop-1") as runner:
            runner.append(LoopRenamed("By its runner"), sync=False)
            assert runner.loop == changes[-1]
            with closing(factory().open("loop-1")) as journal:
                journal.append(LoopRenamed("By another process"))
            assert store.load("loop-1") == changes[-1]
        last = changes[-1]
        assert last is not None
        assert last.title == "By another process"
        store.delete("loop-1")
        assert changes[-1] is None

    def test_signatures_of_archived_loops_are_separate(self, store: Store) -> None:
        for name in ("loop-1", "loop-2"):
            store.create(loop_created(name))
        with closing(store.open("loop-1")) as journal:
            journal.append(StartRequested(), *COMPLETES)
        store.archive("loop-1", "{}", "# Done\n")
        signatures = store.signatures()
        assert (signatures.live, signatures.ended) == (
            {"loop-2": store.signature("loop-2")},
            {"loop-1": store.signature("loop-1")},
        )

    def test_entries_after_a_position(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as journal:
            for number in range(700):
                journal.append(MessageSent(f"message {number}"), sync=False)
            listed, place = all_after(store, "loop-1")
            assert folded(iter(listed)) == journal.loop
            assert all_after(store, "loop-1", place) == ([], place)
            journal.append(MessageSent("one more"))
            more, _ = all_after(store, "loop-1", place)
        assert [entry.event for entry in more] == [MessageSent("one more")]

    def test_output_can_be_read_during_and_after_the_turn(self, factory: StoreFactory, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with store.lease("loop-1"):
            printed = factory().spool("loop-1", "0001")
            assert (printed.size(), printed.read(0, 10)) == (None, b"")
            spool = store.spool("loop-1", "0001")
            spool.write(b"")
            assert printed.size() == 0
            spool.write(b"one\ntwo\n")
            spool.close()
            spool = store.spool("loop-1", "0001")
            spool.write(b"three\n")
            spool.close()
        assert (printed.size(), printed.read(0, 100), printed.read(4, 3)) == (14, b"one\ntwo\nthree\n", b"two")
        assert (printed.read(14, 5), printed.read(100, 5)) == (b"", b"")
        store.spool("loop-1", "0001-supervisor").write(b"")
        assert store.output_names("loop-1") == ("0001", "0001-supervisor")

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(
        sizes=st.lists(st.integers(0, 400_000), max_size=5),
        start=st.integers(0, 600_000),
        count=st.integers(1, 600_000),
    )
    def test_any_part_of_the_output_can_be_read(
        self, factory: StoreFactory, sizes: list[int], start: int, count: int
    ) -> None:
        store, whole = factory(), b"".join(bytes([65 + place]) * size for place, size in enumerate(sizes))
        loop_id = f"loop-{threading.get_ident()}-{len(store.ids())}"
        store.create(loop_created(loop_id))
        spool = store.spool(loop_id, "0001")
        for place, size in enumerate(sizes):
            spool.write(bytes([65 + place]) * size)
        spool.write(b"")
        spool.close()
        assert spool.size() == len(whole)
        assert spool.read(start, count) == whole[start : start + count]
        store.close()

    def test_documents(self, factory: StoreFactory, store: Store) -> None:
        store.create(loop_created("loop-1"))
        store.add_to_document("loop-1", "progress.md", "- one\n")
        store.add_to_document("loop-1", "progress.md", f"- two {SECRET} ä\n")
        store.put_document("loop-1", "validation.md", "old")
        store.put_document("loop-1", "validation.md", "new")
        documents = factory().documents("loop-1")
        assert documents == {"progress.md": "- one\n- two [redacted KEY] ä\n", "validation.md": "new"}
        assert (store.progress("loop-1") / "progress.md").read_text() == documents["progress.md"]

    def test_a_full_copy_of_the_state_is_no_document(self, store: Store) -> None:
        loop = store.create(loop_created("loop-1"))
        for _ in range(2):
            store.keep_checkpoint(loop, "the live state")
        store.keep_checkpoint(loop, None)
        assert store.documents("loop-1") == {}

    def test_the_end_of_a_loop(self, factory: StoreFactory, store: Store) -> None:
        store.create(loop_created("loop-1"))
        store.create(loop_created("loop-2"))
        with store.lease("loop-1") as journal:
            journal.append(StartRequested(), *iteration(1), *COMPLETES)
        store.spool("loop-1", "0001").write(b"printed\n")
        assert store.receipt("loop-1") is None
        store.archive("loop-1", f'{{"task": "{SECRET}"}}', "# Done\n")
        store.archive("loop-1", "{}", "# Once more\n")
        assert factory().receipt("loop-1") == '{"task": "[redacted KEY]"}'
        assert factory().documents("loop-1")["report.md"] == "# Done\n"
        assert (store.live_ids(), store.ids()) == (("loop-2",), ("loop-1", "loop-2"))
        store.put_document("loop-1", "late.md", "afterwards")
        assert store.documents("loop-1")["late.md"] == "afterwards"

    def test_a_deleted_loop_is_gone(self, factory: StoreFactory, store: Store) -> None:
        store.create(loop_created("loop-1"))
        store.add_to_document("loop-1", "progress.md", "- one\n")
        store.delete("loop-1")
        assert (factory().ids(), factory().signature("loop-1"), store.signatures()) == ((), None, Signatures({}, {}))
        with pytest.raises(LoopNotFound):
            factory().load("loop-1")

    def test_a_loop_is_deleted_only_after_the_entry_that_is_known(self, factory: StoreFactory, store: Store) -> None:
        seq = store.create(loop_created("loop-1")).seq
        with closing(factory().open("loop-1")) as journal:
            journal.append(LoopRenamed("Other"))
            assert not store.delete("loop-1", after=seq)
            assert factory().load("loop-1").title == "Other"
            assert store.delete("loop-1", after=seq + 1)
            with pytest.raises(LoopNotFound):
                journal.append(LoopRenamed("Too late"))
        assert factory().ids() == ()

    def test_one_server_at_a_time(self, factory: StoreFactory, store: Store) -> None:
        assert not store.is_served()
        with store.serving():
            assert factory().is_served()
            with pytest.raises(LoopBusy, match="Another server serves"), factory().serving():
                pass
        assert not factory().is_served()
