"""The connection is lost after the database has executed a statement, before its answer arrives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.lossy_proxy import LossyProxy
from tests.support.store_conformance import loop_created

from untildone.core.events import MessageSent, RunnerLeased
from untildone.core.kinds import Host
from untildone.store.postgres import PostgresStore

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def proxy(database: str) -> Iterator[LossyProxy]:
    with LossyProxy(database) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: LossyProxy, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(proxy.address, folder=tmp_path)
    yield store
    store.close()


def test_an_append_is_not_written_twice(store: PostgresStore, proxy: LossyProxy) -> None:
    store.create(loop_created("loop-1"))
    with closing(store.open("loop-1")) as journal, closing(store.open("loop-1")) as other:
        first = MessageSent("first")
        proxy.lose(b"WITH moved")
        (entry,) = journal.append(first, after=1)
        assert (entry.event is first, entry.seq, journal.loop.seq) == (True, 2, 2)
        other.append(MessageSent("second"))
        proxy.lose(b"WITH moved")
        entries = journal.append(MessageSent("third"), MessageSent("fourth"))
        assert [entry.event for entry in entries] == [
            MessageSent("second"),
            MessageSent("third"),
            MessageSent("fourth"),
        ]
    assert proxy.lost == 2
    assert store.load("loop-1").inbox == ("first", "second", "third", "fourth")


def test_a_lease_is_recorded_once(store: PostgresStore, proxy: LossyProxy) -> None:
    store.create(loop_created("loop-1"))
    proxy.lose(b"WITH moved")
    with store.lease("loop-1", Host.CLUSTER, "2026") as journal:
        journal.append(MessageSent("first"))
        leases = [entry for entry in journal.entries() if isinstance(entry.event, RunnerLeased)]
    assert (proxy.lost, len(leases)) == (1, 1)


def test_a_loop_is_created_once(store: PostgresStore, proxy: LossyProxy) -> None:
    assert store.ids() == ()
    proxy.lose(b"WITH made")
    assert store.create(loop_created("loop-1")).seq == 1
    assert (proxy.lost, store.ids()) == (1, ("loop-1",))


def test_output_is_kept_once(store: PostgresStore, proxy: LossyProxy) -> None:
    store.create(loop_created("loop-1"))
    spool = store.spool("loop-1", "0001")
    for number in range(3):
        proxy.lose(b"INSERT INTO untildone.output")
        spool.write(b"%d" % number * 300_000)
    spool.close()
    assert proxy.lost
    assert spool.read(0, 10**7) == b"0" * 300_000 + b"1" * 300_000 + b"2" * 300_000


def test_text_is_added_to_a_document_once(store: PostgresStore, proxy: LossyProxy) -> None:
    store.create(loop_created("loop-1"))
    for text in ("one\n", "two\n", "two\n"):
        proxy.lose(b"INSERT INTO untildone.documents")
        store.add_to_document("loop-1", "progress.md", text)
    assert (proxy.lost, store.documents("loop-1")) == (3, {"progress.md": "one\ntwo\ntwo\n"})
