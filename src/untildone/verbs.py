"""What can be done with loops: every face (command line, API, dashboard, Python) calls these and nothing below."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from untildone import modes
from untildone.core import budget as budgets
from untildone.core import moves, rounds
from untildone.core.actions import Record
from untildone.core.decide import decide
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
from untildone.core.loop import Loop
from untildone.core.model import GateResult, LoopSettings, Outcome, Status, TaskChange, Urgency
from untildone.core.secrets import Redactor
from untildone.core.value import dataclass
from untildone.hosts.limits import SharedLimits, default_folder
from untildone.store.files import FileStore, open_store

if TYPE_CHECKING:
    pass

PLANNED = (
    "create",
    "drive",
    "loop_budget",
    "loop_settings",
    "new_id",
    "notifications",
    "opening",
    "surroundings",
    "tidy",
)
"""Verbs that need settings and the engine: loaded when they are used, so that a control answers at once."""
LOOK_EVERY = 0.05
LONGEST_ALONE = 5.0
"""Seconds after which a loop that wants a runner and has none is not going to get one by itself."""


def __getattr__(name: str) -> Any:
    if name not in PLANNED:
        raise AttributeError(name)
    from untildone import planning

    return getattr(planning, name)


def store_of(folder: Path, environment: Mapping[str, str] = os.environ, *, create: bool = False) -> FileStore:
    """The loops of a folder (or of the nearest one above that has loops)."""
    return open_store(folder, Redactor.from_environment(environment), create=create)


def start(store: FileStore, loop_id: str, host: str = "") -> Loop:
    """`host` is the kind of host that will drive it, if that is known already."""
    return _request(store, loop_id, "start", StartRequested(host))


def pause(store: FileStore, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION) -> Loop:
    return _request(store, loop_id, "pause", PauseRequested(urgency))


def resume(store: FileStore, loop_id: str, *, skip_wait: bool = False, host: str = "terminal") -> Loop:
    """`host` is the kind of host that will go on with it. With `skip_wait`, a usage limit is put to the test at once."""
    if skip_wait:
        _forget_limits(store.load(loop_id).settings)
    return _request(store, loop_id, "resume", ResumeRequested(skip_wait, host))


def _forget_limits(chosen: LoopSettings) -> None:
    """What other loops heard of a limit does not hold this one back either."""
    for agent in (chosen.worker, chosen.instructor, chosen.supervisor, chosen.fallback):
        if agent is not None:
            SharedLimits(default_folder()).forget(agent.profile)


def stop(
    store: FileStore, loop_id: str, urgency: Urgency = Urgency.AFTER_ITERATION, outcome: Outcome = Outcome.STOPPED
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


def say(store: FileStore, loop_id: str, text: str, source: str = "person", host: str = "") -> Heard:
    """A message, with round control at its start. A loop that was out of rounds and gets some goes on."""
    before = store.load(loop_id)
    notices = rounds.parse(text, budgets.rounds_left(before.budget, before.spend)).notices
    loop = _request(store, loop_id, "say", MessageSent(text, source))
    out_of_rounds = before.status is Status.PAUSED and before.outcome is Outcome.BUDGET
    if not out_of_rounds or budgets.used_up(loop.budget, loop.spend, before_worker_turn=True):
        return Heard(loop, notices, goes_on=False)
    loop = _request(store, loop_id, "resume", ResumeRequested(host=host))
    return Heard(loop, notices, goes_on=True, cared_for=_is_cared_for(store, loop))


def _is_cared_for(store: FileStore, loop: Loop) -> bool:
    return store.is_driven(loop.loop_id) or (loop.host == "server" and store.is_served())


def budget(store: FileStore, loop_id: str, *changes: BudgetChanged) -> Loop:
    for change in changes:
        if change.amount is not None and not -budgets.MOST <= change.amount <= budgets.MOST:
            raise UsageError(
                f"A budget of {change.amount} makes no sense.", "give a smaller number, or none for no limit"
            )
    return _request(store, loop_id, "budget", *changes)


def rename(store: FileStore, loop_id: str, title: str) -> Loop:
    return _request(store, loop_id, "rename", LoopRenamed(title))


def change_tasks(store: FileStore, loop_id: str, *changes: TaskChange) -> Loop:
    return _request(store, loop_id, "tasks", TasksChanged(changes))


def delete(store: FileStore, loop_id: str) -> None:
    """All of an ended loop: journal, output, receipt. What it did in the workspace stays."""
    moves.check(store.load(loop_id), "delete")
    if store.is_driven(loop_id):
        raise LoopBusy(f"Loop {loop_id} is just being put away.", "try again in a moment")
    store.delete(loop_id)


def _request(store: FileStore, loop_id: str, verb: str, *events: Event) -> Loop:
    """Append what a person wants. Whoever drives the loop sees it; if nobody does, it is obeyed here."""
    journal = store.open(loop_id)
    try:
        moves.check(journal.loop, verb)
        if not journal.loop.status.ended:
            journal.append(*events)
        loop = journal.loop
    finally:
        journal.close()
    waits = loop.works_in_session and not loop.interrupts_now
    return _settle(store, loop_id) if (loop.pause or loop.stop) and not waits and not store.is_driven(loop_id) else loop


def _settle(store: FileStore, loop_id: str) -> Loop:
    """Nobody drives the loop: write down what follows from what was said, without asking an agent anything."""
    try:
        with store.claim(loop_id, host="") as journal:
            mode = modes.find(journal.loop.settings.mode)
            while isinstance(action := decide(journal.loop, time.time(), mode), Record):
                journal.append(*action.events)
            loop = journal.loop
    except LoopBusy:
        return store.load(loop_id)
    if loop.status.ended:
        from untildone.hosts.archiving import archive

        archive(store, loop)
    return loop


def load_all(store: FileStore) -> Iterator[Loop]:
    """Every loop that can be read, oldest first."""
    for loop_id in store.ids():
        try:
            yield store.load(loop_id)
        except UntilDoneError:
            continue


def follow(store: FileStore, loop_id: str, *, to_rest: bool) -> Iterator[Entry]:
    """Every entry of the journal; then, with `to_rest`, each new one until the loop rests."""
    journal = store.open(loop_id)
    try:
        yield from journal.entries()
        while to_rest and (store.is_driven(loop_id) or not _rests(journal.loop)):
            fresh = journal.catch_up()
            yield from fresh
            if not fresh:
                time.sleep(LOOK_EVERY)
        yield from journal.catch_up() if to_rest else ()
    finally:
        journal.close()


def _rests(loop: Loop) -> bool:
    return loop.status in (Status.PAUSED, Status.COMPLETED, Status.FAILED)


def wait(store: FileStore, loop_id: str, timeout: float | None = None) -> Loop:
    """Until the loop rests; UsageError when the time is up, or, if none was set, when nobody drives the loop."""
    started = alone_since = time.monotonic()
    while not _rests(loop := store.load(loop_id)) or store.is_driven(loop_id):
        now = time.monotonic()
        alone_since = now if _is_cared_for(store, loop) else alone_since
        if timeout is None and now - alone_since > LONGEST_ALONE:
            raise UsageError(f"Nobody drives loop {loop_id}.", f"`untildone resume {loop_id}` goes on with it")
        if timeout is not None and now - started > timeout:
            raise UsageError(
                f"Loop {loop_id} is still {loop.status.value} after {timeout:g} s.", "wait longer with --timeout"
            )
        time.sleep(LOOK_EVERY)
    return loop


@dataclass(frozen=True, slots=True)
class Verification:
    """A gate of the receipt, and what it says today."""

    before: Mapping[str, Any]
    now: GateResult

    @property
    def agrees(self) -> bool:
        return bool(self.before["passed"]) == self.now.passed


def verify(store: FileStore, loop_id: str, environment: Mapping[str, str]) -> tuple[Verification, ...]:
    """Run the checks of an ended loop again."""
    path = store.receipt(loop_id)
    try:
        told = json.loads(path.read_text())
        gates = [gate for gate in told["gates"] if gate["gate"] == "check"]
    except FileNotFoundError:
        raise UsageError(f"Loop {loop_id} has no receipt yet.", "it gets one when it ends") from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise UsageError(f"The receipt {path} cannot be read: {problem}.", "it was damaged or edited") from None
    loop = store.load(loop_id)
    return tuple(Verification(gate, _check_again(loop, gate["command"], environment)) for gate in gates)


def _check_again(loop: Loop, command: str, environment: Mapping[str, str]) -> GateResult:
    from untildone.hosts import checks

    return checks.run_check(
        command,
        cwd=loop.settings.workspace,
        env=environment,
        timeout=loop.settings.check_timeout,
        interrupted=lambda: False,
        redactor=Redactor.from_environment(environment),
    )


def diff(store: FileStore, loop_id: str, *, stat: bool = False, colour: bool = False) -> str:
    """What the loop changed: up to its end if it has ended, up to now if not."""
    loop = store.load(loop_id)
    end = loop.changes.tree if loop.status.ended else None
    from untildone.hosts import workspace

    return workspace.diff(loop.settings.workspace, loop.start.tree or "", end, stat=stat, colour=colour)
