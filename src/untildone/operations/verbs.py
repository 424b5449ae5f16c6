"""What can be done with loops: every face (command line, API, dashboard, Python) calls these and nothing below."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untildone.core import budget as budgets
from untildone.core import moves, rounds
from untildone.core.errors import LoopBusy, UntilDoneError, UsageError
from untildone.core.events import (
    BudgetChanged,
    Entry,
    Event,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StartRequested,
    StopRequested,
    TasksChanged,
)
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Outcome, Status, TaskChange, Urgency
from untildone.core.secrets import Redactor
from untildone.core.value import dataclass, replace
from untildone.store import Journal, Store, files, places
from untildone.store.files import FileStore

if TYPE_CHECKING:
    from untildone.core.actions import GateStep
    from untildone.core.gate import Gate
    from untildone.system.guard import Watched

PLANNED = (
    "create",
    "loop_budget",
    "loop_settings",
    "new_id",
    "notifications",
    "opening",
    "surroundings",
)
"""Verbs that need settings and the engine: loaded when they are used, so that a control answers at once."""
LOOK_EVERY, LOOK_FOR_RUNNER_EVERY = 0.05, 0.5
RELEASED_WITHIN = 10.0
"""Seconds that the runner of a loop that has just ended gets to archive it."""
LONGEST_ALONE = 5.0
"""Seconds after which a loop that wants a runner and has none is not going to get one by itself."""


def __getattr__(name: str) -> Any:
    if name not in PLANNED:
        raise AttributeError(name)
    from untildone.operations import planning

    return getattr(planning, name)


def store_of(folder: Path, environment: Mapping[str, str] = os.environ, *, create: bool = False) -> Store:
    """The loops of a folder (or of the nearest one above that has loops), or of the database that is named instead."""
    return places.open_store(folder, environment, create=create)


def files_of(folder: Path, environment: Mapping[str, str] = os.environ, *, create: bool = False) -> FileStore:
    """The same, in files whatever is named: for loops that live in a person's own session."""
    return files.open_store(folder, Redactor.from_environment(environment), create=create)


def start(store: Store, loop_id: str, host: Host = Host.NONE) -> Loop:
    """`host` is the kind of host that will drive it, if that is known already."""
    return _request(store, loop_id, "start", StartRequested(host))


def pause(store: Store, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> Loop:
    return _request(store, loop_id, "pause", PauseRequested(urgency))


def resume(store: Store, loop_id: str, *, skip_wait: bool = False, host: Host = Host.TERMINAL) -> Loop:
    """`host` is the kind of host that will go on with it. With `skip_wait`, a usage limit is put to the test at once."""
    loop = store.load(loop_id)
    # Whoever resumes at a terminal what a server drives does not get it: it stays the server's, also after a crash.
    served = loop.host is Host.SERVER and loop.status is Status.RUNNING and store.is_driven(loop_id)
    goes_on_at = Host.NONE if served and host is Host.TERMINAL else _stays(loop, host)
    return _request(store, loop_id, "resume", ResumeRequested(skip_wait, goes_on_at))


def _stays(loop: Loop, host: Host) -> Host:
    """The kind of host that goes on with a loop: one of a cluster stays there."""
    return Host.CLUSTER if loop.host is Host.CLUSTER else host


def stop(
    store: Store, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION, outcome: Outcome = Outcome.STOPPED
) -> Loop:
    return _request(store, loop_id, "stop", StopRequested(urgency, outcome))


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of a message."""

    loop: Loop
    notices: tuple[str, ...]
    goes_on: bool
    """The loop was out of rounds and has some again: it wants a runner."""
    cared_for: bool = False
    """It has one, or a server that sees to it."""


def say(store: Store, loop_id: str, text: str, source: str = "person", host: Host = Host.NONE) -> Heard:
    """A message, with round control at its start. A loop that was out of rounds and gets some goes on."""
    before = store.load(loop_id)
    notices = rounds.parse(text, budgets.rounds_left(before.budget, before.spend)).notices
    loop = _request(store, loop_id, "say", MessageSent(text, source))
    # As it was when the message got there: the rounds may have run out just before.
    out_of_rounds = loop.status is Status.PAUSED and loop.outcome is Outcome.BUDGET
    if not out_of_rounds or budgets.used_up(loop.budget, loop.spend, before_worker_turn=True):
        return Heard(loop, notices, goes_on=False)
    loop = _request(store, loop_id, "resume", ResumeRequested(host=_stays(before, host)))
    return Heard(loop, notices, goes_on=True, cared_for=_is_cared_for(store, loop))


def seen(store: Store, loop: Loop) -> Loop:
    """A loop as whoever looks now is to see it: one whose session nobody has open any more is in no session."""
    if loop.works_in_session and isinstance(store, FileStore):
        from untildone.hosts.hook import presence

        return replace(loop, host=Host.NONE) if presence.is_left(str(store.root), loop) else loop
    return loop


def is_at_work(store: Store, loop_id: str) -> bool:
    """Whether a runner has it, or a person's own session that is still there."""
    return store.is_driven(loop_id) or seen(store, store.load(loop_id)).works_in_session


def _is_cared_for(store: Store, loop: Loop) -> bool:
    if seen(store, loop).works_in_session:
        return True
    return (
        loop.host is Host.CLUSTER or store.is_driven(loop.loop_id) or (loop.host is Host.SERVER and store.is_served())
    )


def budget(store: Store, loop_id: str, *changes: BudgetChanged) -> Loop:
    for change in changes:
        if change.amount is not None and not budgets.is_possible(change.amount):
            raise UsageError(
                f"A budget of {change.amount} makes no sense.", "give a smaller number, or none for no limit"
            )
    return _request(store, loop_id, "budget", *changes)


def rename(store: Store, loop_id: str, title: str) -> Loop:
    return _request(store, loop_id, "rename", LoopRenamed(title))


def change_tasks(store: Store, loop_id: str, *changes: TaskChange) -> Loop:
    return _request(store, loop_id, "tasks", TasksChanged(changes))


def delete(store: Store, loop_id: str) -> None:
    """All of an ended loop: journal, output, receipt. What it did in the workspace stays."""
    moves.check(store.load(loop_id), "delete")
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is just being put away.", "try again in a moment")
    store.delete(loop_id)


def _request(store: Store, loop_id: str, verb: str, *events: Event) -> Loop:
    """Append what a person wants. Whoever drives the loop sees it; if nobody does, it is obeyed here."""
    journal = store.open(loop_id)
    try:
        moves.check(seen(store, journal.loop), verb)
        while not journal.loop.status.ended and not _written(journal, events):
            moves.check(seen(store, journal.loop), verb)
        loop = journal.loop
    finally:
        journal.close()
    waits = seen(store, loop).works_in_session and loop.turn is not None and not loop.interrupts_now
    wanted = verb in ("start", "resume")
    driven = (loop.pause or loop.stop) and store.is_driven(loop_id)
    if (loop.pause or loop.stop) and not waits and not driven:
        return _settle(store, loop_id)
    if loop.host is Host.CLUSTER and (wanted or (driven and loop.interrupts_now)):
        _poke(store, loop)
    return loop


def _written(journal: Journal, events: tuple[Event, ...]) -> bool:
    """Whether they got there before anything else did: a loop that has ended meanwhile would never hear of them."""
    entries = journal.append(*events, after=journal.loop.seq)
    return any(entry.event is events[-1] for entry in entries)


def _poke(store: Store, loop: Loop) -> None:
    """It is written down already: if the cluster cannot be told now, its machines find it out themselves."""
    from untildone.operations import planning

    try:
        planning.cluster(store.home).poke(loop.loop_id, Urgency.NOW if loop.interrupts_now else Urgency.AFTER_ITERATION)
    except UntilDoneError as problem:
        import logging

        logging.getLogger(__name__).warning("Temporal is not told of loop %s: %s", loop.loop_id, problem.sentence)


def _settle(store: Store, loop_id: str) -> Loop:
    """No runner has the loop: write what follows from the order, without asking an agent anything."""
    from untildone.engine.stepper import leased
    from untildone.system import orphans

    try:
        with leased(store, loop_id, Host.NONE) as stepper:
            # As every new runner does: the one before may have died, and its guard as well.
            orphans.end_all(orphans.mark(loop_id)[0])
            stepper.settle()
        return stepper.loop
    except LoopBusy:
        return store.load(loop_id)


def load_all(store: Store) -> Iterator[Loop]:
    """Every loop that can be read, oldest first."""
    return (found.loop for found in store.survey(store.ids()) if found.loop is not None)


def follow(store: Store, loop_id: str, *, to_rest: bool) -> Iterator[Entry]:
    """Every entry of the journal; then, with `to_rest`, each new one until the loop rests."""
    journal = store.open(loop_id)
    try:
        yield from journal.entries()
        while to_rest and (not _rests(journal.loop) or store.is_driven(loop_id)):
            fresh = journal.catch_up()
            yield from fresh
            if not fresh:
                time.sleep(LOOK_EVERY)
        yield from journal.catch_up() if to_rest else ()
    finally:
        journal.close()


def _rests(loop: Loop) -> bool:
    return loop.status in (Status.PAUSED, Status.COMPLETED, Status.FAILED)


def wait(store: Store, loop_id: str, timeout: float | None = None) -> Loop:
    """Until the loop rests; UsageError when the time is up, or, if none was set, when nobody drives the loop."""
    journal, started = store.open(loop_id), time.monotonic()
    cared_for_at, next_look = started, started
    try:
        while not _rests(journal.loop) or store.is_driven(loop_id):
            now = time.monotonic()
            if timeout is None and now >= next_look:
                cared_for_at = now if _is_cared_for(store, journal.loop) else cared_for_at
                next_look = now + LOOK_FOR_RUNNER_EVERY
            _check_patience(journal.loop, timeout, waited=now - started, alone=now - cared_for_at)
            time.sleep(LOOK_EVERY)
            journal.catch_up()
        return journal.loop
    finally:
        journal.close()


def _check_patience(loop: Loop, timeout: float | None, *, waited: float, alone: float) -> None:
    if timeout is None and alone > LONGEST_ALONE:
        raise UsageError(f"Nobody drives loop {loop.loop_id}.", f"`untildone resume {loop.loop_id}` goes on with it")
    if timeout is not None and waited > timeout:
        raise UsageError(
            f"Loop {loop.loop_id} is still {loop.status.value} after {timeout:g} s.", "wait longer with --timeout"
        )


@dataclass(frozen=True, slots=True)
class Verification:
    """A gate of the receipt, and what it says today."""

    before: Mapping[str, Any]
    now: GateResult

    @property
    def agrees(self) -> bool:
        return bool(self.before["passed"]) == self.now.passed


def verify(store: Store, loop_id: str, environment: Mapping[str, str]) -> tuple[Verification, ...]:
    """Run the commands of an ended loop's gates again."""
    told = receipt(store, loop_id)
    if told is None:
        raise UsageError(f"Loop {loop_id} has no receipt yet.", "it gets one when it ends")
    loop = store.load(loop_id)
    steps = _commands(loop_id, loop, told)
    from untildone.system.guard import guarded

    with _place(loop) as place, guarded(f"verify-{loop_id}") as watched:
        return tuple(
            Verification(entry, _run_again(gate, step, loop, place, environment, watched))
            for entry, gate, step in steps
        )


def _commands(loop_id: str, loop: Loop, told: str) -> list[tuple[Mapping[str, Any], Gate, GateStep]]:
    """The gates of a receipt that ran a command, each with the step that runs it again."""
    import json

    from untildone.gates import gates_of

    try:
        entries = {(entry["gate"], entry["command"]): entry for entry in json.loads(told)["gates"] if entry["command"]}
    except (ValueError, KeyError, TypeError) as problem:
        raise UsageError(
            f"The receipt of loop {loop_id} cannot be read: {problem}.", "it was damaged or edited"
        ) from None
    steps = {(step.gate, step.command): (gate, step) for gate in gates_of(loop.settings) for step in gate.steps(loop)}
    unknown = next((command for gate, command in entries if (gate, command) not in steps), None)
    if unknown is not None:
        raise UsageError(
            f"The receipt of loop {loop_id} names a check that the loop did not have: {unknown[:200]}.",
            "the receipt was edited",
        )
    return [(entry, *steps[key]) for key, entry in entries.items()]


def receipt(store: Store, loop_id: str) -> str | None:
    """The receipt of a loop that has ended. If its runner died before it archived the loop, that is done here."""
    text = store.receipt(loop_id)
    if text is None and store.load(loop_id).status.ended:
        from untildone.engine import archiving

        await_release(store, loop_id, RELEASED_WITHIN)
        archiving.recover(store, loop_id)
        text = store.receipt(loop_id)
    return text


def await_release(store: Store, loop_id: str, within: float) -> None:
    """Wait until a loop that is ending has ended and its runner has released the lease: then it is archived."""
    deadline = time.monotonic() + within
    while _is_ending(store, loop_id) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)


def _is_ending(store: Store, loop_id: str) -> bool:
    loop = store.load(loop_id)
    return store.is_driven(loop_id) if loop.status.ended else loop.stop is not None


@contextmanager
def _place(loop: Loop) -> Iterator[str]:
    """A folder with the loop's work: its workspace, or, if that may be on any machine, what was published."""
    if loop.settings.remote is None:
        yield loop.settings.workspace
        return
    from untildone.hosts.cluster.reading import published

    with published(loop) as folder:
        yield folder


def _run_again(
    gate: Gate, step: GateStep, loop: Loop, place: str, environment: Mapping[str, str], watched: Watched
) -> GateResult:
    """Run a gate's command as the loop did; what it starts ends with it."""
    from untildone.engine import gating, turns

    env = {**turns.inherited(environment, loop.loop_id), **watched.mark}
    redactor = Redactor.from_environment(environment)
    return gating.run_step(gate, step, loop, gating.Room(place, env, lambda: False, redactor, watched.groups))


def diff(store: Store, loop_id: str, *, stat: bool = False, colour: bool = False) -> str:
    """What the loop changed: up to its end if it has ended, up to now if not."""
    loop = store.load(loop_id)
    end = loop.changes.tree if loop.status.ended else None
    from untildone.workspace.diff import patch

    with _place(loop) as place:
        return patch(place, loop.start.tree or "", end, stat=stat, colour=colour)


def diff_between(store: Store, loop_id: str, start_tree: str, end_tree: str | None) -> str:
    """What lies between two states of a loop's workspace; without an end, up to now."""
    from untildone.workspace.diff import patch

    with _place(store.load(loop_id)) as place:
        return patch(place, start_tree, end_tree)
