"""Reads loops: journal, receipt, changes in the workspace; waits for them, and runs their checks again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from untildone.core.errors import UsageError
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Status
from untildone.core.secrets import Redactor
from untildone.core.value import dataclass
from untildone.operations.presence import goes_on_by_itself
from untildone.store import Store, checkpoint, lines

if TYPE_CHECKING:
    from untildone.core.actions import GateStep
    from untildone.core.gate import Gate
    from untildone.system.guard import Watched

LOOK_EVERY, LOOK_FOR_RUNNER_EVERY = 0.05, 0.5
LONGEST_ALONE = 5.0
"""Seconds after which a loop that needs a runner and has none is not going to get one by itself."""
RELEASED_WITHIN = 10.0
"""Seconds that the runner of a loop that has just ended gets to archive it."""


def entry_fields(entry: Entry, loop_id: str) -> dict[str, Any]:
    """A journal entry as programs see it."""
    return lines.as_fields(entry, loop_id)


def entry_json(entry: Entry, loop_id: str) -> str:
    """A journal entry as one line of JSON."""
    return lines.compact(lines.as_fields(entry, loop_id))


def checkpoint_fields(loop: Loop) -> dict[str, Any]:
    """The whole state of a loop as programs see it."""
    return checkpoint.as_fields(loop)


def load_all(store: Store) -> Iterator[Loop]:
    """Every readable loop, oldest first."""
    return (status.loop for status in store.survey(store.ids()) if status.loop is not None)


def follow(store: Store, loop_id: str, *, to_rest: bool) -> Iterator[Entry]:
    """Every entry of the journal; then, with `to_rest`, each new one until the loop rests."""
    journal = store.open(loop_id)
    try:
        yield from journal.entries()
        while to_rest and not rests(store, journal.loop):
            fresh = journal.catch_up()
            yield from fresh
            if not fresh:
                time.sleep(LOOK_EVERY)
        yield from journal.catch_up() if to_rest else ()
    finally:
        journal.close()


def rests(store: Store, loop: Loop) -> bool:
    """Whether the loop is paused or has ended, and its runner has left it."""
    return loop.status in (Status.PAUSED, Status.COMPLETED, Status.FAILED) and not store.is_driven(loop.loop_id)


def wait(store: Store, loop_id: str, timeout: float | None = None) -> Loop:
    """Wait until the loop rests. UsageError after `timeout` seconds, or, without one, if nothing drives the loop."""
    journal, started = store.open(loop_id), time.monotonic()
    cared_for_at, next_look = started, started
    try:
        while not rests(store, journal.loop):
            now = time.monotonic()
            if timeout is None and now >= next_look:
                cared_for_at = now if goes_on_by_itself(store, journal.loop) else cared_for_at
                next_look = now + LOOK_FOR_RUNNER_EVERY
            _check_patience(journal.loop, timeout, waited=now - started, alone=now - cared_for_at)
            time.sleep(LOOK_EVERY)
            journal.catch_up()
        return journal.loop
    finally:
        journal.close()


def _check_patience(loop: Loop, timeout: float | None, *, waited: float, alone: float) -> None:
    if timeout is None and alone > LONGEST_ALONE:
        raise UsageError(f"Nothing drives loop {loop.loop_id}.", f"`untildone resume {loop.loop_id}` goes on with it")
    if timeout is not None and waited > timeout:
        raise UsageError(
            f"Loop {loop.loop_id} is still {loop.status.value} after {timeout:g} s.", "wait longer with --timeout"
        )


@dataclass(frozen=True, slots=True)
class Verification:
    """A gate as the receipt records it, and its result today."""

    before: Mapping[str, Any]
    now: GateResult

    @property
    def agrees(self) -> bool:
        return bool(self.before["passed"]) == self.now.passed


def verify(store: Store, loop_id: str, environment: Mapping[str, str]) -> tuple[Verification, ...]:
    """Run the commands of an ended loop's gates again."""
    written = receipt(store, loop_id)
    if written is None:
        raise UsageError(f"Loop {loop_id} has no receipt yet.", "it gets one when it ends")
    loop = store.load(loop_id)
    steps = _commands(loop_id, loop, written)
    from untildone.system.guard import guarded

    with _place(loop) as place, guarded(f"verify-{loop_id}") as watched:
        return tuple(
            Verification(entry, _run_again(gate, step, loop, place, environment, watched))
            for entry, gate, step in steps
        )


def _commands(loop_id: str, loop: Loop, written: str) -> list[tuple[Mapping[str, Any], Gate, GateStep]]:
    """The gates of a receipt that ran a command, each with the step that runs it again."""
    from untildone.gates import gates_of

    try:
        entries = {
            (entry["gate"], entry["command"]): entry for entry in json.loads(written)["gates"] if entry["command"]
        }
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
    """A folder with the loop's work: its workspace, or, for a loop of a cluster, a checkout of what it published."""
    if loop.settings.remote is None:
        yield loop.settings.workspace
        return
    from untildone.hosts.cluster.reading import published

    with published(loop) as folder:
        yield folder


def _run_again(
    gate: Gate, step: GateStep, loop: Loop, place: str, environment: Mapping[str, str], watched: Watched
) -> GateResult:
    """Run a gate's command as the loop did. Processes that it leaves behind are killed."""
    from untildone.engine import gating, turns

    env = {**turns.inherited(environment, loop.loop_id), **watched.mark}
    redactor = Redactor.from_environment(environment)
    return gating.run_step(gate, step, loop, gating.Room(place, env, lambda: False, redactor, watched.groups))


def diff(store: Store, loop_id: str, *, stat: bool = False, colour: bool = False) -> str:
    """What the loop changed: up to its end if it has ended, else up to now."""
    loop = store.load(loop_id)
    end = loop.changes.tree if loop.status.ended else None
    from untildone.workspace.diff import patch

    with _place(loop) as place:
        return patch(place, loop.start.tree or "", end, stat=stat, colour=colour)


def diff_between(store: Store, loop_id: str, start_tree: str, end_tree: str | None) -> str:
    """The changes between two states of a loop's workspace; without an end, up to now."""
    from untildone.workspace.diff import patch

    with _place(store.load(loop_id)) as place:
        return patch(place, start_tree, end_tree)
