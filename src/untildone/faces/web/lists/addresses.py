"""Filter, search, order and page of the list of loops, as its address has them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from untildone.core.attention import NeedKind
from untildone.core.model import Outcome, Status
from untildone.core.values.value import replace
from untildone.operations.showing.listing import DAMAGED
from untildone.operations.showing.selecting import ANY_NEED, LoopFilter, Sort

PERIODS = {"1d": 86_400.0, "7d": 7 * 86_400.0, "30d": 30 * 86_400.0}
"""How long ago a loop changed at most, by its word in the address."""
STATUSES = (*(status.value for status in Status), DAMAGED)
OUTCOMES = tuple(outcome.word for outcome in Outcome)
NEEDS = (ANY_NEED, *(kind.value for kind in NeedKind))
LONGEST = 500


@dataclass(frozen=True, slots=True)
class Chosen:
    """The choices in the address of the list. One that is missing, or that does not exist, is empty."""

    q: str = ""
    status: str = ""
    outcome: str = ""
    needs: str = ""
    workspace: str = ""
    agent: str = ""
    mode: str = ""
    period: str = ""
    sort: Sort = Sort.NEWEST
    page: int = 1

    @property
    def is_narrow(self) -> bool:
        """Whether anything is filtered."""
        return replace(self, sort=Sort.NEWEST, page=1) != Chosen()

    def filter(self, now: float | None = None) -> LoopFilter:
        """The filter of the loop table."""
        since = PERIODS.get(self.period)
        return LoopFilter(
            self.q,
            _one(self.status),
            _one(self.outcome),
            _one(self.workspace),
            _one(self.agent),
            _one(self.mode),
            _one(self.needs),
            None if since is None else (time.time() if now is None else now) - since,
        )

    def address(self, **changed: object) -> str:
        """The address of the list with some things changed. Another filter or order begins at the first page."""
        other = replace(self, **{"page": 1, **changed})  # type: ignore[arg-type]
        words = {
            "q": other.q,
            "status": other.status,
            "outcome": other.outcome,
            "needs": other.needs,
            "workspace": other.workspace,
            "agent": other.agent,
            "mode": other.mode,
            "period": other.period,
            "sort": "" if other.sort is Sort.NEWEST else other.sort.value,
            "page": "" if other.page == 1 else str(other.page),
        }
        query = urlencode({name: value for name, value in words.items() if value})
        return f"/loops?{query}" if query else "/loops"

    def sorted_by(self, column: str) -> str:
        """The address that sorts by a column: the largest first, and the other way round at the second click."""
        down, up = Sort(f"-{column}"), Sort(column)
        first, second = (up, down) if column == "title" else (down, up)
        return self.address(sort=second if self.sort is first else first)

    def order_of(self, column: str) -> str:
        """The `aria-sort` of a column."""
        if self.sort.removeprefix("-") != column:
            return "none"
        return "descending" if self.sort.is_descending else "ascending"


def read(words: Mapping[str, str], workspaces: Iterable[str]) -> Chosen:
    """The filters in an address. Unknown values are dropped, so that old bookmarks still open."""
    return Chosen(
        words.get("q", "").strip()[:LONGEST],
        _known(words.get("status", ""), STATUSES),
        _known(words.get("outcome", ""), OUTCOMES),
        _known(words.get("needs", ""), NEEDS),
        _known(words.get("workspace", ""), workspaces),
        words.get("agent", "")[:LONGEST],
        words.get("mode", "")[:LONGEST],
        _known(words.get("period", ""), PERIODS),
        _sort(words.get("sort", "")),
        _number(words.get("page", "")),
    )


def around(page: int, pages: int) -> tuple[int, ...]:
    """The pages to link: the first, the last, and those around the present one."""
    return tuple(sorted({1, pages, *range(max(1, page - 2), min(pages, page + 2) + 1)}))


def _known(word: str, words: Iterable[str]) -> str:
    return word if word in words else ""


def _sort(word: str) -> Sort:
    return Sort(word) if word in tuple(Sort) else Sort.NEWEST


def _number(word: str) -> int:
    return max(1, int(word)) if word.isascii() and word.isdigit() and len(word) < 9 else 1


def _one(word: str) -> frozenset[str]:
    return frozenset((word,)) if word else frozenset()
