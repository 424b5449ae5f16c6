"""The sessions of agents after an event, and what a turn used by the totals of its session."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.events import (
    SessionDistrusted,
    SessionOpened,
    TurnInterrupted,
)
from untildone.core.loop import Loop, Turn, session_key
from untildone.core.model import (
    Answer,
    Role,
    Session,
    SessionUse,
    Usage,
)
from untildone.core.values.value import replace


def session_at_work(loop: Loop) -> str | None:
    """The id of the session that the turn resumed or opened, for an answer without a session id."""
    turn = loop.turn
    known = None if turn is None or turn.session is SessionUse.FORK else loop.session_of(turn.role, turn.profile)
    return known.session_id if known else None


def usage_of(loop: Loop, answer: Answer) -> Usage:
    """What the present turn used, by its answer. Of amounts of which an agent reports only the total of the session, it used the growth."""
    total = answer.session_total
    if total is None or loop.turn is None:
        return answer.usage
    own, before = answer.usage, _total_before(loop, loop.turn)
    was_reset = (total.tokens or 0) < (before.tokens or 0)
    # A program that was killed may have forgotten its last message. Then the growth is not known, but the messages are.
    return own if was_reset and own.tokens is not None else own.or_more(total.since(before))


def with_total(loop: Loop, answer: Answer, growth: Usage) -> Answer:
    """The answer of a run that did not come to report the total of its session: with that, if it is known how much the total grew."""
    if answer.session_total is not None or loop.turn is None or growth == Usage():
        return answer
    return replace(answer, session_total=_total_before(loop, loop.turn).plus(growth))


def _total_before(loop: Loop, turn: Turn) -> Usage:
    role = Role.WORKER if turn.session is SessionUse.FORK else turn.role
    session = None if turn.session is SessionUse.NEW else loop.session_of(role, turn.profile)
    return session.total if session else Usage()


def with_session(
    loop: Loop, role: Role, profile: str, session_id: str, total: Usage | None = None
) -> Mapping[str, Session]:
    """The sessions with that of a role after its turn: `total` is what the agent reported of it, None: nothing."""
    key = session_key(role, profile)
    known, turn = loop.sessions.get(key), loop.turn
    resumed = turn is not None and turn.role is role and turn.session is SessionUse.RESUME
    kept = known.total if known is not None and (resumed or known.session_id == session_id) else Usage()
    machine = loop.runner.machine if loop.runner else ""
    transcript = known.transcript if known is not None and known.session_id == session_id else ""
    return {**loop.sessions, key: Session(session_id, total or kept, machine, transcript)}


def after_cut(loop: Loop, event: TurnInterrupted) -> Mapping[str, Session]:
    """The sessions after a turn that was cut off, with the total that its agent has reported."""
    turn = loop.turn
    known = loop.session_of(event.role, turn.profile) if turn is not None else None
    if turn is None or known is None or event.session_total is None:
        return loop.sessions
    return with_session(loop, event.role, turn.profile, known.session_id, event.session_total)


def vouched(sessions: Mapping[str, Session], turn: Turn, transcript: str) -> Mapping[str, Session]:
    """The sessions with the digest of the transcript after a turn. A fork left the worker's session as it was."""
    key = session_key(turn.role, turn.profile)
    return {**sessions, key: replace(sessions[key], transcript=transcript)}


def opened_or_distrusted(loop: Loop, event: SessionOpened | SessionDistrusted) -> Mapping[str, Session]:
    """The sessions after one was opened, or after the transcript of one no longer counts."""
    if isinstance(event, SessionOpened):
        return with_session(loop, event.role, event.profile, event.session_id)
    key = session_key(Role.WORKER, event.profile)
    known = loop.sessions.get(key)
    return loop.sessions if known is None else {**loop.sessions, key: replace(known, transcript="")}
