"""Going on with loops that have ended, and going back: `retry` and `rewind`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from untildone.core import moves
from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged, Entry, ResumeRequested, RetryRequested, Rewound
from untildone.core.history import rewinding
from untildone.core.history.rewinding import Place
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.moves import Control
from untildone.core.values.value import dataclass
from untildone.engine.leasing import leased
from untildone.engine.stepper import Stepper
from untildone.engine.stepper_ports import Idle
from untildone.operations import control, look
from untildone.operations.inside import refuse
from untildone.store import Store

ARCHIVED_WITHIN = 10.0
"""Seconds that the runner of a loop that has just ended gets to archive it."""


def retry(
    store: Store,
    loop_id: str,
    *changes: BudgetChanged,
    from_round: int | None = None,
    asks_person: bool = False,
    host: Host = Host.TERMINAL,
    environment: Mapping[str, str] = os.environ,
) -> Loop:
    """Let a loop that failed, was stopped or was given up go on from where it was; with `from_round`, from before that round.

    `changes` of its budget take effect before a runner drives it. A paused loop is resumed (`asks_person`: see `control.resume`); a
    running one goes on as it is. `host` is the kind of host that will drive it.
    """
    loop = _checked(store, loop_id, Control.RETRY)
    if from_round is not None:
        if loop.status is Status.RUNNING:
            moves.check(loop, Control.REWIND)
        return rewind(store, loop_id, from_round - 1, *changes, then=host, environment=environment).loop
    if loop.status is Status.FAILED:
        loop = _reopen(store, loop_id, RetryRequested(_host_after(loop, host)), *changes)
        _poke(store, loop, environment)
        return loop
    if loop.status is Status.RUNNING:
        return control.budget(store, loop_id, *changes) if changes else loop
    return control.resume(
        store, loop_id, *changes, skip_wait=True, asks_person=asks_person, host=host, environment=environment
    )


@dataclass(frozen=True, slots=True)
class Taken:
    """A loop that was taken back."""

    loop: Loop
    kept: str = ""
    """The snapshot of the workspace as it was before; empty: the loop was there already."""
    messages: tuple[str, ...] = ()
    """The person's messages since then. They are not sent to agents again."""


def rewind(
    store: Store,
    loop_id: str,
    to: int,
    *changes: BudgetChanged,
    then: Host | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Taken:
    """Take a loop back to where it was after round `to` (0: its start): workspace, state and sessions. What it spent stays spent.

    The workspace as it is now is kept in a snapshot, and `undo_rewind` brings it back. With `then`, the loop goes on, on that host.
    """
    loop = _checked(store, loop_id, Control.REWIND)
    with leased(store, loop_id, Host.NONE, reopens=loop.status.ended) as stepper:
        moves.check(stepper.loop, Control.REWIND)
        if then is not None:
            moves.check_rounds(control.with_budget(stepper.loop, *changes))
        place = _place(store, stepper.loop, to)
        kept = _take_back(
            store, stepper, Rewound(to, place.position, account=rewinding.account(stepper.loop, to, place))
        )
        loop = _go_on(stepper, _host_after(stepper.loop, then), *changes) if then is not None else stepper.loop
    _reopened(loop)
    _poke(store, loop, environment)
    return Taken(store.load(loop_id), kept, place.messages)


def undo_rewind(store: Store, loop_id: str) -> Taken:
    """Take back the last rewind: workspace and state are as they were before it. UsageError if agents have worked since."""
    _checked(store, loop_id, Control.REWIND)
    with leased(store, loop_id, Host.NONE) as stepper:
        moves.check(stepper.loop, Control.REWIND)
        found = rewinding.before_last(_entries(store, loop_id))
        if found is None:
            raise UsageError(
                f"Loop {loop_id} was not taken back, or has worked since.",
                "`untildone rewind LOOP --to N` goes to a round",
            )
        last, place = found
        kept = _take_back(store, stepper, Rewound(last.to, place.position, undone=True))
    return Taken(store.load(loop_id), kept)


def _checked(store: Store, loop_id: str, verb: Control) -> Loop:
    loop = store.load(loop_id)
    refuse(store, verb, loop)
    moves.check(loop, verb)
    if loop.status.ended:
        look.await_release(store, loop_id, ARCHIVED_WITHIN)
    return loop


def _reopen(store: Store, loop_id: str, request: RetryRequested, *changes: BudgetChanged) -> Loop:
    """Write the request under the lease. If this process dies before, the loop is archived again, as it was."""
    with store.lease(loop_id, Host.NONE, reopens=True) as journal:
        moves.check(journal.loop, Control.RETRY)
        if journal.loop.status is Status.FAILED:
            journal.append(request, *changes)
        loop = journal.loop
    _reopened(loop)
    return loop


def _reopened(loop: Loop) -> None:
    from untildone.workspace.shadow import Shadow, tidying

    if loop.settings.remote is None:
        tidying.loop_reopened(Shadow(loop.settings.workspace, loop_id=loop.loop_id))


def _entries(store: Store, loop_id: str) -> tuple[Entry, ...]:
    journal = store.open(loop_id)
    try:
        return tuple(journal.entries())
    finally:
        journal.close()


def _place(store: Store, loop: Loop, to: int) -> Place:
    """The state of the loop then. UsageError if it, or the content of its workspace, is unknown."""
    if loop.settings.remote is not None:
        raise UsageError(
            f"The work of loop {loop.loop_id} is on a branch of {loop.settings.remote}.",
            "take the branch back with git, then `untildone duplicate`",
        )
    place = rewinding.after(_entries(store, loop.loop_id), to)
    if place is None:
        raise UsageError(
            f"Loop {loop.loop_id} has no round {to} that ended with an answer.",
            f"choose one from 0 to {loop.spend.iterations}",
        )
    if not place.seen or not place.position.changes.tree:
        raise UsageError(f"There is no snapshot of the workspace after round {to}.", "choose another round")
    return place


def _take_back(store: Store, stepper: Stepper, event: Rewound) -> str:
    """Write the rewind and put the workspace back; return the snapshot of what was there. Nothing is written if it cannot work."""
    from untildone.workspace import restoring
    from untildone.workspace.person_git import worktrees
    from untildone.workspace.shadow import Reading

    if problem := worktrees.gone(stepper.loop, store.home):
        raise problem
    tree, loop = event.position.changes.tree or "", stepper.loop
    now = stepper.workspace.look(None, reading=Reading.ALL).tree or ""
    restoring.check(stepper.workspace.shadow, now, tree)
    if now == tree and not event.undone and _is_there(store, loop.loop_id, event.to):
        return ""
    from untildone.system import orphans

    orphans.end_all(orphans.mark(loop.loop_id)[0])
    stepper.write(Rewound(event.to, event.position, now, event.account, event.undone))
    stepper.run(Idle())
    return now


def _is_there(store: Store, loop_id: str, to: int) -> bool:
    """Whether the last rewind went to this round, and nothing has happened since."""
    last = rewinding.before_last(_entries(store, loop_id))
    return last is not None and last[0].to == to and not last[0].undone


def _go_on(stepper: Stepper, host: Host, *changes: BudgetChanged) -> Loop:
    stepper.write(ResumeRequested(skip_wait=True, host=host), *changes)
    return stepper.loop


def _host_after(loop: Loop, host: Host | None) -> Host:
    return Host.CLUSTER if loop.host is Host.CLUSTER else host or Host.NONE


def _poke(store: Store, loop: Loop, environment: Mapping[str, str]) -> None:
    if loop.host is Host.CLUSTER and loop.status is Status.RUNNING:
        from untildone.operations.driving.cluster import poke

        poke(store, loop, environment)
