"""Controls: each is checked against the loop's status and appended to its journal. Loads quickly: a control answers at once."""

from __future__ import annotations

import os
from collections.abc import Mapping

from untildone.core import budget as budgets
from untildone.core import moves, rounds
from untildone.core.errors import LoopBusy, UsageError
from untildone.core.events import (
    BudgetChanged,
    Event,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StartRequested,
    StopRequested,
    SubtasksChanged,
)
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, SubtaskChange, Urgency
from untildone.core.moves import Control
from untildone.core.value import dataclass
from untildone.operations.presence import goes_on_by_itself, without_closed_session
from untildone.store import Journal, Store


def start(store: Store, loop_id: str, host: Host = Host.NONE, environment: Mapping[str, str] = os.environ) -> Loop:
    """Start a loop. `host` is the kind of host that will drive it, if that is known already."""
    return _request(store, loop_id, Control.START, StartRequested(host), environment=environment)


def pause(
    store: Store,
    loop_id: str,
    urgency: Urgency = Urgency.AFTER_ITERATION,
    environment: Mapping[str, str] = os.environ,
) -> Loop:
    """Pause a loop, at once or after its iteration."""
    return _request(store, loop_id, Control.PAUSE, PauseRequested(urgency), environment=environment)


def resume(
    store: Store,
    loop_id: str,
    *,
    skip_wait: bool = False,
    host: Host = Host.TERMINAL,
    environment: Mapping[str, str] = os.environ,
) -> Loop:
    """Resume a loop. `host` is the kind of host that will drive it. `skip_wait` tries a usage limit at once."""
    loop = store.load(loop_id)
    # A loop that a server drives stays the server's, also after a crash, if a person resumes it at a terminal.
    served = loop.host is Host.SERVER and loop.status is Status.RUNNING and store.is_driven(loop_id)
    new_host = Host.NONE if served and host is Host.TERMINAL else _host_after(loop, host)
    return _request(store, loop_id, Control.RESUME, ResumeRequested(skip_wait, new_host), environment=environment)


def _host_after(loop: Loop, host: Host) -> Host:
    """The kind of host that goes on with a loop: a loop of a cluster stays in the cluster."""
    return Host.CLUSTER if loop.host is Host.CLUSTER else host


def stop(
    store: Store,
    loop_id: str,
    urgency: Urgency = Urgency.AFTER_ITERATION,
    outcome: Outcome = Outcome.STOPPED,
    environment: Mapping[str, str] = os.environ,
) -> Loop:
    """End a loop with this outcome, at once or after its iteration."""
    return _request(store, loop_id, Control.STOP, StopRequested(urgency, outcome), environment=environment)


@dataclass(frozen=True, slots=True)
class Heard:
    """The result of a message."""

    loop: Loop
    notices: tuple[str, ...]
    goes_on: bool
    """Whether the loop was out of rounds and has some again, so that it goes on."""
    has_driver: bool = False
    """Whether a runner, session, server or cluster drives the loop; else the caller must start a runner."""


def say(
    store: Store,
    loop_id: str,
    text: str,
    source: str = "person",
    host: Host = Host.NONE,
    environment: Mapping[str, str] = os.environ,
) -> Heard:
    """Send a message, with round control at its start. A loop that was out of rounds and gets some goes on."""
    before = store.load(loop_id)
    notices = rounds.parse(text, budgets.rounds_left(before.budget, before.spend)).notices
    loop = _request(store, loop_id, Control.SAY, MessageSent(text, source))
    # Checked after the message is written: the rounds may have run out just before.
    out_of_rounds = loop.status is Status.PAUSED and loop.outcome is Outcome.BUDGET
    if not out_of_rounds or budgets.used_up(loop.budget, loop.spend, before_worker_turn=True):
        return Heard(loop, notices, goes_on=False)
    resumed = ResumeRequested(host=_host_after(before, host))
    loop = _request(store, loop_id, Control.RESUME, resumed, environment=environment)
    return Heard(loop, notices, goes_on=True, has_driver=goes_on_by_itself(store, loop))


def budget(store: Store, loop_id: str, *changes: BudgetChanged) -> Loop:
    """Change limits of a loop."""
    for change in changes:
        if change.amount is not None and not budgets.is_possible(change.amount):
            raise UsageError(
                f"{change.amount} is too large for a budget.", "give a smaller number, or none for no limit"
            )
    return _request(store, loop_id, Control.BUDGET, *changes)


def rename(store: Store, loop_id: str, title: str) -> Loop:
    return _request(store, loop_id, Control.RENAME, LoopRenamed(title))


def change_subtasks(store: Store, loop_id: str, *changes: SubtaskChange) -> Loop:
    return _request(store, loop_id, Control.SUBTASKS, SubtasksChanged(changes))


def delete(store: Store, loop_id: str) -> None:
    """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay."""
    moves.check(store.load(loop_id), Control.DELETE)
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is being archived.", "try again in a moment")
    store.delete(loop_id)


def _request(
    store: Store, loop_id: str, control: Control, *events: Event, environment: Mapping[str, str] = os.environ
) -> Loop:
    """Append the events of a control. The runner of the loop obeys it; without a runner, it is obeyed here."""
    loop = _append(store, loop_id, control, events)
    stops = bool(loop.pause or loop.stop)
    driven = stops and store.is_driven(loop_id)
    if stops and not driven and not _waits_for_session(store, loop):
        return _settle(store, loop_id)
    needs_machine = control in (Control.START, Control.RESUME) or (driven and loop.interrupts_now)
    if loop.host is Host.CLUSTER and needs_machine:
        from untildone.operations.cluster import poke

        poke(store, loop, environment)
    return loop


def _append(store: Store, loop_id: str, control: Control, events: tuple[Event, ...]) -> Loop:
    """Write the events if the loop's status allows the control; check again whenever another process wrote first."""
    journal = store.open(loop_id)
    try:
        _check(store, journal.loop, control)
        while not journal.loop.status.ended and not _written(journal, events):
            _check(store, journal.loop, control)
        return journal.loop
    finally:
        journal.close()


def _check(store: Store, loop: Loop, control: Control) -> None:
    moves.check(without_closed_session(store, loop), control)


def _written(journal: Journal, events: tuple[Event, ...]) -> bool:
    """Append the events after the entry read last; False if another entry came first."""
    entries = journal.append(*events, after=journal.loop.seq)
    return any(entry.event is events[-1] for entry in entries)


def _waits_for_session(store: Store, loop: Loop) -> bool:
    """Whether the loop's turn runs in an open session, which obeys the control at the end of the turn."""
    in_session = without_closed_session(store, loop).works_in_session
    return in_session and loop.turn is not None and not loop.interrupts_now


def _settle(store: Store, loop_id: str) -> Loop:
    """No runner has the loop: write what follows from the control, without asking an agent anything."""
    from untildone.engine.stepper import leased
    from untildone.system import orphans

    try:
        with leased(store, loop_id, Host.NONE) as stepper:
            # As every new runner does: the runner before may have died, and its guard as well.
            orphans.end_all(orphans.mark(loop_id)[0])
            stepper.settle()
        return stepper.loop
    except LoopBusy:
        return store.load(loop_id)
