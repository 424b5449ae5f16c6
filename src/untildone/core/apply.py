"""`apply`: the loop after an event."""

from __future__ import annotations

from itertools import zip_longest

from untildone.core import budget as budgets
from untildone.core import children
from untildone.core.answers import rounds, subtasks
from untildone.core.applying.controls import again, controlled
from untildone.core.applying.sessions import opened_or_distrusted
from untildone.core.applying.turns import given_up, turned
from untildone.core.applying.verdicts import claimed, tried
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
from untildone.core.loop import Loop, Retry, Runner, Stall
from untildone.core.model import (
    Budget,
    KeptStart,
    Outcome,
    Role,
    Status,
)
from untildone.core.protection.sandbox import together
from untildone.core.values.hints import assert_never
from untildone.core.values.value import replace

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
            return controlled(loop, event)
        case RetryRequested() | Rewound() | WorkspaceRestored():
            return again(loop, event)
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
            return turned(loop, event, at)
        case AnswerRead() | GateStarted() | GatesRan():
            return claimed(loop, event, at)
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
    loop = replace(given_up(loop), status=outcome.status, outcome=outcome, reason=reason, retry=retry)
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
        return tried(loop, event)
    if isinstance(event, FailuresExplained):
        return _explained(loop, ignored=event.ignored)
    return _with_child(loop, event)


def _explained(loop: Loop, *, ignored: bool) -> Loop:
    """The loop with the option set as if the person had set it at its creation."""
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
            return replace(loop, sessions=opened_or_distrusted(loop, event))
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


def _edited(loop: Loop, event: LiveStateSeen) -> Loop:
    """A second edit before the mode read the first counts as one edit: `live_before` stays the text before the first."""
    before = event.before if loop.live_state is None else loop.live_before
    in_turn = loop.live_in_turn or loop.turn is not None or not event.at_rest
    return replace(loop, live_state=event.text, live_before=before, live_in_turn=in_turn, live_resumed=False)


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
