"""What the dashboard needs from the rest: a small Protocol, and the values it hands over. All calls may block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from untildone.core.events import BudgetChanged
from untildone.core.loop import Loop, RunningGate
from untildone.core.model import TaskChange, Urgency
from untildone.faces.web.reading import Output
from untildone.faces.web.timeline import Round, Timeline
from untildone.operations.board import Row
from untildone.operations.verbs import Heard, Verification
from untildone.settings import Settings

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
class Sight:
    """One loop as it is now. Two sights of a loop with the same `mark` are the same."""

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


class Desk(Protocol):
    def workspaces(self) -> tuple[str, ...]:
        """The names of the folders whose loops are shown; new loops are made in one of them."""
        ...

    def folder(self, workspace: str) -> Path: ...

    def listing(self, wanted: Wanted) -> Listing: ...

    def look(self, loop_id: str) -> Sight:
        """LoopNotFound if there is none."""
        ...

    def output(self, loop_id: str, name: str) -> Output: ...

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        """The outputs there are: `0003`, `0003-supervisor`, in the order of the rounds."""
        ...

    def create(self, workspace: str, task: str, values: Mapping[str, Any], *, start: bool) -> str: ...

    def start(self, loop_id: str) -> None: ...

    def pause(self, loop_id: str, urgency: Urgency) -> None: ...

    def resume(self, loop_id: str) -> None: ...

    def stop(self, loop_id: str, urgency: Urgency) -> None: ...

    def say(self, loop_id: str, text: str) -> Heard: ...

    def budget(self, loop_id: str, *changes: BudgetChanged) -> None: ...

    def change_tasks(self, loop_id: str, *changes: TaskChange) -> None: ...

    def delete(self, loop_id: str) -> None: ...

    def diff(self, loop_id: str, of: Round | None) -> str:
        """What a round changed; None: all rounds together."""
        ...

    def receipt(self, loop_id: str) -> Mapping[str, Any] | None: ...

    def verify(self, loop_id: str) -> tuple[Verification, ...]: ...

    def settings(self, workspace: str) -> Settings: ...

    def save_settings(self, workspace: str, values: Mapping[str, Any]) -> None:
        """Keep these values in the project's file, beside what is there. UsageError if that cannot be."""
        ...
