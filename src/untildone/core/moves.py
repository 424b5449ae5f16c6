"""Which controls a loop's status allows. Repeating a control is allowed; an impossible control raises WrongMove."""

from __future__ import annotations

from enum import StrEnum

from untildone.core import budget as budgets
from untildone.core.attention import need_of
from untildone.core.errors import BudgetUsedUp, WrongMove
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Role, Status


class Control(StrEnum):
    """The controls of a loop."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    SAY = "say"
    BUDGET = "budget"
    SUBTASKS = "tasks"
    RENAME = "rename"
    APPROVE = "approve"
    DELETE = "delete"
    RETRY = "retry"
    REWIND = "rewind"


_ALLOWED = {
    Control.START: {Status.CREATED, Status.RUNNING},
    Control.PAUSE: {Status.RUNNING, Status.PAUSED},
    Control.RESUME: {Status.CREATED, Status.RUNNING, Status.PAUSED},
    Control.STOP: {Status.CREATED, Status.RUNNING, Status.PAUSED},
    Control.SAY: {Status.CREATED, Status.RUNNING, Status.PAUSED},
    Control.BUDGET: {Status.CREATED, Status.RUNNING, Status.PAUSED},
    Control.SUBTASKS: {Status.CREATED, Status.RUNNING, Status.PAUSED},
    Control.RENAME: set(Status),
    Control.APPROVE: {Status.CREATED, Status.RUNNING, Status.PAUSED},
    Control.DELETE: {Status.COMPLETED, Status.FAILED},
    Control.RETRY: {Status.RUNNING, Status.PAUSED, Status.FAILED},
    Control.REWIND: {Status.PAUSED, Status.COMPLETED, Status.FAILED},
}
_AGAIN = {Control.STOP: (Outcome.STOPPED, Outcome.ABANDONED)}
"""Controls that an ended loop still accepts, by the outcome that they led to."""
_IN_VAIN = (Control.START, Control.RESUME, Control.PAUSE, Control.SAY, Control.RETRY, Control.REWIND)
"""Controls that have no effect on a loop that is being stopped."""
_HINTS = {
    Status.COMPLETED: "`untildone duplicate {name}` begins a new loop with its task",
    Status.FAILED: "`untildone retry {name}` goes on from where it was",
    Status.CREATED: "`untildone resume {name}` starts it",
    Status.PAUSED: "`untildone resume {name}` goes on",
    Status.RUNNING: "it is running already",
}

_HINTS_FOR = {Control.DELETE: "stop it first", Control.REWIND: "pause it first"}


def check(loop: Loop, control: Control) -> None:
    """Raise WrongMove if the loop's status does not allow the control."""
    if control is Control.RESUME and loop.works_in_session:
        raise WrongMove(
            f"Loop {loop.loop_id} is at work in the session {loop.settings.hook_session}.",
            f"it goes on there; `untildone pause --now {loop.loop_id}` takes it out of the session",
        )
    if loop.stop is not None and control in _IN_VAIN and not loop.status.ended:
        raise WrongMove(
            f"Loop {loop.loop_id} is being stopped: it cannot {_WORDS[control]}.", _hint(loop, Status.FAILED)
        )
    if loop.status in _ALLOWED[control]:
        return
    if loop.outcome in _AGAIN.get(control, ()):
        return
    hint = _HINTS_FOR.get(control) or _hint(loop, loop.status)
    raise WrongMove(f"Loop {loop.loop_id} is {loop.status.value}: it cannot {_WORDS[control]}.", hint)


def _hint(loop: Loop, status: Status) -> str:
    """What a person can do with a loop of this status. It names the loop: without a name, commands take the last one."""
    return _HINTS[status].format(name=loop.loop_id)


def check_budget(loop: Loop, leader: Role) -> None:
    """Raise BudgetUsedUp if a loop that rests would do so again at once, because a limit is used up. `leader`: see `Mode`."""
    _refuse(loop, used_up(loop, leader))


def check_rounds(loop: Loop) -> None:
    """Raise BudgetUsedUp if the loop cannot begin another round."""
    _refuse(loop, budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=True))


def _refuse(loop: Loop, gauge: budgets.Gauge | None) -> None:
    if gauge is None:
        return
    raise BudgetUsedUp(
        f"Loop {loop.loop_id} cannot go on: {gauge.sentence()}.",
        f"give it more: {_more(loop, gauge.limit)}, or a `budget` with the request",
    )


def _more(loop: Loop, limit: Limit) -> str:
    """The commands that raise a limit and let the loop go on. The budget of an ended loop cannot be changed before it is opened again."""
    name, row = loop.loop_id, limit.row
    again = "retry" if loop.status.ended else "resume"
    if limit is Limit.ITERATIONS:
        return f"`untildone {again} {name} -r +5`"
    opened = f"`untildone retry {name}` opens it, then " if loop.status.ended else ""
    return f"{opened}`untildone budget {name} {row.change_flags[0]} {row.hint}`, then `untildone resume {name}`"


def used_up(loop: Loop, leader: Role) -> budgets.Gauge | None:
    """The limit for which a loop that rests would rest again at once; None: it can go on, or needs something else first.

    Gates, questions, another try of a round and the turn of an instructor need no round. `leader` is the role that the mode asks first.
    """
    has_more_to_do = loop.claimed or loop.blocked or loop.asks_person or loop.live_state is not None
    if loop.not_ours or loop.status is not Status.PAUSED or has_more_to_do or not _rests_for_budget_or_person(loop):
        return None
    tries_again = loop.retry is not None and loop.retry.role is Role.WORKER
    is_led = leader is not Role.WORKER and (bool(loop.inbox) or loop.outcome is not Outcome.BUDGET)
    return budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=not (tries_again or is_led))


def _rests_for_budget_or_person(loop: Loop) -> bool:
    """Whether the loop rests for its budget, or because a person said so. Any other rest needs something else first."""
    return loop.outcome is Outcome.BUDGET or need_of(loop) is None


_WORDS = {
    Control.START: "be started",
    Control.PAUSE: "be paused",
    Control.RESUME: "be resumed",
    Control.STOP: "be stopped",
    Control.SAY: "take a message",
    Control.BUDGET: "take another budget",
    Control.SUBTASKS: "take other subtasks",
    Control.RENAME: "take another title",
    Control.APPROVE: "take an approval",
    Control.DELETE: "be deleted",
    Control.RETRY: "be retried",
    Control.REWIND: "be rewound",
}
