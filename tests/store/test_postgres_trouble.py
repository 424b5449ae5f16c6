"""The server crashes, connections are cut, writers are killed: every written entry exists once, in order."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psycopg
import pytest
from tests.support.command_line import until
from tests.support.postgres import Cluster
from tests.support.store_conformance import heard, iteration, loop_created, process

from untildone.core.errors import StoreError
from untildone.core.events import Entry, MessageSent, StartRequested
from untildone.store.postgres import PostgresStore

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)

PATIENCE = 90.0
CRASHES = 3
OVER = "over"


@pytest.fixture
def store(database: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(database, folder=tmp_path, patience=PATIENCE)
    store.create(loop_created("loop-1"))
    yield store
    store.close()


def entries(store: PostgresStore) -> list[Entry]:
    """All entries of the journal, whose numbers must have no gap."""
    with closing(store.open("loop-1")) as journal:
        found = list(journal.entries())
    assert [entry.seq for entry in found] == list(range(1, len(found) + 1))
    return found


def said_by(writer: str, found: list[Entry]) -> list[str]:
    said = (entry.event.text for entry in found if isinstance(entry.event, MessageSent))
    return [text for text in said if text.startswith(f"{writer} ")]


def say_on(pipe: Connection, address: str, writer: str, folder: Path) -> None:
    """Append messages, and report each one when it is written, until asked to stop."""
    with closing(PostgresStore(address, folder=folder, patience=PATIENCE).open("loop-1")) as journal:
        number = 0
        while not pipe.poll():
            journal.append(MessageSent(f"{writer} {number}"))
            number += 1
            pipe.send(number)
    pipe.send(OVER)
    pipe.recv()


class Writer:
    """Receives the reports of a writer process. `reported` is the number of messages written so far."""

    def __init__(self, pipe: Connection) -> None:
        self.pipe = pipe
        self.reported = 0

    def hear(self, messages: int = 1) -> None:
        for _ in range(messages):
            self.reported = heard(self.pipe)

    def hear_the_rest(self) -> None:
        """Read the remaining reports of a writer that was killed."""
        with suppress(EOFError, OSError):
            while self.pipe.poll(0):
                self.reported = self.pipe.recv()

    def enough(self) -> int:
        self.pipe.send("enough")
        while (count := heard(self.pipe)) != OVER:
            self.reported = count
        self.pipe.send("goodbye")
        return self.reported


@pytest.mark.slow
def test_a_server_that_crashes_loses_and_duplicates_nothing(
    postgres: Cluster, database: str, store: PostgresStore, tmp_path: Path
) -> None:
    with (
        process(say_on, database, "one", tmp_path) as (_, first),
        process(say_on, database, "two", tmp_path) as (_, second),
        store.lease("loop-1") as runner,
    ):
        one, two = Writer(first), Writer(second)
        runner.append(StartRequested())
        for crash in range(1, CRASHES + 1):
            one.hear(5)
            two.hear(5)
            postgres.crash()
            postgres.start()
            runner.append(*iteration(crash))
        counts = {"one": one.enough(), "two": two.enough()}
        until(lambda: runner.catch_up() == () and store.is_driven("loop-1"), PATIENCE)
    found = entries(store)
    for writer, count in counts.items():
        assert said_by(writer, found) == [f"{writer} {number}" for number in range(count)]
    assert store.load("loop-1").spend.iterations == CRASHES
    assert not store.is_driven("loop-1")


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Runs an action repeatedly in a thread."""
    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            work()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_connections_that_are_cut_lose_and_duplicate_nothing(database: str, store: PostgresStore) -> None:
    def cut() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}".encode())
        time.sleep(0.3)

    with meanwhile(cut), store.lease("loop-1") as journal:
        for number in range(40):
            journal.append(MessageSent(f"one {number}"))
            journal.catch_up()
        assert said_by("one", entries(store)) == [f"one {number}" for number in range(40)]


def test_an_append_during_a_lost_connection_returns_the_writers_own_events(database: str, store: PostgresStore) -> None:
    """The returned events are the same objects, even if the entries were read back."""
    events = [MessageSent(f"one {number}") for number in range(60)]

    def cut() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            writing = "query LIKE '%WITH moved%' AND state = 'active' AND pid <> pg_backend_pid()"
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {writing}".encode())

    with meanwhile(cut), closing(store.open("loop-1")) as journal:
        for event in events:
            (entry,) = journal.append(event, after=journal.loop.seq)
            assert entry.event is event


def test_every_reported_entry_of_a_killed_writer_exists(database: str, store: PostgresStore, tmp_path: Path) -> None:
    with process(say_on, database, "one", tmp_path) as (child, pipe):
        writer = Writer(pipe)
        writer.hear(20)
        child.kill()
        child.join(PATIENCE)
        writer.hear_the_rest()
    written = len(said_by("one", entries(store)))
    assert 20 <= writer.reported <= written <= writer.reported + 1
    with closing(store.open("loop-1")) as journal:
        journal.append(MessageSent("one after"))


def test_a_frozen_writer_does_not_block_others(database: str, store: PostgresStore, tmp_path: Path) -> None:
    with process(say_on, database, "one", tmp_path) as (child, pipe), closing(store.open("loop-1")) as journal:
        assert child.pid is not None
        writer = Writer(pipe)
        for _ in range(5):
            writer.hear()
            os.kill(child.pid, signal.SIGSTOP)
            for number in range(5):
                journal.append(MessageSent(f"two {number}"))
            os.kill(child.pid, signal.SIGCONT)
        assert len(said_by("one", entries(store))) >= 5
        writer.enough()
    assert said_by("one", entries(store)) == [f"one {number}" for number in range(writer.reported)]


def test_an_unreachable_server_is_reported_in_time(
    postgres: Cluster, database: str, store: PostgresStore, tmp_path: Path
) -> None:
    impatient = PostgresStore(database, folder=tmp_path, patience=0.5)
    with closing(impatient), closing(impatient.open("loop-1")) as journal:
        postgres.crash()
        try:
            with pytest.raises(StoreError, match="does not answer") as caught:
                journal.append(MessageSent("one 0"))
            assert caught.value.hint
        finally:
            postgres.start()
        journal.append(MessageSent("one 1"))
    assert said_by("one", entries(store)) == ["one 1"]


def test_a_checkpoint_spares_reading_the_journal(database: str, store: PostgresStore) -> None:
    with store.lease("loop-1") as journal:
        for number in range(1, 40):
            journal.append(*iteration(number))
        loop = journal.loop
    with psycopg.connect(database, autocommit=True) as connection:
        assert connection.execute("SELECT seq FROM untildone.checkpoints").fetchone() == (loop.seq,)
        assert store.load("loop-1") == loop
        connection.execute("UPDATE untildone.checkpoints SET content = replace(content, '1', '2')")
        assert store.load("loop-1") == loop
        connection.execute("DELETE FROM untildone.checkpoints")
    assert store.load("loop-1") == loop


def test_a_damaged_entry_is_skipped_and_reported(database: str, store: PostgresStore) -> None:
    with closing(store.open("loop-1")) as journal:
        journal.append(MessageSent("one 0"), MessageSent("one 1"), MessageSent("one 2"))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE untildone.entries SET line = replace(line, 'one 1', 'one 9') WHERE seq = 3")
    with store.lease("loop-1") as journal:
        journal.append(StartRequested())
        assert journal.loop.inbox == ("one 0", "one 2")
        events = [type(entry.event).__name__ for entry in journal.entries()]
    assert events.count("StateRepaired") == 1
