"""Budget arithmetic: which limits are used up, which need a warning, and how a limit changes."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.core.answers.rounds import NO_ROUNDS
from untildone.core.limits import MOST, Limit
from untildone.core.model import Budget, Spend
from untildone.core.values.hints import Any
from untildone.core.values.sentence import Sentence
from untildone.core.values.value import dataclass, replace

WARN_AT = 0.75
"""The used share of a limit from which the person is warned."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One limit of a whole loop, and how much of it is used."""

    limit: Limit
    used: float
    allowed: float

    @property
    def share(self) -> float:
        """The used part of the limit, from 0 to 1."""
        return 1.0 if self.allowed <= 0 else min(1.0, self.used / self.allowed)

    @property
    def used_up(self) -> bool:
        return self.used >= self.allowed

    def is_nearly_used(self, warn_from: int | None = None) -> bool:
        """Whether to warn the person: at three quarters of the limit, or from the iteration `warn_from`."""
        if self.limit is Limit.ITERATIONS and warn_from is not None:
            return self.used >= warn_from
        return self.share >= WARN_AT

    def sentence(self) -> Sentence:
        return self._filled("{n} of {all} " + f"{self.limit.row.unit} used")

    def used_up_sentence(self) -> Sentence:
        """The reason with which a loop rests once this limit is used up."""
        no_rounds = f"{NO_ROUNDS} " if self.limit is Limit.ITERATIONS else ""
        return self._filled(no_rounds + "{n} of {all} " + f"{self.limit.row.unit} used.")

    def _filled(self, template: str) -> Sentence:
        return Sentence(template, n=number(self.used), all=number(self.allowed))


def gauges(budget: Budget, spend: Spend) -> Iterator[Gauge]:
    """A gauge for each limit of the whole loop that is set."""
    for limit in Limit:
        used, allowed = limit.row.used, limit.of(budget)
        if used is not None and allowed is not None:
            yield Gauge(limit, used(spend), allowed)


def used_up(budget: Budget, spend: Spend, *, before_worker_turn: bool) -> Gauge | None:
    """The first limit that is used up; None if another turn may start. Only turns of the worker use iterations."""
    for gauge in gauges(budget, spend):
        if gauge.used_up and (before_worker_turn or gauge.limit is not Limit.ITERATIONS):
            return gauge
    return None


def spent(budget: Budget, spend: Spend) -> Gauge | None:
    """The first limit of what agents report, dollars or tokens, that is used up. It ends a turn that runs."""
    return next((gauge for gauge in gauges(budget, spend) if gauge.limit.row.reported and gauge.used_up), None)


def rounds_left(budget: Budget, spend: Spend) -> int | None:
    """How many rounds are left; None: no limit."""
    return None if budget.iterations is None else max(0, budget.iterations - spend.iterations)


def turn_timeout(budget: Budget, spend: Spend) -> float | None:
    """How many seconds a turn may take: the limit of a turn or the rest of the loop's minutes, whichever is less."""
    left = None if budget.minutes is None else max(0.0, budget.minutes * 60 - spend.seconds)
    limits = [limit for limit in (budget.iteration_timeout, left) if limit is not None]
    return min(limits) if limits else None


def changed(budget: Budget, limit: Limit, amount: float | None, *, add: bool) -> Budget:
    """The budget with one limit set (None: no limit) or raised by an amount. Raising a limit that is not set changes nothing."""
    if amount is not None and not is_possible(amount):
        raise ValueError(f"{amount} is not an amount of {limit}")
    present = limit.of(budget)
    if add and amount is not None:
        amount = None if present is None else present + amount
    if amount is not None and limit.row.whole:
        amount = max(0, round(amount))
    limits: dict[str, Any] = {limit.row.field: amount}
    return replace(budget, **limits)


def is_possible(amount: float) -> bool:
    """Whether an amount is within the bounds of a journal. It may be negative: a change can lower a limit."""
    return -MOST <= amount <= MOST


def number(value: float) -> str:
    """A number for people, with at most two decimals: 1,234.5."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")
