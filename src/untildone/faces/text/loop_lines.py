"""Journal entries, agent events and gates as lines of text for people."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import assert_never

from untildone.core import budget as budgets
from untildone.core import limits
from untildone.core.answers import rounds
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
from untildone.core.kinds import Interruption, Source
from untildone.core.limits import duration
from untildone.core.loop import Loop
from untildone.core.model import (
    BeforeWork,
    FailureKind,
    GateResult,
    Outcome,
    Role,
    Subtask,
    SubtaskChange,
    SubtaskStatus,
    Urgency,
)
from untildone.core.plugins.agent_io import (
    AgentEvent,
    Notice,
    Said,
    SessionKnown,
    Thought,
    ToolEnded,
    ToolStarted,
    Used,
)
from untildone.core.receipts.proving import PROOFS
from untildone.core.values.value import dataclass
from untildone.faces.text.plain import harmless, one_line
from untildone.operations import output

SHOWN_TAIL = 5
LONGEST_REASON = 1000
"""Characters. The way out is at its end."""


class Kind(StrEnum):
    """The kind of a line, which decides its colour."""

    HEADER = "header"
    SAID = "said"
    DONE = "done"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and its kind."""

    text: str
    kind: Kind = Kind.PLAIN


def clock(at: float, now: float | None = None) -> str:
    """The time of day; with the date, if it is another day than `now`."""
    then, today = time.localtime(at), time.localtime(now)
    return time.strftime("%H:%M:%S" if then[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", then)


def of_speech(text: str) -> tuple[Line, ...]:
    """The words of an agent, with its line breaks."""
    lines = harmless(text).strip("\n").rstrip().split("\n")
    return tuple(Line(f"  {line}".rstrip(), Kind.SAID) for line in lines) if any(lines) else ()


def of_agent(event: AgentEvent) -> Line | None:
    """An event of the agent on one line; None if there is nothing to show."""
    match event:
        case Said(text):
            return Line(f"  {one_line(text.strip())}", Kind.SAID) if text.strip() else None
        case Thought(text):
            return Line(f"  … {one_line(text)}", Kind.QUIET) if text.strip() else None
        case ToolStarted(tool, summary):
            return Line(f"  ▸ {one_line(f'{tool} {summary}')}", Kind.DONE)
        case ToolEnded(tool, ok, summary):
            return None if ok else Line(f"  ✗ {one_line(f'{tool} {summary}')}", Kind.WARNING)
        case Notice(text):
            return Line(f"  ! {one_line(text)}", Kind.WARNING)
        case SessionKnown() | Used():
            return None
        case _:
            assert_never(event)


def of_gate_start(command: str) -> Line:
    """A gate that starts to run."""
    return Line(f"gate: {one_line(command)} …", Kind.QUIET)


TRIALS_SHOWN = 10
"""Of many trials, so many are shown as lines."""


def is_shown_trial(number: int, total: int) -> bool:
    """Whether a trial is shown where each takes a line: every one of few, every tenth part of many."""
    return total <= TRIALS_SHOWN or number * TRIALS_SHOWN // total != (number - 1) * TRIALS_SHOWN // total


def of_trial(proof: str, number: int, total: int, about: str) -> Line:
    """A trial of a proof that starts to run."""
    return Line(f"  {proof.replace('_', ' ')} {number} of {total}: {one_line(about)}", Kind.QUIET)


def of_gate(result: GateResult) -> tuple[Line, ...]:
    """The result of a gate; if it failed, with the end of its output and notes about the room."""
    name = one_line(result.command or result.gate.replace("_", " "))
    took = f" ({duration(result.seconds)})" if result.seconds >= 1 else ""
    if nothing := proves_nothing(result):
        return (Line(f"gate: {name}: {nothing}{took}", Kind.QUIET),)
    if result.passed:
        return (Line(f"gate: {name}: passed{took}", Kind.GOOD),)
    tail = [line for line in result.tail.splitlines() if line.strip()][-SHOWN_TAIL:]
    shown = tuple(Line(f"  | {one_line(line)}", Kind.QUIET) for line in tail)
    notes = tuple(Line(f"  {one_line(note, LONGEST_REASON)}", Kind.WARNING) for note in result.notes)
    reason = one_line(result.reason or "no reason given", LONGEST_REASON)
    return (Line(f"gate: {name}: failed: {reason}{took}", Kind.BAD), *shown, *notes)


def proves_nothing(result: GateResult) -> str:
    """What a proof that did not apply says, with its reason. Empty for other results: gates that are no proofs just hold."""
    if not result.passed or result.proves or result.gate not in PROOFS:
        return ""
    return one_line(": ".join(("proves nothing", *result.notes[:1])), LONGEST_REASON)


def of_waiting(until: float, reason: str, now: float) -> Line:
    """A wait until a time."""
    left = duration(max(0.0, until - now))
    return Line(f"waiting until {clock(until, now)} (in {left}): {one_line(reason)}", Kind.WARNING)


def of_entry(entry: Entry, loop: Loop, *, live: bool) -> tuple[Line, ...]:
    """A journal entry. `loop` is the loop after it. With `live`, leave out what a live view has shown already."""
    lines = _of_event(entry, loop, live=live)
    if not entry.who or not lines:
        return lines
    return (Line(f"{lines[0].text} (by {one_line(entry.who)})", lines[0].kind), *lines[1:])


def _of_event(entry: Entry, loop: Loop, *, live: bool) -> tuple[Line, ...]:
    match entry.event:
        case LoopCreated():
            return introduction(loop)
        case StartRequested() | ResumeRequested() | PauseRequested() | StopRequested():
            return _controlled(entry.event, live=live)
        case RetryRequested() | Rewound() | WorkspaceRestored():
            return tuple(_again(entry.event, loop))
        case MessageSent(source=Source.TERMINAL) if live:
            return ()
        case MessageSent() | BudgetChanged() | BudgetWarned():
            return _message_or_budget(entry.event)
        case TurnStarted():
            return _started(entry.event, loop)
        case TurnEnded() | TurnInterrupted() | TurnRetried() | LimitReached():
            return _ended(entry.event, entry.at)
        case AnswerRead(claimed=claimed, note=note):
            claim = (Line("The agent says that it is done."),) if claimed and not loop.settings.once else ()
            noted = tuple(Line(one_line(line), Kind.QUIET) for line in note.split("\n") if line.strip())
            return (*noted, *_progress(entry.event.tasks, loop), *claim)
        case GateStarted():
            return ()
        case GatesRan():
            return _judged(entry.event, loop, live=live)
        case Rested():
            return () if live else (_rested(entry.event, loop),)
        case _:
            return _side_event(entry.event, live=live)


def _judged(event: GatesRan, loop: Loop, *, live: bool) -> tuple[Line, ...]:
    if event.weighs:
        return _weighed(event.results, loop)
    shown = [result for result in event.results if not (live and result.command)]
    return tuple(line for result in shown for line in of_gate(result))


def _weighed(results: Sequence[GateResult], loop: Loop) -> tuple[Line, ...]:
    """How many checks hold after a round, and whether it is undone."""
    held = Line(f"checks: {sum(result.passed for result in results)} of {len(results)} hold", Kind.QUIET)
    undone = Line(f"Round {loop.spend.iterations} is undone: fewer checks hold than before.", Kind.WARNING)
    return (held, undone) if loop.restoring else (held,)


def _again(event: RetryRequested | Rewound | WorkspaceRestored, loop: Loop) -> Iterator[Line]:
    """What takes a loop up again, or back."""
    match event:
        case RetryRequested():
            yield Line("retried by a person: it goes on from where it was")
        case Rewound():
            yield Line(loop.reason)
            if event.account:
                yield Line("its agents begin new sessions, with an account of what happened", Kind.QUIET)
        case WorkspaceRestored(tree=tree, kept=kept):
            before = f"; what was there before is snapshot {kept[:12]}" if kept else ""
            yield Line(f"the workspace is as in snapshot {tree[:12]}{before}", Kind.QUIET)


def _progress(changes: Sequence[SubtaskChange], loop: Loop) -> tuple[Line, ...]:
    """The subtasks that an answer changed, and where the loop stands after it."""
    names = {change.task_id for change in changes}
    ticked = tuple(of_subtask(task) for task in loop.tasks if task.task_id in names)
    stands = standing(loop)
    return (*ticked, *((Line(stands, Kind.QUIET),) if stands else ()))


MARKS = {SubtaskStatus.COMPLETED: "✓", SubtaskStatus.FAILED: "✗", SubtaskStatus.PENDING: "○"}
_KINDS = {SubtaskStatus.COMPLETED: Kind.GOOD, SubtaskStatus.FAILED: Kind.BAD, SubtaskStatus.PENDING: Kind.PLAIN}


def of_subtask(task: Subtask) -> Line:
    """A subtask with its mark."""
    needs = f" (after {', '.join(task.depends_on)})" if task.depends_on else ""
    return Line(f"  {MARKS[task.status]} {one_line(f'{task.task_id}: {task.text}{needs}')}", _KINDS[task.status])


def standing(loop: Loop) -> str:
    """Where the loop stands by the rules of its mode, on one line; empty: it has nothing but rounds."""
    done = sum(task.status is SubtaskStatus.COMPLETED for task in loop.tasks)
    counted = (f"{done} of {len(loop.tasks)} subtasks done",) if loop.tasks else ()
    return " · ".join((*output.mode(loop.settings.mode).standing(loop), *counted))


def _start(event: WorkspaceSeen) -> tuple[Line, ...]:
    """What a loop starts from beside the last commit."""
    count = event.uncommitted
    files = "1 file differs" if count == 1 else f"{count:,} files differ"
    dirty = (Line(f"{files} from the last commit at the start", Kind.QUIET),) if count else ()
    return (*dirty, *(Line(f"warning: {one_line(each.sentence)}", Kind.WARNING) for each in event.refused))


_Silent = SessionOpened | SupervisorSeen | PromptReinjected | UsageSeen
_Warning = StateRepaired | SettingsChanged | SandboxSeen | Escalated | HostsAsked | MachineLacked | StartKept
_BeforeWorkOrBelow = BaselineRan | FailuresExplained | AcceptanceRan | ChildReserved | ChildSpent
_ByPerson = SubtasksChanged | ChangesApproved | LoopRenamed | LiveStateSeen
_OfSession = HookTriggered | SessionRead | SessionDistrusted


def _warnings(event: _Warning) -> Iterator[Line]:
    match event:
        case MachineLacked(machine=machine, program=program):
            yield Line(f"{machine} does not have '{one_line(program)}': another machine is asked", Kind.WARNING)
        case StartKept(problem=problem):
            if problem:
                yield Line(f"warning: {one_line(problem)}", Kind.WARNING)
        case StateRepaired(detail=detail):
            yield Line(f"repaired: {one_line(detail)}", Kind.WARNING)
        case SettingsChanged(paths=paths):
            yield Line(f"warning: {settings_changed(paths)}", Kind.WARNING)
        case SandboxSeen(held=held):
            yield Line(held.sentence, Kind.WARNING if held.reason else Kind.QUIET)
        case Escalated(profile=profile, model=model):
            yield Line(f"no progress: {profile}{f' with {model}' if model else ''} takes over", Kind.WARNING)
        case HostsAsked(hosts=hosts):
            yield from (Line(one_line(each.sentence), Kind.WARNING) for each in hosts if not each.allowed)


WANTS_TO_STOP = "the agent of the session wants to stop"


def _beside(event: _BeforeWorkOrBelow) -> Iterator[Line]:
    match event:
        case BaselineRan(results=results):
            for each in results:
                yield Line(one_line(each.sentence), Kind.QUIET if each.reason and each.has_run else Kind.WARNING)
        case FailuresExplained(ignored=ignored):
            said = "may fail at the end" if ignored else "is what this loop is for: all tests must pass at the end"
            yield Line(f"what fails before any work {said}", Kind.QUIET)
        case AcceptanceRan(results=tried):
            for one in tried:
                yield Line(one_line(one.sentence), Kind.QUIET if one.said is BeforeWork.FAILS else Kind.WARNING)
        case ChildReserved(child=child):
            yield Line(f"the agent starts loop {child.loop_id}", Kind.QUIET)
        case ChildSpent(child_id=loop_id, ended=ended):
            yield Line(f"loop {loop_id} {'has ended' if ended else 'rests'}", Kind.QUIET)


def settings_changed(paths: Sequence[str]) -> str:
    """The sentence about files that steer loops and changed during one."""
    return f"changed while the loop ran, and does not count before a person accepts it: {one_line(', '.join(paths))}"


def _side_event(
    event: _Silent | _Warning | _BeforeWorkOrBelow | _ByPerson | _OfSession | RunnerLeased | WorkspaceSeen,
    *,
    live: bool,
) -> tuple[Line, ...]:
    """An event that is no control, no turn and no gate."""
    if isinstance(event, _Warning):
        return tuple(_warnings(event))
    if isinstance(event, _BeforeWorkOrBelow):
        return tuple(_beside(event))
    if isinstance(event, _ByPerson):
        return (_by_person(event),)
    if isinstance(event, _OfSession):
        return (_of_session(event),)
    match event:
        case RunnerLeased(pid=pid, machine=machine):
            return () if live else (Line(f"runner: process {pid} on {machine}", Kind.QUIET),)
        case WorkspaceSeen():
            return _start(event)
        case SessionOpened() | SupervisorSeen() | PromptReinjected() | UsageSeen():
            return ()
        case _:
            assert_never(event)


def _by_person(event: _ByPerson) -> Line:
    """What a person changed in the loop."""
    match event:
        case SubtasksChanged(changes=changes):
            return Line(f"subtasks: {len(changes)} changed by a person")
        case ChangesApproved(paths=paths):
            return Line(f"approved by a person: {one_line(', '.join(paths))}")
        case LoopRenamed(title=title):
            return Line(f"title: {one_line(title)}")
        case LiveStateSeen():
            return Line("the live state file was edited", Kind.QUIET)


def _of_session(event: _OfSession) -> Line:
    """What concerns the agent's session."""
    match event:
        case HookTriggered():
            return Line(WANTS_TO_STOP, Kind.QUIET)
        case SessionRead(asked=asked):
            return Line(f"asked in the session so far: {one_line(' · '.join(asked))}", Kind.QUIET)
        case SessionDistrusted(reason=reason):
            return Line(f"A fresh supervisor is asked: {reason}", Kind.WARNING)


def introduction(loop: Loop) -> tuple[Line, ...]:
    """The title and settings of a loop."""
    settings = loop.settings
    most = "no limit of rounds" if loop.budget.iterations is None else f"at most {_rounds(loop.budget.iterations)}"
    return (
        Line(f"{loop.loop_id}: {one_line(loop.title)}", Kind.HEADER),
        Line(f"mode {settings.mode}, agent {settings.worker.profile}, {most}, in {settings.workspace}", Kind.QUIET),
    )


def _rounds(number: int) -> str:
    return "1 round" if number == 1 else f"{number} rounds"


def _controlled(
    event: StartRequested | ResumeRequested | PauseRequested | StopRequested, *, live: bool
) -> tuple[Line, ...]:
    match event:
        case StartRequested():
            return () if live else (Line("started", Kind.QUIET),)
        case ResumeRequested():
            return () if live else (Line("resumed", Kind.QUIET),)
        case PauseRequested(outcome=Outcome.INTERRUPTED):
            return (Line("Interrupted: ending the round and saving.", Kind.WARNING),)
        case PauseRequested(urgency=urgency):
            return (Line(f"A person wants a pause {_when(urgency)}.", Kind.WARNING),)
        case StopRequested(urgency=urgency):
            return (Line(f"A person wants the end {_when(urgency)}.", Kind.WARNING),)


def _when(urgency: Urgency) -> str:
    return "now" if urgency is Urgency.NOW else "after this round"


def _message_or_budget(event: MessageSent | BudgetChanged | BudgetWarned) -> tuple[Line, ...]:
    match event:
        case MessageSent(text=text, source=source):
            return (Line(f"message ({source}): {one_line(text)}"),)
        case BudgetChanged(limit=limit, amount=amount, add=add):
            change = "no limit" if amount is None else f"{'+' if add else ''}{amount:g}"
            return (Line(f"budget: {limit.row.label.lower()} {change}"),)
        case BudgetWarned(limit=limit, used=used, allowed=allowed):
            return (Line(f"warning: {budgets.Gauge(limit, used, allowed).sentence()}", Kind.WARNING),)


def _started(event: TurnStarted, loop: Loop) -> tuple[Line, ...]:
    who = Line(f"── {event.role.value} ({event.profile})", Kind.HEADER)
    mode = output.mode(loop.settings.mode)
    leader = mode.leader
    most = loop.budget.iterations
    left = None if most is None else max(0, most - event.iteration)
    if leader is not Role.WORKER and event.role is leader and event.attempt == 1:
        return (Line(rounds.header(event.iteration + 1, left), Kind.HEADER), who)
    if leader is not Role.WORKER or event.role is not Role.WORKER:
        return (who, *(Line(one_line(note), Kind.WARNING) for note in event.notes))
    if event.attempt > 1:
        return (Line(f"Round {event.iteration}, attempt {event.attempt} ({event.profile})", Kind.QUIET),)
    return (Line(rounds.header(event.iteration, left, mode.heading(loop, event.label)), Kind.HEADER),)


def _ended(event: TurnEnded | TurnInterrupted | TurnRetried | LimitReached, at: float) -> tuple[Line, ...]:
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
    Interruption.PERSON: "a person wants to speak",
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


def _rested(event: Rested, loop: Loop) -> Line:
    outcome = event.outcome
    said = loop.end_sentence if loop.outcome is outcome else outcome.sentence
    sentence = f"{outcome.word}: {said} {one_line(event.reason)}".rstrip()
    return Line(sentence, Kind.GOOD if outcome.exit_code == 0 else Kind.WARNING)
