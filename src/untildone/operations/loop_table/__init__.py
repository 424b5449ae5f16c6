"""A table of all loops of several workspaces, in memory.

The stores report what this process reads or writes, so the table has it at once: a client that paused a loop sees it paused in
the next list. What other processes write is found by looking at the signatures of all journals. A server does that now and then
in the background: it takes too long for every request, and no file system reports changes on every platform.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from untildone.core.errors import LoopNotFound
from untildone.core.loop import Loop
from untildone.operations.loop_table.index import LoopIndex
from untildone.operations.loop_table.rows import Row, row_of
from untildone.store import LoopStatus, Signatures, Store
from untildone.store.names import is_id

__all__ = ["LoopTable", "Row", "row_of"]
LOCK_WITHIN = 1.0
"""Seconds after which a reader asks whether the store is usable at all."""
Listener = Callable[[str], None]
"""Called with the id of a loop whose row has changed or is gone."""
GONE = float("inf")
"""The sequence number of a deleted loop: later than every entry."""


class LoopTable:
    """The loops of some stores, each by the name of its workspace.

    A look at the journals is valid for `fresh_for` seconds. A caller of `look` that comes more often than that spares readers
    the wait; otherwise a reader looks first.
    """

    def __init__(
        self, stores: Mapping[str, Store], fresh_for: float = 0.0, require: Callable[[str], None] = lambda _: None
    ) -> None:
        """`require` raises StoreError if the store of a workspace does not answer, while another thread looks at it."""
        self._require = require
        self.stores = dict(stores)
        self._fresh_for = fresh_for
        self._index = LoopIndex()
        self._signatures: dict[str, Signatures] = {}
        self._looked_at: dict[str, float] = {}
        self._reported: dict[str, float] = {}
        """The last entry that a store reported of each loop since a look began: that look may have missed it."""
        self._has_readers = False
        self._listeners: tuple[Listener, ...] = ()
        self._rows_lock, self._look_lock = threading.Lock(), threading.Lock()
        for workspace, store in self.stores.items():
            store.on_change = partial(self._take_report, workspace)

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Report every row that changes or goes, from any thread. A listener must return at once."""
        self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._listeners = tuple(each for each in self._listeners if each is not listener)

    def find_row(self, loop_id: str) -> Row | None:
        """The row of a loop as it was known last; None: there is none."""
        return self._index.find(loop_id)

    def rows(self) -> tuple[Row, ...]:
        """Every loop, newest first."""
        return self.rows_and_counts()[0]

    def counts(self) -> Counter[str]:
        """How many loops have each status."""
        return self.rows_and_counts()[1]

    def rows_and_counts(self) -> tuple[tuple[Row, ...], Counter[str]]:
        """Every loop, newest first, and how many of them have each status."""
        self._become_current()
        with self._rows_lock:
            return self._index.rows(), self._index.counts()

    def find(self, loop_id: str) -> tuple[str, Store]:
        """The workspace and the store of a loop. `loop_id` must be the whole id."""
        for workspace in self._likely_places(loop_id) if is_id(loop_id) else ():
            if self.stores[workspace].signature(loop_id) is not None:
                return workspace, self.stores[workspace]
        raise LoopNotFound(f"There is no loop '{loop_id[:100]}'.", "GET /api/v1/loops lists the loops there are")

    def _likely_places(self, loop_id: str) -> Iterator[str]:
        """All workspaces, the one of the known row first: a miss takes longer than a hit."""
        known = self._index.find(loop_id)
        if known is not None:
            yield known.workspace
        yield from self.stores

    def look(self, workspace: str) -> Signatures:
        """The signatures of all journals. Also updates the rows, once a reader has asked for rows."""
        with self._look_lock:
            return self._look(workspace) if self._has_readers else self.stores[workspace].signatures()

    def _become_current(self) -> None:
        self._has_readers = True
        for workspace in self.stores:
            if not self._is_fresh(workspace):
                with self._look_locked(workspace):
                    # Another thread may have looked while this one waited for the lock.
                    if not self._is_fresh(workspace):
                        self._look(workspace)

    @contextmanager
    def _look_locked(self, workspace: str) -> Iterator[None]:
        """Hold the lock of looks. The thread that holds it may wait for a database that is away; then no reader waits with it."""
        while not self._look_lock.acquire(timeout=LOCK_WITHIN):
            self._require(workspace)
        try:
            yield
        finally:
            self._look_lock.release()

    def _is_fresh(self, workspace: str) -> bool:
        return time.monotonic() - self._looked_at.get(workspace, float("-inf")) < self._fresh_for

    def _look(self, workspace: str) -> Signatures:
        began, store = time.monotonic(), self.stores[workspace]
        with self._rows_lock:
            self._reported.clear()
        signatures = store.signatures()
        if signatures is self._signatures.get(workspace):
            self._looked_at[workspace] = began
            return signatures
        statuses = list(store.survey(self._changed(workspace, signatures)))
        with self._rows_lock:
            for each in statuses:
                self._note(each, workspace)
            for loop_id in self._missing(workspace, signatures):
                self._drop(loop_id)
        self._signatures[workspace], self._looked_at[workspace] = signatures, began
        return signatures

    def _changed(self, workspace: str, signatures: Signatures) -> list[str]:
        """The loops whose signature has changed since the last look. An ended loop is only archived, so its row stays as it is."""
        before = self._signatures.get(workspace, Signatures({}, {}))
        changed = [loop_id for loop_id, now in signatures.live.items() if before.live.get(loop_id) != now]
        if signatures.ended is not before.ended:
            changed += [
                loop_id for loop_id in signatures.ended if loop_id not in before.ended and not self._has_ended(loop_id)
            ]
        return changed

    def _has_ended(self, loop_id: str) -> bool:
        row = self._index.find(loop_id)
        return row is not None and row.status is not None and row.status.ended

    def _note(self, status: LoopStatus, workspace: str) -> None:
        seq = status.loop.seq if status.loop else 0
        if seq >= self._reported.get(status.loop_id, 0):
            self._put(_row(status, workspace))

    def _put(self, row: Row) -> None:
        if self._index.find(row.loop_id) != row:
            self._index.put(row)
            self._tell(row.loop_id)

    def _drop(self, loop_id: str) -> None:
        self._index.drop(loop_id)
        self._tell(loop_id)

    def _tell(self, loop_id: str) -> None:
        for listener in self._listeners:
            listener(loop_id)

    def _missing(self, workspace: str, signatures: Signatures) -> set[str]:
        """The loops that have no journal any more. A loop reported meanwhile may have been created after the look."""
        known = {row.loop_id for row in self._index if row.workspace == workspace}
        return known - signatures.live.keys() - signatures.ended.keys() - self._reported.keys()

    def _take_report(self, workspace: str, loop_id: str, loop: Loop | None) -> None:
        if not self._has_readers:
            return
        with self._rows_lock:
            known, newest = self._index.find(loop_id), self._reported.get(loop_id, 0)
            self._reported[loop_id] = max(newest, loop.seq if loop else GONE)
            if loop is None:
                self._drop(loop_id)
            elif loop.seq >= newest and (known is None or known.seq < loop.seq):
                self._put(row_of(loop, workspace))


def _row(status: LoopStatus, workspace: str) -> Row:
    if status.loop is None:
        return Row(status.loop_id, workspace, problem=status.problem)
    return row_of(status.loop, workspace)
