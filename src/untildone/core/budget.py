"""Budget arithmetic: what is left, what is used up, what to warn about."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.core.hints import Any
from untildone.core.limits import MOST, Limit
from untildone.core.model import Budget, Spend
from untildone.core.rounds import NO_ROUNDS
from untildone.core.sentence import Sentence
from untildone.core.value import dataclass, replace

WARN_AT = 0.75


@dataclass(frozen=True, slots=True)
class Gauge:
    """One limit of a whole loop: how much of it is used."""

    limit: Limit
    used: float
    allowed: float

    @property
    def share(self) -> float:
        return 1.0 if self.allowed <= 0 else min(1.0, self.used / self.allowed)

    @property
    def used_up(self) -> bool:
        return self.used >= self.allowed

    def is_nearly_used(self, warn_from: int | None = None) -> bool:
        """Whether to warn: at three quarters, or from the iteration `warn_from`."""
        if self.limit is Limit.ITERATIONS and warn_from is not None:
            return self.used >= warn_from
        return self.share >= WARN_AT

    def sentence(self) -> Sentence:
        return self._said("{n} of {all} " + f"{self.limit.row.unit} used")

    def used_up_sentence(self) -> Sentence:
        """Why a loop rests once this limit is used up."""
        no_rounds = f"{NO_ROUNDS} " if self.limit is Limit.ITERATIONS else ""
        return self._said(no_rounds + "{n} of {all} " + f"{self.limit.row.unit} used.")

    def _said(self, template: str) -> Sentence:
        return Sentence(template, n=number(self.used), all=number(self.allowed))


def gauges(budget: Budget, spend: Spend) -> Iterator[Gauge]:
    """Every limit of the whole loop that is set."""
    for limit in Limit:
        used, allowed = limit.row.used, limit.of(budget)
        if used is not None and allowed is not None:
            yield Gauge(limit, used(spend), allowed)


def used_up(budget: Budget, spend: Spend, *, before_worker_turn: bool) -> Gauge | None:
    """The first limit that leaves nothing for another turn. Only the worker's turns take iterations."""
    for gauge in gauges(budget, spend):
        if gauge.used_up and (before_worker_turn or gauge.limit is not Limit.ITERATIONS):
            return gauge
    return None


def rounds_left(budget: Budget, spend: Spend) -> int | None:
    return None if budget.iterations is None else max(0, budget.iterations - spend.iterations)


def turn_timeout(budget: Budget, spend: Spend) -> float | None:
    """Seconds that a turn may take: its own limit, or what the loop's minutes leave."""
    left = None if budget.minutes is None else max(0.0, budget.minutes * 60 - spend.seconds)
    limits = [limit for limit in (budget.iteration_timeout, left) if limit is not None]
    return min(limits) if limits else None


def changed(budget: Budget, limit: Limit, amount: float | None, *, add: bool) -> Budget:
    """The budget with one limit set (None: no limit), or raised by an amount. No limit cannot be raised."""
    if amount is not None and not is_possible(amount):
        raise ValueError(f"{amount} is no amount of {limit}")
    present = limit.of(budget)
    if add and amount is not None:
        amount = None if present is None else present + amount
    if amount is not None and limit.row.whole:
        amount = max(0, round(amount))
    limits: dict[str, Any] = {limit.row.field: amount}
    return replace(budget, **limits)


def is_possible(amount: float) -> bool:
    """Whether a limit can be set to an amount, or changed by it: that may also lower it."""
    return -MOST <= amount <= MOST


def number(value: float) -> str:
    """1,234.5: at most two decimals."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")
