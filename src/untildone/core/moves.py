"""Which controls a loop's status allows. Repeating a control is allowed; an impossible control raises WrongMove."""

from __future__ import annotations

from enum import StrEnum

from untildone.core.errors import WrongMove
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status


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
    Status.COMPLETED: "`untildone duplicate` begins a new loop with its task",
    Status.FAILED: "`untildone retry` goes on from where it was",
    Status.CREATED: "start it first",
    Status.PAUSED: "`untildone resume` goes on",
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
        raise WrongMove(f"Loop {loop.loop_id} is being stopped: it cannot {_WORDS[control]}.", _HINTS[Status.FAILED])
    if loop.status in _ALLOWED[control]:
        return
    if loop.outcome in _AGAIN.get(control, ()):
        return
    hint = _HINTS_FOR.get(control) or _HINTS[loop.status]
    raise WrongMove(f"Loop {loop.loop_id} is {loop.status.value}: it cannot {_WORDS[control]}.", hint)


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
