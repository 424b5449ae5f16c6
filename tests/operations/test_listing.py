"""Lists of loops: filter, search, sort, count, and go on by a cursor. Covers: operations/showing/{listing,selecting}.py."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import cast

import pytest

from untildone.core.attention import Act, Need, NeedKind
from untildone.core.errors import UsageError
from untildone.core.model import Outcome, Spend, Status
from untildone.operations.loop_table import LoopTable, Row
from untildone.operations.loop_table.index import LoopIndex
from untildone.operations.showing.listing import LoopFilter, Sort, TablePages

DAY = 86_400.0
ROWS = (
    Row(
        "loop-20261117-101010101-a1b2c3",
        "/one",
        Status.COMPLETED,
        Outcome.VERIFIED,
        title="Ünder 17",
        mode="ralph",
        agent="claude",
        spend=Spend(3, cost_usd=2.0),
        created_at=3 * DAY,
        updated_at=3 * DAY,
    ),
    Row(
        "loop-20261117-101010100-ffff17",
        "/two",
        Status.PAUSED,
        Outcome.STALLED,
        title="the parser",
        mode="workflow",
        agent="codex",
        spend=Spend(9, cost_usd=2.0),
        need=Need(NeedKind.STALLED, Act.ANSWER, "It repeats itself."),
        created_at=2 * DAY,
        updated_at=5 * DAY,
    ),
    Row("loop-20261101-000000000-000017", "/one", problem="It cannot be read."),
)


class Table:
    """A table that has its rows already."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._index = LoopIndex()
        for row in rows:
            self._index.put(row)

    def rows_and_counts(self) -> tuple[tuple[Row, ...], Counter[str]]:
        return self._index.rows(), self._index.counts()


def pages(rows: Iterable[Row] = ROWS) -> TablePages:
    return TablePages(cast(LoopTable, Table(rows)))


def words(*values: str) -> frozenset[str]:
    return frozenset(values)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (LoopFilter(), [0, 1, 2]),
        (LoopFilter("üNDER"), [0]),
        (LoopFilter("17"), [0]),
        (LoopFilter("20261117"), []),
        (LoopFilter("loop-20261117"), [0, 1]),
        (LoopFilter("ffff"), [1]),
        (LoopFilter("one ralph"), [0]),
        (LoopFilter(statuses=words("damaged", "completed")), [0, 2]),
        (LoopFilter(outcomes=words("stalled", "failed")), [1]),
        (LoopFilter(workspaces=words("/one")), [0, 2]),
        (LoopFilter(agents=words("codex", "claude")), [0, 1]),
        (LoopFilter(modes=words("workflow")), [1]),
        (LoopFilter(needs=words("any")), [1]),
        (LoopFilter(needs=words("blocked")), []),
        (LoopFilter(since=4 * DAY), [1]),
        (LoopFilter(since=DAY, until=3 * DAY), [1]),
    ],
)
def test_what_fits_is_listed(wanted: LoopFilter, found: list[int]) -> None:
    slice_ = pages().after(wanted, Sort.NEWEST, None, 10)
    assert slice_.rows == tuple(ROWS[place] for place in found)
    assert (slice_.total, slice_.cursor) == (len(found), None)


def test_statuses_are_counted_among_those_that_fit_in_the_rest() -> None:
    wanted = LoopFilter(workspaces=words("/one"), statuses=words("completed"))
    assert pages().after(wanted, Sort.NEWEST, None, 10).counts == {"completed": 1, "damaged": 1}


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (Sort.OLDEST, [2, 1, 0]),
        (Sort.CHANGED, [1, 0, 2]),
        (Sort.UNCHANGED, [2, 0, 1]),
        (Sort.TITLE, [2, 1, 0]),
        (Sort.TITLE_BACKWARDS, [0, 1, 2]),
        (Sort.COST, [0, 1, 2]),
        (Sort.COST_UP, [2, 1, 0]),
        (Sort.ITERATIONS, [1, 0, 2]),
        (Sort.ITERATIONS_UP, [2, 0, 1]),
    ],
)
def test_the_order(sort: Sort, order: list[int]) -> None:
    assert pages().after(LoopFilter(), sort, None, 10).rows == tuple(ROWS[place] for place in order)


@pytest.mark.parametrize("sort", Sort)
def test_cursors_lead_through_the_whole_list_also_when_rows_go(sort: Sort) -> None:
    rows = [Row(f"loop-{n:03}", "/w", Status.PAUSED, title=f"t{n % 3}", updated_at=n % 4) for n in range(20)]
    whole = pages(rows).after(LoopFilter(), sort, None, 100).rows
    first = pages(rows).after(LoopFilter(), sort, None, 7)
    rows.remove(first.rows[-1])
    second = pages(rows).after(LoopFilter(), sort, first.cursor, 7)
    third = pages(rows).after(LoopFilter(), sort, second.cursor, 7)
    assert (*first.rows, *second.rows, *third.rows) == whole
    assert third.cursor is None


@pytest.mark.parametrize("cursor", ["x", "", "W10", "e30", "äöü", "WzFd", "A" * 1999, "NQ", "W1tb" * 499])
def test_a_cursor_of_elsewhere_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError):
        pages().after(LoopFilter(), Sort.NEWEST, cursor, 1)


def test_a_cursor_of_another_order_is_refused() -> None:
    first = pages().after(LoopFilter(), Sort.TITLE, None, 1)
    with pytest.raises(UsageError, match="another order"):
        pages().after(LoopFilter(), Sort.CHANGED, first.cursor, 1)


def test_five_thousand_loops_are_searched_and_sorted_quickly() -> None:
    rows = [Row(f"loop-{n:06}", "/w", Status.PAUSED, title=f"Job number {n}") for n in range(5000)]
    table = pages(rows)
    seconds = min(_seconds(table) for _ in range(5))
    assert seconds < 0.5, seconds


def _seconds(table: TablePages) -> float:
    began = time.perf_counter()
    assert table.after(LoopFilter("number 4"), Sort.CHANGED, None, 50).total > 500
    return time.perf_counter() - began
