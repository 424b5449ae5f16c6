"""Budget arithmetic: what is left, what is used up, what to warn about."""

from __future__ import annotations

from collections.abc import Iterator

from untildone.core.model import Budget, Spend
from untildone.core.value import dataclass, replace

WARN_AT = 0.75
LIMITS = ("iterations", "minutes", "cost", "tokens")
MOST_ITERATIONS = 1_000_000
MOST = 1e12
"""No limit that makes sense is larger."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One limit: how much of it is used."""

    limit: str
    used: float
    allowed: float

    @property
    def share(self) -> float:
        return 1.0 if self.allowed <= 0 else min(1.0, self.used / self.allowed)

    @property
    def used_up(self) -> bool:
        return self.used >= self.allowed

    def is_nearly_used(self, warn_from: int | None = None) -> bool:
        """Whether to warn: at three quarters, or from as many iterations as were named."""
        if self.limit == "iterations" and warn_from is not None:
            return self.used >= warn_from
        return self.share >= WARN_AT

    @property
    def unit(self) -> str:
        return "dollars" if self.limit == "cost" else self.limit

    def sentence(self) -> str:
        return f"{_number(self.used)} of {_number(self.allowed)} {self.unit} used"


def gauges(budget: Budget, spend: Spend) -> Iterator[Gauge]:
    """Every limit that is set."""
    used = (spend.iterations, spend.seconds / 60, spend.cost_usd, spend.tokens)
    allowed = (budget.iterations, budget.minutes, budget.cost_usd, budget.tokens)
    for limit, amount, most in zip(LIMITS, used, allowed, strict=True):
        if most is not None:
            yield Gauge(limit, amount, most)


def used_up(budget: Budget, spend: Spend, *, before_worker_turn: bool) -> Gauge | None:
    """The first limit that leaves nothing for another turn. Iterations are taken by the worker alone."""
    for gauge in gauges(budget, spend):
        if gauge.used_up and (before_worker_turn or gauge.limit != "iterations"):
            return gauge
    return None


def rounds_left(budget: Budget, spend: Spend) -> int | None:
    return None if budget.iterations is None else max(0, budget.iterations - spend.iterations)


def turn_timeout(budget: Budget, spend: Spend) -> float | None:
    """Seconds that a turn may take: its own limit, or what the loop's minutes leave."""
    left = None if budget.minutes is None else max(0.0, budget.minutes * 60 - spend.seconds)
    limits = [limit for limit in (budget.iteration_timeout, left) if limit is not None]
    return min(limits) if limits else None


def changed(budget: Budget, limit: str, amount: float | None, *, add: bool) -> Budget:
    """The budget with one limit set (None: no limit), or raised by an amount. What has no limit cannot be raised."""
    if amount is not None and not -MOST <= amount <= MOST:
        raise ValueError(f"{amount} is no amount of {limit}")
    present = _limits(budget)[limit]
    if not add or amount is None:
        return _with_limit(budget, limit, amount)
    return budget if present is None else _with_limit(budget, limit, present + amount)


def _limits(budget: Budget) -> dict[str, float | None]:
    return {
        "iterations": budget.iterations,
        "minutes": budget.minutes,
        "cost": budget.cost_usd,
        "tokens": budget.tokens,
        "iteration_timeout": budget.iteration_timeout,
    }


def _with_limit(budget: Budget, limit: str, most: float | None) -> Budget:
    whole = None if most is None else max(0, round(most))
    match limit:
        case "iterations":
            return replace(budget, iterations=whole)
        case "minutes":
            return replace(budget, minutes=most)
        case "cost":
            return replace(budget, cost_usd=most)
        case "tokens":
            return replace(budget, tokens=whole)
        case _:
            return replace(budget, iteration_timeout=most)


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")
