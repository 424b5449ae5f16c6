"""Journal entries, agent events and gates as lines of text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from untildone.core import budget as budgets
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
from untildone.core.kinds import Source
from untildone.core.limits import duration
from untildone.core.loop import Loop
from untildone.core.model import (
    BeforeWork,
    GateResult,
    Outcome,
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
from untildone.faces.text import turn_lines
from untildone.faces.text.gate_lines import of_gate
from untildone.faces.text.line import Kind, Line, clock
from untildone.faces.text.plain import harmless, one_line
from untildone.operations import output


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
            return turn_lines.of_start(entry.event, loop)
        case TurnEnded() | TurnInterrupted() | TurnRetried() | LimitReached():
            return turn_lines.of_end(entry.event, entry.at)
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
            return (Line(f"A person asked for a pause {_when(urgency)}.", Kind.WARNING),)
        case StopRequested(urgency=urgency):
            return (Line(f"A person asked to end the loop {_when(urgency)}.", Kind.WARNING),)


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


def _rested(event: Rested, loop: Loop) -> Line:
    outcome = event.outcome
    said = loop.end_sentence if loop.outcome is outcome else outcome.sentence
    sentence = f"{outcome.word}: {said} {one_line(event.reason)}".rstrip()
    return Line(sentence, Kind.GOOD if outcome.exit_code == 0 else Kind.WARNING)
