"""What loops have spent: today, in the last days, by agent and by workspace."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from untildone.core.apply import apply
from untildone.core.errors import UntilDoneError
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import Spend
from untildone.operations import look
from untildone.operations.driving.service import Service
from untildone.operations.loop_table import Row, row_of
from untildone.operations.stores import Store

DAYS = 7
DAY = 86_400
MOST_KNOWN = 5_000
LARGEST_OFFSET = 14 * 60
"""Minutes: no time zone is further from UTC."""
NOTHING = Spend()

Paid = tuple[float, Spend]
"""What was spent at a time (epoch seconds)."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What some loops have spent together."""

    name: str
    cost_usd: float = 0.0
    seconds: float = 0.0
    rounds: int = 0
    tokens: int = 0
    loops: int = 0


@dataclass(frozen=True, slots=True)
class Money:
    """What the loops of a server have spent in the last days."""

    days: tuple[Spent, ...]
    """One for each day, named `YYYY-MM-DD`; the last one is today."""
    week: Spent
    agents: tuple[Spent, ...]
    """By agent, the most expensive first."""
    workspaces: tuple[Spent, ...]

    @property
    def today(self) -> Spent:
        return self.days[-1]


class SpendTotals:
    """Adds up what loops spent. A journal is read only if its loop was at work on several days."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._known: dict[tuple[str, int], tuple[Paid, ...]] = {}
        self._last: dict[int, tuple[tuple[Row, ...], int, Money]] = {}

    def look(self, offset: int = 0) -> Money:
        """What was spent in the last days. `offset`: seconds by which the days begin before those of UTC."""
        rows, now = self._service.table.rows(), time.time()
        today, last = day_of(now, offset), self._last.get(offset)
        # The table hands out the same rows until a loop changes.
        if last is None or last[0] is not rows or last[1] != today:
            last = self._last[offset] = (rows, today, added_up(rows, self._paid, now, offset))
        return last[2]

    def _paid(self, row: Row) -> tuple[Paid, ...]:
        key = (row.loop_id, row.seq)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = _read(self._service.stores[row.workspace], row)
        return self._known[key]


def of_store(store: Store, offset: int = 0) -> Money:
    """What the loops of one store have spent in the last days."""
    rows = [row_of(loop, str(store.home)) for loop in look.load_all(store)]
    return added_up(rows, partial(_read, store), time.time(), offset)


def _read(store: Store, row: Row) -> tuple[Paid, ...]:
    try:
        with closing(store.open(row.loop_id)) as journal:
            return paid(journal.entries())
    except (UntilDoneError, OSError):
        return ((row.updated_at, row.spend),)


def paid(entries: Iterable[Entry]) -> tuple[Paid, ...]:
    """What the entries of a journal spent, each with its time."""
    payments, loop, before = list[Paid](), None, Spend()
    for entry in entries:
        loop = apply(loop, entry)
        if loop.spend != before:
            payments.append((entry.at, _more(loop, before)))
            before = loop.spend
    return tuple(payments)


def _more(loop: Loop, before: Spend) -> Spend:
    now = loop.spend
    return Spend(
        now.iterations - before.iterations,
        now.seconds - before.seconds,
        now.cost_usd - before.cost_usd,
        now.tokens - before.tokens,
    )


def added_up(rows: Iterable[Row], paid_by: Callable[[Row], tuple[Paid, ...]], now: float, offset: int = 0) -> Money:
    """The sums of the last days. `paid_by` reads when a loop that was at work on several days spent what."""
    today = day_of(now, offset)
    names = [day_name(day) for day in range(today - DAYS + 1, today + 1)]
    days, agents, workspaces, week = _Sums(), _Sums(), _Sums(), _Sums()
    for row in rows:
        if day_of(row.updated_at, offset) <= today - DAYS or row.spend == NOTHING:
            continue
        for at, spend in _parts(row, paid_by, offset):
            day = day_of(at, offset)
            if today - DAYS < day <= today:
                days.add(day_name(day), row, spend)
                agents.add(row.agent, row, spend)
                workspaces.add(row.workspace, row, spend)
                week.add("", row, spend)
    return Money(tuple(days.of(name) for name in names), week.of(""), agents.by_cost(), workspaces.by_cost())


def _parts(row: Row, paid_by: Callable[[Row], tuple[Paid, ...]], offset: int) -> tuple[Paid, ...]:
    if day_of(row.created_at, offset) == day_of(row.updated_at, offset):
        return ((row.updated_at, row.spend),)
    return paid_by(row)


class _Sums:
    """Sums by name. A loop counts once for each name."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}
        self._loops: dict[str, set[str]] = defaultdict(set)

    def add(self, name: str, row: Row, more: Spend) -> None:
        sums = self._sums.setdefault(name, [0.0, 0.0, 0, 0])
        sums[0] += more.cost_usd
        sums[1] += more.seconds
        sums[2] += more.iterations
        sums[3] += more.tokens
        self._loops[name].add(row.loop_id)

    def of(self, name: str) -> Spent:
        cost, seconds, rounds, tokens = self._sums.get(name, (0.0, 0.0, 0, 0))
        return Spent(name, cost, seconds, int(rounds), int(tokens), len(self._loops.get(name, ())))

    def by_cost(self) -> tuple[Spent, ...]:
        return tuple(sorted((self.of(name) for name in self._sums), key=lambda each: (-each.cost_usd, each.name)))


def day_of(at: float, offset: int) -> int:
    """The number of the day since 1970."""
    return int(at + offset) // DAY


def day_name(day: int) -> str:
    """YYYY-MM-DD"""
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY))
