"""A page of the list of loops: filtered, searched, counted. Many open pages share one look at the board."""

from __future__ import annotations

import threading
import time
from collections import Counter

from untildone.board import Board, Row
from untildone.core.errors import UntilDoneError
from untildone.core.model import Status
from untildone.faces.web.desk import Listing, Wanted

FRESH_FOR = 0.4
SHARE = 0.1
"""Looking takes no more than this part of the time, however many loops there are."""
DAMAGED = "damaged"


class SharedLook:
    def __init__(self, board: Board) -> None:
        self.board = board
        self._rows: tuple[Row, ...] = ()
        self._look_at = float("-inf")
        self._lock = threading.Lock()

    def rows(self) -> tuple[Row, ...]:
        with self._lock:
            began = time.monotonic()
            if began > self._look_at:
                self._rows = self.board.rows()
                took = time.monotonic() - began
                self._look_at = began + took + max(FRESH_FOR, took / SHARE)
            return self._rows

    def outdated(self) -> None:
        """Something was changed just now: the next look is not to be an old one."""
        with self._lock:
            self._look_at = float("-inf")

    def listing(self, wanted: Wanted) -> Listing:
        found = [row for row in self.rows() if _fits(row, wanted)]
        counts = Counter(map(status_word, found))
        chosen = [row for row in found if wanted.status in ("", status_word(row))]
        pages = max(1, -(-len(chosen) // wanted.size))
        page = min(max(1, wanted.page), pages)
        shown = tuple(chosen[(page - 1) * wanted.size : page * wanted.size])
        undriven = frozenset(row.loop_id for row in shown if row.status is Status.RUNNING and not self._driven(row))
        return Listing(shown, len(chosen), page, pages, counts, undriven)

    def _driven(self, row: Row) -> bool:
        try:
            return self.board.stores[row.workspace].is_driven(row.loop_id)
        except UntilDoneError:
            return False


def status_word(row: Row) -> str:
    return row.status.value if row.status else DAMAGED


def _fits(row: Row, wanted: Wanted) -> bool:
    if wanted.ended_only and not (row.status and row.status.ended):
        return False
    words = wanted.search.casefold().split()
    if not words:
        return True
    outcome = row.outcome.word if row.outcome else ""
    text = " ".join((row.title, row.loop_id, row.mode, row.agent, outcome, row.workspace)).casefold()
    return all(word in text for word in words)
