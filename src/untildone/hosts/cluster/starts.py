"""What a machine keeps of the start of a loop, before an agent of the loop works on it: a claim is judged with that.

The journal names the commit and the tree that the loop started from. So every machine can look at the start itself: it checks that commit
out, takes its own snapshot, whose hash must be that of the journal, and writes down what lies beside it and which programs it has. The
hashes of these records go into the journal, which agents cannot write.
"""

from __future__ import annotations

from typing import Protocol

from untildone.core.errors import StoreError, UsageError
from untildone.core.events import StartKept
from untildone.core.loop import Loop
from untildone.core.model import KeptStart, RoomKind
from untildone.core.receipts import proving
from untildone.engine.stepper import Stepper
from untildone.engine.verdicts import loop_rooms
from untildone.workspace.git import GitFailed
from untildone.workspace.rooms import RoomRefused
from untildone.workspace.shadow import NoSnapshot, Reading

CHECKED_ONLY = "Checks run in place here, with the tests as the agent leaves them"


class Clone(Protocol):
    """The clone of a loop on this machine."""

    @property
    def is_at_start(self) -> bool:
        """Whether the published work is what the loop started from."""

    def show_start(self) -> bool:
        """Make it anew, with the files that the loop started from. False: they are not to be had."""

    def show_work(self) -> None:
        """Set its files to the published work again."""


def keep(stepper: Stepper, clone: Clone, key: str) -> None:
    """Keep the start of the loop, unless this machine has it; write what is kept here if another machine had the loop last.

    `key` is the name of the key in the state folder of this machine. UsageError if the loop must not go on without its start."""
    loop = stepper.loop
    machine = f"{loop.runner.machine if loop.runner else ''} {key}"
    known = None if _was_refused(loop, machine) else loop.starts.get(machine)
    if loop.start_kept_by != machine or known is None:
        kept = known or _kept(stepper, clone)
        if loop.start_kept_by != machine or kept != loop.starts.get(machine):
            stepper.write(StartKept(machine, kept.record, kept.programs, kept.problem))
    _refuse(stepper.loop)


def _was_refused(loop: Loop, machine: str) -> bool:
    """Whether the loop rested because this machine did not have the start: no agent worked here, so that it may look again."""
    starts = list(loop.starts)
    at = starts.index(machine) if machine in loop.starts else 0
    return any(loop.starts[other].record for other in starts[:at]) and bool(loop.starts[machine].problem)


def _kept(stepper: Stepper, clone: Clone) -> KeptStart:
    if not stepper.loop.settings.checks or not stepper.loop.start.tree:
        return KeptStart()
    if not stepper.loop.starts and not stepper.loop.spend.iterations and clone.is_at_start:
        return _seen_again(stepper, Reading.TOUCHED)
    stepper.workspace.forget_start()
    try:
        is_there = clone.show_start()
        kept = (
            _seen_again(stepper, Reading.ALL) if is_there else _problem(stepper.loop, "the remote has no such commit")
        )
        if kept.problem:
            stepper.workspace.forget_start()
        clone.show_work()
    except (GitFailed, OSError) as problem:
        hint = "look at the disk of this machine, then resume"
        raise UsageError(
            f"The start of loop {stepper.loop.loop_id} cannot be checked out: {problem}.", hint
        ) from problem
    return kept


def _seen_again(stepper: Stepper, reading: Reading) -> KeptStart:
    """Record the start, if its files are here what they were on the machine on which the loop began."""
    changes = stepper.workspace.look(None, reading=reading)
    if changes.tree is None:
        return _problem(stepper.loop, stepper.workspace.problem.rstrip("."))
    if changes.tree != stepper.loop.start.tree:
        return _problem(stepper.loop, "its commit gives other files here than on the machine on which the loop began")
    return _recorded(stepper)


def _recorded(stepper: Stepper) -> KeptStart:
    loop = stepper.loop
    try:
        record, programs = loop_rooms.kept(loop, stepper.workspace, loop.start.tree or "")
    except (RoomRefused, NoSnapshot, OSError, StoreError) as problem:
        return _problem(loop, str(problem).rstrip("."))
    return KeptStart(record, programs)


def _problem(loop: Loop, why: str) -> KeptStart:
    machine = loop.runner.machine if loop.runner else "This machine"
    return KeptStart(problem=f"{machine} does not have the start of the loop: {why}. {CHECKED_ONLY}.")


def _refuse(loop: Loop) -> None:
    """UsageError if checks of the loop must not run in place: a person asked for a room, or for a proof, which needs one; or the start was
    kept elsewhere, and an agent may have taken it from the remote, so that its own tests count."""
    settings = loop.settings
    if not loop.start_problem or settings.room is RoomKind.PLAIN:
        return
    needs_room = settings.room is not None or proving.chosen(settings) or settings.options.get(proving.IGNORE_FAILING)
    was_kept = any(kept.record for kept in loop.starts.values())
    if not (needs_room or was_kept):
        return
    why = loop.start_problem.removesuffix(f" {CHECKED_ONLY}.")
    room = (
        "It cannot judge a claim in a room."
        if needs_room
        else "Claims of this loop are judged against its start, so this machine judges none."
    )
    commit = (
        f"give the remote commit {loop.start.head[:12]} back" if loop.start.head else "give the remote its commit back"
    )
    raise UsageError(
        f"{why} {room}",
        f"{commit}, then resume; or resume when another machine can take it; or start a new loop from the published work",
    )
