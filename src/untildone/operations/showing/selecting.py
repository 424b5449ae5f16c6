"""Which loops a list shows, and in which order: filters, search, sort, and the cursor of the next page."""

from __future__ import annotations

import base64
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from untildone.core.errors import UsageError
from untildone.operations.loop_table import Row

ANY_NEED = "any"
SHORTEST_PART = 4
"""How many characters of the random part of an id a search must have: less would fit loops by chance."""
Words = frozenset[str]
Key = float | str
_NONE: Words = frozenset()


class Sort(StrEnum):
    """The order of a list. A minus sign: the largest or latest first."""

    NEWEST = "-created_at"
    OLDEST = "created_at"
    CHANGED = "-updated_at"
    UNCHANGED = "updated_at"
    TITLE = "title"
    TITLE_BACKWARDS = "-title"
    COST = "-cost"
    COST_UP = "cost"
    ITERATIONS = "-iterations"
    ITERATIONS_UP = "iterations"

    @property
    def is_descending(self) -> bool:
        return self.startswith("-")


_KEYS: dict[str, Callable[[Row], Key]] = {
    # An id begins with the time at which the loop was created.
    "created_at": lambda row: row.loop_id,
    "updated_at": lambda row: row.updated_at,
    "title": lambda row: row.title.casefold(),
    "cost": lambda row: row.spend.cost_usd,
    "iterations": lambda row: float(row.spend.iterations),
}


@dataclass(frozen=True, slots=True)
class LoopFilter:
    """Which loops to list. An empty set stands for every value; of several values, one must fit."""

    search: str = ""
    statuses: Words = _NONE
    """Statuses, and `damaged` for loops that cannot be read."""
    outcomes: Words = _NONE
    workspaces: Words = _NONE
    agents: Words = _NONE
    modes: Words = _NONE
    needs: Words = _NONE
    """Kinds of needs; `any` for loops that need a person for any reason."""
    since: float | None = None
    """Only loops that changed at this time or later."""
    until: float | None = None
    """Only loops that were created before this time."""


def without_status(rows: Iterable[Row], filters: LoopFilter) -> list[Row] | None:
    """The rows that fit in everything but their status. The number of each status is counted among these. None: all of them fit."""
    tests = tuple(_tests(filters))
    return [row for row in rows if all(test(row) for test in tests)] if tests else None


def _tests(filters: LoopFilter) -> Iterable[Callable[[Row], bool]]:
    if filters.outcomes:
        yield lambda row: row.outcome is not None and row.outcome.word in filters.outcomes
    if filters.workspaces:
        yield lambda row: row.workspace in filters.workspaces
    if filters.agents:
        yield lambda row: row.agent in filters.agents
    if filters.modes:
        yield lambda row: row.mode in filters.modes
    if filters.needs:
        yield lambda row: row.need is not None and not filters.needs.isdisjoint((ANY_NEED, row.need.kind.value))
    if (since := filters.since) is not None:
        yield lambda row: row.updated_at >= since
    if (until := filters.until) is not None:
        yield lambda row: row.created_at < until
    if words := filters.search.casefold().split():
        yield lambda row: _says(row, words)


def _says(row: Row, words: Sequence[str]) -> bool:
    outcome = row.outcome.word if row.outcome else ""
    text = " ".join((row.title, row.mode, row.agent, outcome, row.workspace)).casefold()
    return all(word in text or _names(row.loop_id, word) for word in words)


def _names(loop_id: str, word: str) -> bool:
    """Whether a word names a loop: the beginning of its id, or of the random part. The date in an id would fit too many."""
    is_part = len(word) >= SHORTEST_PART and loop_id.rpartition("-")[2].startswith(word)
    return is_part or (word.startswith("loop-") and loop_id.startswith(word))


def in_order(rows: Sequence[Row], sort: Sort) -> Sequence[Row]:
    """The rows in that order. `rows` are sorted by id, newest first, as the loop table has them."""
    if sort is Sort.NEWEST:
        return rows
    return sorted(rows, key=lambda row: _place(row, sort), reverse=sort.is_descending)


def after(rows: Sequence[Row], sort: Sort, cursor: str | None) -> Sequence[Row]:
    """The rows that follow the cursor. It names a place and not a row, so it holds when rows come and go."""
    if cursor is None:
        return rows
    place = _decoded(cursor, sort)
    if sort.is_descending:
        upwards = rows[::-1]
        return upwards[: bisect_left(upwards, place, key=lambda row: _place(row, sort))][::-1]
    return rows[bisect_right(rows, place, key=lambda row: _place(row, sort)) :]


def cursor_of(row: Row, sort: Sort) -> str:
    """The cursor of the page that follows a row."""
    text = json.dumps([sort.value, *_place(row, sort)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _place(row: Row, sort: Sort) -> tuple[Key, str]:
    return _KEYS[sort.value.removeprefix("-")](row), row.loop_id


def _decoded(cursor: str, sort: Sort) -> tuple[Key, str]:
    try:
        given, key, loop_id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise UsageError("'cursor' is not one that a list gave.", "give the `next` of the page before") from None
    kind = str if isinstance(_KEYS[sort.value.removeprefix("-")](_BLANK), str) else (int, float)
    if given != sort.value or not isinstance(key, kind) or not isinstance(loop_id, str):
        raise UsageError("'cursor' is of a list in another order.", "begin without a cursor")
    return key, loop_id


_BLANK = Row("", "")
