"""The status of a session's loop, as a line for the person who is in the session or has just left it."""

from __future__ import annotations

from untildone import agents
from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status

SHOWN_FEEDBACK = 500


def done(loop: Loop, outcome: Outcome) -> str:
    """The line for a task that is done, with the supervisor's message, if there is one."""
    message = " ".join(result.said for result in loop.gates if result.said)
    return f"untildone: {outcome.sentence} {message}".rstrip() + f" ({loop.loop_id}, {_rounds(loop)})"


def _rounds(loop: Loop) -> str:
    return f"{loop.spend.iterations} round{'' if loop.spend.iterations == 1 else 's'}"


def at_rest(loop: Loop) -> str:
    """The line for a loop that rests, with how to resume it in the session."""
    outcome = loop.outcome or Outcome.PAUSED
    rounds, typed = _rounds(loop), agents.hook_of(loop.settings.worker.agent).typed
    line = f"untildone: {outcome.sentence} {loop.reason}".rstrip()
    if loop.settings.interactive and loop.status is Status.PAUSED:
        return _paused_with_person(loop, line)
    if outcome is Outcome.BUDGET:
        return f"⚠ {line} `{typed} [r+5]` goes on with five more rounds. ({loop.loop_id})"
    if outcome is Outcome.BLOCKED:
        return f"⚠ {line} `{typed}` with your answer goes on in this session. ({loop.loop_id}, {rounds})"
    if loop.status is Status.PAUSED:
        return f"{line} `{typed}` goes on in this session. ({loop.loop_id}, {rounds})"
    return f"{line} ({loop.loop_id}, {rounds})"


def left(loop: Loop) -> str:
    """The line for a loop whose session the person has left."""
    if loop.outcome is None or loop.status.ended:
        return done(loop, loop.outcome or Outcome.INTERRUPTED)
    line = f"untildone: {loop.outcome.sentence} {loop.reason}".rstrip()
    if loop.outcome is Outcome.BLOCKED:
        return (
            f'{line} `untildone say {loop.loop_id} "…"` answers, and it goes on without its window. ({_rounds(loop)})'
        )
    return f"{line} `untildone resume {loop.loop_id}` goes on without its window. ({_rounds(loop)})"


def _paused_with_person(loop: Loop, line: str) -> str:
    """The line for a wrapped session, where the person's next prompt resumes the loop, unless they paused it themselves."""
    asked_for = " ".join(result.tail or result.reason for result in loop.failed_gates)[:SHOWN_FEEDBACK]
    missing = f" Still asked for: {asked_for}" if asked_for else ""
    return f"⚠ {line}{missing} {_ways_on(loop.outcome)} ({loop.loop_id}, {_rounds(loop)})"


def _ways_on(outcome: Outcome | None) -> str:
    if outcome is Outcome.PAUSED:
        return "`until-done` goes on in this session."
    return "`[r+5]` goes on with five more rounds." if outcome is Outcome.BUDGET else "What you say next goes on."
