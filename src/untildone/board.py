"""All loops of several workspaces at a glance: read once, then only where a journal has changed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from untildone.core.errors import LoopNotFound
from untildone.core.loop import Loop
from untildone.core.model import Budget, Outcome, Spend, Status
from untildone.store import Standing, Store
from untildone.store.names import is_id


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
    machine: str = ""
    """Which one drives it, or did last."""
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
        machine=loop.runner.machine if loop.runner else "",
        spend=loop.spend,
        budget=loop.budget,
        created_at=loop.created_at,
        updated_at=loop.updated_at,
        seq=loop.seq,
    )


class Board:
    """The loops of some stores, each by the name of its workspace."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self.stores = dict(stores)
        self._rows: dict[str, tuple[object, Row]] = {}
        self._lock = threading.Lock()

    def rows(self) -> tuple[Row, ...]:
        """Every loop, newest first."""
        with self._lock:
            self._rows = {loop_id: seen for workspace in self.stores for loop_id, seen in self._read(workspace).items()}
            return tuple(self._rows[loop_id][1] for loop_id in sorted(self._rows, reverse=True))

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

    def find(self, loop_id: str) -> tuple[str, Store]:
        """The workspace and the store that a loop is in. Its whole id is wanted."""
        if is_id(loop_id):
            for workspace, store in self.stores.items():
                if store.signature(loop_id) is not None:
                    return workspace, store
        raise LoopNotFound(f"There is no loop '{loop_id[:100]}'.", "GET /api/loops lists the loops there are")

    def _read(self, workspace: str) -> dict[str, tuple[object, Row]]:
        """The loops of one workspace: those that changed are read, the others are remembered."""
        store = self.stores[workspace]
        signatures = store.signatures()
        known = {loop_id: self._rows[loop_id] for loop_id in signatures if loop_id in self._rows}
        same = {loop_id: seen for loop_id, seen in known.items() if seen[0] == signatures[loop_id]}
        changed = [loop_id for loop_id in signatures if loop_id not in same]
        fresh = {each.loop_id: (signatures[each.loop_id], _row(each, workspace)) for each in store.survey(changed)}
        return {**same, **fresh}


def _row(found: Standing, workspace: str) -> Row:
    return Row(found.loop_id, workspace, problem=found.problem) if found.loop is None else row_of(found.loop, workspace)
