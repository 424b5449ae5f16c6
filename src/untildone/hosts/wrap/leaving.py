"""Lets the loops of a run rest after the person has left the agent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from untildone.core.actions import AwaitPerson
from untildone.core.errors import LoopBusy, UntilDoneError
from untildone.core.events import Rested
from untildone.core.kinds import Host, Interruption
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.core.protection.secrets import Redactor
from untildone.engine.leasing import leased
from untildone.engine.stepper import CHANGED_SINCE, Stepper
from untildone.hosts.hook import presence, runs
from untildone.store.files import FileStore

PATIENCE = 5.0
"""Seconds to wait for a hook that still holds the lease of its loop."""
TRY_AGAIN = 0.05


def leave(folder: str, redactor: Redactor) -> Iterator[Loop]:
    """Let all loops of the run rest; yield each of them afterwards."""
    known = {(loop.root, loop.loop_id) for loop in runs.loops(folder)}
    for root, loop_id in sorted(known):
        store = FileStore(Path(root), redactor)
        try:
            yield _rested(store, loop_id)
        except UntilDoneError:
            continue


def _rested(store: FileStore, loop_id: str) -> Loop:
    if loop_id not in store.live_ids():
        return store.load(loop_id)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            with leased(store, loop_id, Host.HOOK) as stepper:
                _rest(stepper)
                presence.register(str(store.root), stepper.loop, "")
                return stepper.loop
        except LoopBusy:
            if time.monotonic() > deadline:
                raise
            time.sleep(TRY_AGAIN)


def _rest(stepper: Stepper) -> None:
    """Interrupt the running turn. A verified task counts as done if the workspace is still the same; else the loop pauses."""
    stepper.interrupt_turn(Interruption.CONTROL)
    changed = stepper.recheck()
    action = stepper.settle()
    if stepper.loop.outcome is None:
        done = isinstance(action, AwaitPerson) and action.leave.status.ended
        outcome = action.leave if done and isinstance(action, AwaitPerson) else Outcome.INTERRUPTED
        stepper.write(Rested(outcome, CHANGED_SINCE if changed else ""))
