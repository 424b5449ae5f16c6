"""The present activity of a running loop: the agent that is asked, the check that runs, or the wait."""

from __future__ import annotations

from enum import StrEnum

from untildone.core.attention import need_of
from untildone.core.loop import Loop, output_name
from untildone.core.model import Role, Status
from untildone.core.values.value import dataclass


class DoingKind(StrEnum):
    """The kinds of things that a running loop does."""

    WORKS = "works"
    INSTRUCTS = "instructs"
    REVIEWS = "reviews"
    WRITES_TESTS = "writes tests"
    CHECKS = "checks"
    AT_LIMIT = "at limit"
    """It waits for the end of a usage limit."""
    RETRIES = "retries"
    """It waits before it asks the agent again."""
    STARTS = "starts"
    """Nothing is going on: it is between two turns, or has no runner."""


_BY_ROLE = {
    Role.WORKER: DoingKind.WORKS,
    Role.INSTRUCTOR: DoingKind.INSTRUCTS,
    Role.SUPERVISOR: DoingKind.REVIEWS,
    Role.AUTHOR: DoingKind.WRITES_TESTS,
}


@dataclass(frozen=True, slots=True)
class Doing:
    """What a running loop does now."""

    kind: DoingKind
    since: float
    """When it began (epoch seconds)."""
    what: str = ""
    """The agent profile, the command of the check, or why it waits."""
    until: float = 0.0
    """When a wait is over (epoch seconds); 0: it is no wait."""
    output: str = ""
    """The name of the output that grows now; empty: none does."""


def doing_of(loop: Loop) -> Doing | None:
    """What the loop does now; None: it is not running."""
    if loop.status is not Status.RUNNING:
        return None
    if loop.gate is not None:
        return Doing(DoingKind.CHECKS, loop.gate.started_at, loop.gate.command)
    if loop.turn is not None:
        turn = loop.turn
        name = output_name(turn.role, turn.iteration)
        return Doing(_BY_ROLE[turn.role], turn.started_at, turn.profile, output=name)
    return _waiting(loop)


def _waiting(loop: Loop) -> Doing:
    need = need_of(loop)
    if need is not None:
        return Doing(DoingKind.AT_LIMIT, loop.updated_at, need.text, need.until)
    if loop.retry is not None:
        return Doing(DoingKind.RETRIES, loop.updated_at, loop.retry.failure.message, loop.retry.not_before)
    return Doing(DoingKind.STARTS, loop.updated_at)
