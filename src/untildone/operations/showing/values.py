"""Values for the pages: the list of loops, and one loop with its rounds and its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from untildone.core.loop import Loop, RunningGate
from untildone.operations.loop_table import Row
from untildone.operations.showing.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list, newest first. `total` counts the matching loops, `counts` those of each status."""

    rows: tuple[Row, ...]
    total: int
    page: int
    pages: int
    counts: Mapping[str, int] = field(default_factory=dict)
    undriven: frozenset[str] = frozenset()
    """The loops of the page that are running and have no runner."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some loops of the list, from a cursor on. `total` counts all matching loops, `counts` those of each status."""

    rows: tuple[Row, ...]
    cursor: str | None
    """The cursor of the loops that follow; None: these are the last."""
    total: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log."""

    at: float
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class LoopView:
    """One loop as it is now. Two views of a loop with the same `mark` are equal."""

    mark: tuple[Any, ...]
    loop: Loop
    timeline: Timeline
    log: tuple[LogLine, ...]
    driven: bool
    problem: str = ""
    """Why the server cannot drive the loop now."""
    has_receipt: bool = False

    @property
    def gate(self) -> RunningGate | None:
        """The check that runs now; None if its runner has died."""
        return self.loop.gate if self.driven else None
