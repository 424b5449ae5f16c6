"""All loops of several workspaces at a glance: read once, then only where a journal has changed."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from untildone.core.errors import LoopNotFound, UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import Budget, Outcome, Spend, Status
from untildone.store import layout
from untildone.store.files import FileStore
from untildone.store.names import is_id

Signature = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A loop in one line. One that cannot be read has a problem and no status."""

    loop_id: str
    workspace: str
    status: Status | None = None
    outcome: Outcome | None = None
    reason: str = ""
    title: str = ""
    mode: str = ""
    agent: str = ""
    host: str = ""
    spend: Spend = Spend()
    budget: Budget = Budget()
    created_at: float = 0.0
    updated_at: float = 0.0
    seq: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    rows: tuple[Row, ...]
    cursor: str | None
    """What to ask with for the rows after these; None: there are none."""


def row_of(loop: Loop, workspace: str) -> Row:
    return Row(
        loop_id=loop.loop_id,
        workspace=workspace,
        status=loop.status,
        outcome=loop.outcome,
        reason=loop.reason,
        title=loop.title,
        mode=loop.settings.mode,
        agent=loop.settings.worker.profile,
        host=loop.host,
        spend=loop.spend,
        budget=loop.budget,
        created_at=loop.created_at,
        updated_at=loop.updated_at,
        seq=loop.seq,
    )


class Board:
    """The loops of some stores, each by the name of its workspace."""

    def __init__(self, stores: Mapping[str, FileStore]) -> None:
        self.stores = dict(stores)
        self._rows: dict[str, tuple[Signature, Row]] = {}
        self._lock = threading.Lock()

    def rows(self) -> tuple[Row, ...]:
        """Every loop, newest first."""
        with self._lock:
            found = {
                loop_id: self._row(workspace, loop_id, places)
                for workspace, store in self.stores.items()
                for loop_id, places in layout.every(store.root).items()
            }
            self._rows = {loop_id: self._rows[loop_id] for loop_id in found if loop_id in self._rows}
        return tuple(found[loop_id] for loop_id in sorted(found, reverse=True))

    def page(self, status: Status | None = None, cursor: str | None = None, limit: int = 50) -> Page:
        """So many loops, newest first, of one status if one is named, that come after a loop."""
        chosen = [
            row
            for row in self.rows()
            if (status is None or row.status is status) and (cursor is None or row.loop_id < cursor)
        ]
        more = len(chosen) > limit
        return Page(tuple(chosen[:limit]), chosen[limit - 1].loop_id if more else None)

    def counts(self) -> Counter[str]:
        """How many loops have each status."""
        return Counter(row.status.value if row.status else "damaged" for row in self.rows())

    def find(self, loop_id: str) -> tuple[str, FileStore]:
        """The workspace and the store that a loop is in. Its whole id is wanted."""
        if is_id(loop_id):
            for workspace, store in self.stores.items():
                try:
                    layout.places(store.root, loop_id)
                    return workspace, store
                except LoopNotFound:
                    continue
        raise LoopNotFound(f"There is no loop '{loop_id[:100]}'.", "GET /api/loops lists the loops there are")

    def _row(self, workspace: str, loop_id: str, places: layout.Places) -> Row:
        signature = _signature(places.journal)
        known = self._rows.get(loop_id)
        if known is not None and signature is not None and known[0] == signature:
            return known[1]
        row = self._read(workspace, loop_id)
        if signature is not None:
            self._rows[loop_id] = (signature, row)
        return row

    def _read(self, workspace: str, loop_id: str) -> Row:
        try:
            return row_of(self.stores[workspace].load(loop_id), workspace)
        except UntilDoneError as problem:
            return Row(loop_id, workspace, problem=problem.sentence)


def _signature(journal: Path) -> Signature | None:
    try:
        found = os.stat(journal)
    except OSError:
        return None
    return str(journal), found.st_mtime_ns, found.st_size
