"""`apply`: the loop after an event."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core import budget as budgets
from untildone.core import gate_output, rounds, subtasks
from untildone.core.digest import sha256
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    BudgetWarned,
    Entry,
    Event,
    GatesRan,
    GateStarted,
    HookTriggered,
    LimitReached,
    LiveStateSeen,
    LoopCreated,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    PromptReinjected,
    Rested,
    ResumeRequested,
    RunnerLeased,
    SessionOpened,
    SessionRead,
    StartRequested,
    StateRepaired,
    StopRequested,
    SubtasksChanged,
    TurnEnded,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.hints import assert_never
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop, PauseOrder, Retry, Runner, RunningGate, Stall, Turn, UsageLimit, session_key
from untildone.core.model import Budget, Changes, Outcome, Role, Session, SessionUse, Status, Urgency, Usage
from untildone.core.value import replace

KEPT_ANSWER = 20_000
"""How many characters from the end of an answer `Loop.last_answer` keeps."""


def apply(loop: Loop | None, entry: Entry) -> Loop:
    """The loop after an entry of its journal. The first entry of a journal makes the loop."""
    if isinstance(entry.event, LoopCreated):
        return loop or _created(entry.event, entry)
    if loop is None:
        raise ValueError("the first entry of a journal must be loop_created")
    if entry.seq <= loop.seq:
        return loop
    return replace(_changed(loop, entry.event, entry.at), seq=entry.seq, updated_at=entry.at)


def _created(event: LoopCreated, entry: Entry) -> Loop:
    return Loop(
        loop_id=event.loop_id,
        title=event.title,
        description=event.task,
        settings=event.settings,
        budget=event.budget,
        created_at=entry.at,
        updated_at=entry.at,
        seq=entry.seq,
        asked=(event.task,),
    )


def _changed(loop: Loop, event: Event, at: float) -> Loop:
    if loop.status.ended and not isinstance(event, StateRepaired | RunnerLeased):
        return loop
    match event:
        case StartRequested() | PauseRequested() | ResumeRequested() | StopRequested():
            return _controlled(loop, event)
        case MessageSent() | BudgetChanged() | BudgetWarned() | SubtasksChanged() | LoopRenamed():
            return _instructed(loop, event)
        case LiveStateSeen() | SessionRead() | WorkspaceSeen():
            return _observed(loop, event)
        case TurnStarted() | TurnEnded() | TurnInterrupted() | TurnRetried() | SessionOpened() | LimitReached():
            return _turned(loop, event, at)
        case AnswerRead():
            return _read(loop, event)
        case GateStarted(command=command):
            return replace(loop, gate=RunningGate(command, at))
        case GatesRan():
            return _judged(loop, event)
        case Rested(outcome=outcome, reason=reason):
            return replace(
                _given_up(loop),
                status=outcome.status,
                outcome=outcome,
                reason=reason,
                pause=None,
                stop=None,
                gate=None,
                runner=None,
            )
        case RunnerLeased(token=token, pid=pid, machine=machine, host=host):
            return replace(loop, runner=Runner(token, pid, machine), gate=None, host=host or loop.host)
        case StateRepaired() | LoopCreated() | HookTriggered() | PromptReinjected():
            return loop
        case _:
            assert_never(event)


def _controlled(loop: Loop, event: StartRequested | PauseRequested | ResumeRequested | StopRequested) -> Loop:
    match event:
        case StartRequested(host=host):
            return replace(loop, status=Status.RUNNING, host=host) if loop.status is Status.CREATED else loop
        case PauseRequested(urgency=urgency, outcome=outcome):
            order = _order(loop.pause, urgency, outcome)
            return replace(loop, pause=order) if loop.status is Status.RUNNING else loop
        case StopRequested(urgency=urgency, outcome=outcome):
            return replace(loop, stop=_order(loop.stop, urgency, outcome))
        case ResumeRequested(skip_wait=skip_wait, host=host):
            resumed = replace(loop, status=Status.RUNNING, outcome=None, reason="", pause=None, stall=Stall())
            resumed = replace(resumed, asks_person=False, consultations=0, host=host or loop.host)
            return _without_waits(resumed) if skip_wait else resumed


def _order(before: PauseOrder | None, urgency: Urgency, outcome: Outcome) -> PauseOrder:
    """The order to pause or stop after a second request. NOW stays NOW, and ABANDONED stays ABANDONED."""
    if before is None:
        return PauseOrder(urgency, outcome)
    given_up = before.outcome is Outcome.ABANDONED
    return PauseOrder(
        before.urgency if before.urgency is Urgency.NOW else urgency, before.outcome if given_up else outcome
    )


def _without_waits(loop: Loop) -> Loop:
    retry = loop.retry and replace(loop.retry, not_before=0.0)
    return replace(loop, limits={}, retry=retry, tries_limits=True)


def _instructed(loop: Loop, event: MessageSent | BudgetChanged | BudgetWarned | SubtasksChanged | LoopRenamed) -> Loop:
    match event:
        case MessageSent(text=text):
            return _with_message(loop, text)
        case BudgetChanged(limit=limit, amount=amount, add=add):
            return _with_budget(loop, budgets.changed(loop.budget, limit, amount, add=add))
        case BudgetWarned(limit=limit):
            return replace(loop, warned=(*loop.warned, limit))
        case SubtasksChanged(changes=changes):
            return replace(loop, tasks=subtasks.changed(loop.tasks, changes))
        case LoopRenamed(title=title):
            return replace(loop, title=title)


def _observed(loop: Loop, event: LiveStateSeen | SessionRead | WorkspaceSeen) -> Loop:
    match event:
        case WorkspaceSeen(changes=changes) if loop.start.fingerprint:
            return replace(loop, changes=changes, gates=(), checked="")
        case WorkspaceSeen(changes=changes):
            return replace(loop, start=changes, changes=changes)
        case LiveStateSeen():
            return _edited(loop, event)
        case SessionRead(asked=asked):
            return replace(loop, asked_in_session=asked, asked_by_then=len(loop.asked))


def _edited(loop: Loop, event: LiveStateSeen) -> Loop:
    """A second edit before the mode read the first counts as one edit: `live_before` stays the text before the first."""
    before = event.before if loop.live_state is None else loop.live_before
    in_turn = loop.live_in_turn or loop.turn is not None
    return replace(loop, live_state=event.text, live_before=before, live_in_turn=in_turn)


def _with_message(loop: Loop, text: str) -> Loop:
    parsed = rounds.parse(text, budgets.rounds_left(loop.budget, loop.spend))
    if parsed.changed and parsed.remaining is not None:
        iterations = loop.spend.iterations + parsed.remaining
        loop = _with_budget(loop, replace(loop.budget, iterations=iterations))
    if not parsed.rest.strip():
        return loop
    loop = replace(loop, asks_person=False, consultations=0, stall=Stall())
    return replace(loop, inbox=(*loop.inbox, parsed.rest), asked=(*loop.asked, parsed.rest))


def _with_budget(loop: Loop, budget: Budget) -> Loop:
    """Set a new budget. A limit counts as warned about only if the warning is still due under the new budget."""
    warn_from = loop.settings.warn_from
    due = {gauge.limit for gauge in budgets.gauges(budget, loop.spend) if gauge.is_nearly_used(warn_from)}
    return replace(loop, budget=budget, warned=tuple(limit for limit in loop.warned if limit in due))


def _turned(
    loop: Loop, event: TurnStarted | TurnEnded | TurnInterrupted | TurnRetried | SessionOpened | LimitReached, at: float
) -> Loop:
    match event:
        case TurnStarted():
            return _started(loop, event, at)
        case SessionOpened(role=role, profile=profile, session_id=session_id):
            return replace(loop, sessions=_with_session(loop, role, profile, session_id))
        case TurnEnded():
            return _ended(loop, event)
        case TurnInterrupted(seconds=seconds, reason=reason, usage=usage):
            return replace(
                _given_up(loop), spend=loop.spend.plus(seconds, usage), asks_person=reason is Interruption.PERSON
            )
        case TurnRetried():
            return _retried(loop, event)
        case LimitReached():
            return _limited(loop, event)


def _started(loop: Loop, event: TurnStarted, at: float) -> Loop:
    carried, waiting = loop.inbox[: event.messages], loop.inbox[event.messages :]
    turn = Turn(event.role, event.iteration, event.attempt, event.profile, event.session, at, carried, event.label)
    worker = event.role is Role.WORKER
    spend = replace(loop.spend, iterations=event.iteration) if worker else loop.spend
    sessions = loop.sessions
    if event.session is SessionUse.NEW:
        sessions = {key: held for key, held in sessions.items() if key != session_key(event.role, event.profile)}
    claimed = loop.claimed and event.role is Role.SUPERVISOR
    loop = replace(loop, consultations=0 if worker else loop.consultations, claimed=claimed, gate=None)
    loop = replace(loop, tries_limits=False)
    return replace(loop, turn=turn, spend=spend, inbox=waiting, retry=None, answer=None, sessions=sessions)


def _ended(loop: Loop, event: TurnEnded) -> Loop:
    answer, turn = event.answer, loop.turn
    usage = _usage(loop, event)
    spend = replace(loop.spend.plus(event.seconds, usage), iterations=_counted(loop, event))
    loop = replace(loop, spend=spend, answer=answer, agent_version=answer.agent_version or loop.agent_version)
    session_id = answer.session_id or _session_at_work(loop)
    if turn is not None and session_id is not None:
        loop = replace(loop, sessions=_with_session(loop, event.role, turn.profile, session_id, answer.session_total))
    if event.role is not Role.WORKER and answer.failure is None:
        loop = replace(loop, consultations=loop.consultations + 1)
    if event.role is Role.WORKER and answer.failure is None:
        loop = replace(_noted_for_stall(loop, event), last_answer=answer.text[-KEPT_ANSWER:])
    if turn is not None and answer.failure is None:
        loop = replace(loop, limits={name: limit for name, limit in loop.limits.items() if name != turn.profile})
    return loop if event.changes is None else _with_changes(loop, event.role, event.changes)


def _with_changes(loop: Loop, role: Role, changes: Changes) -> Loop:
    """A supervisor that changes the workspace voids the earlier gate results. Its own result comes later and stays valid."""
    if role is Role.SUPERVISOR and changes.fingerprint != loop.last_seen:
        loop = replace(loop, gates=(), checked="")
    return replace(loop, changes=changes)


def _session_at_work(loop: Loop) -> str | None:
    """The id of the session that the turn resumed or opened, for an answer without a session id."""
    turn = loop.turn
    known = None if turn is None or turn.session is SessionUse.FORK else loop.session_of(turn.role, turn.profile)
    return known.session_id if known else None


def _counted(loop: Loop, event: TurnEnded) -> int:
    """The number of iterations so far. An iteration that ended counts, even if its `iteration_start` was lost."""
    return max(loop.spend.iterations, event.iteration) if event.role is Role.WORKER else loop.spend.iterations


def _usage(loop: Loop, event: TurnEnded) -> Usage:
    """The usage of this turn. An agent that reports only totals of the session used the growth of these totals."""
    total = event.answer.session_total
    if total is None or loop.turn is None:
        return event.answer.usage
    return total.since(_total_before(loop, loop.turn))


def _total_before(loop: Loop, turn: Turn) -> Usage:
    role = Role.WORKER if turn.session is SessionUse.FORK else turn.role
    session = None if turn.session is SessionUse.NEW else loop.session_of(role, turn.profile)
    return session.total if session else Usage()


def _with_session(
    loop: Loop, role: Role, profile: str, session_id: str, total: Usage | None = None
) -> Mapping[str, Session]:
    key = session_key(role, profile)
    known, turn = loop.sessions.get(key), loop.turn
    resumed = turn is not None and turn.role is role and turn.session is SessionUse.RESUME
    kept = known.total if known is not None and (resumed or known.session_id == session_id) else Usage()
    machine = loop.runner.machine if loop.runner else ""
    return {**loop.sessions, key: Session(session_id, total or kept, machine)}


def _noted_for_stall(loop: Loop, event: TurnEnded) -> Loop:
    answer = sha256(event.answer.text.strip().encode("utf-8", "replace")).hexdigest()[:16]
    unchanged = event.changes is None or event.changes.fingerprint == loop.changes.fingerprint
    again = unchanged and answer == loop.stall.answer
    checks = loop.stall.checks if unchanged else 0
    return replace(
        loop,
        stall=replace(
            loop.stall,
            answer=answer,
            answers=loop.stall.answers + 1 if again else int(unchanged),
            checks=checks,
            unchanged=unchanged,
        ),
    )


def _given_up(loop: Loop) -> Loop:
    """The loop without its turn. The messages that the prompt carried return to the inbox."""
    carried = loop.turn.messages if loop.turn else ()
    return replace(loop, turn=None, answer=None, inbox=(*carried, *loop.inbox))


def _retried(loop: Loop, event: TurnRetried) -> Loop:
    retry = Retry(event.role, event.iteration, event.attempt, event.not_before, event.failure)
    sessions = loop.sessions
    if event.fresh_session and loop.turn is not None:
        gone = session_key(event.role, loop.turn.profile)
        sessions = {key: session for key, session in sessions.items() if key != gone}
    return replace(_given_up(loop), retry=retry, sessions=sessions)


def _limited(loop: Loop, event: LimitReached) -> Loop:
    turn = loop.turn
    limits = {**loop.limits, event.profile: UsageLimit(event.until, event.message, event.strikes)}
    if turn is None or turn.profile != event.profile:
        return replace(loop, limits=limits)
    iterations = turn.iteration - 1 if turn.role is Role.WORKER else loop.spend.iterations
    return replace(_given_up(loop), limits=limits, spend=replace(loop.spend, iterations=iterations))


def _read(loop: Loop, event: AnswerRead) -> Loop:
    return replace(
        loop,
        turn=None,
        answer=None,
        live_state=None,
        live_before="",
        live_in_turn=False,
        claimed=event.claimed,
        gates=() if event.claimed and not loop.claimed else loop.gates,
        checked="" if event.claimed and not loop.claimed else loop.checked,
        stall=replace(loop.stall, answer="", answers=0) if event.progressed else loop.stall,
        skill_state=loop.skill_state if event.skill_state is None else event.skill_state,
        tasks=subtasks.changed(loop.tasks, event.tasks),
    )


def _judged(loop: Loop, event: GatesRan) -> Loop:
    results = (*loop.gates, *event.results)
    failed = tuple(result for result in results if not result.passed)
    spend = loop.spend.plus(event.seconds, Usage())
    loop = replace(loop, turn=None, answer=None, gates=results, gate=None, claimed=not failed, spend=spend)
    loop = replace(loop, checked=event.seen or loop.checked)
    if not failed:
        return loop
    check = gate_output.signature(failed)
    again = loop.stall.unchanged and check == loop.stall.check
    checks = loop.stall.checks + 1 if again else int(loop.stall.unchanged)
    return replace(loop, stall=replace(loop.stall, check=check, checks=checks))
