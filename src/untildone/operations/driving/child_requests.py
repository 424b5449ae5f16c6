"""The fields of an agent's requests about its loops: each is checked here, because an agent may send anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from untildone.core import children as shares
from untildone.core.errors import UsageError
from untildone.core.model import Budget

LONGEST_CHECK = 10_000
"""Characters of one command."""
Fields = Mapping[str, Any]


def text(given: Fields, name: str) -> str:
    """A text of the request. UsageError if there is none."""
    value = given.get(name)
    if not isinstance(value, str):
        raise UsageError(f"The request has no `{name}`.", "give it as a text")
    return _usable(value, name)


def texts(given: Fields, name: str) -> tuple[str, ...]:
    """A list of commands of the request; empty if it is left out. UsageError if it is something else."""
    values = given.get(name) or ()
    if not isinstance(values, list | tuple) or not all(isinstance(each, str) and each.strip() for each in values):
        raise UsageError(f"`{name}` is not a list of texts.", "give commands, or leave it out")
    if any(len(each) > LONGEST_CHECK for each in values):
        raise UsageError(f"One of `{name}` is longer than {LONGEST_CHECK:,} characters.", "put it into a script")
    return tuple(_usable(each, name) for each in values)


def _usable(text: str, name: str) -> str:
    """The text, if it can be written down and be part of a command line."""
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise UsageError(f"`{name}` contains a character that no text can have.", "leave it out")
    return text


def count(given: Fields, name: str) -> int:
    """A whole number of the request; 0 if it is left out. UsageError if it is something else."""
    value = given.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"`{name}` is not a whole number.", "give one, or leave it out")
    return value


def check_numbers(budget: Budget) -> None:
    """UsageError if a limit that the request asks for is no number of its unit."""
    for limit in shares.COUNTED:
        amount = limit.of(budget)
        right = int if limit.row.whole else (int, float)
        if amount is not None and (isinstance(amount, bool) or not isinstance(amount, right)):
            raise UsageError(f"{amount!r} is not an amount of {limit.row.unit}.", "give a number")
