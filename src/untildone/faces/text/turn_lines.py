"""Turns as lines of text: how one starts, what it used, how it ended."""

from __future__ import annotations

from untildone.core import limits
from untildone.core.answers import rounds
from untildone.core.events import LimitReached, TurnEnded, TurnInterrupted, TurnRetried, TurnStarted
from untildone.core.kinds import Interruption
from untildone.core.limits import duration
from untildone.core.loop import Loop
from untildone.core.model import FailureKind, Role
from untildone.faces.text.line import SHOWN_TAIL, Kind, Line, clock
from untildone.faces.text.plain import one_line
from untildone.operations import output


def of_start(event: TurnStarted, loop: Loop) -> tuple[Line, ...]:
    """The start of a turn: a heading for a round, else the role and the agent."""
    heading = Line(f"── {event.role.value} ({event.profile})", Kind.HEADER)
    mode = output.mode(loop.settings.mode)
    leader = mode.leader
    most = loop.budget.iterations
    left = None if most is None else max(0, most - event.iteration)
    if leader is not Role.WORKER and event.role is leader and event.attempt == 1:
        return (Line(rounds.header(event.iteration + 1, left), Kind.HEADER), heading)
    if leader is not Role.WORKER or event.role is not Role.WORKER:
        return (heading, *(Line(one_line(note), Kind.WARNING) for note in event.notes))
    if event.attempt > 1:
        return (Line(f"Round {event.iteration}, attempt {event.attempt} ({event.profile})", Kind.QUIET),)
    return (Line(rounds.header(event.iteration, left, mode.heading(loop, event.label)), Kind.HEADER),)


def of_end(event: TurnEnded | TurnInterrupted | TurnRetried | LimitReached, at: float) -> tuple[Line, ...]:
    """The end of a turn, or why it has not come to its end."""
    match event:
        case TurnEnded(answer=answer) if answer.failure is not None and answer.failure.kind is FailureKind.LIMIT:
            return ()
        case TurnEnded(answer=answer) if answer.failure is not None:
            kind = answer.failure.kind.value.replace("_", " ")
            return (
                Line(f"{_turn(event)} failed ({kind}): {one_line(answer.failure.message)}", Kind.BAD),
                *_noted(event),
            )
        case TurnEnded():
            return (Line(_summary(event), Kind.QUIET), *_denials(event), *_noted(event), *_written(event))
        case TurnInterrupted(reason=reason):
            return (Line(f"{_turn(event)} was interrupted: {WHY_INTERRUPTED[reason]}", Kind.WARNING),)
        case TurnRetried(not_before=not_before, fresh_session=fresh):
            how = " in a new session" if fresh else ""
            after = f" in {duration(not_before - at)}" if not_before - at >= 1 else ""
            return (Line(f"{_turn(event)} is tried again{how}{after}", Kind.WARNING),)
        case LimitReached(profile=profile, until=until, message=message):
            return (Line(f"limit of {profile} until {clock(until, at)}: {one_line(message)}", Kind.WARNING),)


WHY_INTERRUPTED = {
    Interruption.CONTROL: "a person or a signal ended it",
    Interruption.PERSON: "a person wants to write a message",
    Interruption.TIMEOUT: "it took longer than a round may take",
    Interruption.BUDGET: "the budget of the loop is used up",
    Interruption.CRASH: "the runner died",
    Interruption.NO_PROGRAM: "the agent program could not be started",
}


def _turn(event: TurnEnded | TurnInterrupted | TurnRetried) -> str:
    return f"Round {event.iteration}" if event.role is Role.WORKER else f"The {event.role.value}"


def _written(event: TurnEnded) -> tuple[Line, ...]:
    """The acceptance tests that the author wrote."""
    if event.tests is None:
        return ()
    return (
        Line(one_line(event.tests.sentence)),
        *(Line(f"  ! {one_line(note)}", Kind.WARNING) for note in event.tests.notes),
    )


def _noted(event: TurnEnded) -> tuple[Line, ...]:
    return (Line(f"  ! {one_line(event.note)}", Kind.WARNING),) if event.note else ()


def _summary(event: TurnEnded) -> str:
    usage, changes = event.answer.usage, event.changes
    parts = [duration(event.seconds), *limits.shown(usage)]
    if changes is not None and changes.files:
        files = "1 file" if changes.files == 1 else f"{changes.files} files"
        parts.append(f"{files} changed (+{changes.insertions} −{changes.deletions})")
    return f"{_turn(event)}: {', '.join(parts)}"


def _denials(event: TurnEnded) -> tuple[Line, ...]:
    return tuple(Line(f"  denied: {one_line(denial)}", Kind.WARNING) for denial in event.answer.denials[:SHOWN_TAIL])
