"""Controls: each is checked against the loop's status and appended to its journal. Loads quickly: a control answers at once."""

from __future__ import annotations

import os
from collections.abc import Mapping

from untildone.core import budget as budgets
from untildone.core import moves
from untildone.core.answers import rounds
from untildone.core.apply import apply
from untildone.core.attention import Act, need_of
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
from untildone.core.model import Outcome, Role, Status, SubtaskChange, Urgency
from untildone.core.moves import Control
from untildone.core.values.value import dataclass, replace
from untildone.operations.approved_contents import contents_of
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
    outcome: Outcome = Outcome.PAUSED,
) -> Loop:
    """Pause a loop with this outcome, at once or after its iteration."""
    return _request(store, loop_id, Control.PAUSE, PauseRequested(urgency, outcome), environment=environment)


def resume(
    store: Store,
    loop_id: str,
    *changes: BudgetChanged,
    skip_wait: bool = False,
    asks_person: bool = False,
    host: Host = Host.TERMINAL,
    environment: Mapping[str, str] = os.environ,
    known: int | None = None,
) -> Loop:
    """Resume a loop, with `changes` of its budget. BudgetUsedUp if it would rest again at once, unless `asks_person`: then the caller asks
    a person for more. LoopChanged if its last entry is not the one of number `known`.

    `host` is the kind of host that will drive it. `skip_wait` tries a usage limit at once.
    """
    _check_amounts(changes)
    loop = store.load(loop_id)
    # A loop that a server drives stays the server's, also after a crash, if a person resumes it at a terminal.
    served = loop.host is Host.SERVER and loop.status is Status.RUNNING and store.is_driven(loop_id)
    new_host = Host.NONE if served and host is Host.TERMINAL else _host_after(loop, host)
    events: tuple[Event, ...] = (*changes, ResumeRequested(skip_wait, new_host))
    return _request(
        store, loop_id, Control.RESUME, *events, environment=environment, asks_person=asks_person, known=known
    )


def _host_after(loop: Loop, host: Host) -> Host:
    """The kind of host that goes on with a loop: a loop of a cluster stays in the cluster."""
    return Host.CLUSTER if loop.host is Host.CLUSTER else host


def stop(
    store: Store,
    loop_id: str,
    urgency: Urgency = Urgency.AFTER_ITERATION,
    outcome: Outcome = Outcome.STOPPED,
    environment: Mapping[str, str] = os.environ,
    known: int | None = None,
) -> Loop:
    """End a loop with this outcome, at once or after its iteration. LoopChanged if its last entry is not the one of number `known`."""
    stop = StopRequested(urgency, outcome)
    return _request(store, loop_id, Control.STOP, stop, environment=environment, known=known)


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
    """Send a message, with round control at its start. A loop that was out of rounds, blocked, stalled or asked, and gets what it
    needs, goes on."""
    text = _sound(text)
    before = store.load(loop_id)
    notices = rounds.parse(text, budgets.rounds_left(before.budget, before.spend)).notices
    loop = _request(store, loop_id, Control.SAY, MessageSent(text, source))
    # Checked after the message is written: the rounds may have run out just before.
    if (
        not _waits_for_person(loop)
        or not _is_answered(loop, text)
        or budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=True)
    ):
        return Heard(loop, notices, goes_on=False)
    resumed = ResumeRequested(host=_host_after(before, host))
    loop = _request(store, loop_id, Control.RESUME, resumed, environment=environment)
    return Heard(loop, notices, goes_on=True, has_driver=goes_on_by_itself(store, loop))


def _sound(text: str) -> str:
    """The text as agents can take it. A NUL character would keep every agent from being started that gets its prompt as an argument."""
    if not text.strip():
        raise UsageError("There is no message.", 'say something, such as "mind the tests"')
    if "\0" in text:
        raise UsageError("The message has a NUL character.", "remove it: agents take text")
    return text.encode("utf-8", "replace").decode()


def preview(loop: Loop, text: str) -> tuple[str, ...]:
    """What the round controls at the start of a message would do: a sentence each."""
    return rounds.parse(text, budgets.rounds_left(loop.budget, loop.spend)).notices if text.strip() else ()


def _waits_for_person(loop: Loop) -> bool:
    """Whether a message can give a loop that rests what it needs. One that a person paused waits for them to resume it."""
    need = need_of(loop) if loop.status is Status.PAUSED else None
    return need is not None and (loop.outcome in (Outcome.BUDGET, Outcome.BLOCKED) or need.act is Act.ANSWER)


def _is_answered(loop: Loop, text: str) -> bool:
    """Whether a message says something to an agent that waits for an answer: round controls alone answer nothing."""
    return loop.outcome is Outcome.BUDGET or bool(rounds.parse(text, None).rest.strip())


def budget(store: Store, loop_id: str, *changes: BudgetChanged, known: int | None = None) -> Loop:
    """Change limits of a loop. LoopChanged if its last entry is not the one of number `known`."""
    _check_amounts(changes)
    return _request(store, loop_id, Control.BUDGET, *changes, known=known)


def _check_amounts(changes: tuple[BudgetChanged, ...]) -> None:
    for change in changes:
        if change.amount is not None and not budgets.is_possible(change.amount):
            raise UsageError(
                f"{change.amount} is too large for a budget.", "give a smaller number, or none for no limit"
            )


def rename(store: Store, loop_id: str, title: str, known: int | None = None) -> Loop:
    """Give the loop another title. LoopChanged if its last entry is not the one of number `known`."""
    return _request(store, loop_id, Control.RENAME, LoopRenamed(title), known=known)


def change_subtasks(store: Store, loop_id: str, *changes: SubtaskChange) -> Loop:
    return _request(store, loop_id, Control.SUBTASKS, SubtasksChanged(changes))


def approve(store: Store, loop_id: str, *paths: str) -> Loop:
    """Accept the agent's changes of judge files or programs. A claim that was refused only for these is judged again."""
    if not paths:
        raise UsageError("Nothing to approve was named.", "name the files: `untildone approve LOOP PATH…`")
    refuse(store, Control.APPROVE, loop := store.load(loop_id))
    paths = tuple(map(os.path.normpath, paths))
    return _request(store, loop_id, Control.APPROVE, ChangesApproved(paths, contents_of(loop, paths)))


def delete(store: Store, loop_id: str, known: int | None = None) -> None:
    """Delete the journal, output and receipt of an ended loop. Its changes in the workspace stay. `known`: its last entry."""
    loop = _deletable(store, loop_id, known)
    while not store.delete(loop_id, after=loop.seq):
        # Another process has written meanwhile: the loop may be at work again.
        before, loop = loop, _deletable(store, loop_id, known)
        if loop.seq == before.seq:
            # Nothing new can be read: its last entries are damaged.
            store.delete(loop_id)
            break
    from untildone.engine.notices import outbox
    from untildone.engine.verdicts import loop_rooms
    from untildone.workspace.shadow import Shadow, tidying

    loop_rooms.forget(loop_id, loop.settings.workspace)
    outbox.forget(store.name, loop_id)
    tidying.loop_deleted(Shadow(loop.settings.workspace, loop_id=loop_id))


def _deletable(store: Store, loop_id: str, known: int | None) -> Loop:
    """The loop, if it may be deleted."""
    refuse(store, Control.DELETE, loop := store.load(loop_id))
    _check_known(loop, known)
    moves.check(loop, Control.DELETE)
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is being archived.", "try again in a moment")
    return loop


def _request(
    store: Store,
    loop_id: str,
    control: Control,
    *events: Event,
    environment: Mapping[str, str] = os.environ,
    known: int | None = None,
    asks_person: bool = False,
) -> Loop:
    """Append the events of a control. The runner of the loop obeys it; without a runner, it is obeyed here."""
    try:
        loop = _append(store, loop_id, control, events, known, asks_person=asks_person)
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


def _append(
    store: Store, loop_id: str, control: Control, events: tuple[Event, ...], known: int | None, *, asks_person: bool
) -> Loop:
    """Write the events if the loop's status allows the control; check again whenever another process wrote first."""
    journal = store.open(loop_id)
    try:
        refuse(store, control, journal.loop)
        _check(store, journal.loop, control, events, known, asks_person=asks_person)
        while (control is Control.RENAME or not journal.loop.status.ended) and not _written(journal, events):
            _check(store, journal.loop, control, events, known, asks_person=asks_person)
        return journal.loop
    except WrongMove:
        obey_left_order(store, journal.loop)
        raise
    finally:
        journal.close()


def obey_left_order(store: Store, loop: Loop) -> None:
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


def _check_known(loop: Loop, known: int | None) -> None:
    if known is not None and loop.seq != known:
        raise LoopChanged(f"Loop {loop.loop_id} has changed: it is at entry {loop.seq}, not {known}.", "read it again")


def _check(
    store: Store, loop: Loop, control: Control, events: tuple[Event, ...], known: int | None, *, asks_person: bool
) -> None:
    _check_known(loop, known)
    moves.check(without_closed_session(store, loop), control)
    if control is Control.RESUME and not asks_person and not _is_edited(store, loop):
        moves.check_budget(with_budget(loop, *events), leader_of(loop))


def leader_of(loop: Loop) -> Role:
    """The role that the mode of a loop asks first."""
    from untildone import modes

    return modes.of(loop.settings.mode).leader


def _is_edited(store: Store, loop: Loop) -> bool:
    """Whether a person has edited the live state file of a loop at rest: the next runner reads it, and it may raise a limit."""
    from untildone import modes

    has_file = modes.of(loop.settings.mode).live_state(loop) is not None
    return has_file and store.live_file(loop.loop_id, loop.settings.workspace).edited() is not None


def with_budget(loop: Loop, *events: Event) -> Loop:
    """The loop, also one that has ended, with the budget that it will have after the events."""
    for event in events:
        if isinstance(event, BudgetChanged):
            budget = budgets.changed(loop.budget, event.limit, event.amount, add=event.add)
            loop = replace(loop, budget=budget)
    return loop


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
    from untildone.engine import below

    try:
        return below.settle(store, loop_id)
    except (LoopBusy, NotOurs):
        return store.load(loop_id)
