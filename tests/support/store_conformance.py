"""Conformance tests for every store: a subclass provides a factory, and pytest runs the tests with it.

    class TestFileStore(StoreConformance):
        @pytest.fixture
        def factory(self, tmp_path: Path) -> StoreFactory:
            return partial(FileStore, tmp_path / ".loop")

A factory can be pickled, as other processes open the same store with it; it needs pytest.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from tests.support.command_line import until

from untildone.core.apply import apply
from untildone.core.errors import LoopBusy, LoopNotFound, UntilDoneError, UsageError
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Entry,
    Event,
    LoopCreated,
    MessageSent,
    PauseRequested,
    Rested,
    RetryRequested,
    RunnerLeased,
    StartRequested,
    StateRepaired,
    TurnEnded,
    TurnStarted,
)
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, Budget, Changes, LoopSettings, Outcome, Role, SessionUse, Status
from untildone.store import Journal, Store

StoreFactory = Callable[[], Store]

PATIENCE = 60.0
WRITERS, APPENDS = 4, 200
COMPLETES: tuple[Event, ...] = (AnswerRead(claimed=True), Rested(Outcome.CLAIMED))
"""A claim, and the end of a loop without gates."""
BAD_IDS = ("../x", "a/b", "", "x" * 200, "löop", "-x", ".", "..", "a\0b", "a b", "x\n")


def loop_created(loop_id: str, task: str = "Mend it.") -> LoopCreated:
    settings = LoopSettings("ralph", AgentChoice("claude", "claude"), "/somewhere")
    return LoopCreated(loop_id, task, task, settings, Budget(iterations=10_000))


def iteration(number: int, answer: str = "") -> tuple[Event, ...]:
    """The events of one worker turn: started, ended, answer read."""
    given = Answer(answer or f"Step {number:06d} is done.", session_id="session")
    return (
        TurnStarted(Role.WORKER, number, 1, "claude", SessionUse.RESUME, f"Go on ({number:06d})."),
        TurnEnded(Role.WORKER, number, given, 1.5, Changes(f"{number:06d}")),
        AnswerRead(claimed=False),
    )


def folded(entries: Iterator[Entry]) -> Loop | None:
    loop = None
    for entry in entries:
        loop = apply(loop, entry)
    return loop


@contextmanager
def process(target: Callable[..., None], *arguments: object) -> Iterator[tuple[BaseProcess, Connection]]:
    """Start a process that gets one end of a pipe as first argument; yield it with the other end."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        yield child, ours
    finally:
        child.kill()
        child.join(PATIENCE)
        ours.close()


def heard(connection: Connection) -> Any:
    assert connection.poll(PATIENCE), "the other process says nothing"
    return connection.recv()


def write_messages(connection: Connection, factory: StoreFactory, loop_id: str, writer: int) -> None:
    store = factory()
    connection.send("ready")
    connection.recv()
    with closing(store.open(loop_id)) as journal:
        for number in range(APPENDS):
            journal.append(MessageSent(f"{writer} {number}"), sync=number % 20 == 0)
    connection.send("done")


def hold_claim(connection: Connection, factory: StoreFactory, loop_id: str) -> None:
    with factory().lease(loop_id):
        connection.send("leased")
        connection.recv()


def try_claim(connection: Connection, factory: StoreFactory, loop_id: str) -> None:
    try:
        with factory().lease(loop_id):
            connection.send("leased")
    except LoopBusy as problem:
        connection.send(problem.sentence)


class StoreConformance:
    @pytest.fixture
    def factory(self) -> StoreFactory:
        raise NotImplementedError("a subclass names its store")

    @pytest.fixture
    def store(self, factory: StoreFactory) -> Store:
        return factory()

    def test_a_created_loop_is_visible_to_other_stores(self, factory: StoreFactory) -> None:
        made = factory().create(loop_created("loop-1", "Mend the roof."))
        assert (made.loop_id, made.description, made.seq) == ("loop-1", "Mend the roof.", 1)
        assert factory().load("loop-1") == made
        assert factory().ids() == ("loop-1",)

    def test_an_id_cannot_be_used_twice(self, store: Store) -> None:
        made = store.create(loop_created("loop-1", "Mend the roof."))
        with pytest.raises(UsageError, match="already a loop"):
            store.create(loop_created("loop-1", "Something else."))
        assert store.load("loop-1") == made

    def test_ids_are_in_order_of_age(self, store: Store) -> None:
        names = tuple(f"loop-20260101-{number:09d}-abc" for number in range(5))
        for name in names:
            store.create(loop_created(name))
        assert store.ids() == names

    @pytest.mark.parametrize("bad", BAD_IDS)
    def test_ids_that_are_no_file_names_are_refused(self, store: Store, bad: str) -> None:
        store.create(loop_created("loop-1"))
        with pytest.raises(UsageError, match="is not a loop id"):
            store.create(loop_created(bad))
        for use in (store.load, store.open, store.is_driven, store.find):
            with pytest.raises(UsageError) as caught:
                use(bad)
            assert caught.value.hint
        with pytest.raises(UsageError), store.lease(bad):
            pass

    def test_a_missing_loop_is_reported(self, store: Store) -> None:
        with pytest.raises(LoopNotFound, match="There is no loop 'nothing'"):
            store.load("nothing")
        with pytest.raises(LoopNotFound), store.lease("nothing"):
            pass
        assert store.ids() == ()

    def test_appended_entries_can_be_read(self, factory: StoreFactory) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as journal:
            entries = journal.append(StartRequested(), MessageSent("hello"))
            assert [entry.seq for entry in entries] == [2, 3]
            assert journal.append() == ()
            loop = journal.loop
        assert (loop.inbox, loop.seq) == (("hello",), 3)
        assert factory().load("loop-1") == loop

    def test_an_entry_that_cannot_be_folded_is_not_written(self, store: Store) -> None:
        before = store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as journal:
            with pytest.raises((LookupError, ValueError, TypeError)):
                journal.append(MessageSent("hello"), BudgetChanged(Limit.COST, 1e300, add=True))
            assert journal.loop == before
        assert store.load("loop-1") == before

    def test_append_returns_the_entries_of_others_first(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as one, closing(store.open("loop-1")) as other:
            (theirs,) = other.append(MessageSent("from the other"))
            assert one.append(MessageSent("from one"))[0] == theirs
            assert one.catch_up() == ()
            assert [entry.seq for entry in other.catch_up()] == [3]
            assert one.loop == other.loop

    def test_catch_up_shows_each_entry_once(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as reader, closing(store.open("loop-1")) as writer:
            read: list[Entry] = []
            for number in range(20):
                writer.append(*(MessageSent(f"{number} {part}") for part in range(number % 3)))
                read += reader.catch_up()
            assert [entry.seq for entry in read] == list(range(2, 2 + len(read)))
            assert reader.loop == writer.loop

    def test_entries_and_then_catch_up_show_each_entry_once(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as reader, closing(store.open("loop-1")) as writer:
            writer.append(MessageSent("before"))
            read = list(reader.entries())
            writer.append(MessageSent("after"))
            read += reader.catch_up()
            assert [entry.seq for entry in read] == [1, 2, 3]

    def test_a_loaded_loop_is_the_fold_of_its_entries(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with store.lease("loop-1") as journal:
            journal.append(StartRequested())
            for number in range(1, 30):
                journal.append(*iteration(number), sync=False)
            live = journal.loop
        with closing(store.open("loop-1")) as journal:
            entries = list(journal.entries())
            assert [entry.seq for entry in entries] == list(range(1, live.seq + 1))
            assert folded(iter(entries)) == journal.loop == store.load("loop-1") == live
        assert live.spend.iterations == 29

    def test_writers_beside_a_runner_lose_and_repeat_nothing(self, factory: StoreFactory) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        writers = [process(write_messages, factory, "loop-1", writer) for writer in range(WRITERS)]
        with writers[0] as one, writers[1] as two, writers[2] as three, writers[3] as four:
            connections = [connection for _, connection in (one, two, three, four)]
            with store.lease("loop-1") as journal:
                read = [*journal.append(StartRequested())]
                assert [heard(connection) for connection in connections] == ["ready"] * WRITERS
                for connection in connections:
                    connection.send("go")
                read += append_concurrently(journal, connections)
                read += read_messages(journal, WRITERS * APPENDS, read)
                loop = journal.loop
        assert [entry.seq for entry in read] == list(range(3, loop.seq + 1))
        texts = [entry.event.text for entry in read if isinstance(entry.event, MessageSent)]
        for writer in range(WRITERS):
            own = [text for text in texts if text.startswith(f"{writer} ")]
            assert own == [f"{writer} {number}" for number in range(APPENDS)]
        assert store.load("loop-1") == loop

    def test_a_lease_is_exclusive(self, factory: StoreFactory) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        assert not store.is_driven("loop-1")
        with store.lease("loop-1") as journal:
            assert factory().is_driven("loop-1")
            assert journal.loop.runner is not None
            with pytest.raises(LoopBusy, match="already being driven"), factory().lease("loop-1"):
                pass
            with process(try_claim, factory, "loop-1") as (_, connection):
                assert "already being driven" in str(heard(connection))
        assert not store.is_driven("loop-1")
        with process(try_claim, factory, "loop-1") as (_, connection):
            assert heard(connection) == "leased"

    def test_a_lease_is_in_the_journal(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with store.lease("loop-1"), closing(store.open("loop-1")) as journal:
            assert [type(entry.event) for entry in journal.entries()] == [LoopCreated, RunnerLeased]

    def test_a_lease_ends_with_the_death_of_its_holder(self, factory: StoreFactory) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        with process(hold_claim, factory, "loop-1") as (child, connection):
            assert heard(connection) == "leased"
            assert store.is_driven("loop-1")
            child.kill()
            child.join(PATIENCE)
            # The database server notices a broken connection a moment later.
            until(lambda: not store.is_driven("loop-1"), PATIENCE)
            with store.lease("loop-1") as journal:
                assert journal.loop.runner is not None
                assert journal.loop.runner.pid != child.pid

    def test_reading_does_not_prevent_a_lease(self, factory: StoreFactory) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        finished = threading.Event()
        with ThreadPoolExecutor(2) as pool:
            for _ in range(2):
                pool.submit(look_until, finished, factory())
            try:
                for _ in range(30):
                    with store.lease("loop-1"):
                        assert store.is_driven("loop-1")
            finally:
                finished.set()

    def test_control_reaches_the_runner(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with store.lease("loop-1") as runner, closing(store.open("loop-1")) as control:
            runner.append(StartRequested())
            control.append(PauseRequested())
            assert [entry.event for entry in runner.catch_up()] == [PauseRequested()]
            assert runner.loop.pause is not None

    def test_loops_that_a_kind_of_host_is_to_drive_are_found(self, factory: StoreFactory) -> None:
        store = factory()
        for name in ("loop-1", "loop-2", "loop-3", "loop-4"):
            store.create(loop_created(name))
            if name != "loop-4":
                with closing(store.open(name)) as journal:
                    journal.append(StartRequested(Host.SERVER if name == "loop-3" else Host.CLUSTER))
        assert factory().running_ids(Host.CLUSTER) == ("loop-1", "loop-2")
        assert factory().running_ids(Host.SERVER) == ("loop-3",)
        with store.lease("loop-1", Host.CLUSTER, "2026") as journal:
            assert factory().running_ids(Host.CLUSTER) == ("loop-1", "loop-2")
            journal.append(*iteration(1), *COMPLETES)
        assert factory().running_ids(Host.CLUSTER) == ("loop-2",)
        store.archive("loop-1", "{}", "")
        assert factory().running_ids(Host.CLUSTER) == ("loop-2",)

    def test_an_archived_loop_can_be_read(self, factory: StoreFactory) -> None:
        store = factory()
        for name in ("loop-1", "loop-2"):
            store.create(loop_created(name))
        with store.lease("loop-1") as journal:
            journal.append(StartRequested(), *iteration(1), *COMPLETES)
            ended = journal.loop
        for _ in range(2):
            store.archive("loop-1", '{"outcome": "claimed"}\n', "# Done\n")
            assert factory().ids() == ("loop-1", "loop-2")
            assert factory().load("loop-1") == ended
            assert factory().find("loop-1") == "loop-1"
            assert not factory().is_driven("loop-1")
            with closing(factory().open("loop-1")) as journal:
                assert folded(journal.entries()) == ended
        with pytest.raises(UsageError, match="already a loop"):
            store.create(loop_created("loop-1"))

    def test_an_archived_loop_comes_back_under_its_lease(self, factory: StoreFactory) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        with store.lease("loop-1") as journal:
            journal.append(StartRequested(), Rested(Outcome.FAILED, "no luck"))
        store.archive("loop-1", '{"number": 1}', "# One")
        for number in (1, 2):
            with store.lease("loop-1", Host.NONE, reopens=True) as journal:
                assert factory().live_ids() == ("loop-1",)
                assert factory().receipt("loop-1") is None, "the receipt of an earlier end does not count any more"
                with pytest.raises(LoopBusy), factory().lease("loop-1", reopens=True):
                    pass
                journal.append(RetryRequested(Host.CLUSTER))
                assert journal.loop.status is Status.RUNNING
            assert factory().load("loop-1").status is Status.RUNNING
            assert factory().running_ids(Host.CLUSTER) == ("loop-1",)
            with store.lease("loop-1", Host.CLUSTER, f"2026-{number}") as journal:
                journal.append(Rested(Outcome.FAILED, "again"))
            store.archive("loop-1", f'{{"number": {number + 1}}}', "# Again")
            assert factory().receipt("loop-1") == f'{{"number": {number + 1}}}'
        assert factory().load("loop-1").reason == "again"
        with closing(factory().open("loop-1")) as journal:
            assert folded(journal.entries()) == factory().load("loop-1")

    def test_a_control_during_archiving_is_kept(self, store: Store) -> None:
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as journal:
            journal.append(StartRequested(), *COMPLETES)
            store.archive("loop-1", "{}", "")
            journal.append(MessageSent("thank you"))
        with closing(store.open("loop-1")) as journal:
            assert [entry.event for entry in journal.entries()][-1] == MessageSent("thank you")

    @pytest.mark.parametrize("outcome", [Outcome.VERIFIED, Outcome.CLAIMED])
    def test_an_end_that_does_not_follow_is_not_believed(self, factory: StoreFactory, outcome: Outcome) -> None:
        store = factory()
        store.create(loop_created("loop-1"))
        with closing(store.open("loop-1")) as journal:
            journal.append(StartRequested(), Rested(outcome))
            assert (journal.loop.status, journal.loop.outcome) == (Status.RUNNING, None)
        assert factory().load("loop-1").outcome is None
        with factory().lease("loop-1") as runner:
            reported = [entry.event for entry in runner.entries() if isinstance(entry.event, StateRepaired)]
            assert [outcome.word in event.detail for event in reported] == [True]
            runner.append(*COMPLETES)
        assert factory().load("loop-1").outcome is Outcome.CLAIMED
        with factory().lease("loop-1") as runner:
            assert sum(isinstance(entry.event, StateRepaired) for entry in runner.entries()) == 1

    def test_a_loop_is_found_by_id_part_of_id_and_last(self, store: Store) -> None:
        for name in ("loop-a1", "loop-a12", "loop-b3"):
            store.create(loop_created(name))
        assert store.find("loop-a1") == "loop-a1"
        assert store.find("b3") == "loop-b3"
        assert store.find("last") == "loop-b3"
        with pytest.raises(LoopNotFound, match="'a1' fits 2 loops") as caught:
            store.find("a1")
        assert "loop-a1, loop-a12" in caught.value.hint
        with pytest.raises(LoopNotFound, match="no loop 'c'"):
            store.find("c")

    def test_an_empty_store_has_no_loops(self, store: Store) -> None:
        assert store.ids() == ()
        for name in ("last", "", "x"):
            with pytest.raises(UntilDoneError, match=r"There (are no loops|is no loop)"):
                store.find(name)


def look_until(finished: threading.Event, store: Store) -> None:
    while not finished.is_set():
        store.is_driven("loop-1")


def read_messages(journal: Journal, messages: int, read: list[Entry]) -> list[Entry]:
    """Catch up until the runner has read this many messages; return the new entries."""
    fresh: list[Entry] = []
    deadline = time.monotonic() + PATIENCE
    while sum(isinstance(entry.event, MessageSent) for entry in (*read, *fresh)) < messages:
        assert time.monotonic() < deadline, "some messages never arrive"
        fresh += journal.catch_up()
    return fresh


def append_concurrently(journal: Journal, connections: list[Connection]) -> list[Entry]:
    """Append turns while other processes write; return all entries read and written until they are done."""
    read: list[Entry] = []
    number = 0
    while connections:
        number += 1
        read += journal.catch_up()
        read += journal.append(*iteration(number))
        connections = [connection for connection in connections if not connection.poll() or not heard(connection)]
    return [*read, *journal.catch_up()]
