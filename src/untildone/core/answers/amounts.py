"""Parses amounts of a limit: `+5` raises it by 5, `=10` or 10 sets it to 10, `none` removes it."""

from __future__ import annotations

from untildone.core.errors import UsageError
from untildone.core.events import BudgetChanged
from untildone.core.limits import Limit

_LONGEST = 20


def change(name: str, amount: float | str) -> BudgetChanged:
    """The event that changes the limit `name`. Raises UsageError for an unknown limit or an invalid amount."""
    if name not in tuple(Limit):
        raise UsageError(f"There is no limit of '{name}'.", f"there are: {', '.join(Limit)}")
    limit = Limit(name)
    text = str(int(amount)) if isinstance(amount, float) and amount.is_integer() else str(amount).strip()
    if text.lower() in ("none", "=none"):
        return BudgetChanged(limit, None)
    return BudgetChanged(limit, _number(limit, text[text.startswith(("+", "=")) :]), add=text.startswith("+"))


def _number(limit: Limit, text: str) -> float:
    number = _read(text, whole=limit.row.whole)
    if number is None or not 0 < number <= limit.row.most:
        kind = "a whole number" if limit.row.whole else "a number"
        raise UsageError(
            f"'{text[:60]}' is not an amount of {limit.replace('_', ' ')}.",
            f"give {kind} above 0 and up to {limit.row.most:,}, as 5 (in all), +5 (more) or none",
        )
    return number


def _read(text: str, *, whole: bool) -> float | None:
    if len(text) > _LONGEST or not text.isascii() or "_" in text:
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        return None
