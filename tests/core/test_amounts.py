"""What people and programs write for a limit."""

from __future__ import annotations

import pytest

from untildone.core.answers import amounts
from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged
from untildone.core.limits import Limit


@pytest.mark.parametrize(
    ("limit", "amount", "change"),
    [
        ("iterations", "+5", BudgetChanged(Limit.ITERATIONS, 5, add=True)),
        ("iterations", "=10", BudgetChanged(Limit.ITERATIONS, 10)),
        ("iterations", 10, BudgetChanged(Limit.ITERATIONS, 10)),
        ("iterations", 10.0, BudgetChanged(Limit.ITERATIONS, 10)),
        ("iterations", " none ", BudgetChanged(Limit.ITERATIONS, None)),
        ("cost", "=None", BudgetChanged(Limit.COST, None)),
        ("cost", 2.5, BudgetChanged(Limit.COST, 2.5)),
        ("minutes", "+0.5", BudgetChanged(Limit.MINUTES, 0.5, add=True)),
        ("iteration_timeout", "60", BudgetChanged(Limit.ITERATION_TIMEOUT, 60)),
    ],
)
def test_an_amount_is_a_change(limit: str, amount: float | str, change: BudgetChanged) -> None:
    assert amounts.change(limit, amount) == change


@pytest.mark.parametrize(
    ("limit", "amount"),
    [
        ("iterations", "2.5"),
        ("iterations", 0),
        ("iterations", -1),
        ("iterations", "1_000"),
        ("iterations", "٣"),
        ("iterations", 10**7),
        ("iterations", "9" * 5000),
        ("cost", "nan"),
        ("cost", "inf"),
        ("cost", ""),
        ("cost", "+"),
        ("tokens", "+-5"),
        ("hours", 1),
    ],
)
def test_what_is_no_amount_is_refused_in_words(limit: str, amount: float | str) -> None:
    with pytest.raises(UsageError) as refused:
        amounts.change(limit, amount)
    assert refused.value.hint
