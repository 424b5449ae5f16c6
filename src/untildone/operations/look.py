"""Reads loops: journal, receipt, changes in the workspace; waits for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from untildone.core.errors import UsageError
from untildone.core.events import Entry, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import AcceptanceTests, Role, Status
from untildone.operations.driving.presence import goes_on_by_itself
from untildone.store import Store, checkpoint, lines

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


def entry_of(fields: dict[str, Any], loop_id: str) -> Entry:
    """The journal entry that programs see as these fields. ValueError if they are none, or of another loop."""
    return lines.entry_of(fields, loop_id)


def loop_of(fields: dict[str, Any]) -> Loop:
    """The loop that programs see as these fields. ValueError if they are none."""
    return checkpoint.loop_of(fields)


def load_all(store: Store) -> Iterator[Loop]:
    """Every readable loop, oldest first."""
    return (status.loop for status in store.survey(store.ids()) if status.loop is not None)


def children(store: Store, loop: Loop) -> tuple[Loop, ...]:
    """The loops that the agent of a loop started, as far as they are kept."""
    ids = tuple(child.loop_id for child in loop.children)
    return tuple(each.loop for each in store.survey(ids) if each.loop is not None)


def profile_of(store: Store, loop_id: str, role: Role, iteration: int) -> str:
    """The profile of the agent that took the last turn of a role in a round; empty: there was none."""
    started = (entry.event for entry in follow(store, loop_id, to_rest=False) if isinstance(entry.event, TurnStarted))
    return next(
        (each.profile for each in reversed(tuple(started)) if (each.role, each.iteration) == (role, iteration)), ""
    )


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
def place_of(loop: Loop) -> Iterator[str]:
    """A folder with the loop's work: its workspace, or, for a loop of a cluster, a checkout of what it published."""
    if loop.settings.remote is None:
        yield loop.settings.workspace
        return
    from untildone.hosts.cluster.reading import published

    with published(loop) as folder:
        yield folder


def diff(store: Store, loop_id: str, *, stat: bool = False, colour: bool = False) -> str:
    """What the loop changed: up to its end if it has ended, else up to now. Without secrets and control characters."""
    from untildone.operations import shown_diff

    shown = shown_diff.readable(_patch(store.load(loop_id), stat=stat), store.redactor)
    return shown_diff.coloured(shown) if colour else shown


def _patch(loop: Loop, *, stat: bool) -> str:
    from untildone.workspace.diff import patch, published_patch

    if loop.settings.remote is not None:
        with place_of(loop) as place:
            return published_patch(place, loop.start.head or "", stat=stat)
    end = loop.changes.tree if loop.status.ended else None
    return patch(loop.settings.workspace, loop.start.tree or "", end, loop_id=loop.loop_id, stat=stat)


def acceptance_tests(store: Store, loop_id: str, *, stat: bool = False, colour: bool = False) -> str:
    """The acceptance tests that the author of a loop wrote, as a patch of the workspace at its start. UsageError if there are none."""
    from untildone.operations import shown_diff
    from untildone.workspace.diff import patch

    loop = store.load(loop_id)
    if loop.acceptance is None:
        raise UsageError(f"Loop {loop_id} has no acceptance tests.", "`untildone run --acceptance NAME` asks for some")
    if loop.settings.remote is None:
        made = patch(loop.settings.workspace, loop.start.tree or "", loop.acceptance.tree, loop_id=loop_id, stat=stat)
    else:
        made = _carried_tests(store, loop_id, loop.acceptance, stat=stat)
    shown = shown_diff.readable(made, store.redactor)
    return shown_diff.coloured(shown) if colour else shown


def _carried_tests(store: Store, loop_id: str, written: AcceptanceTests, *, stat: bool) -> str:
    """The acceptance tests of a loop in a cluster, as a patch: each of them is a new file."""
    from untildone.engine.verdicts import authoring
    from untildone.workspace.diff import patch_of_new
    from untildone.workspace.shadow import NoSnapshot

    try:
        return patch_of_new(authoring.carried(written, lambda name: store.carried(loop_id, name)), stat=stat)
    except NoSnapshot as problem:
        raise UsageError(str(problem), "start a new loop") from problem


def diff_between(store: Store, loop_id: str, start_tree: str, end_tree: str | None) -> str:
    """The changes between two states of a loop's workspace; without an end, up to now. Shown as `diff` shows them."""
    from untildone.operations import shown_diff
    from untildone.workspace.diff import patch, published_patch

    loop = store.load(loop_id)
    if loop.settings.remote is None:
        made = patch(loop.settings.workspace, start_tree, end_tree, loop_id=loop_id)
    else:
        with place_of(loop) as place:
            made = published_patch(place, start_tree, end_tree or "HEAD")
    return shown_diff.readable(made, store.redactor)
