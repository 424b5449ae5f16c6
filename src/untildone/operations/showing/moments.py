"""The moments of a loop between its turns: controls, messages, retries, usage limits, rests. From the journal, for the timeline."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from untildone.core.events import (
    BudgetChanged,
    BudgetWarned,
    ChangesApproved,
    Entry,
    Escalated,
    LimitReached,
    MachineLacked,
    MessageSent,
    PauseRequested,
    Rested,
    ResumeRequested,
    RetryRequested,
    Rewound,
    StartRequested,
    StateRepaired,
    StopRequested,
    TurnInterrupted,
    TurnRetried,
)
from untildone.core.model import Outcome, Urgency

KEPT_TEXT = 2000
"""How many characters of the text of a moment are kept."""


class MomentKind(StrEnum):
    """What happened."""

    START = "start"
    PAUSE = "pause"
    PAUSE_NOW = "pause_now"
    RESUME = "resume"
    RESUME_NOW = "resume_now"
    STOP = "stop"
    STOP_NOW = "stop_now"
    RETRY = "retry"
    REWIND = "rewind"
    UNDO_REWIND = "undo_rewind"
    MESSAGE = "message"
    BUDGET = "budget"
    BUDGET_WARNING = "budget_warning"
    APPROVE = "approve"
    TRY_AGAIN = "try_again"
    INTERRUPTED = "interrupted"
    LIMIT = "limit"
    ESCALATED = "escalated"
    MACHINE_LACKED = "machine_lacked"
    REST = "rest"
    REPAIRED = "repaired"


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happened between or during turns."""

    at: float
    kind: MomentKind
    text: str = ""
    """The words of a message, the reason of a rest, the failure before another attempt, the paths that were approved."""
    until: float | None = None
    """When a wait ends: of a usage limit, of the delay before another attempt."""
    number: float | None = None
    """The round of a rewind, the number of the attempt, the amount of a limit."""
    name: str = ""
    """The limit of a budget, the agent's profile, the source of a message, the word of an outcome."""


def moment_of(entry: Entry) -> Moment | None:
    """The moment of an entry; None: the entry belongs to a turn, or is not shown."""
    at = entry.at
    match entry.event:
        case MessageSent(text=text, source=source):
            return Moment(at, MomentKind.MESSAGE, text[:KEPT_TEXT], name=source.value)
        case BudgetChanged(limit=limit, amount=amount, add=add):
            return Moment(at, MomentKind.BUDGET, "add" if add else "set", number=amount, name=limit.value)
        case BudgetWarned(limit=limit, used=used):
            return Moment(at, MomentKind.BUDGET_WARNING, number=used, name=limit.value)
        case ChangesApproved(paths=paths):
            return Moment(at, MomentKind.APPROVE, "\n".join(paths)[:KEPT_TEXT])
        case Escalated(step=step, profile=profile, model=model):
            return Moment(at, MomentKind.ESCALATED, model or "", number=step, name=profile)
        case MachineLacked(machine=machine, program=program):
            return Moment(at, MomentKind.MACHINE_LACKED, program, name=machine)
        case StateRepaired(detail=detail):
            return Moment(at, MomentKind.REPAIRED, detail[:KEPT_TEXT])
        case Rested(outcome=outcome, reason=reason):
            return Moment(at, MomentKind.REST, reason[:KEPT_TEXT], name=outcome.word)
        case _:
            return _wait_of(entry) or _control_of(entry)


def _wait_of(entry: Entry) -> Moment | None:
    match entry.event:
        case TurnRetried(attempt=attempt, failure=failure, not_before=until):
            words, kind = failure.message[:KEPT_TEXT], failure.kind.value
            return Moment(entry.at, MomentKind.TRY_AGAIN, words, until, attempt, kind)
        case LimitReached(profile=profile, until=until, message=message):
            return Moment(entry.at, MomentKind.LIMIT, message[:KEPT_TEXT], until, name=profile)
        case TurnInterrupted(role=role, reason=reason):
            return Moment(entry.at, MomentKind.INTERRUPTED, reason.value, name=role.value)
        case _:
            return None


def _control_of(entry: Entry) -> Moment | None:
    match entry.event:
        case StartRequested():
            return Moment(entry.at, MomentKind.START)
        case PauseRequested(urgency=urgency, outcome=outcome):
            now = urgency is Urgency.NOW
            return Moment(entry.at, MomentKind.PAUSE_NOW if now else MomentKind.PAUSE, name=_unusual(outcome))
        case StopRequested(urgency=urgency, outcome=outcome):
            now = urgency is Urgency.NOW
            return Moment(entry.at, MomentKind.STOP_NOW if now else MomentKind.STOP, name=_unusual(outcome))
        case ResumeRequested(skip_wait=skip_wait):
            return Moment(entry.at, MomentKind.RESUME_NOW if skip_wait else MomentKind.RESUME)
        case RetryRequested():
            return Moment(entry.at, MomentKind.RETRY)
        case Rewound(to=to, undone=undone):
            return Moment(entry.at, MomentKind.UNDO_REWIND if undone else MomentKind.REWIND, number=to)
        case _:
            return None


def _unusual(outcome: Outcome) -> str:
    return "" if outcome in (Outcome.PAUSED, Outcome.STOPPED) else outcome.word
