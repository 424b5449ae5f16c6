"""The number of queries: few for a long list, hardly any while waiting; and notices arrive at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.support.postgres import Cluster
from tests.support.store_conformance import loop_created

from untildone.core.events import Entry, MessageSent, Rested, StartRequested
from untildone.core.kinds import Host
from untildone.core.model import Outcome
from untildone.core.values.codec import timestamp
from untildone.operations import control, look
from untildone.store.postgres import PostgresStore
from untildone.store.postgres.journal import line_of

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)

LOOPS = 1000


@pytest.fixture
def statements(postgres: Cluster, database: str) -> Callable[[], int]:
    """Returns the number of queries so far."""
    name = database.rpartition("/")[2]
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET log_statement = 'all'".encode())
        connection.execute(f"ALTER DATABASE {name} SET log_min_duration_statement = -1".encode())
    log = postgres.folder / "log"
    begin = log.stat().st_size

    def count() -> int:
        with open(log, "rb") as file:
            file.seek(begin)
            return sum(b"LOG:  statement:" in line or b"LOG:  execute " in line for line in file)

    return count


@pytest.fixture
def store(statements: Callable[[], int], database: str, tmp_path: Path) -> Iterator[PostgresStore]:
    store = PostgresStore(database, folder=tmp_path)
    store.ids()
    yield store
    store.close()


def test_a_thousand_loops_are_listed_with_a_handful_of_queries(
    database: str, store: PostgresStore, statements: Callable[[], int]
) -> None:
    names = [f"loop-{number:04d}" for number in range(LOOPS)]
    with psycopg.connect(database) as connection:
        for name in names:
            line = line_of(Entry(1, 1.0, loop_created(name)), name, store.redactor)
            made = b"INSERT INTO untildone.loops (loop_id, last_seq) VALUES (%s, 1) RETURNING number"
            (number,) = connection.execute(made, (name,)).fetchone() or (0,)
            entry = b"INSERT INTO untildone.entries VALUES (%s, 1, gen_random_uuid(), %s)"
            connection.execute(entry, (number, line))
    before = statements()
    found = list(store.survey(store.ids()))
    assert [each.loop_id for each in found] == names
    assert all(each.loop is not None and each.loop.created_at == 1.0 for each in found)
    assert [loop.loop_id for loop in look.load_all(store)] == names
    assert 0 < statements() - before <= 6


def test_loops_to_drive_need_one_query_unless_an_older_version_wrote_since(
    database: str, store: PostgresStore, statements: Callable[[], int]
) -> None:
    for number in range(20):
        store.create(loop_created(f"loop-{number:02d}"))
        store.open(f"loop-{number:02d}").append(StartRequested(Host.CLUSTER))
    before = statements()
    assert len(store.running_ids(Host.CLUSTER)) == 20
    assert statements() - before == 1
    store.open("loop-07").append(Rested(Outcome.PAUSED))
    store.open("loop-08").append(Rested(Outcome.PAUSED))
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE untildone.loops SET told_seq = 1, status = 'running' WHERE loop_id <= 'loop-07'")
    before = statements()
    assert len(store.running_ids(Host.CLUSTER)) == 18
    assert statements() - before <= 3


@pytest.mark.slow
def test_waiting_needs_hardly_any_query(store: PostgresStore, statements: Callable[[], int]) -> None:
    store.create(loop_created("loop-1"))
    with store.lease("loop-1") as runner:
        runner.append(StartRequested())
        runner.catch_up()
        time.sleep(1.5)
        before, began = statements(), time.monotonic()
        looks = 0
        while time.monotonic() - began < 2.0:
            assert runner.catch_up() == ()
            assert store.signature("loop-1") is not None
            looks += 1
            time.sleep(0.005)
        seconds = time.monotonic() - began
        assert looks > 10
        assert 0 < statements() - before <= 2 * (seconds + 2)


def test_a_control_of_another_process_arrives_without_polling(
    database: str, store: PostgresStore, tmp_path: Path
) -> None:
    """Forty controls: polling once a second would take forty seconds."""
    store.create(loop_created("loop-1"))
    with (
        closing(PostgresStore(database, folder=tmp_path)) as elsewhere,
        store.lease("loop-1") as runner,
        closing(elsewhere.open("loop-1")) as control,
    ):
        runner.catch_up()
        began = time.monotonic()
        for number in range(40):
            control.append(MessageSent(f"{number} {timestamp(time.time())}"))
            while not runner.catch_up():
                time.sleep(0.001)
        assert time.monotonic() - began < 30
        assert len(runner.loop.inbox) == 40


def test_followers_get_the_last_entries(store: PostgresStore, database: str, tmp_path: Path) -> None:
    store.create(loop_created("loop-1"))
    control.start(store, "loop-1")
    with closing(PostgresStore(database, folder=tmp_path)) as elsewhere:
        following = look.follow(elsewhere, "loop-1", to_rest=True)
        assert [type(next(following).event).__name__ for _ in range(2)] == ["LoopCreated", "StartRequested"]
        control.stop(store, "loop-1")
        assert [type(entry.event).__name__ for entry in following] == ["StopRequested", "RunnerLeased", "Rested"]
        assert look.wait(elsewhere, "loop-1", timeout=30).status.ended
