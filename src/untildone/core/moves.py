"""Which control a loop's status allows. The same control twice is fine; one that makes no sense is refused with a sentence."""

from __future__ import annotations

from untildone.core.errors import WrongMove
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status

_ALLOWED = {
    "start": {Status.CREATED, Status.RUNNING},
    "pause": {Status.RUNNING, Status.PAUSED},
    "resume": {Status.CREATED, Status.RUNNING, Status.PAUSED},
    "stop": {Status.CREATED, Status.RUNNING, Status.PAUSED},
    "say": {Status.CREATED, Status.RUNNING, Status.PAUSED},
    "budget": {Status.CREATED, Status.RUNNING, Status.PAUSED},
    "tasks": {Status.CREATED, Status.RUNNING, Status.PAUSED},
    "rename": {Status.CREATED, Status.RUNNING, Status.PAUSED},
    "delete": {Status.COMPLETED, Status.FAILED},
}
_AGAIN = {"stop": (Outcome.STOPPED, Outcome.ABANDONED)}
"""Saying it again to a loop that already obeyed is no mistake."""
_IN_VAIN = ("start", "resume", "pause", "say")
"""What a loop that is to stop would never obey or hear."""
_HINTS = {
    Status.COMPLETED: "start a new loop with `untildone run`",
    Status.FAILED: "start a new loop with `untildone run`",
    Status.CREATED: "start it first",
    Status.PAUSED: "`untildone resume` goes on",
    Status.RUNNING: "it is running already",
}

_HINTS_FOR = {"delete": "stop it first"}


def check(loop: Loop, verb: str) -> None:
    if verb == "resume" and loop.works_in_session:
        raise WrongMove(
            f"Loop {loop.loop_id} is at work in the session {loop.settings.hook_session}.",
            f"it goes on there; `untildone pause --now {loop.loop_id}` takes it out of the session",
        )
    if loop.stop is not None and verb in _IN_VAIN and not loop.status.ended:
        raise WrongMove(f"Loop {loop.loop_id} is being stopped: it cannot {_WORDS[verb]}.", _HINTS[Status.FAILED])
    if loop.status in _ALLOWED[verb]:
        return
    if loop.outcome in _AGAIN.get(verb, ()):
        return
    hint = _HINTS_FOR.get(verb) or _HINTS[loop.status]
    raise WrongMove(f"Loop {loop.loop_id} is {loop.status.value}: it cannot {_WORDS[verb]}.", hint)


_WORDS = {
    "start": "be started",
    "pause": "be paused",
    "resume": "be resumed",
    "stop": "be stopped",
    "say": "take a message",
    "budget": "take another budget",
    "tasks": "take other tasks",
    "rename": "take another title",
    "delete": "be deleted",
}
