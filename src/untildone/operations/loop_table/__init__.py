"""All loops of several workspaces at a glance, in an answer that costs the same however many there are.

What this process reads or writes is on the board at once, as the stores tell of it; so whoever was told that a loop is paused
finds it paused in the next list. What other processes write is found by looking at all journals, which a server does now and then,
beside its answers: a look at each of thousands of files is too much for every question, and no file system tells on every platform.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from untildone.core.errors import LoopNotFound
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.operations.loop_table.index import LoopIndex
from untildone.operations.loop_table.rows import Page, Row, row_of
from untildone.store import LoopStatus, Signatures, Store
from untildone.store.names import is_id

__all__ = ["LoopTable", "Page", "Row", "row_of"]
GONE = float("inf")
"""Later than every entry of a loop: it is deleted."""


class LoopTable:
    """The loops of some stores, each by the name of its workspace.

    `fresh_for`: so many seconds, a look counts. Somebody who calls `look` more often than that spares those who ask the wait;
    without it, every question looks.
    """

    def __init__(self, stores: Mapping[str, Store], fresh_for: float = 0.0) -> None:
        self.stores = dict(stores)
        self._fresh_for = fresh_for
        self._index = LoopIndex()
        self._signatures: dict[str, Signatures] = {}
        self._looked_at: dict[str, float] = {}
        self._heard: dict[str, float] = {}
        """The last entry of each loop that was told of since a look began: that look may have missed it."""
        self._is_wanted = False
        self._rows_lock, self._look_lock = threading.Lock(), threading.Lock()
        for workspace, store in self.stores.items():
            store.on_change = partial(self._hear, workspace)

    def rows(self) -> tuple[Row, ...]:
        """Every loop, newest first."""
        self._become_current()
        with self._rows_lock:
            return self._index.rows()

    def page(self, status: Status | None = None, cursor: str | None = None, limit: int = 50) -> Page:
        """So many loops, newest first, of one status if one is named, that come after a loop."""
        self._become_current()
        with self._rows_lock:
            return self._index.page(status, cursor, limit)

    def counts(self) -> Counter[str]:
        """How many loops have each status."""
        self._become_current()
        with self._rows_lock:
            return self._index.counts()

    def find(self, loop_id: str) -> tuple[str, Store]:
        """The workspace and the store that a loop is in. Its whole id is wanted."""
        for workspace in self._likely_places(loop_id) if is_id(loop_id) else ():
            if self.stores[workspace].signature(loop_id) is not None:
                return workspace, self.stores[workspace]
        raise LoopNotFound(f"There is no loop '{loop_id[:100]}'.", "GET /api/loops lists the loops there are")

    def _likely_places(self, loop_id: str) -> Iterator[str]:
        """To learn that a store does not have a loop takes longer than to find it."""
        known = self._index.find(loop_id)
        if known is not None:
            yield known.workspace
        yield from self.stores

    def look(self, workspace: str) -> Signatures:
        """See what was written by anybody. Before somebody asks for the loops, they are not read."""
        with self._look_lock:
            return self._look(workspace) if self._is_wanted else self.stores[workspace].signatures()

    def _become_current(self) -> None:
        self._is_wanted = True
        for workspace in self.stores:
            if not self._is_fresh(workspace):
                with self._look_lock:
                    # Somebody else may have looked while this waited for the lock.
                    if not self._is_fresh(workspace):
                        self._look(workspace)

    def _is_fresh(self, workspace: str) -> bool:
        return time.monotonic() - self._looked_at.get(workspace, float("-inf")) < self._fresh_for

    def _look(self, workspace: str) -> Signatures:
        began, store = time.monotonic(), self.stores[workspace]
        with self._rows_lock:
            self._heard.clear()
        signatures = store.signatures()
        found = list(store.survey(self._changed(workspace, signatures)))
        with self._rows_lock:
            for each in found:
                self._note(each, workspace)
            for loop_id in self._missing(workspace, signatures):
                self._index.drop(loop_id)
        self._signatures[workspace], self._looked_at[workspace] = signatures, began
        return signatures

    def _changed(self, workspace: str, signatures: Signatures) -> list[str]:
        """Whose signature is another than at the last look. To one that has ended nothing is written, it is only put away."""
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

    def _note(self, found: LoopStatus, workspace: str) -> None:
        seq = found.loop.seq if found.loop else 0
        if seq >= self._heard.get(found.loop_id, 0):
            self._index.put(_row(found, workspace))

    def _missing(self, workspace: str, signatures: Signatures) -> set[str]:
        """Of which there is nothing any more. One that was told of meanwhile may have come after the look."""
        known = {row.loop_id for row in self._index if row.workspace == workspace}
        return known - signatures.live.keys() - signatures.ended.keys() - self._heard.keys()

    def _hear(self, workspace: str, loop_id: str, loop: Loop | None) -> None:
        if not self._is_wanted:
            return
        with self._rows_lock:
            known, newest = self._index.find(loop_id), self._heard.get(loop_id, 0)
            self._heard[loop_id] = max(newest, loop.seq if loop else GONE)
            if loop is None:
                self._index.drop(loop_id)
            elif loop.seq >= newest and (known is None or known.seq < loop.seq):
                self._index.put(row_of(loop, workspace))


def _row(found: LoopStatus, workspace: str) -> Row:
    return Row(found.loop_id, workspace, problem=found.problem) if found.loop is None else row_of(found.loop, workspace)
