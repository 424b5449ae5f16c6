"""A page of the list of loops: filtered, searched, counted."""

from __future__ import annotations

from collections import Counter

from untildone.core.errors import UntilDoneError
from untildone.core.kinds import Host
from untildone.core.model import Status
from untildone.operations.driving import presence
from untildone.operations.loop_table import LoopTable, Row
from untildone.operations.showing.values import Listing, ListQuery

DAMAGED = "damaged"


class TablePages:
    """Pages of the loop table."""

    def __init__(self, table: LoopTable) -> None:
        self.table = table

    def listing(self, query: ListQuery) -> Listing:
        """The page that the query asks for; the last page, if it asks for a later one."""
        matching = [row for row in self.table.rows() if _fits(row, query)]
        counts = Counter(map(status_word, matching))
        chosen = [row for row in matching if query.status in ("", status_word(row))]
        pages = max(1, -(-len(chosen) // query.size))
        page = min(max(1, query.page), pages)
        shown = tuple(chosen[(page - 1) * query.size : page * query.size])
        undriven = frozenset(row.loop_id for row in shown if row.status is Status.RUNNING and not self._driven(row))
        return Listing(shown, len(chosen), page, pages, counts, undriven)

    def _driven(self, row: Row) -> bool:
        store = self.table.stores[row.workspace]
        try:
            return presence.is_at_work(store, row.loop_id) if row.host is Host.HOOK else store.is_driven(row.loop_id)
        except UntilDoneError:
            return False


def status_word(row: Row) -> str:
    """The status of a loop; `damaged` if it cannot be read."""
    return row.status.value if row.status else DAMAGED


def _fits(row: Row, query: ListQuery) -> bool:
    if query.ended_only and not (row.status and row.status.ended):
        return False
    words = query.search.casefold().split()
    if not words:
        return True
    outcome = row.outcome.word if row.outcome else ""
    text = " ".join((row.title, row.loop_id, row.mode, row.agent, outcome, row.workspace)).casefold()
    return all(word in text for word in words)
