"""Who may write: the newest runner of an engine, one other runner at a time, and controls always."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.command_line import until
from tests.support.store_conformance import iteration, loop_created

from untildone.core.errors import LoopBusy, Superseded
from untildone.core.events import MessageSent, PauseRequested, ResumeRequested, RunnerLeased, StartRequested
from untildone.core.kinds import Host
from untildone.core.model import Outcome, Status, Urgency
from untildone.operations import control
from untildone.store.postgres import PostgresStore

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)

FIRST, SECOND, THIRD = "2026-11-15T20:00:00.000001Z", "2026-11-15T20:00:00.000002Z", "2026-11-15T20:00:01.000000Z"
Machine = Callable[[], PostgresStore]


@pytest.fixture
def machine(database: str, tmp_path: Path) -> Iterator[Machine]:
    """Returns a store as another machine would open it."""
    with ExitStack() as closes:

        def made() -> PostgresStore:
            return closes.enter_context(closing(PostgresStore(database, folder=tmp_path)))

        yield made


@pytest.fixture
def store(machine: Machine) -> PostgresStore:
    store = machine()
    store.create(loop_created("loop-1"))
    with closing(store.open("loop-1")) as journal:
        journal.append(StartRequested(host=Host.CLUSTER))
    return store


def leases(store: PostgresStore) -> list[str]:
    with closing(store.open("loop-1")) as journal:
        return [entry.event.token for entry in journal.entries() if isinstance(entry.event, RunnerLeased)]


def test_a_newer_runner_takes_over_while_the_older_one_lives(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST) as old, machine().lease("loop-1", Host.CLUSTER, SECOND) as new:
        with pytest.raises(Superseded, match="Another runner drives loop loop-1 now"):
            old.append(*iteration(1))
        with pytest.raises(Superseded):
            old.catch_up()
        new.append(*iteration(1))
        assert new.loop.spend.iterations == 1
    assert leases(store) == [FIRST, SECOND]
    assert store.load("loop-1").spend.iterations == 1


def test_the_older_runner_is_superseded_while_it_waits(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST) as old:
        assert old.catch_up() == ()
        with machine().lease("loop-1", Host.CLUSTER, SECOND), pytest.raises(Superseded):
            until(lambda: old.catch_up() is None)


def test_an_older_lease_is_refused(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, SECOND) as rightful:
        with pytest.raises(Superseded), machine().lease("loop-1", Host.CLUSTER, FIRST):
            pass
        rightful.append(*iteration(1))
    with pytest.raises(Superseded), machine().lease("loop-1", Host.CLUSTER, FIRST):
        pass
    assert leases(store) == [SECOND]


def test_the_same_attempt_may_lease_again(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST) as first:
        first.append(*iteration(1))
    with machine().lease("loop-1", Host.CLUSTER, FIRST) as again:
        again.append(*iteration(2))
    assert leases(store) == [FIRST, FIRST]


def test_the_same_attempt_may_not_lease_after_another_runner(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST):
        pass
    with machine().lease("loop-1", Host.NONE):
        pass
    with pytest.raises(Superseded), store.lease("loop-1", Host.CLUSTER, FIRST):
        pass
    with store.lease("loop-1", Host.CLUSTER, SECOND) as journal:
        journal.append(*iteration(1))


def test_a_terminal_cannot_lease_a_loop_that_a_cluster_drives(store: PostgresStore, machine: Machine) -> None:
    other = machine()
    with store.lease("loop-1", Host.CLUSTER, FIRST):
        assert other.is_driven("loop-1")
        for host in (Host.TERMINAL, Host.SERVER, Host.NONE):
            with pytest.raises(LoopBusy, match="already being driven"), other.lease("loop-1", host):
                pass
    assert not other.is_driven("loop-1")
    with pytest.raises(LoopBusy, match="already being driven"), other.lease("loop-1", Host.TERMINAL):
        pass
    with closing(other.open("loop-1")) as journal:
        journal.append(ResumeRequested(host=Host.TERMINAL))
    with other.lease("loop-1", Host.TERMINAL) as journal:
        journal.append(*iteration(1))


def test_an_engine_waits_for_a_runner_at_a_terminal(store: PostgresStore, machine: Machine) -> None:
    with closing(store.open("loop-1")) as journal:
        journal.append(ResumeRequested(host=Host.TERMINAL))
    with store.lease("loop-1", Host.TERMINAL) as journal:
        with (
            pytest.raises(LoopBusy, match="already being driven") as refused,
            machine().lease("loop-1", Host.CLUSTER, FIRST),
        ):
            pass
        assert not isinstance(refused.value, Superseded)
        journal.append(*iteration(1))


def test_a_control_is_never_refused(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST) as runner:
        with closing(machine().open("loop-1")) as control:
            control.append(MessageSent("hello"), PauseRequested())
            with machine().lease("loop-1", Host.CLUSTER, SECOND) as newer:
                control.append(MessageSent("hello again"))
                assert [entry.event for entry in newer.catch_up()] == [MessageSent("hello again")]
        with pytest.raises(Superseded):
            runner.append(MessageSent("not a person"))
    assert store.load("loop-1").inbox == ("hello", "hello again")


def test_a_pause_between_two_turns_of_a_cluster_takes_effect_at_once(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST) as journal:
        journal.append(*iteration(1))
    assert control.pause(machine(), "loop-1").outcome is Outcome.PAUSED
    with store.lease("loop-1", Host.CLUSTER, SECOND) as journal:
        assert (journal.loop.status, journal.loop.spend.iterations) == (Status.PAUSED, 1)


def test_a_pause_while_a_cluster_drives_is_carried_out_by_the_runner(store: PostgresStore, machine: Machine) -> None:
    with store.lease("loop-1", Host.CLUSTER, FIRST) as runner:
        with closing(machine().open("loop-1")) as control:
            control.append(PauseRequested(Urgency.NOW))
            assert control.loop.status is Status.RUNNING
        until(lambda: runner.catch_up() or runner.loop.interrupts_now)
        runner.append(*iteration(1))


def test_output_of_an_older_runner_is_not_kept(store: PostgresStore, machine: Machine) -> None:
    other = machine()
    with store.lease("loop-1", Host.CLUSTER, FIRST):
        old = store.spool("loop-1", "0001")
        old.write(b"first\n")
        until(lambda: other.spool("loop-1", "0001").size())
        with other.lease("loop-1", Host.CLUSTER, SECOND):
            old.write(b"too late\n")
            new = other.spool("loop-1", "0001")
            new.write(b"second\n")
            new.close()
        old.close()
    assert store.spool("loop-1", "0001").read(0, 100) == b"first\nsecond\n"


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tokens=st.lists(st.sampled_from(["", FIRST, SECOND, THIRD]), max_size=8))
def test_only_the_newest_lease_may_write_in_any_order(store: PostgresStore, tokens: list[str]) -> None:
    """An empty token stands for a lease without token and host, as controls take it."""
    loop_id = f"loop-x{len(store.ids())}"
    store.create(loop_created(loop_id))
    newest, holder = "", ""
    for token in tokens:
        right = not token or token > newest or token == newest == holder
        try:
            with store.lease(loop_id, Host.CLUSTER if token else Host.NONE, token or None) as journal:
                journal.append(MessageSent(token))
            assert right, (tokens, token)
            newest, holder = max(newest, token), token
        except Superseded:
            assert not right, (tokens, token)
