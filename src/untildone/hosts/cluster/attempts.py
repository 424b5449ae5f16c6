"""One attempt to advance a loop on this machine: claim it, go on with it, and say what comes next.

It goes on until the loop rests, has to wait for long, or is to be handed over.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from untildone import modes
from untildone.core.actions import Record, Rest
from untildone.core.codec import timestamp
from untildone.core.decide import decide
from untildone.core.errors import LoopBusy, LoopNotFound, Superseded, UsageError
from untildone.core.events import Rested
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status, Urgency
from untildone.core.value import replace
from untildone.engine.archiving import archive
from untildone.engine.engine import Engine, Surroundings
from untildone.gates import gates_of
from untildone.hosts.cluster.publishing import Published
from untildone.hosts.cluster.workflow import Step, Then
from untildone.hosts.patience import Patience
from untildone.store import Store

BUSY_ELSEWHERE = 2.0
"""Seconds until the next look at a loop that a terminal or a server drives."""


class Attempt:
    def __init__(self, store: Store, around: Surroundings, folder: Path, loop_id: str, token: str) -> None:
        self.loop_id = loop_id
        self.over = threading.Event()
        """Nothing of it is at work any more."""
        self.left_as = "there is nothing to do"
        """What became of the loop here, in a few words."""
        self._store = store
        self._site = Published(folder, token)
        self._around = replace(around, host=Host.CLUSTER, token=token, site=self._site)
        self._engine = Engine(store, self._around)
        self._engine.observer = Patience(self._engine, self._wait)
        self._waits_until: float | None = None

    def hand_over(self, urgency: Urgency) -> None:
        """End the turn and save what was done, or wait for its end; then let another attempt go on."""
        self._engine.hand_over(urgency)

    def go(self) -> Step:
        """Superseded if somebody else has claimed the loop; then nothing of this attempt counts."""
        try:
            return self._gone()
        except LoopNotFound:
            return Step(Then.DONE)
        except Superseded:
            raise
        except LoopBusy:
            return Step(Then.WAIT, time.time() + BUSY_ELSEWHERE)
        except UsageError as problem:
            self._give_up(problem)
            return Step(Then.DONE)
        finally:
            self.over.set()

    def _gone(self) -> Step:
        loop = self._store.load(self.loop_id)
        if isinstance(decide(loop, time.time(), modes.find(loop.settings.mode), gates_of), Rest):
            return self._put_away(loop)
        loop = self._engine.drive(self.loop_id)
        if loop.status.ended:
            self._site.leave(loop)
        if loop.outcome is not None:
            self.left_as = loop.outcome.word
            return Step(Then.DONE)
        if self._waits_until is not None:
            self.left_as = f"waits until {timestamp(self._waits_until)}"
            return Step(Then.WAIT, self._waits_until)
        self.left_as = "handed over"
        return Step(Then.AGAIN)

    def _put_away(self, loop: Loop) -> Step:
        """There is nothing to do, but that an attempt may have died just before its last deed."""
        if loop.status.ended and self._store.receipt(loop.loop_id) is None:
            archive(self._store, loop)
        return Step(Then.DONE)

    def _wait(self, until: float) -> None:
        self._waits_until = until

    def _give_up(self, problem: UsageError) -> None:
        """A person must mend something; until then the loop rests, and says why."""
        with self._store.claim(self.loop_id, Host.CLUSTER, self._around.token) as journal:
            mode = modes.find(journal.loop.settings.mode)
            while isinstance(action := decide(journal.loop, time.time(), mode, gates_of), Record):
                journal.append(*action.events)
            if journal.loop.status is Status.RUNNING:
                journal.append(Rested(Outcome.PAUSED, f"{problem.sentence} hint: {problem.hint}"))
            loop = journal.loop
        if loop.status.ended:
            archive(self._store, loop)
        self.left_as = f"paused: {problem.sentence}"
        self._around.on_rest(loop)
