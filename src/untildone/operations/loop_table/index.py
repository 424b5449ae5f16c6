"""Rows sorted by id, all of them and those of each status, so that a page is a slice."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator

from untildone.core.model import Status
from untildone.operations.loop_table.rows import Page, Row


class LoopIndex:
    """The rows of a loop table by id and by status. Not thread-safe."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._ids: list[str] = []
        self._ids_of: dict[Status | None, list[str]] = {status: [] for status in (*Status, None)}
        self._newest_first: tuple[Row, ...] | None = None

    def find(self, loop_id: str) -> Row | None:
        return self._rows.get(loop_id)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def put(self, row: Row) -> None:
        """Add a row, or replace the row of the same loop."""
        before = self._rows.get(row.loop_id)
        if before is None:
            insort(self._ids, row.loop_id)
        elif before.status is not row.status:
            _remove(self._ids_of[before.status], row.loop_id)
        if before is None or before.status is not row.status:
            insort(self._ids_of[row.status], row.loop_id)
        self._rows[row.loop_id] = row
        self._newest_first = None

    def drop(self, loop_id: str) -> None:
        row = self._rows.pop(loop_id, None)
        if row is not None:
            _remove(self._ids, loop_id)
            _remove(self._ids_of[row.status], loop_id)
            self._newest_first = None

    def rows(self) -> tuple[Row, ...]:
        """All rows, newest first."""
        if self._newest_first is None:
            self._newest_first = tuple(self._rows[loop_id] for loop_id in reversed(self._ids))
        return self._newest_first

    def page(self, status: Status | None, cursor: str | None, limit: int) -> Page:
        ids = self._ids if status is None else self._ids_of[status]
        end = len(ids) if cursor is None else bisect_left(ids, cursor)
        chosen = ids[max(0, end - limit) : end][::-1]
        return Page(tuple(self._rows[loop_id] for loop_id in chosen), chosen[-1] if end > limit else None)

    def counts(self) -> Counter[str]:
        return Counter({status.value if status else "damaged": len(ids) for status, ids in self._ids_of.items() if ids})


def _remove(ids: list[str], loop_id: str) -> None:
    del ids[bisect_left(ids, loop_id)]
