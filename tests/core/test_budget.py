"""Budget arithmetic: what is used up, in which order, how long a turn may take, what a change makes of it."""

from __future__ import annotations

import pytest

from untildone.core import budget as budgets
from untildone.core.limits import Limit
from untildone.core.model import Budget, Spend

EVERY_LIMIT = Budget(iterations=4, minutes=2.0, cost_usd=1.0, tokens=100)
NOTHING_SPENT = Spend()


@pytest.mark.parametrize(
    ("spend", "limit"),
    [
        (NOTHING_SPENT, None),
        (Spend(iterations=3, seconds=119.9, cost_usd=0.99, tokens=99), None),
        (Spend(iterations=4), "iterations"),
        (Spend(seconds=120.0), "minutes"),
        (Spend(cost_usd=1.0), "cost"),
        (Spend(cost_usd=7.5), "cost"),
        (Spend(tokens=100), "tokens"),
        (Spend(iterations=4, seconds=120.0, cost_usd=1.0, tokens=100), "iterations"),
        (Spend(seconds=120.0, cost_usd=1.0, tokens=100), "minutes"),
        (Spend(cost_usd=1.0, tokens=100), "cost"),
    ],
)
def test_the_first_limit_that_leaves_nothing_is_named(spend: Spend, limit: Limit | None) -> None:
    gauge = budgets.used_up(EVERY_LIMIT, spend, before_worker_turn=True)
    assert (gauge.limit if gauge else None) == limit


def test_only_the_worker_takes_iterations() -> None:
    assert budgets.used_up(EVERY_LIMIT, Spend(iterations=4), before_worker_turn=False) is None
    gauge = budgets.used_up(EVERY_LIMIT, Spend(iterations=4, tokens=100), before_worker_turn=False)
    assert gauge is not None
    assert gauge.limit == "tokens"


def test_without_limits_nothing_is_ever_used_up() -> None:
    much = Spend(iterations=10**9, seconds=1e12, cost_usd=1e9, tokens=10**12)
    assert budgets.used_up(Budget(), much, before_worker_turn=True) is None
    assert list(budgets.gauges(Budget(), much)) == []


@pytest.mark.parametrize(
    ("gauge", "share", "sentence"),
    [
        (budgets.Gauge(Limit.ITERATIONS, 3, 4), 0.75, "3 of 4 rounds used"),
        (budgets.Gauge(Limit.MINUTES, 1.5, 2), 0.75, "1.5 of 2 minutes used"),
        (budgets.Gauge(Limit.COST, 0.125, 10), 0.0125, "0.12 of 10 dollars used"),
        (budgets.Gauge(Limit.TOKENS, 1_234_567, 1_000_000), 1.0, "1,234,567 of 1,000,000 tokens used"),
        (budgets.Gauge(Limit.ITERATIONS, 0, 0), 1.0, "0 of 0 rounds used"),
        (budgets.Gauge(Limit.COST, 0, -1), 1.0, "0 of -1 dollars used"),
    ],
)
def test_a_gauge_tells_its_share_and_its_sentence(gauge: budgets.Gauge, share: float, sentence: str) -> None:
    assert gauge.share == share
    assert gauge.sentence() == sentence


@pytest.mark.parametrize(("iterations", "spent", "left"), [(None, 3, None), (5, 0, 5), (5, 5, 0), (2, 5, 0)], ids=str)
def test_rounds_left(iterations: int | None, spent: int, left: int | None) -> None:
    assert budgets.rounds_left(Budget(iterations=iterations), Spend(iterations=spent)) == left


@pytest.mark.parametrize(
    ("budget", "seconds", "timeout"),
    [
        (Budget(), 10.0, None),
        (Budget(iteration_timeout=30.0), 1000.0, 30.0),
        (Budget(minutes=2.0), 90.0, 30.0),
        (Budget(minutes=2.0, iteration_timeout=60.0), 90.0, 30.0),
        (Budget(minutes=2.0, iteration_timeout=60.0), 0.0, 60.0),
        (Budget(minutes=1.0), 90.0, 0.0),
    ],
)
def test_a_turn_may_take_its_own_time_and_no_more_than_the_loop_has_left(
    budget: Budget, seconds: float, timeout: float | None
) -> None:
    assert budgets.turn_timeout(budget, Spend(seconds=seconds)) == timeout


@pytest.mark.parametrize(
    ("limit", "amount", "add", "after"),
    [
        (Limit.ITERATIONS, 3, True, Budget(iterations=7, minutes=2.0, cost_usd=1.0, tokens=100)),
        (Limit.ITERATIONS, 3, False, Budget(iterations=3, minutes=2.0, cost_usd=1.0, tokens=100)),
        (Limit.ITERATIONS, -9, True, Budget(iterations=0, minutes=2.0, cost_usd=1.0, tokens=100)),
        (Limit.ITERATIONS, None, False, Budget(iterations=None, minutes=2.0, cost_usd=1.0, tokens=100)),
        (Limit.ITERATIONS, None, True, Budget(iterations=None, minutes=2.0, cost_usd=1.0, tokens=100)),
        (Limit.MINUTES, 0.5, True, Budget(iterations=4, minutes=2.5, cost_usd=1.0, tokens=100)),
        (Limit.COST, 10, False, Budget(iterations=4, minutes=2.0, cost_usd=10, tokens=100)),
        (Limit.TOKENS, 50.4, True, Budget(iterations=4, minutes=2.0, cost_usd=1.0, tokens=150)),
        (Limit.ITERATION_TIMEOUT, 60, False, Budget(4, 2.0, 1.0, 100, iteration_timeout=60)),
        (Limit.ITERATION_TIMEOUT, 60, True, EVERY_LIMIT),
    ],
)
def test_a_change_sets_or_raises_one_limit(limit: Limit, amount: float | None, add: bool, after: Budget) -> None:
    assert budgets.changed(EVERY_LIMIT, limit, amount, add=add) == after


@pytest.mark.parametrize("limit", list(Limit))
def test_what_has_no_limit_cannot_be_raised(limit: Limit) -> None:
    assert budgets.changed(Budget(), limit, 5, add=True) == Budget()
