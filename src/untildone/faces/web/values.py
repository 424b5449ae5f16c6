"""What the pages show: the list of loops, and one loop with its rounds and its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from untildone.core.loop import Loop, RunningGate
from untildone.faces.web.timeline import Timeline
from untildone.operations.loop_table import Row

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which loops to list. `status` empty: all; `page` counts from 1."""

    status: str = ""
    search: str = ""
    page: int = 1
    size: int = PAGE_SIZE
    ended_only: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list, newest first; how many fit; how many there are of each status, whatever page is shown."""

    rows: tuple[Row, ...]
    total: int
    page: int
    pages: int
    counts: Mapping[str, int] = field(default_factory=dict)
    undriven: frozenset[str] = frozenset()
    """Those of the page that are running, but nobody drives them."""


@dataclass(frozen=True, slots=True)
class LogLine:
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
    """Why the server cannot drive it just now."""
    has_receipt: bool = False

    @property
    def gate(self) -> RunningGate | None:
        """The check that runs now. One that was running when its runner died does not run."""
        return self.loop.gate if self.driven else None
