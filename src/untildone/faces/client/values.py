"""What a server returns about loops, as values. Whole loops, entries and results of checks are those of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from untildone.core.model import Budget, Outcome, Spend, Status
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class NeedLine:
    """What a loop needs from a person."""

    kind: str
    """`blocked`, `asks`, `stalled`, `budget`, `failed`, `claimed`, `limit`, `login`."""
    act: str
    """What solves it: `answer`, `extend`, `retry`, `add-check`, `resume-now`, `resume`."""
    text: str


@dataclass(frozen=True, slots=True)
class LoopLine:
    """A loop in one line, as a server lists it. `show` has the whole loop."""

    loop_id: str
    title: str
    status: Status | None
    """None: its state is damaged; see `problem`."""
    outcome: Outcome | None
    reason: str
    mode: str
    agent: str
    workspace: str
    spend: Spend
    budget: Budget
    created_at: float
    updated_at: float
    seq: int
    driven: bool
    queued: bool
    proof: str = ""
    problem: str = ""
    question: str | None = None
    needs: NeedLine | None = None


class Filters(TypedDict, total=False):
    """Which loops a server lists, and in which order: the parameters of `GET /loops`. Of several values, any fits."""

    q: str
    status: str | Sequence[str]
    outcome: str | Sequence[str]
    workspace: str | Sequence[str]
    agent: str | Sequence[str]
    mode: str | Sequence[str]
    needs: str | Sequence[str]
    since: str
    until: str
    sort: str
