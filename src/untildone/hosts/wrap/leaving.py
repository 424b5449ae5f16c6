"""The person has left the agent: each loop of the run comes to rest as it stands."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from untildone import modes
from untildone.core.actions import Action, AwaitPerson, Record
from untildone.core.decide import decide
from untildone.core.errors import LoopBusy, UntilDoneError
from untildone.core.events import Rested, TurnInterrupted
from untildone.core.kinds import Host, Interruption
from untildone.core.loop import Loop
from untildone.core.model import Outcome
from untildone.core.secrets import Redactor
from untildone.engine.archiving import archive
from untildone.engine.rechecking import CHANGED_SINCE, changed_since
from untildone.gates import gates_of
from untildone.hosts.hook import runs
from untildone.store.files import FileStore
from untildone.store.journal import FileJournal
from untildone.workspace.look import Workspace

PATIENCE = 5.0
"""Seconds that a hook which is still at work may take to let go of its loop."""
TRY_AGAIN = 0.05


def leave(folder: str, redactor: Redactor) -> Iterator[Loop]:
    """Bring them all to rest; each as it is afterwards."""
    known = {(belonging.root, belonging.loop_id) for belonging in runs.loops(folder)}
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
            with store.claim(loop_id, Host.HOOK) as journal:
                _rest(journal)
                loop = journal.loop
            break
        except LoopBusy:
            if time.monotonic() > deadline:
                raise
            time.sleep(TRY_AGAIN)
    if loop.status.ended:
        archive(store, loop)
    return loop


def _rest(journal: FileJournal) -> None:
    turn = journal.loop.turn
    if turn is not None:
        seconds = max(0.0, time.time() - turn.started_at)
        journal.append(TurnInterrupted(turn.role, turn.iteration, Interruption.CONTROL, seconds))
    seen = changed_since(journal.loop, Workspace(journal.loop.settings.workspace))
    if seen is not None:
        journal.append(seen)
    while isinstance(action := _decided(journal), Record):
        journal.append(*action.events)
    if journal.loop.outcome is None:
        done = isinstance(action, AwaitPerson) and action.leave.status.ended
        outcome = action.leave if done and isinstance(action, AwaitPerson) else Outcome.INTERRUPTED
        journal.append(Rested(outcome, CHANGED_SINCE if seen is not None else ""))


def _decided(journal: FileJournal) -> Action:
    return decide(journal.loop, time.time(), modes.find(journal.loop.settings.mode), gates_of)
