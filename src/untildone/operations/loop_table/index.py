"""Rows sorted by id, and how many there are of each status."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator

from untildone.operations.loop_table.rows import Row


class LoopIndex:
    """The rows of a loop table by id. Not thread-safe."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._ids: list[str] = []
        self._newest_first: tuple[Row, ...] | None = None

    def find(self, loop_id: str) -> Row | None:
        return self._rows.get(loop_id)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def put(self, row: Row) -> None:
        """Add a row, or replace the row of the same loop."""
        if row.loop_id not in self._rows:
            insort(self._ids, row.loop_id)
        self._rows[row.loop_id] = row
        self._newest_first = None

    def drop(self, loop_id: str) -> None:
        if self._rows.pop(loop_id, None) is not None:
            del self._ids[bisect_left(self._ids, loop_id)]
            self._newest_first = None

    def rows(self) -> tuple[Row, ...]:
        """All rows, newest first."""
        if self._newest_first is None:
            self._newest_first = tuple(self._rows[loop_id] for loop_id in reversed(self._ids))
        return self._newest_first

    def counts(self) -> Counter[str]:
        return Counter(row.status.value if row.status else "damaged" for row in self._rows.values())
