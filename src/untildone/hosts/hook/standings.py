"""How a session's loop stands, in a sentence for the person who is in the session or has just left it."""

from __future__ import annotations

from untildone.core.loop import Loop
from untildone.core.model import Outcome, Status

SHOWN_FEEDBACK = 500


def done(loop: Loop, outcome: Outcome) -> str:
    """How what was asked came to its end, in the words of the supervisor, if there are any."""
    said = " ".join(result.said for result in loop.gates if result.said)
    return f"untildone: {outcome.sentence} {said}".rstrip() + f" ({loop.loop_id}, {_rounds(loop)})"


def _rounds(loop: Loop) -> str:
    return f"{loop.spend.iterations} round{'' if loop.spend.iterations == 1 else 's'}"


def at_rest(loop: Loop) -> str:
    """How the loop came to rest, for the person in the session."""
    outcome = loop.outcome or Outcome.PAUSED
    rounds = _rounds(loop)
    told = f"untildone: {outcome.sentence} {loop.reason}".rstrip()
    if loop.settings.interactive and loop.status is Status.PAUSED:
        return _paused_in_company(loop, told)
    if outcome is Outcome.BUDGET:
        return f"⚠ {told} `/until-done [r+5]` goes on with five more rounds. ({loop.loop_id})"
    if loop.status is Status.PAUSED:
        return f"{told} `/until-done` goes on in this session. ({loop.loop_id}, {rounds})"
    return f"{told} ({loop.loop_id}, {rounds})"


def left(loop: Loop) -> str:
    """How a loop stands whose session the person has left."""
    if loop.outcome is None or loop.status.ended:
        return done(loop, loop.outcome or Outcome.INTERRUPTED)
    told = f"untildone: {loop.outcome.sentence} {loop.reason}".rstrip()
    return f"{told} `untildone resume {loop.loop_id}` goes on without its window. ({_rounds(loop)})"


def _paused_in_company(loop: Loop, told: str) -> str:
    """A person is there whose every word is heard: what they say next goes on, if they did not pause it themselves."""
    asked_for = " ".join(result.tail or result.reason for result in loop.failed_gates)[:SHOWN_FEEDBACK]
    missing = f" Still asked for: {asked_for}" if asked_for else ""
    return f"⚠ {told}{missing} {_ways_on(loop.outcome)} ({loop.loop_id}, {_rounds(loop)})"


def _ways_on(outcome: Outcome | None) -> str:
    if outcome is Outcome.PAUSED:
        return "`until-done` goes on in this session."
    return "`[r+5]` goes on with five more rounds." if outcome is Outcome.BUDGET else "What you say next goes on."
