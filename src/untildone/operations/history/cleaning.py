"""Deleting loops that ended long ago."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from untildone.core.errors import UntilDoneError, UsageError
from untildone.core.loop import Loop
from untildone.core.values.value import dataclass
from untildone.operations import control
from untildone.store import Store

_UNITS = {"h": 3600.0, "d": 24 * 3600.0, "w": 7 * 24 * 3600.0}
_AGE = re.compile(r"([0-9]{1,6})\s*([hdw])")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """An old loop."""

    loop: Loop
    problem: str = ""
    """Why it could not be deleted; empty: it is deleted, or would be."""


def age(text: str) -> float:
    """The seconds of an age such as `30d`, `12h` or `4w`."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"'{text[:60]}' is not an age.", "give hours, days or weeks: 12h, 30d, 4w")
    return int(match[1]) * _UNITS[match[2]]


def clean(store: Store, older_than: float, *, only_lists: bool = False) -> Iterator[Cleaned]:
    """Delete the loops that ended more than so many seconds ago, oldest first. With `only_lists`, only name them.

    Loops that can go on, and loops that are not ours, stay. One that cannot be deleted does not keep the others.
    """
    before = time.time() - older_than
    for loop_id in store.ids():
        try:
            loop = store.load(loop_id)
        except UntilDoneError:
            continue  # `list` shows why it cannot be read
        if loop.status.ended and not loop.not_ours and loop.updated_at < before:
            yield Cleaned(loop, "" if only_lists else _deleted(store, loop_id))


def _deleted(store: Store, loop_id: str) -> str:
    try:
        control.delete(store, loop_id)
    except UntilDoneError as problem:
        return problem.sentence
    return ""
