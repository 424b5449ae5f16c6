"""The loop after the beginning, the end or the failure of a turn."""

from __future__ import annotations

from untildone.core.applying.sessions import after_cut, session_at_work, usage_of, vouched, with_session
from untildone.core.events import (
    Escalated,
    LimitReached,
    MachineLacked,
    TurnEnded,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
)
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop, Retry, Stall, Turn, UsageLimit, session_key
from untildone.core.model import (
    Changes,
    Role,
    SessionUse,
)
from untildone.core.values.digest import sha256
from untildone.core.values.value import replace

KEPT_ANSWER = 20_000
"""How many characters from the end of an answer `Loop.last_answer` keeps."""


def turned(
    loop: Loop,
    event: TurnStarted | TurnEnded | TurnInterrupted | TurnRetried | LimitReached | MachineLacked | Escalated,
    at: float,
) -> Loop:
    """The loop after an event of its present turn, or of the agent whose turn it is."""
    match event:
        case TurnStarted():
            return _started(loop, event, at)
        case TurnEnded():
            return _ended(loop, event)
        case TurnInterrupted(seconds=seconds, reason=reason, usage=usage):
            at_limit = reason in (Interruption.BUDGET, Interruption.TIMEOUT) and event.role is Role.WORKER
            loop = replace(loop, sessions=after_cut(loop, event))
            loop = replace(given_up(loop), priced=event.priced or loop.priced)
            loop = replace(loop, cut_off=reason if at_limit else loop.cut_off)
            loop = replace(loop, spend=loop.spend.plus(seconds, usage), unpriced=loop.unpriced + usage.unpriced)
            return replace(loop, asks_person=reason is Interruption.PERSON)
        case TurnRetried():
            return _retried(loop, event)
        case LimitReached():
            return _limited(loop, event)
        case MachineLacked(machine=machine):
            tried = loop.lacking if machine in loop.lacking else (*loop.lacking, machine)
            return replace(loop, lacking=tried, lacking_since=loop.lacking_since or at)
        case Escalated(step=step):
            return replace(loop, escalated=min(step, len(loop.settings.escalate)), fruitless=0, stall=Stall())


def _started(loop: Loop, event: TurnStarted, at: float) -> Loop:
    carried, waiting = loop.inbox[: event.messages], loop.inbox[event.messages :]
    turn = Turn(
        event.role,
        event.iteration,
        event.attempt,
        event.profile,
        event.session,
        at,
        messages=carried,
        label=event.label,
        word=event.word,
        notes=event.notes,
    )
    worker = event.role is Role.WORKER
    spend = replace(loop.spend, iterations=event.iteration) if worker else loop.spend
    sessions = loop.sessions
    if event.session is SessionUse.NEW:
        sessions = {key: held for key, held in sessions.items() if key != session_key(event.role, event.profile)}
    claimed = loop.claimed and event.role in (Role.SUPERVISOR, Role.AUTHOR)
    loop = replace(loop, consultations=0 if worker else loop.consultations, claimed=claimed, gate=None)
    loop = replace(loop, lacking=(), lacking_since=0.0)
    loop = replace(loop, tries_limits=False, blocked="" if worker else loop.blocked)
    loop = replace(loop, hosts_refused=() if worker else loop.hosts_refused)
    return replace(loop, turn=turn, spend=spend, inbox=waiting, retry=None, answer=None, sessions=sessions)


def _ended(loop: Loop, event: TurnEnded) -> Loop:
    answer, turn = event.answer, loop.turn
    usage = usage_of(loop, answer)
    spend = replace(loop.spend.plus(event.seconds, usage), iterations=_counted(loop, event))
    loop = replace(loop, spend=spend, answer=answer, agent_version=answer.agent_version or loop.agent_version)
    loop = replace(loop, priced=answer.priced or loop.priced, unpriced=loop.unpriced + usage.unpriced)
    session_id = answer.session_id or session_at_work(loop)
    if turn is not None and session_id is not None:
        sessions = with_session(loop, event.role, turn.profile, session_id, answer.session_total)
        loop = replace(loop, sessions=sessions if answer.failure else vouched(sessions, turn, event.transcript))
    if event.role is not Role.WORKER and answer.failure is None:
        loop = replace(loop, consultations=loop.consultations + 1)
    if event.role is Role.WORKER and answer.failure is None:
        loop = replace(_noted_for_stall(loop, event), last_answer=answer.text[-KEPT_ANSWER:], account="", cut_off=None)
    if turn is not None and answer.failure is None:
        loop = replace(loop, limits={name: limit for name, limit in loop.limits.items() if name != turn.profile})
    if event.tests is not None and answer.failure is None:
        loop = replace(loop, acceptance=event.tests, turn=None, answer=None)
    return loop if event.changes is None else _with_changes(loop, event.role, event.changes)


def _with_changes(loop: Loop, role: Role, changes: Changes) -> Loop:
    """A supervisor that changes the workspace voids the earlier gate results. Its own result comes later and stays valid."""
    if role is Role.SUPERVISOR and changes.fingerprint != loop.last_seen:
        loop = replace(loop, gates=(), checked="")
    return replace(loop, changes=changes)


def _counted(loop: Loop, event: TurnEnded) -> int:
    """The number of iterations so far. An iteration that ended counts, even if its `iteration_start` was lost."""
    return max(loop.spend.iterations, event.iteration) if event.role is Role.WORKER else loop.spend.iterations


def _noted_for_stall(loop: Loop, event: TurnEnded) -> Loop:
    answer = sha256(event.answer.text.strip().encode("utf-8", "replace")).hexdigest()[:16]
    unchanged = event.changes is None or event.changes.fingerprint == loop.changes.fingerprint
    again = unchanged and answer == loop.stall.answer
    checks = loop.stall.checks if unchanged else 0
    return replace(
        loop,
        fruitless=loop.fruitless + 1 if unchanged else loop.fruitless,
        stall=replace(
            loop.stall,
            answer=answer,
            answers=loop.stall.answers + 1 if again else int(unchanged),
            checks=checks,
            unchanged=unchanged,
        ),
    )


def given_up(loop: Loop) -> Loop:
    """The loop without its turn. The messages that the prompt carried return to the inbox."""
    carried = loop.turn.messages if loop.turn else ()
    return replace(loop, turn=None, answer=None, inbox=(*carried, *loop.inbox))


def _retried(loop: Loop, event: TurnRetried) -> Loop:
    retry = Retry(event.role, event.iteration, event.attempt, event.not_before, event.failure)
    sessions = loop.sessions
    if event.fresh_session and loop.turn is not None:
        gone = session_key(event.role, loop.turn.profile)
        sessions = {key: session for key, session in sessions.items() if key != gone}
    return replace(given_up(loop), retry=retry, sessions=sessions)


def _limited(loop: Loop, event: LimitReached) -> Loop:
    turn = loop.turn
    limits = {**loop.limits, event.profile: UsageLimit(event.until, event.message, event.strikes)}
    if turn is None or turn.profile != event.profile:
        return replace(loop, limits=limits)
    iterations = turn.iteration - 1 if turn.role is Role.WORKER else loop.spend.iterations
    return replace(given_up(loop), limits=limits, spend=replace(loop.spend, iterations=iterations))
