"""Rows sorted by id, and how many there are of each status."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator

from untildone.operations.loop_table.rows import Row, status_word


class LoopIndex:
    """The rows of a loop table by id. Not thread-safe."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._ids: list[str] = []
        self._newest_first: tuple[Row, ...] | None = None
        self._counts: Counter[str] = Counter()

    def find(self, loop_id: str) -> Row | None:
        return self._rows.get(loop_id)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def put(self, row: Row) -> None:
        """Add a row, or replace the row of the same loop."""
        known = self._rows.get(row.loop_id)
        if known is None:
            insort(self._ids, row.loop_id)
        else:
            self._discount(known)
        self._rows[row.loop_id] = row
        self._counts[status_word(row)] += 1
        self._newest_first = None

    def drop(self, loop_id: str) -> None:
        if (row := self._rows.pop(loop_id, None)) is not None:
            self._discount(row)
            del self._ids[bisect_left(self._ids, loop_id)]
            self._newest_first = None

    def rows(self) -> tuple[Row, ...]:
        """All rows, newest first."""
        if self._newest_first is None:
            self._newest_first = tuple(self._rows[loop_id] for loop_id in reversed(self._ids))
        return self._newest_first

    def counts(self) -> Counter[str]:
        """How many loops have each status."""
        return self._counts.copy()

    def _discount(self, row: Row) -> None:
        word = status_word(row)
        self._counts[word] -= 1
        if not self._counts[word]:
            del self._counts[word]
