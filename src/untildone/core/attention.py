"""Which loops need a person, why, and the one act that solves it. The inbox, lists and the API show it."""

from __future__ import annotations

from enum import StrEnum

from untildone.core import budget as budgets
from untildone.core.applying.controls import REWIND_UNDONE, TAKEN_BACK
from untildone.core.limits import Limit
from untildone.core.loop import Loop, UsageLimit
from untildone.core.model import FailureKind, Outcome, Role, Status
from untildone.core.values.sentence import Sentence
from untildone.core.values.value import dataclass

MORE_ROUNDS = 5.0
"""How many rounds to give to a loop that has none left."""
_HINT = " hint: "
_COMMAND = "`untildone "


class NeedKind(StrEnum):
    """Why a loop needs a person."""

    BLOCKED = "blocked"
    """The agent, or something on the machine, lacks what only a person can give."""
    ASKS = "asks"
    """The agent asks a question."""
    STALLED = "stalled"
    BUDGET = "budget"
    FAILED = "failed"
    CLAIMED = "claimed"
    """The agent says that it is done, and nothing verified it."""
    LIMIT = "limit"
    """The agent is at a usage limit. The loop goes on by itself when it is over."""
    LOGIN = "login"
    """The login of the agent is not valid."""


class Act(StrEnum):
    """What a person does about it."""

    ANSWER = "answer"
    """Send a message, then resume."""
    EXTEND = "extend"
    """Raise the limit that is used up, then resume."""
    RETRY = "retry"
    ADD_CHECK = "add-check"
    """Duplicate the loop with a check."""
    RESUME_NOW = "resume-now"
    """Resume without waiting for the end of the usage limit."""
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Need:
    """What a loop needs from a person."""

    kind: NeedKind
    act: Act
    text: str
    """The reason in a sentence: the agent's question, what failed, what is used up."""
    limit: Limit | None = None
    """For `extend`: the limit that is used up."""
    amount: float = 0.0
    """For `extend`: what to raise it by."""
    until: float = 0.0
    """For `limit`: when the usage limit is over (epoch seconds)."""


def need_of(loop: Loop) -> Need | None:
    """What the loop needs from a person; None: nothing, or the person brought it to rest."""
    if loop.not_ours:
        return None
    if loop.status is Status.RUNNING:
        return _usage_limit(loop)
    match loop.outcome:
        case Outcome.BLOCKED:
            return _login(loop) or _blocked(loop)
        case Outcome.PAUSED | Outcome.INTERRUPTED:
            return _asks(loop)
        case Outcome.BUDGET:
            return _budget(loop)
        case Outcome.STALLED:
            return Need(NeedKind.STALLED, Act.ANSWER, loop.reason or Outcome.STALLED.sentence)
        case Outcome.FAILED:
            return _login(loop) or Need(NeedKind.FAILED, Act.RETRY, loop.reason or Outcome.FAILED.sentence)
        case Outcome.CLAIMED:
            return Need(NeedKind.CLAIMED, Act.ADD_CHECK, loop.end_sentence)
        case _:
            return None


def _login(loop: Loop) -> Need | None:
    if loop.retry is None or loop.retry.failure.kind is not FailureKind.AUTH:
        return None
    agent, message = loop.agent_for(loop.retry.role).profile, loop.retry.failure.message.strip().rstrip(".")
    return Need(
        NeedKind.LOGIN,
        Act.RETRY,
        Sentence("The login of {agent} is not valid: {message}.", agent=agent, message=message),
    )


def _blocked(loop: Loop) -> Need:
    """The agent's own question wants an answer. What a program or the machine lacks is given outside of the loop."""
    of_agent = loop.retry is None and _HINT not in loop.reason
    return Need(NeedKind.BLOCKED, Act.ANSWER if of_agent else Act.RESUME, loop.reason or Outcome.BLOCKED.sentence)


def _asks(loop: Loop) -> Need | None:
    """A pause with a reason that no person gave: the mode passes a question on, or the engine found something to decide."""
    if not loop.reason or loop.reason.startswith((TAKEN_BACK, REWIND_UNDONE)):
        return None
    if _HINT in loop.reason or _COMMAND in loop.reason:
        return Need(NeedKind.BLOCKED, Act.RESUME, loop.reason)
    return Need(NeedKind.ASKS, Act.ANSWER, loop.reason)


def _budget(loop: Loop) -> Need:
    gauge = budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=True)
    if gauge is None:
        return Need(NeedKind.BUDGET, Act.RESUME, loop.reason or Outcome.BUDGET.sentence)
    return extension(gauge)


def extension(gauge: budgets.Gauge) -> Need:
    """What a loop needs whose limit is used up."""
    more = float(gauge.limit.row.hint or MORE_ROUNDS)
    return Need(NeedKind.BUDGET, Act.EXTEND, gauge.used_up_sentence(), gauge.limit, more)


def _usage_limit(loop: Loop) -> Need | None:
    """The usage limit that a running loop waits for. A turn, a check or a fallback agent means that it does not wait."""
    if not loop.limits or loop.turn is not None or loop.gate is not None or loop.tries_limits:
        return None
    fallback = loop.settings.fallback
    if fallback is not None and fallback.profile not in loop.limits:
        return None
    held = _held_back(loop)
    if held is None:
        return None
    agent, limit = held
    text = Sentence("{agent} is at its usage limit: {message}", agent=agent, message=limit.message)
    return Need(NeedKind.LIMIT, Act.RESUME_NOW, text, until=limit.until)


def _held_back(loop: Loop) -> tuple[str, UsageLimit] | None:
    """The first agent at a limit, the worker before the others."""
    names = (loop.agent_for(role).profile for role in (Role.WORKER, Role.SUPERVISOR, Role.INSTRUCTOR))
    return next(((name, loop.limits[name]) for name in names if name in loop.limits), None)
