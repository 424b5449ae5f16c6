"""A line of text for people, and what kind it is."""

from __future__ import annotations

import time
from enum import StrEnum

from untildone.core.values.value import dataclass

SHOWN_TAIL = 5
"""Lines of an output that are shown, and entries of a list."""


class Kind(StrEnum):
    """The kind of a line, which decides its colour."""

    HEADER = "header"
    SAID = "said"
    DONE = "done"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and its kind."""

    text: str
    kind: Kind = Kind.PLAIN


def clock(at: float, now: float | None = None) -> str:
    """The time of day; with the date, if it is another day than `now`."""
    then, today = time.localtime(at), time.localtime(now)
    return time.strftime("%H:%M:%S" if then[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", then)
