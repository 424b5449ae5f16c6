"""What can happen to a loop. The journal is a list of these; `apply` says what each changes.

Numbers in events are absolute ("iteration 3 started"), never "one more": reading one twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.hints import Any
from untildone.core.kinds import Host, Interruption
from untildone.core.limits import Limit
from untildone.core.model import (
    EMPTY,
    Answer,
    Budget,
    Changes,
    Failure,
    GateResult,
    LoopSettings,
    Outcome,
    Role,
    SessionUse,
    Status,
    TaskChange,
    Urgency,
    Usage,
)
from untildone.core.value import dataclass, field


@dataclass(frozen=True, slots=True)
class LoopCreated:
    loop_id: str
    title: str
    task: str
    settings: LoopSettings
    budget: Budget


@dataclass(frozen=True, slots=True)
class RunnerLeased:
    """A runner holds the lease of the loop from here on; entries of earlier runners no longer count."""

    token: str
    pid: int
    machine: str
    host: Host = Host.TERMINAL


@dataclass(frozen=True, slots=True)
class StartRequested:
    host: Host = Host.NONE
    """What is to drive the loop; NONE: any host that takes it."""


@dataclass(frozen=True, slots=True)
class PauseRequested:
    urgency: Urgency = Urgency.AFTER_ITERATION
    outcome: Outcome = Outcome.PAUSED


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    skip_wait: bool = False
    host: Host = Host.NONE
    """What is to go on with the loop; NONE: the host that drove it last."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    urgency: Urgency = Urgency.AFTER_ITERATION
    outcome: Outcome = Outcome.STOPPED


@dataclass(frozen=True, slots=True)
class MessageSent:
    text: str
    source: str = "person"


@dataclass(frozen=True, slots=True)
class BudgetChanged:
    """One limit is raised by an amount (`add`) or set to it; `amount` None takes the limit away."""

    limit: Limit
    amount: float | None
    add: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceSeen:
    """The workspace before the first turn; later, that it is no longer as the gates judged it."""

    changes: Changes


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """An agent is about to be asked: on disk before anything is spent."""

    role: Role
    iteration: int
    attempt: int
    profile: str
    session: SessionUse
    prompt: str
    messages: int = 0
    """How many messages of the inbox the prompt carries."""
    session_id: str | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The agent told the id of its conversation: written down at once, so that a crash does not lose it."""

    role: Role
    profile: str
    session_id: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    role: Role
    iteration: int
    answer: Answer
    seconds: float
    changes: Changes | None = None


@dataclass(frozen=True, slots=True)
class TurnInterrupted:
    """The turn was ended from outside; its iteration stays counted."""

    role: Role
    iteration: int
    reason: Interruption
    seconds: float = 0.0
    usage: Usage = Usage()
    """What the agent told of its use before it was ended."""


@dataclass(frozen=True, slots=True)
class TurnRetried:
    """The turn failed in passing and is asked again inside its iteration."""

    role: Role
    iteration: int
    attempt: int
    failure: Failure
    not_before: float
    fresh_session: bool = False


@dataclass(frozen=True, slots=True)
class LimitReached:
    """An agent profile hit a usage or rate limit. A turn that hit it gives its iteration back."""

    profile: str
    until: float
    message: str
    strikes: int = 1


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """What the mode made of the last answer."""

    claimed: bool
    skill_state: Mapping[str, Any] | None = None
    """The mode's own state from here on; None: as it was."""
    note: str = ""
    """Something the person should see."""
    tasks: tuple[TaskChange, ...] = ()
    gives_up: str = ""
    """Why the mode sees no way on; the loop comes to rest with this sentence."""
    gives_up_as: Outcome = Outcome.FAILED
    max_iterations: int | None = None
    """What a person wrote into the live state file as the most iterations; `decide` makes it a change of the budget."""
    progressed: bool = False
    """The work went on, whatever the answer looked like: that is no stall."""
    keep_checkpoint: bool = False
    """The host keeps a full copy of the state as of here."""
    documents: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """What the host adds to the loop's documents, by file name: `progress.md`, …"""


@dataclass(frozen=True, slots=True)
class GateStarted:
    """A check begins: so that whoever looks at the loop sees what it is busy with."""

    command: str


@dataclass(frozen=True, slots=True)
class GatesRan:
    results: tuple[GateResult, ...]
    seconds: float = 0.0
    seen: str = ""
    """The fingerprint of the workspace when the checks had run; empty: none did."""


@dataclass(frozen=True, slots=True)
class BudgetWarned:
    limit: Limit
    used: float
    allowed: float


@dataclass(frozen=True, slots=True)
class Rested:
    """The loop came to rest: completed, failed, or paused and able to go on."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TasksChanged:
    """A person changed the loop's tasks."""

    changes: tuple[TaskChange, ...]


@dataclass(frozen=True, slots=True)
class LoopRenamed:
    title: str


@dataclass(frozen=True, slots=True)
class LiveStateSeen:
    """Somebody, a person or the agent, edited the live state file: this is what it says now, and what it said before."""

    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class StateRepaired:
    """Something on disk was damaged; this is what was found and what was done."""

    detail: str


@dataclass(frozen=True, slots=True)
class HookTriggered:
    """The agent of a person's own session wants to stop. `stop_hook_active`: the hook had sent it back to work before."""

    session_id: str
    stop_hook_active: bool = False


@dataclass(frozen=True, slots=True)
class SessionRead:
    """What the agent's own record of a person's session tells of what they asked there: also before the loop began."""

    asked: tuple[str, ...]
    """Everything, in order; what the loop heard itself is among it."""


@dataclass(frozen=True, slots=True)
class PromptReinjected:
    """The hook sent the agent of a person's own session back to work, for this iteration."""

    iteration: int


Event = (
    LoopCreated
    | RunnerLeased
    | StartRequested
    | PauseRequested
    | ResumeRequested
    | StopRequested
    | MessageSent
    | BudgetChanged
    | WorkspaceSeen
    | TurnStarted
    | SessionOpened
    | TurnEnded
    | TurnInterrupted
    | TurnRetried
    | LimitReached
    | AnswerRead
    | GateStarted
    | GatesRan
    | BudgetWarned
    | Rested
    | TasksChanged
    | LoopRenamed
    | LiveStateSeen
    | StateRepaired
    | HookTriggered
    | SessionRead
    | PromptReinjected
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    seq: int
    at: float
    event: Event


_TURNS: dict[type, str] = {
    TurnStarted: "start",
    TurnEnded: "complete",
    TurnInterrupted: "interrupted",
    TurnRetried: "retry",
}
_RESTS = {Status.COMPLETED: "task_complete", Status.FAILED: "loop_failed", Status.PAUSED: "loop_paused"}
_NAMES: dict[type, str] = {
    LoopCreated: "loop_created",
    RunnerLeased: "runner_claimed",
    StartRequested: "start_requested",
    PauseRequested: "pause_requested",
    ResumeRequested: "resume_requested",
    StopRequested: "stop_requested",
    MessageSent: "message",
    BudgetChanged: "budget_changed",
    WorkspaceSeen: "workspace_seen",
    SessionOpened: "session_opened",
    LimitReached: "limit_reached",
    AnswerRead: "answer_read",
    GateStarted: "gate_start",
    GatesRan: "gates_ran",
    BudgetWarned: "budget_warning",
    TasksChanged: "tasks_changed",
    LoopRenamed: "loop_renamed",
    LiveStateSeen: "live_state_seen",
    StateRepaired: "state_repaired",
    HookTriggered: "stop_hook_trigger",
    SessionRead: "session_read",
    PromptReinjected: "prompt_reinjected",
}
KINDS: dict[str, type] = {
    **{name: kind for kind, name in _NAMES.items()},
    **{f"{turn}_{suffix}": kind for kind, suffix in _TURNS.items() for turn in ("iteration", "consultation")},
    **dict.fromkeys(_RESTS.values(), Rested),
}
"""Event names on the wire, and the types they stand for."""


def name_of(event: Event) -> str:
    """The event's name in the journal: the worker's turns are iterations, other roles are consulted."""
    if isinstance(event, TurnStarted | TurnEnded | TurnInterrupted | TurnRetried):
        turn = "iteration" if event.role is Role.WORKER else "consultation"
        return f"{turn}_{_TURNS[type(event)]}"
    if isinstance(event, Rested):
        return _RESTS[event.outcome.status]
    return _NAMES[type(event)]


def level_of(event: Event) -> str:
    match event:
        case TurnRetried() | TurnInterrupted() | LimitReached() | BudgetWarned() | StateRepaired():
            return "WARN"
        case Rested(outcome=outcome) if outcome.status is Status.FAILED:
            return "ERROR"
        case _:
            return "INFO"
