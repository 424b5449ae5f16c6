"""covers: loops below a loop that no runner drives: they rest before it, over a crash at any entry, and what they used counts once."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import pytest

from untildone.core.children import Child, Parent
from untildone.core.events import (
    ChildReserved,
    Entry,
    Event,
    LoopCreated,
    PauseRequested,
    RetryRequested,
    StartRequested,
    StopRequested,
    TurnEnded,
    TurnStarted,
)
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, Budget, LoopSettings, Outcome, Role, SessionUse, Status, Urgency
from untildone.engine import below
from untildone.engine.leasing import leased
from untildone.engine.stepper import HostParts
from untildone.store.files import FileStore

WORKED = (
    TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "Go on."),
    TurnEnded(Role.WORKER, 1, Answer("not yet"), 1.0),
)


class Killed(Exception):
    """The process that settles the loop dies here."""


def created(store: FileStore, loop_id: str, above: str = "", *events: Event) -> None:
    kept = LoopSettings("ralph", AgentChoice("worker", "scripted"), str(store.home), children=3)
    parent = Parent(above, 1) if above else None
    store.create(LoopCreated(loop_id, "t", "t", kept, Budget(iterations=9), parent), StartRequested())
    with closing(store.open(loop_id)) as journal:
        journal.append(*events)


def family(folder: Path) -> FileStore:
    """A loop with a child that has a child; one whose runner died before it was created; each used a round."""
    store = FileStore(folder / ".loop")
    shares = [ChildReserved(Child(name, Budget(iterations=3))) for name in ("loop-b", "loop-never", "loop-c")]
    created(store, "loop-a", "", *WORKED, *shares[:2])
    created(store, "loop-b", "loop-a", *WORKED, shares[2])
    created(store, "loop-c", "loop-b", *WORKED)
    return store


def order(store: FileStore, event: Event) -> None:
    with closing(store.open("loop-a")) as journal:
        journal.append(event)


def settled(store: FileStore, dies_at: int) -> None:
    """Settle the top loop in a process that dies when it has written so many entries."""
    left = iter(range(dies_at))

    def on_entry(_entry: Entry, _loop: Loop) -> None:
        if next(left, None) is None:
            raise Killed

    with leased(store, "loop-a", Host.NONE, parts=HostParts(on_entry=on_entry)) as stepper:
        stepper.settle()


@pytest.mark.parametrize("dies_at", range(5))
@pytest.mark.parametrize(
    ("event", "status"),
    [
        (StopRequested(Urgency.NOW), Status.FAILED),
        (PauseRequested(Urgency.NOW, Outcome.PAUSED), Status.PAUSED),
    ],
)
def test_loops_below_rest_first_whatever_process_is_killed(
    tmp_path: Path, event: Event, status: Status, dies_at: int
) -> None:
    store = family(tmp_path)
    order(store, event)
    with suppress(Killed):
        settled(store, dies_at)
    if store.load("loop-a").status is status:
        assert {store.load(name).status for name in ("loop-b", "loop-c")} == {status}
    settled(store, 100)
    loops = [store.load(name) for name in ("loop-a", "loop-b", "loop-c")]
    assert [loop.status for loop in loops] == [status] * 3
    assert [loop.total_spend.iterations for loop in loops] == [3, 2, 1]
    assert loops[0].own_budget.iterations == (7 if status.ended else 6)


def test_a_child_that_ends_after_its_parent_reports_what_it_used_all_the_way_up(tmp_path: Path) -> None:
    """Its runner did not obey in time, and its parents ended without it."""
    store = family(tmp_path)
    with store.lease("loop-c", Host.TERMINAL):
        order(store, StopRequested(Urgency.NOW))
        settled(store, 100)
        assert [store.load(name).status.ended for name in ("loop-a", "loop-b", "loop-c")] == [True, True, False]
        with closing(store.open("loop-c")) as journal:
            journal.append(TurnStarted(Role.WORKER, 2, 1, "worker", SessionUse.NEW, "Go on."))
    below.settle(store, "loop-c")
    loops = [store.load(name) for name in ("loop-a", "loop-b", "loop-c")]
    assert all(loop.status.ended for loop in loops)
    assert [loop.total_spend.iterations for loop in loops] == [4, 3, 2]
    assert all(child.ended for loop in loops for child in loop.children)


def test_a_child_that_was_tried_again_rests_with_its_parent_and_is_counted(tmp_path: Path) -> None:
    """A runner has the parent meanwhile, so the child cannot write into its journal itself."""
    store = family(tmp_path)
    below.order_rest(store, "loop-b", Outcome.STOPPED)
    assert store.load("loop-a").children[0].ended
    with leased(store, "loop-a", Host.TERMINAL) as stepper:
        with closing(store.open("loop-b")) as journal:
            journal.append(RetryRequested(), StartRequested())
            journal.append(TurnStarted(Role.WORKER, 2, 1, "worker", SessionUse.NEW, "Go on."))
        order(store, PauseRequested(Urgency.NOW, Outcome.PAUSED))
        stepper.settle()
    parent, child = store.load("loop-a"), store.load("loop-b")
    assert (parent.status, child.status) == (Status.PAUSED, Status.PAUSED)
    assert parent.total_spend.iterations == parent.spend.iterations + child.total_spend.iterations
    assert not parent.children[0].ended, "it has its share again"


def test_what_a_deleted_child_had_used_stays_used(tmp_path: Path) -> None:
    store = family(tmp_path)
    order(store, PauseRequested(Urgency.NOW, Outcome.PAUSED))
    settled(store, 100)
    store.delete("loop-b")
    order(store, StopRequested(Urgency.NOW))
    settled(store, 100)
    assert [(child.ended, child.spend.iterations) for child in store.load("loop-a").children] == [(True, 2), (True, 0)]


def test_a_damaged_child_keeps_no_parent_from_ending(tmp_path: Path) -> None:
    store = family(tmp_path)
    for path in (tmp_path / ".loop").rglob("*"):
        if path.is_file() and "loop-b" in str(path):
            path.write_bytes(b"nonsense")
    order(store, StopRequested(Urgency.NOW))
    settled(store, 100)
    assert store.load("loop-a").status is Status.FAILED
