"""Loops of one group share limits, on whatever machine they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from untildone.core.errors import GroupFull, UsageError
from untildone.core.events import LoopCreated, TurnEnded, TurnStarted
from untildone.core.kinds import Host
from untildone.core.model import AgentChoice, Answer, Budget, Changes, LoopSettings, Role, SessionUse, Usage
from untildone.store import Group
from untildone.store.files import FileStore
from untildone.store.postgres import PostgresStore

# A busy machine takes its time to start a database.
pytestmark = pytest.mark.timeout(400)

NIGHT = "night"


@pytest.fixture
def stores(database: str, tmp_path: Path) -> Iterator[tuple[PostgresStore, PostgresStore]]:
    """Two machines."""
    one, two = (PostgresStore(database, folder=tmp_path / name) for name in ("one", "two"))
    yield one, two
    one.close()
    two.close()


def created(loop_id: str, group: str | None = NIGHT) -> LoopCreated:
    settings = LoopSettings("ralph", AgentChoice("claude", "claude"), "/somewhere", group=group)
    return LoopCreated(loop_id, "Mend it.", "Mend it.", settings, Budget(iterations=5))


def test_no_more_loops_at_once_than_the_group_may_have(stores: tuple[PostgresStore, PostgresStore]) -> None:
    one, two = stores
    for name in ("loop-a", "loop-b", "loop-c"):
        one.create(created(name))
    one.create(created("loop-other", group=None))
    one.change_group(NIGHT, max_cost=None, at_once=2)
    with ExitStack() as leases:
        leases.enter_context(one.lease("loop-a"))
        leases.enter_context(two.lease("loop-b", Host.CLUSTER, "2026-01-01"))
        with pytest.raises(GroupFull, match="as many loops at work as it may have at once"), one.lease("loop-c"):
            pass
        leases.enter_context(two.lease("loop-other"))
        assert two.group(NIGHT) == Group(NIGHT, None, 2, 0.0, loops=3, at_work=2)
        with one.lease("loop-c", host=Host.NONE):
            """A lease without a host, as controls take it, needs no place."""
    with two.lease("loop-c"):
        assert one.group(NIGHT).at_work == 1


def test_a_machine_that_takes_over_a_loop_needs_no_second_place(stores: tuple[PostgresStore, PostgresStore]) -> None:
    one, two = stores
    one.create(created("loop-a"))
    one.change_group(NIGHT, max_cost=None, at_once=1)
    with one.lease("loop-a", Host.CLUSTER, "2026-01-01"), two.lease("loop-a", Host.CLUSTER, "2026-01-02"):
        assert two.group(NIGHT).at_work == 1


def test_the_dollars_of_all_loops_count(stores: tuple[PostgresStore, PostgresStore]) -> None:
    one, two = stores
    one.change_group(NIGHT, max_cost=1.0, at_once=None)
    for store, name in ((one, "loop-a"), (two, "loop-b")):
        store.create(created(name))
        assert not one.group(NIGHT).used_up
        with store.lease(name) as journal:
            said = Answer("So.", session_id="s", usage=Usage(cost_usd=0.6))
            journal.append(TurnStarted(Role.WORKER, 1, 1, "claude", SessionUse.NEW, "Go."))
            journal.append(TurnEnded(Role.WORKER, 1, said, 1.5, Changes("1")))
    found = one.group(NIGHT)
    assert found.cost == pytest.approx(1.2)
    assert found.used_up
    one.change_group(NIGHT, max_cost=2.0, at_once=None)
    assert not two.group(NIGHT).used_up


def test_groups_are_listed_with_or_without_limits(stores: tuple[PostgresStore, PostgresStore]) -> None:
    one, two = stores
    assert one.groups() == ()
    one.change_group("day", max_cost=5.0, at_once=3)
    two.create(created("loop-a"))
    assert one.groups() == (Group("day", 5.0, 3), Group(NIGHT, loops=1))
    assert one.group("unknown") == Group("unknown")


def test_a_group_needs_postgres(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Postgres"):
        FileStore(tmp_path / ".loop").create(created("loop-a"))
    assert not (tmp_path / ".loop").exists()
