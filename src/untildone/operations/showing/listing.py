"""Pages of the list of loops: filtered, searched, sorted, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from untildone.core.errors import UntilDoneError
from untildone.core.kinds import Host
from untildone.core.model import Status
from untildone.operations.driving import presence
from untildone.operations.loop_table import LoopTable, Row
from untildone.operations.loop_table.rows import DAMAGED, status_word
from untildone.operations.showing import selecting
from untildone.operations.showing.selecting import LoopFilter, Sort
from untildone.operations.showing.values import Listing, Slice

__all__ = ["DAMAGED", "LoopFilter", "Sort", "TablePages", "status_word"]


class TablePages:
    """Pages of the loop table."""

    def __init__(self, table: LoopTable) -> None:
        self.table = table

    def page(self, filters: LoopFilter, sort: Sort, number: int, size: int) -> Listing:
        """The page of that number, which counts from 1; the last page, if there are fewer."""
        chosen, counts = self._chosen(filters)
        pages = max(1, -(-len(chosen) // size))
        number = min(max(1, number), pages)
        shown = tuple(selecting.in_order(chosen, sort)[(number - 1) * size : number * size])
        undriven = frozenset(row.loop_id for row in shown if row.status is Status.RUNNING and not self._driven(row))
        return Listing(shown, len(chosen), number, pages, counts, undriven)

    def after(self, filters: LoopFilter, sort: Sort, cursor: str | None, size: int) -> Slice:
        """At most `size` loops after the cursor, which is that of the slice before."""
        chosen, counts = self._chosen(filters)
        rest = selecting.after(selecting.in_order(chosen, sort), sort, cursor)
        shown = tuple(rest[:size])
        following = selecting.cursor_of(shown[-1], sort) if len(rest) > size else None
        return Slice(shown, following, len(chosen), counts)

    def _chosen(self, filters: LoopFilter) -> tuple[Sequence[Row], Counter[str]]:
        """The loops that fit, newest first, and how many of each status fit in everything else."""
        fitting: Sequence[Row]
        fitting, counts = self.table.rows_and_counts()
        if (chosen := selecting.without_status(fitting, filters)) is not None:
            fitting, counts = chosen, Counter(map(status_word, chosen))
        if filters.statuses:
            fitting = [row for row in fitting if status_word(row) in filters.statuses]
        return fitting, counts

    def _driven(self, row: Row) -> bool:
        store = self.table.stores[row.workspace]
        try:
            return presence.is_at_work(store, row.loop_id) if row.host is Host.HOOK else store.is_driven(row.loop_id)
        except UntilDoneError:
            return False
