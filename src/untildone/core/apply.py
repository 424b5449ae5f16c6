"""`apply`: the loop after an event."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from untildone.core import budget as budgets
from untildone.core import children
from untildone.core.answers import gate_output, rounds, subtasks
from untildone.core.events import (
    AcceptanceRan,
    AnswerRead,
    BaselineRan,
    BudgetChanged,
    BudgetWarned,
    ChangesApproved,
    ChildReserved,
    ChildSpent,
    Entry,
    Escalated,
    Event,
    FailuresExplained,
    GatesRan,
    GateStarted,
    HookTriggered,
    HostsAsked,
    LimitReached,
    LiveStateSeen,
    LoopCreated,
    LoopRenamed,
    MachineLacked,
    MessageSent,
    PauseRequested,
    PromptReinjected,
    Rested,
    ResumeRequested,
    RetryRequested,
    Rewound,
    RunnerLeased,
    SandboxSeen,
    SessionDistrusted,
    SessionOpened,
    SessionRead,
    SettingsChanged,
    StartKept,
    StartRequested,
    StateRepaired,
    StopRequested,
    SubtasksChanged,
    SupervisorSeen,
    TurnEnded,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
    UsageSeen,
    WorkspaceRestored,
    WorkspaceSeen,
)
from untildone.core.history import position
from untildone.core.history.position import Restoring
from untildone.core.kinds import Host, Interruption
from untildone.core.loop import Loop, PauseOrder, Retry, Runner, RunningGate, Stall, Turn, UsageLimit, session_key
from untildone.core.model import (
    Answer,
    BeforeWork,
    Budget,
    Changes,
    KeptStart,
    Outcome,
    Role,
    Session,
    SessionUse,
    Status,
    Urgency,
    Usage,
)
from untildone.core.protection.sandbox import together
from untildone.core.values.digest import sha256
from untildone.core.values.hints import assert_never
from untildone.core.values.value import replace

KEPT_ANSWER = 20_000
"""How many characters from the end of an answer `Loop.last_answer` keeps."""
TAKEN_BACK = "Taken back to"
REWIND_UNDONE = "The rewind was taken back."
"""How the reasons begin with which a loop rests after a rewind."""


_AFTER_THE_END = (StateRepaired, RunnerLeased, RetryRequested, Rewound, LoopRenamed, ChildSpent)
"""Events that change a loop which has ended."""


def apply(loop: Loop | None, entry: Entry) -> Loop:
    """The loop after an entry of its journal. The first entry of a journal makes the loop."""
    if isinstance(entry.event, LoopCreated):
        return loop or _created(entry.event, entry)
    if loop is None:
        raise ValueError("the first entry of a journal must be loop_created")
    if entry.seq <= loop.seq:
        return loop
    changed = _changed(loop, entry.event, entry.at)
    # What is written after the end, such as a report of damage, does not move the end: receipts name it.
    return replace(
        changed, seq=entry.seq, updated_at=loop.updated_at if changed.status.ended and loop.status.ended else entry.at
    )


def refusal(before: Loop | None, entry: Entry) -> str:
    """Why an entry that completes the loop changes nothing: its gates have not passed. Empty: it is applied."""
    event = entry.event
    if before is None or before.status.ended or entry.seq <= before.seq or not isinstance(event, Rested):
        return ""
    if event.outcome.status is not Status.COMPLETED or before.not_ours or _may_complete(before, event.outcome):
        return ""
    return f"entry {entry.seq} says {event.outcome.word}, which does not follow from the entries before; it was ignored"


def _created(event: LoopCreated, entry: Entry) -> Loop:
    return Loop(
        loop_id=event.loop_id,
        title=event.title,
        description=event.task,
        settings=event.settings,
        budget=event.budget,
        parent=event.parent,
        created_at=entry.at,
        updated_at=entry.at,
        seq=entry.seq,
        asked=(event.task,),
    )


def _changed(loop: Loop, event: Event, at: float) -> Loop:
    if loop.status.ended and not isinstance(event, _AFTER_THE_END):
        return loop
    match event:
        case StartRequested() | PauseRequested() | ResumeRequested() | StopRequested():
            return _controlled(loop, event)
        case RetryRequested() | Rewound() | WorkspaceRestored():
            return _again(loop, event)
        case MessageSent() | BudgetChanged() | BudgetWarned() | SubtasksChanged() | LoopRenamed() | ChangesApproved():
            return _instructed(loop, event)
        case (
            LiveStateSeen()
            | SessionRead()
            | WorkspaceSeen()
            | SettingsChanged()
            | SessionOpened()
            | SessionDistrusted()
            | SupervisorSeen()
            | StartKept()
            | SandboxSeen()
            | HostsAsked()
            | UsageSeen()
        ):
            return _observed(loop, event)
        case BaselineRan() | FailuresExplained() | AcceptanceRan() | ChildReserved() | ChildSpent():
            return _beside(loop, event)
        case (
            TurnStarted()
            | TurnEnded()
            | TurnInterrupted()
            | TurnRetried()
            | LimitReached()
            | MachineLacked()
            | Escalated()
        ):
            return _turned(loop, event, at)
        case AnswerRead() | GateStarted() | GatesRan():
            return _claimed(loop, event, at)
        case Rested():
            return _rested(loop, event)
        case RunnerLeased(token=token, pid=pid, machine=machine, host=host):
            # The runner before did not bring the loop to rest: what it left running may have edited the live state file.
            unrested = loop.live_in_turn or loop.runner is not None
            loop = replace(loop, runner=Runner(token, pid, machine), gate=None, host=host or loop.host)
            return replace(loop, live_in_turn=unrested)
        case StateRepaired() | LoopCreated() | HookTriggered() | PromptReinjected():
            return loop
        case _:
            assert_never(event)


def _rested(loop: Loop, event: Rested) -> Loop:
    """The loop at rest. An entry that completes a loop whose gates have not passed is forged or defective: it changes nothing."""
    outcome, reason = event.outcome, event.reason
    if outcome.status is Status.COMPLETED and loop.not_ours:
        outcome, reason = Outcome.FAILED, f"Its end is not believed: {loop.not_ours}."
    elif outcome.status is Status.COMPLETED and not _may_complete(loop, outcome):
        return loop
    retry = _failed_turn(loop) if outcome is Outcome.FAILED else loop.retry
    loop = replace(_given_up(loop), status=outcome.status, outcome=outcome, reason=reason, retry=retry)
    if outcome is Outcome.BLOCKED and loop.questions[-1:] != (reason,):
        loop = replace(loop, questions=(*loop.questions, reason))
    in_turn = loop.live_in_turn and loop.live_state is not None
    return replace(loop, pause=None, stop=None, gate=None, runner=None, live_in_turn=in_turn, blocked="")


def _failed_turn(loop: Loop) -> Retry | None:
    """The turn that ended the loop by its failure: a retry of the loop asks the agent again, inside the same iteration."""
    failure = loop.answer.failure if loop.answer else None
    if loop.turn is None or failure is None:
        return loop.retry
    return Retry(loop.turn.role, loop.turn.iteration, 0, 0.0, failure)


def _may_complete(loop: Loop, outcome: Outcome) -> bool:
    # Imported late: the stop hook imports this module for every stop, and few stops end a loop.
    from untildone.core.receipts.completion import may_complete

    return may_complete(loop, outcome)


def _controlled(loop: Loop, event: StartRequested | PauseRequested | ResumeRequested | StopRequested) -> Loop:
    match event:
        case StartRequested(host=host):
            return replace(loop, status=Status.RUNNING, host=host) if loop.status is Status.CREATED else loop
        case PauseRequested(urgency=urgency, outcome=outcome):
            order = _order(loop.pause, urgency, outcome if outcome.status is Status.PAUSED else Outcome.PAUSED)
            return replace(loop, pause=order) if loop.status is Status.RUNNING else loop
        case StopRequested(urgency=urgency, outcome=outcome):
            outcome = outcome if outcome.status is Status.FAILED else Outcome.STOPPED
            return replace(loop, stop=_order(loop.stop, urgency, outcome))
        case ResumeRequested(skip_wait=skip_wait, host=host):
            resumed = _going(loop, host)
            return _without_waits(resumed) if skip_wait else resumed


def _going(loop: Loop, host: Host) -> Loop:
    """The loop at work again after a rest or an end."""
    loop = replace(loop, status=Status.RUNNING, outcome=None, reason="", pause=None, stall=Stall(), asks_person=False)
    return replace(
        loop, consultations=0, host=host or loop.host, refuted=False, fruitless=0, lacking=(), lacking_since=0.0
    )


def _again(loop: Loop, event: RetryRequested | Rewound | WorkspaceRestored) -> Loop:
    match event:
        case RetryRequested(host=host):
            return replace(_going(loop, host), runner=None) if loop.status is Status.FAILED else loop
        case WorkspaceRestored(changes=changes, tree=tree):
            known = changes.fingerprint if loop.held is not None and loop.held.tree == tree else ""
            return replace(loop, changes=changes, restoring=None, weighed=known)
        case Rewound():
            return _rewound(loop, event)


def _rewound(loop: Loop, event: Rewound) -> Loop:
    then, tree = event.position, event.position.changes.tree
    loop = replace(_given_up(loop), **{name: getattr(then, name) for name in position.names()})
    loop = replace(loop, status=Status.PAUSED, outcome=Outcome.PAUSED, reason=_where(event), account=event.account)
    loop = replace(
        loop, cut_off=None, claimed=False, blocked="", refuted=False, stall=Stall(), retry=None, consultations=0
    )
    loop = replace(loop, live_state=None, live_before="", live_in_turn=False, asks_person=False, stop=None, pause=None)
    restoring = Restoring(tree, event.kept) if tree and event.kept else None
    loop = replace(loop, held=None, weighed="")
    return replace(loop, gate=None, runner=None, restoring=restoring)


def _where(event: Rewound) -> str:
    if event.undone:
        return REWIND_UNDONE
    return f"{TAKEN_BACK} where it was after round {event.to}." if event.to else f"{TAKEN_BACK} its start."


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


def _instructed(
    loop: Loop, event: MessageSent | BudgetChanged | BudgetWarned | SubtasksChanged | LoopRenamed | ChangesApproved
) -> Loop:
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
        case ChangesApproved():
            return _approved(loop, event)


def _approved(loop: Loop, event: ChangesApproved) -> Loop:
    """The loop with the paths approved. If a gate refused a claim only for such paths, the claim stands again and is judged anew."""
    before = zip_longest(loop.approved, loop.approved_contents, fillvalue="")
    approved = dict((*before, *zip_longest(event.paths, event.contents[: len(event.paths)], fillvalue="")))
    refused = {path for result in loop.failed_gates for path in result.tampered}
    claimed = loop.claimed or bool(refused and refused <= set(approved))
    fresh = claimed and (bool(refused) or loop.claimed)
    contents = tuple(approved.values())
    loop = replace(loop, approved=tuple(approved), approved_contents=contents, claimed=claimed, stall=Stall())
    return replace(loop, gates=(), checked="") if fresh else loop


def _beside(loop: Loop, event: BaselineRan | FailuresExplained | AcceptanceRan | ChildReserved | ChildSpent) -> Loop:
    """What happens beside the rounds: checks before any work, and loops below this one."""
    if isinstance(event, BaselineRan | AcceptanceRan):
        return _tried(loop, event)
    if isinstance(event, FailuresExplained):
        return _explained(loop, ignored=event.ignored)
    return _with_child(loop, event)


def _explained(loop: Loop, *, ignored: bool) -> Loop:
    """From now on as if the person had said so when they created the loop."""
    from untildone.core.receipts.proving import IGNORE_FAILING

    settings = replace(loop.settings, options={**loop.settings.options, IGNORE_FAILING: ignored})
    baseline = tuple(replace(each, ignored=ignored) for each in loop.baseline)
    return replace(loop, settings=settings, baseline=baseline, failures_explained=True)


def _with_child(loop: Loop, event: ChildReserved | ChildSpent) -> Loop:
    if isinstance(event, ChildReserved):
        return replace(loop, children=children.reserve(loop.children, event.child))
    return replace(loop, children=children.report(loop.children, event.child_id, event.spend, ended=event.ended))


def _observed(
    loop: Loop,
    event: LiveStateSeen
    | SessionRead
    | WorkspaceSeen
    | SettingsChanged
    | SessionOpened
    | SessionDistrusted
    | SupervisorSeen
    | StartKept
    | SandboxSeen
    | HostsAsked
    | UsageSeen,
) -> Loop:
    match event:
        case UsageSeen(role=role, iteration=iteration, so_far=so_far):
            at_work = loop.turn is not None and (loop.turn.role, loop.turn.iteration) == (role, iteration)
            return replace(loop, turn=replace(loop.turn, so_far=so_far)) if loop.turn and at_work else loop
        case SessionOpened() | SessionDistrusted():
            return replace(loop, sessions=_sessions(loop, event))
        case SupervisorSeen(files=files):
            return _with_start(loop, replace(_start_of(loop), supervisor_files=files), loop.start_kept_by)
        case StartKept(machine=machine, record=record, programs=programs, problem=problem):
            known = loop.starts.get(machine, KeptStart())
            kept = replace(known, record=record, programs=programs, problem=problem)
            return _with_start(loop, kept, machine)
        case SandboxSeen(held=held):
            others = tuple(each for each in loop.containments if each != held)
            return replace(loop, containments=(*others, held))
        case HostsAsked(hosts=hosts):
            refused = tuple(each for each in hosts if not each.allowed)
            loop = replace(loop, hosts=together((*loop.hosts, *hosts)))
            return replace(loop, hosts_refused=refused) if event.role is Role.WORKER else loop
        case WorkspaceSeen(changes=changes) if loop.start.fingerprint:
            return replace(loop, changes=changes, gates=(), checked="")
        case WorkspaceSeen(changes=changes, record=record, programs=programs):
            loop = replace(loop, start=changes, start_record=record, start_programs=programs, changes=changes)
            return replace(loop, uncommitted=event.uncommitted, refused=event.refused)
        case LiveStateSeen():
            return _edited(loop, event)
        case SettingsChanged(paths=paths):
            return replace(loop, settings_changed=tuple(dict.fromkeys((*loop.settings_changed, *paths))))
        case SessionRead(asked=asked):
            return replace(loop, asked_in_session=asked, asked_by_then=len(loop.asked))


def _start_of(loop: Loop) -> KeptStart:
    return KeptStart(loop.start_record, loop.start_programs, loop.start_problem, loop.supervisor_files)


def _with_start(loop: Loop, kept: KeptStart, machine: str) -> Loop:
    """The loop, judged with what was kept of its start: by this machine of a cluster, or by the only one, which has no name."""
    return replace(
        loop,
        start_record=kept.record,
        start_programs=kept.programs,
        start_problem=kept.problem,
        supervisor_files=kept.supervisor_files,
        start_kept_by=machine,
        starts={**loop.starts, machine: kept} if machine else loop.starts,
    )


def _tried(loop: Loop, event: BaselineRan | AcceptanceRan) -> Loop:
    """The loop after its checks, or its acceptance tests, ran before any work. Acceptance tests that no check runs do not count: the author
    is asked again."""
    loop, written = _after_gates(loop, event.seconds), loop.acceptance
    if isinstance(event, BaselineRan):
        return replace(loop, baseline=event.results)
    are_run = any(each.said is not BeforeWork.NOT_RUN for each in event.results)
    return replace(loop, acceptance=written and replace(written, tried=event.results) if are_run else None)


def _edited(loop: Loop, event: LiveStateSeen) -> Loop:
    """A second edit before the mode read the first counts as one edit: `live_before` stays the text before the first."""
    before = event.before if loop.live_state is None else loop.live_before
    in_turn = loop.live_in_turn or loop.turn is not None or not event.at_rest
    return replace(loop, live_state=event.text, live_before=before, live_in_turn=in_turn)


def _with_message(loop: Loop, text: str) -> Loop:
    parsed = rounds.parse(text, budgets.rounds_left(loop.budget, loop.spend))
    if parsed.changed and parsed.remaining is not None:
        iterations = loop.spend.iterations + parsed.remaining
        loop = _with_budget(loop, replace(loop.budget, iterations=iterations))
    if not parsed.rest.strip():
        return loop
    loop = replace(loop, asks_person=False, consultations=0, stall=Stall(), refuted=False, fruitless=0)
    return replace(loop, inbox=(*loop.inbox, parsed.rest), asked=(*loop.asked, parsed.rest))


def _with_budget(loop: Loop, budget: Budget) -> Loop:
    """Set a new budget. A limit counts as warned about only if the warning is still due under the new budget."""
    warn_from = loop.settings.warn_from
    due = {gauge.limit for gauge in budgets.gauges(budget, loop.spend) if gauge.is_nearly_used(warn_from)}
    return replace(loop, budget=budget, warned=tuple(limit for limit in loop.warned if limit in due))


def _turned(
    loop: Loop,
    event: TurnStarted | TurnEnded | TurnInterrupted | TurnRetried | LimitReached | MachineLacked | Escalated,
    at: float,
) -> Loop:
    match event:
        case TurnStarted():
            return _started(loop, event, at)
        case TurnEnded():
            return _ended(loop, event)
        case TurnInterrupted(seconds=seconds, reason=reason, usage=usage):
            at_limit = reason in (Interruption.BUDGET, Interruption.TIMEOUT) and event.role is Role.WORKER
            loop = replace(loop, sessions=_sessions_after_cut(loop, event))
            loop = replace(_given_up(loop), priced=event.priced or loop.priced)
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
    session_id = answer.session_id or _session_at_work(loop)
    if turn is not None and session_id is not None:
        sessions = _with_session(loop, event.role, turn.profile, session_id, answer.session_total)
        loop = replace(loop, sessions=sessions if answer.failure else _vouched(sessions, turn, event.transcript))
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


def _session_at_work(loop: Loop) -> str | None:
    """The id of the session that the turn resumed or opened, for an answer without a session id."""
    turn = loop.turn
    known = None if turn is None or turn.session is SessionUse.FORK else loop.session_of(turn.role, turn.profile)
    return known.session_id if known else None


def _counted(loop: Loop, event: TurnEnded) -> int:
    """The number of iterations so far. An iteration that ended counts, even if its `iteration_start` was lost."""
    return max(loop.spend.iterations, event.iteration) if event.role is Role.WORKER else loop.spend.iterations


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


def _with_session(
    loop: Loop, role: Role, profile: str, session_id: str, total: Usage | None = None
) -> Mapping[str, Session]:
    key = session_key(role, profile)
    known, turn = loop.sessions.get(key), loop.turn
    resumed = turn is not None and turn.role is role and turn.session is SessionUse.RESUME
    kept = known.total if known is not None and (resumed or known.session_id == session_id) else Usage()
    machine = loop.runner.machine if loop.runner else ""
    transcript = known.transcript if known is not None and known.session_id == session_id else ""
    return {**loop.sessions, key: Session(session_id, total or kept, machine, transcript)}


def _sessions_after_cut(loop: Loop, event: TurnInterrupted) -> Mapping[str, Session]:
    turn = loop.turn
    known = loop.session_of(event.role, turn.profile) if turn is not None else None
    if turn is None or known is None or event.session_total is None:
        return loop.sessions
    return _with_session(loop, event.role, turn.profile, known.session_id, event.session_total)


def _vouched(sessions: Mapping[str, Session], turn: Turn, transcript: str) -> Mapping[str, Session]:
    """The sessions with the digest of the transcript after a turn. A fork left the worker's session as it was."""
    key = session_key(turn.role, turn.profile)
    return {**sessions, key: replace(sessions[key], transcript=transcript)}


def _sessions(loop: Loop, event: SessionOpened | SessionDistrusted) -> Mapping[str, Session]:
    if isinstance(event, SessionOpened):
        return _with_session(loop, event.role, event.profile, event.session_id)
    key = session_key(Role.WORKER, event.profile)
    known = loop.sessions.get(key)
    return loop.sessions if known is None else {**loop.sessions, key: replace(known, transcript="")}


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
        blocked=event.blocked,
        gates=() if event.claimed and not loop.claimed else loop.gates,
        needed=event.needed if event.claimed and not loop.claimed else loop.needed,
        checked="" if event.claimed and not loop.claimed else loop.checked,
        stall=replace(loop.stall, answer="", answers=0) if event.progressed else loop.stall,
        fruitless=0 if event.progressed else loop.fruitless,
        skill_state=loop.skill_state if event.skill_state is None else event.skill_state,
        tasks=subtasks.changed(loop.tasks, event.tasks),
    )


def _after_gates(loop: Loop, seconds: float) -> Loop:
    """The loop with the time that gates took."""
    return replace(loop, spend=loop.spend.plus(seconds, Usage()), gate_seconds=loop.gate_seconds + seconds)


def _claimed(loop: Loop, event: AnswerRead | GateStarted | GatesRan, at: float) -> Loop:
    """What an answer claims, and what the gates make of it."""
    match event:
        case AnswerRead():
            return _read(loop, event)
        case GateStarted(command=command):
            return replace(loop, gate=RunningGate(command, at))
        case GatesRan():
            return _judged(loop, event)


def _judged(loop: Loop, event: GatesRan) -> Loop:
    if event.weighs:
        from untildone.core.history import ratchet  # the stop hook imports this module for every stop

        return ratchet.weighed(_after_gates(loop, event.seconds), event)
    loop = replace(loop, blocked="", refuted=True) if loop.blocked else loop
    results = (*loop.gates, *event.results)
    failed = tuple(result for result in results if not result.passed)
    loop = replace(_after_gates(loop, event.seconds), turn=None, answer=None, gates=results, gate=None)
    loop = replace(loop, claimed=loop.claimed and not failed, checked=event.seen or loop.checked)
    loop = replace(loop, signs=event.signs or loop.signs)
    if not failed:
        return loop
    check = gate_output.signature(failed)
    again = loop.stall.unchanged and check == loop.stall.check
    checks = loop.stall.checks + 1 if again else int(loop.stall.unchanged)
    return replace(
        loop, stall=replace(loop.stall, check=check, checks=checks), fruitless=_fruitless_after_gates(loop, check)
    )


def _fruitless_after_gates(loop: Loop, check: str) -> int:
    """Rounds without progress after gates failed. A round that changed nothing is counted already."""
    if check != loop.stall.check:
        return 0
    return loop.fruitless if loop.stall.unchanged else loop.fruitless + 1
