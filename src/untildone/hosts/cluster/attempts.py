"""One attempt to advance a loop on this machine: lease the loop, drive it, and return what comes next.

An attempt ends when the loop rests, has to wait for long, or is handed over.
"""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

from untildone.core.actions import Rest
from untildone.core.errors import GroupFull, LoopBusy, LoopNotFound, StoreError, Superseded, UsageError
from untildone.core.events import Rested
from untildone.core.kinds import Host
from untildone.core.model import Outcome, Status, Urgency
from untildone.core.values.codec import timestamp
from untildone.core.values.value import replace
from untildone.engine import archiving
from untildone.engine.engine import Engine
from untildone.engine.leasing import leased
from untildone.engine.notices.telling import journal_of
from untildone.engine.process_hands import LONG_WAIT
from untildone.engine.stepper import Stepper
from untildone.engine.surroundings import Surroundings
from untildone.hosts.cluster.publishing import Published
from untildone.hosts.cluster.workflow import Step, Then
from untildone.store import Store

BUSY_ELSEWHERE = 2.0
"""Seconds until the next attempt at a loop that a terminal or a server drives."""

GROUP_ASKED_AFTER = 30.0


class Attempt:
    """One attempt to drive a loop, with the token of its lease."""

    def __init__(self, store: Store, around: Surroundings, folder: Path, loop_id: str, token: str) -> None:
        self.loop_id = loop_id
        self.over = threading.Event()
        """Set when the attempt has ended."""
        self.left_as = "there is nothing to do"
        """How the attempt ended, for the log."""
        self.group_is_full = False
        self._store = store
        self._site = Published(folder, token, _key_name(store))
        self._around = replace(around, host=Host.CLUSTER, token=token, site=self._site)
        self._engine = Engine(store, self._around, longest_wait=LONG_WAIT)

    def hand_over(self, urgency: Urgency) -> None:
        """End the running turn now or wait for its end, save the work, and end the attempt, so that another one can go on."""
        self._engine.hand_over(urgency)

    def go(self) -> Step:
        """Drive the loop. Raises Superseded if a newer runner has leased it; then the work of this attempt does not count."""
        try:
            return self._gone()
        except LoopNotFound:
            return Step(Then.DONE)
        except Superseded:
            raise
        except GroupFull:
            return Step(Then.WAIT, time.time() + self._until_group_is_asked())
        except LoopBusy:
            return Step(Then.WAIT, time.time() + BUSY_ELSEWHERE)
        except UsageError as problem:
            self._give_up(problem)
            return Step(Then.DONE)
        finally:
            self.over.set()

    def _gone(self) -> Step:
        if self._is_at_rest():
            # The attempt that ended the loop may have died before it archived the loop.
            archiving.recover(self._store, self.loop_id)
            return Step(Then.DONE)
        loop = self._engine.drive(self.loop_id)
        if loop.status.ended:
            self._site.leave(loop)
        if loop.outcome is not None:
            self.left_as = loop.outcome.word
            return Step(Then.DONE)
        if self._engine.waits_until is not None:
            self.left_as = f"waits until {timestamp(self._engine.waits_until)}"
            return Step(Then.WAIT, self._engine.waits_until)
        self.left_as = "handed over"
        return Step(Then.AGAIN)

    def _until_group_is_asked(self) -> float:
        """Seconds until a loop whose group is full asks again by itself: all that wait together ask once a second at most.
        A loop that leaves its place wakes the next one, so this is only for places of machines that died."""
        self.group_is_full = True
        self.left_as = "its group is full"
        group = self._store.load(self.loop_id).settings.group
        return max(GROUP_ASKED_AFTER, float(len(self._store.waiting_in(group)) if group else 0))

    def waiting_for_place(self) -> tuple[str, ...]:
        """The loops of the same group for which there is a place now."""
        group = None if self.group_is_full else self._group()
        if not group:
            return ()
        return self._store.waiting_in(group)[: self._store.group(group).free]

    def _group(self) -> str | None:
        try:
            return self._store.load(self.loop_id).settings.group
        except LoopNotFound:
            return None

    def _is_at_rest(self) -> bool:
        """Whether the loop is at rest. Reads without the lease, so nothing is written."""
        with closing(self._store.open(self.loop_id)) as journal:
            return isinstance(Stepper(self._store, journal).decide(), Rest)

    def _give_up(self, problem: UsageError) -> None:
        """Pause the loop with the problem as reason, because a person must fix it."""
        with leased(self._store, self.loop_id, Host.CLUSTER, self._around.token) as stepper:
            stepper.settle()
            if stepper.loop.status is Status.RUNNING:
                stepper.write(Rested(Outcome.PAUSED, f"{problem.sentence} hint: {problem.hint}"))
            self._around.notifier.take_up(
                self._store.name, stepper.loop, partial(journal_of, self._store, self.loop_id)
            )
        self.left_as = f"paused: {problem.sentence}"


def _key_name(store: Store) -> str:
    """The name of the key in the state folder of this machine: a new state folder has kept nothing. Empty: there is no usable key."""
    with suppress(StoreError):
        store.seals.prepare()
    seal = store.seals.of_receipts
    return "" if seal is None else seal.name
