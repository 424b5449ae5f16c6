"""The loops of a server: drives as many at the same time as there are slots, and queues the others.

A loop belongs to the fleet if its host is the server (`Loop.host`). One rule covers a start, a restart after a crash and a
control of another process: a running loop of the fleet without a runner is queued for a slot.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from untildone.core.errors import GroupFull, LoopBusy, LoopNotFound, UntilDoneError
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.engine import archiving
from untildone.engine.engine import Engine
from untildone.engine.process_hands import LONG_WAIT
from untildone.engine.surroundings import Surroundings
from untildone.store import Signatures, Store
from untildone.system.guard import Guard

SLOTS = 4
LOOK_EVERY = 0.5
"""Seconds between two looks at all journals."""
TRY_AGAIN, DRIVEN_ELSEWHERE = 0.1, 1.0
"""Seconds until the next attempt at a loop that another process leases briefly; and at one that it drives, or whose group is full."""
FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 60.0
"""Seconds until the next attempt after a failure. They double with each failure."""
ABANDONED_AFTER = 30.0
"""Seconds after which a started loop that no runner ever leased counts as forgotten."""
END_WITHIN = 15.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """The loops of one store. `surroundings` returns those of a new runner, from the current settings."""

    store: Store
    surroundings: Callable[[], Surroundings]
    look: Callable[[], Signatures] | None = None
    """Returns signatures that are shared with other readers; None: the store is asked."""

    def signatures(self) -> Signatures:
        return self.look() if self.look else self.store.signatures()


@dataclass(frozen=True, slots=True)
class Load:
    """The loops of the fleet by state."""

    slots: int
    driving: tuple[str, ...]
    queued: tuple[str, ...]
    waiting: tuple[str, ...]
    """Loops that wait until a time: at a usage limit, or after a failure."""


class Fleet:
    """Drives the running loops of some stores in threads, one for each slot."""

    def __init__(self, served: Sequence[Served], guard: Guard, slots: int = SLOTS) -> None:
        self.slots = slots
        self.problems: dict[str, str] = {}
        """Why a loop could not be driven, until it is driven again."""
        self._served = tuple(served)
        self._guard = guard
        self._queue: OrderedDict[str, None] = OrderedDict()
        self._driving: dict[str, Engine | None] = {}
        self._due: dict[str, float] = {}
        """When to look at a loop again even if its journal does not change."""
        self._failures: dict[str, int] = {}
        self._signatures: dict[str, object] = {}
        """The signatures of the journals at the last look."""
        self._seen: dict[str, Signatures] = {}
        """The signatures of a store whose loops were all looked at. While nothing changes, the store returns the same object."""
        self._stores: dict[str, Served] = {}
        self._change = threading.Condition()
        self._closing = False
        self._locks = ExitStack()
        self._threads: list[threading.Thread] = []

    def open(self) -> None:
        """Queue the loops that were left running, and start the threads. LoopBusy if another server serves one of the stores."""
        for served in self._served:
            self._locks.enter_context(served.store.serving())
        self._take_up()
        names = ["watcher", *(f"slot-{number}" for number in range(1, self.slots + 1))]
        for name in names:
            work = self._watch if name == "watcher" else self._work
            self._threads.append(threading.Thread(target=work, name=name, daemon=True))
            self._threads[-1].start()

    def want(self, loop_id: str) -> None:
        """Look at a changed loop now, not when the watcher looks next."""
        served = self._served_of(loop_id)
        if served is not None:
            self._look(served, loop_id)
        else:
            self._forget(loop_id)

    def load(self) -> Load:
        """The loops that are driven, queued and waiting."""
        with self._change:
            now = time.time()
            waiting = tuple(name for name, due in list(self._due.items()) if due > now)
            return Load(self.slots, tuple(self._driving), tuple(self._queue), waiting)

    def is_queued(self, loop_id: str) -> bool:
        with self._change:
            return loop_id in self._queue

    def close(self, within: float = END_WITHIN) -> None:
        """End all agents; the loops stay running, and the next server goes on with them."""
        with self._change:
            self._closing = True
            self._queue.clear()
            for engine in self._driving.values():
                if engine is not None:
                    engine.hand_over()
            self._change.notify_all()
        deadline = time.monotonic() + within
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._guard.close()
        self._locks.close()

    def _take_up(self) -> None:
        """Queue loops that had a runner first, then the others, each in the order of their last change."""
        loops = [(served, loop) for served in self._served for loop in _live(served.store)]
        for served, loop in sorted(loops, key=lambda each: (each[1].runner is None, each[1].updated_at)):
            self._stores[loop.loop_id] = served
            if _is_ours(loop):
                self._enqueue(loop.loop_id)
            elif loop.status.ended:
                _recover(served.store, loop.loop_id)

    def _served_of(self, loop_id: str) -> Served | None:
        known = self._stores.get(loop_id)
        if known is None:
            known = next((each for each in self._served if each.store.signature(loop_id) is not None), None)
        if known is not None:
            self._stores[loop_id] = known
        return known

    def _watch(self) -> None:
        looked_at, next_look = time.time(), time.monotonic()
        while not self._closing:
            looked_at = self._check_clock(looked_at)
            self._look_at_due()
            if time.monotonic() >= next_look:
                for served in self._served:
                    self._look_around(served)
                next_look = time.monotonic() + LOOK_EVERY
            with self._change:
                self._change.wait_for(lambda: self._closing, self._until_next_look(next_look))

    def _check_clock(self, before: float) -> float:
        """Look at every loop again if the clock was set back, because the due times may now be hours ahead. Returns the time."""
        now = time.time()
        if now < before - LOOK_EVERY:
            self._due.clear()
            self._signatures.clear()
            self._seen.clear()
        return now

    def _until_next_look(self, next_look: float) -> float:
        due = min((at for loop_id, at in list(self._due.items()) if loop_id not in self._driving), default=float("inf"))
        return max(0.01, min(next_look - time.monotonic(), due - time.time()))

    def _look_at_due(self) -> None:
        """Look at the loops whose time has come."""
        now = time.time()
        for loop_id, at in list(self._due.items()):
            if at <= now and loop_id not in self._driving:
                # This holds if the look fails; otherwise the look sets its own time.
                self._due[loop_id] = now + DRIVEN_ELSEWHERE
                with _logged(loop_id):
                    self.want(loop_id)

    def _look_around(self, served: Served) -> None:
        """Look at every loop whose journal has changed."""
        with _logged(served.store.name):
            signatures = served.signatures()
            if signatures is self._seen.get(served.store.name):
                return
            for loop_id, signature in signatures.live.items():
                if signature != self._signatures.get(loop_id) and loop_id not in self._driving:
                    self._stores[loop_id] = served
                    self._look(served, loop_id)
            # A loop that could not be read, or that is driven, is looked at again even if no journal changes.
            if all(self._signatures.get(loop_id) == signature for loop_id, signature in signatures.live.items()):
                self._seen[served.store.name] = signatures

    def _look(self, served: Served, loop_id: str) -> None:
        signature = served.store.signature(loop_id)
        try:
            loop = served.store.load(loop_id)
        except LoopNotFound:
            self._forget(loop_id)
            return
        except UntilDoneError as problem:
            self.problems[loop_id] = problem.sentence
            return
        if signature is not None:
            self._signatures[loop_id] = signature
        self._due.pop(loop_id, None)
        if not _is_ours(loop):
            return
        if loop_id not in self._driving and served.store.is_driven(loop_id):
            self._due[loop_id] = time.time() + DRIVEN_ELSEWHERE
        else:
            self._enqueue(loop_id)

    def _enqueue(self, loop_id: str) -> None:
        with self._change:
            if self._closing or loop_id in self._driving or loop_id in self._queue:
                return
            self._queue[loop_id] = None
            self._change.notify_all()

    def _work(self) -> None:
        while (loop_id := self._next()) is not None:
            served, left = None, None
            try:
                served = self._served_of(loop_id)
                left = self._drive(served, loop_id) if served else None
            except Exception as problem:
                _log.exception("Loop %s cannot be driven", loop_id)
                self._back_off(loop_id, f"This is a defect of untildone: {type(problem).__name__}: {problem}")
            with self._change:
                self._driving.pop(loop_id, None)
            if served is not None:
                with _logged(loop_id):
                    self._look_after(served, loop_id, left)

    def _next(self) -> str | None:
        with self._change:
            self._change.wait_for(lambda: self._queue or self._closing)
            if self._closing:
                return None
            loop_id, _ = self._queue.popitem(last=False)
            self._driving[loop_id] = None
            return loop_id

    def _drive(self, served: Served, loop_id: str) -> Loop | None:
        """Drive a loop. Returns its state at the end; None if it was not driven."""
        try:
            if not _is_ours(served.store.load(loop_id)) or (engine := self._engine(served, loop_id)) is None:
                return None
            loop = engine.drive(loop_id)
            if engine.waits_until is not None:
                self._due[loop_id] = engine.waits_until
        except LoopNotFound:
            self._forget(loop_id)
        except GroupFull:
            # All that wait together ask ten times a second at most: each takes a slot for that.
            self._due[loop_id] = time.time() + max(DRIVEN_ELSEWHERE, len(self._due) / 10)
        except LoopBusy:
            # A control holds the lease for a moment, or a runner at a terminal was faster.
            self._due[loop_id] = time.time() + TRY_AGAIN
        except UntilDoneError as problem:
            self._back_off(loop_id, f"{problem.sentence} {problem.hint}".strip())
        else:
            self._failures.pop(loop_id, None)
            self.problems.pop(loop_id, None)
            return loop
        return None

    def _engine(self, served: Served, loop_id: str) -> Engine | None:
        """A new engine for the loop; None if the server is ending."""
        engine = Engine(served.store, served.surroundings(), longest_wait=LONG_WAIT)
        with self._change:
            if self._closing:
                return None
            self._driving[loop_id] = engine
            return engine

    def _look_after(self, served: Served, loop_id: str, left: Loop | None) -> None:
        """Look at a loop after its drive, because entries may have arrived at its end; but not if it waits and has no new ones."""
        if left is not None and left.status.ended:
            self._forget(loop_id)
        elif loop_id not in self._due:
            self._look(served, loop_id)
        elif left is not None:
            signature = served.store.signature(loop_id)
            if served.store.load(loop_id).seq > left.seq:
                self._look(served, loop_id)
            elif signature is not None:
                self._signatures[loop_id] = signature

    def _back_off(self, loop_id: str, problem: str) -> None:
        """Record a failure, and try again later."""
        failures = self._failures[loop_id] = self._failures.get(loop_id, 0) + 1
        self._due[loop_id] = time.time() + min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (failures - 1))
        if self.problems.get(loop_id) != problem:
            self.problems[loop_id] = problem
            _log.warning("Loop %s: %s", loop_id, problem)

    def _forget(self, loop_id: str) -> None:
        self._seen.clear()
        for known in (self._signatures, self._due, self._failures, self._stores, self.problems):
            known.pop(loop_id, None)


@contextmanager
def _logged(name: str) -> Iterator[None]:
    """Log an exception of the block, so that the thread goes on."""
    try:
        yield
    except Exception:
        _log.exception("Looking at %s failed", name)


def _is_ours(loop: Loop) -> bool:
    """Whether a server is to drive the loop. A loop without a host may be starting in another process, so it counts only after a while.
    A child with an order to stop counts as well: its parent may have ended, and its runner died before it obeyed."""
    if loop.status is not Status.RUNNING or loop.not_ours:
        return False
    forgotten = not loop.host and loop.updated_at < time.time() - ABANDONED_AFTER
    left = loop.parent is not None and loop.stop is not None
    return loop.host is Host.SERVER or forgotten or left


def _live(store: Store) -> Iterator[Loop]:
    for status in store.survey(store.live_ids()):
        if status.loop is not None:
            yield status.loop
        else:
            _log.warning("Loop %s is skipped: %s", status.loop_id, status.problem)


def _recover(store: Store, loop_id: str) -> None:
    try:
        archiving.recover(store, loop_id)
    except UntilDoneError as problem:
        _log.warning("Loop %s cannot be archived: %s", loop_id, problem.sentence)
