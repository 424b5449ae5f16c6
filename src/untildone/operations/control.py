"""Controls: each is checked against the loop's status and appended to its journal. Loads quickly: a control answers at once."""

from __future__ import annotations

import os
from collections.abc import Mapping

from untildone.core import budget as budgets
from untildone.core import moves
from untildone.core.answers import rounds
from untildone.core.apply import apply
from untildone.core.errors import JournalLocked, LoopBusy, LoopChanged, NotOurs, UsageError, WrongMove
from untildone.core.events import (
    BudgetChanged,
    ChangesApproved,
    Entry,
    Event,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StartRequested,
    StopRequested,
    SubtasksChanged,
)
from untildone.core.kinds import Host, Source
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, SubtaskChange, Urgency
from untildone.core.moves import Control
from untildone.core.values.value import dataclass
from untildone.operations.driving.presence import goes_on_by_itself, without_closed_session
from untildone.operations.inside import refuse
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
    """Whether the message answers what the loop waited for (rounds, or a question), so that it goes on."""
    has_driver: bool = False
    """Whether a runner, session, server or cluster drives the loop; else the caller must start a runner."""


def say(
    store: Store,
    loop_id: str,
    text: str,
    source: Source = Source.PERSON,
    host: Host = Host.NONE,
    environment: Mapping[str, str] = os.environ,
) -> Heard:
    """Send a message, with round control at its start. A loop that was out of rounds or blocked, and gets what it needs, goes on."""
    before = store.load(loop_id)
    notices = rounds.parse(text, budgets.rounds_left(before.budget, before.spend)).notices
    loop = _request(store, loop_id, Control.SAY, MessageSent(text, source))
    # Checked after the message is written: the rounds may have run out just before.
    waits = loop.status is Status.PAUSED and loop.outcome in (Outcome.BUDGET, Outcome.BLOCKED)
    if not waits or not _is_answered(loop, text) or budgets.used_up(loop.budget, loop.spend, before_worker_turn=True):
        return Heard(loop, notices, goes_on=False)
    resumed = ResumeRequested(host=_host_after(before, host))
    loop = _request(store, loop_id, Control.RESUME, resumed, environment=environment)
    return Heard(loop, notices, goes_on=True, has_driver=goes_on_by_itself(store, loop))


def _is_answered(loop: Loop, text: str) -> bool:
    """Whether a message says something to an agent that is blocked: round controls alone answer nothing."""
    return loop.outcome is not Outcome.BLOCKED or bool(rounds.parse(text, None).rest.strip())


def budget(store: Store, loop_id: str, *changes: BudgetChanged, known: int | None = None) -> Loop:
    """Change limits of a loop. LoopChanged if its last entry is not the one of number `known`."""
    for change in changes:
        if change.amount is not None and not budgets.is_possible(change.amount):
            raise UsageError(
                f"{change.amount} is too large for a budget.", "give a smaller number, or none for no limit"
            )
    return _request(store, loop_id, Control.BUDGET, *changes, known=known)


def rename(store: Store, loop_id: str, title: str, known: int | None = None) -> Loop:
    """Give the loop another title. LoopChanged if its last entry is not the one of number `known`."""
    return _request(store, loop_id, Control.RENAME, LoopRenamed(title), known=known)


def change_subtasks(store: Store, loop_id: str, *changes: SubtaskChange) -> Loop:
    return _request(store, loop_id, Control.SUBTASKS, SubtasksChanged(changes))


def approve(store: Store, loop_id: str, *paths: str) -> Loop:
    """Accept the agent's changes of judge files or programs. A claim that was refused only for these is judged again."""
    if not paths:
        raise UsageError("Nothing to approve was named.", "name the files: `untildone approve LOOP PATH…`")
    return _request(store, loop_id, Control.APPROVE, ChangesApproved(paths, _contents(store.load(loop_id), paths)))


def _contents(loop: Loop, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Digests of what is there now, so that the approval of a file does not cover a later change of it."""
    from untildone.workspace import approvals
    from untildone.workspace.shadow import Shadow

    if loop.settings.remote is not None:
        return ()
    start = Shadow(loop.settings.workspace, loop_id=loop.loop_id).start
    return approvals.contents(paths, start.root if start else loop.settings.workspace)


def delete(store: Store, loop_id: str) -> None:
    """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay."""
    refuse(store, Control.DELETE, loop := store.load(loop_id))
    moves.check(loop, Control.DELETE)
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is being archived.", "try again in a moment")
    store.delete(loop_id)
    from untildone.engine.notices import outbox
    from untildone.engine.verdicts import judging
    from untildone.workspace.shadow import Shadow, tidying

    judging.forget(loop)
    outbox.forget(store.name, loop_id)
    tidying.loop_deleted(Shadow(loop.settings.workspace, loop_id=loop_id))


def _request(
    store: Store,
    loop_id: str,
    control: Control,
    *events: Event,
    environment: Mapping[str, str] = os.environ,
    known: int | None = None,
) -> Loop:
    """Append the events of a control. The runner of the loop obeys it; without a runner, it is obeyed here."""
    try:
        loop = _append(store, loop_id, control, events, known)
    except JournalLocked as locked:
        return _order(store, loop_id, events, locked)
    if loop.interrupts_now:
        _end_if_suspended(loop_id)
    stops = bool(loop.pause or loop.stop)
    driven = stops and store.is_driven(loop_id)
    if stops and not driven and not _waits_for_session(store, loop):
        return _settle(store, loop_id)
    needs_machine = control in (Control.START, Control.RESUME) or (driven and loop.interrupts_now)
    if loop.host is Host.CLUSTER and needs_machine:
        from untildone.operations.driving.cluster import poke

        poke(store, loop, environment)
    return loop


def _append(store: Store, loop_id: str, control: Control, events: tuple[Event, ...], known: int | None) -> Loop:
    """Write the events if the loop's status allows the control; check again whenever another process wrote first."""
    journal = store.open(loop_id)
    try:
        refuse(store, control, journal.loop)
        _check(store, journal.loop, control, known)
        while (control is Control.RENAME or not journal.loop.status.ended) and not _written(journal, events):
            _check(store, journal.loop, control, known)
        return journal.loop
    except WrongMove:
        _obey_left_order(store, journal.loop)
        raise
    finally:
        journal.close()


def _obey_left_order(store: Store, loop: Loop) -> None:
    """Carry out an order to stop that a runner left when it died: without this, only another `stop` would end the loop."""
    left = loop.stop is not None and not loop.status.ended and not store.is_driven(loop.loop_id)
    if left and not _waits_for_session(store, loop):
        _settle(store, loop.loop_id)


def _order(store: Store, loop_id: str, events: tuple[Event, ...], locked: JournalLocked) -> Loop:
    """Give a pause or stop to the runner itself, because another process holds the lock of the journal. Returns the loop as it will be."""
    from untildone.operations import reach

    event = events[-1]
    if not isinstance(event, PauseRequested | StopRequested) or not reach.order(loop_id, event):
        raise locked
    loop = store.load(loop_id)
    return apply(loop, Entry(loop.seq + 1, loop.updated_at, event))


def _end_if_suspended(loop_id: str) -> None:
    """End the agent here if the runner is there and suspended: it cannot do it itself."""
    from untildone.operations import reach

    reach.end_if_suspended(loop_id)


def _check(store: Store, loop: Loop, control: Control, known: int | None) -> None:
    if known is not None and loop.seq != known:
        raise LoopChanged(f"Loop {loop.loop_id} has changed: it is at entry {loop.seq}, not {known}.", "read it again")
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
    from untildone.system import orphans, running, trust

    try:
        with leased(store, loop_id, Host.NONE) as stepper:
            # As every new runner does: the runner before may have died, and its guard as well.
            orphans.end_all(orphans.mark(loop_id)[0])
            stepper.settle()
        trust.end(loop_id)
        running.forget(loop_id)
        return stepper.loop
    except (LoopBusy, NotOurs):
        return store.load(loop_id)
