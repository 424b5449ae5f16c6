"""Amounts that people and programs name for a limit: `+5` is five more, `=10` or 10 is ten in all, `none` is no limit."""

from __future__ import annotations

from untildone.core.budget import MOST, MOST_ITERATIONS
from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged

LIMITS = ("iterations", "minutes", "cost", "tokens", "iteration_timeout")
LARGEST = int(MOST)
_LONGEST = 20


def change(limit: str, amount: float | str) -> BudgetChanged:
    if limit not in LIMITS:
        raise UsageError(f"There is no limit of '{limit}'.", f"there are: {', '.join(LIMITS)}")
    text = str(int(amount)) if isinstance(amount, float) and amount.is_integer() else str(amount).strip()
    if text.lower() in ("none", "=none"):
        return BudgetChanged(limit, None)
    return BudgetChanged(limit, _number(limit, text[text.startswith(("+", "=")) :]), add=text.startswith("+"))


def _number(limit: str, text: str) -> float:
    whole = limit in ("iterations", "tokens")
    most = MOST_ITERATIONS if limit == "iterations" else LARGEST
    number = _read(text, whole=whole)
    if number is None or not 0 < number <= most:
        kind = "a whole number" if whole else "a number"
        raise UsageError(
            f"'{text[:60]}' is no amount of {limit.replace('_', ' ')}.",
            f"give {kind} above 0 and up to {most:,}, as 5 (in all), +5 (more) or none",
        )
    return number


def _read(text: str, *, whole: bool) -> float | None:
    if len(text) > _LONGEST or not text.isascii() or "_" in text:
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return None
