"""The events of a loop. The journal is a list of these; `apply` defines what each changes.

Numbers in events are absolute ("iteration 3 started"), never relative ("one more"): applying an event twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.children import Child, Parent
from untildone.core.history.position import Position
from untildone.core.kinds import Host, Interruption, Source
from untildone.core.limits import Limit
from untildone.core.model import (
    EMPTY,
    AcceptanceTests,
    AcceptanceTried,
    Answer,
    Budget,
    Changes,
    Failure,
    GateResult,
    KnownFile,
    LoopSettings,
    Measured,
    NeededGate,
    Outcome,
    Refused,
    Role,
    SessionUse,
    SoFar,
    Spend,
    Status,
    SubtaskChange,
    Urgency,
    Usage,
)
from untildone.core.protection.sandbox import Containment, HostAsked
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass, field


@dataclass(frozen=True, slots=True)
class LoopCreated:
    """The first event of every journal."""

    loop_id: str
    title: str
    task: str
    settings: LoopSettings
    budget: Budget
    parent: Parent | None = None
    """The loop whose agent started this one; None: a person did."""


@dataclass(frozen=True, slots=True)
class RunnerLeased:
    """A runner holds the lease of the loop from here on; entries of earlier runners no longer count."""

    token: str
    pid: int
    machine: str
    host: Host = Host.TERMINAL


@dataclass(frozen=True, slots=True)
class StartRequested:
    """A person starts the loop."""

    host: Host = Host.NONE
    """The host that shall drive the loop; NONE: any host."""


@dataclass(frozen=True, slots=True)
class PauseRequested:
    """A person pauses the loop. `outcome` is the outcome with which it rests."""

    urgency: Urgency = Urgency.AFTER_ITERATION
    outcome: Outcome = Outcome.PAUSED


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    """A person resumes the loop."""

    skip_wait: bool = False
    """Whether to try at once although a usage limit or a retry delay is not over."""
    host: Host = Host.NONE
    """The host that shall drive the loop; NONE: the host that drove it last."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A person stops the loop for good. `outcome` is the outcome with which it ends."""

    urgency: Urgency = Urgency.AFTER_ITERATION
    outcome: Outcome = Outcome.STOPPED


@dataclass(frozen=True, slots=True)
class RetryRequested:
    """A person retries a loop that has ended without success: it goes on from where it was. A turn that failed is asked again."""

    host: Host = Host.NONE
    """The host that shall drive the loop; NONE: the host that drove it last."""


@dataclass(frozen=True, slots=True)
class Rewound:
    """A person took the loop back to where it was after an iteration. It rests, and the workspace is to be put back."""

    to: int
    """The iteration; 0: before the first one."""
    position: Position
    kept: str = ""
    """The snapshot of the workspace before it is put back; empty: the workspace stays as it is."""
    account: str = ""
    """What the prompts of agents that start a new session say about the rewind."""
    undone: bool = False
    """Whether this takes back the rewind before."""


@dataclass(frozen=True, slots=True)
class WorkspaceRestored:
    """The workspace is as it was when the snapshot `tree` was taken."""

    tree: str
    changes: Changes
    kept: str = ""
    """The snapshot of what was there before, if that had changed since the rewind."""


@dataclass(frozen=True, slots=True)
class MessageSent:
    """A person wrote to the loop. Round controls at the start of `text` change the budget, the rest goes to the agent."""

    text: str
    source: Source = Source.PERSON


@dataclass(frozen=True, slots=True)
class BudgetChanged:
    """One limit is raised by an amount (`add`) or set to it; `amount` None takes the limit away."""

    limit: Limit
    amount: float | None
    add: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceSeen:
    """The workspace before the first turn. Later: the workspace differs from the one that the gates judged."""

    changes: Changes
    record: str = ""
    """A hash of what lay beside the snapshot before the first turn, such as ignored files; empty: no room needs it."""
    programs: str = ""
    """A hash of the record of the programs on PATH before the first turn; empty: no check needs it."""
    uncommitted: int = 0
    """How many files differ from the last commit before the first turn."""
    refused: tuple[Refused, ...] = ()
    """Work of earlier loops that was refused and is still there before the first turn."""


@dataclass(frozen=True, slots=True)
class StartKept:
    """A machine of a cluster goes on with the loop, and judges with what it kept of the start before an agent of the loop worked there."""

    machine: str
    """The machine, and the name of the key in its state folder."""
    record: str = ""
    """As `WorkspaceSeen.record`, on this machine."""
    programs: str = ""
    """As `WorkspaceSeen.programs`, on this machine."""
    problem: str = ""
    """Why the machine does not have the start, as a sentence; empty: it has it."""


@dataclass(frozen=True, slots=True)
class SupervisorSeen:
    """The programs and the person's settings that supervisors of this loop run with, before the first turn."""

    files: tuple[KnownFile, ...]


@dataclass(frozen=True, slots=True)
class SandboxSeen:
    """What holds for the agents of the loop from now on: whether they run in a box, and what they reach."""

    held: Containment


@dataclass(frozen=True, slots=True)
class BaselineRan:
    """The checks ran once before the first round."""

    results: tuple[Measured, ...]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class FailuresExplained:
    """A person said what the failures before any work are: the job, or failures that may stay."""

    ignored: bool
    """Whether tests that failed then may fail at a claim."""


@dataclass(frozen=True, slots=True)
class AcceptanceRan:
    """The checks ran with the acceptance tests before any work."""

    results: tuple[AcceptanceTried, ...]
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class HostsAsked:
    """The hosts that an agent in a box asked for in one turn, allowed or refused."""

    role: Role
    iteration: int
    hosts: tuple[HostAsked, ...]


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """An agent is about to be started. This is on disk before anything is spent."""

    role: Role
    iteration: int
    attempt: int
    profile: str
    session: SessionUse
    prompt: str
    messages: int = 0
    """How many messages of the inbox the prompt contains."""
    session_id: str | None = None
    label: str = ""
    word: str = ""
    """The digest of the word that was drawn for this question, which the reviewer must repeat to agree; empty: not a reviewer's turn."""
    notes: tuple[str, ...] = ()
    """Sentences for the person: why a reviewer is not asked in the best way."""


@dataclass(frozen=True, slots=True)
class MachineLacked:
    """A machine of a cluster does not have the agent's program: it leaves the loop to another one. No iteration is taken."""

    machine: str
    program: str


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The agent reported its session id. Written at once, so that a crash does not lose it."""

    role: Role
    profile: str
    session_id: str


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """What the present turn has used so far. Written while the agent works, so that a crash of the runner does not lose it."""

    role: Role
    iteration: int
    so_far: SoFar


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The agent has answered or failed."""

    role: Role
    iteration: int
    answer: Answer
    seconds: float
    changes: Changes | None = None
    """The workspace after the turn; None: the workspace did not change."""
    transcript: str = ""
    """The digest of the transcript of the worker's session: see `Session.transcript`."""
    note: str = ""
    """A sentence for the person about the work of this turn: what is not committed, and why."""
    tests: AcceptanceTests | None = None
    """The acceptance tests that the author wrote; None: it is another role, or there are none."""


@dataclass(frozen=True, slots=True)
class SessionDistrusted:
    """The worker's session cannot be forked for a reviewer: its transcript, or what steers it, was changed. A fresh one is asked."""

    profile: str
    reason: str


@dataclass(frozen=True, slots=True)
class TurnInterrupted:
    """The turn was ended from outside. Its iteration still counts."""

    role: Role
    iteration: int
    reason: Interruption
    seconds: float = 0.0
    usage: Usage = Usage()
    """What the agent reported of its usage before it was ended."""
    priced: str = ""
    """See `Answer.priced`."""
    session_total: Usage | None = None
    """See `Answer.session_total`."""


@dataclass(frozen=True, slots=True)
class TurnRetried:
    """The turn failed for a temporary reason and is tried again inside its iteration."""

    role: Role
    iteration: int
    attempt: int
    failure: Failure
    not_before: float
    """Epoch seconds."""
    fresh_session: bool = False
    """Whether the next attempt starts a new session, because the old one cannot be used any more."""


@dataclass(frozen=True, slots=True)
class LimitReached:
    """An agent profile reached a usage or rate limit. The iteration of the turn that reached it does not count."""

    profile: str
    until: float
    """Epoch seconds."""
    message: str
    strikes: int = 1
    """How often in a row the profile reached a limit."""


@dataclass(frozen=True, slots=True)
class Escalated:
    """Another model or agent takes over as worker: the one before made no progress."""

    step: int
    """Its number in the settings of the loop, from 1 on."""
    profile: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """How the mode read the last answer."""

    claimed: bool
    skill_state: Mapping[str, Any] | None = None
    """The mode's new state; None: unchanged."""
    note: str = ""
    """A line for the person."""
    tasks: tuple[SubtaskChange, ...] = ()
    blocked: str = ""
    """What the agent says that it needs from a person, for a supervisor to judge; empty: it says no such thing."""
    gives_up: str = ""
    """If set, the loop rests with this sentence: the mode has nothing more to ask."""
    gives_up_as: Outcome = Outcome.FAILED
    max_iterations: int | None = None
    """The most iterations that a person wrote into the live state file; `decide` changes the budget accordingly."""
    progressed: bool = False
    """Whether the work advanced: then the answer does not count for a stall, even if it equals the last one."""
    needed: tuple[NeededGate, ...] = ()
    """The gates that must pass before this claim is believed."""
    keep_checkpoint: bool = False
    """Whether the host keeps a full copy of the present state."""
    documents: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Texts that the host appends to the loop's documents, by file name: `progress.md`, …"""
    phase: int | None = None
    """The number of the phase that follows, in a mode with phases; None: there is none, or all are done."""
    subtasks_done: int | None = None
    """How many subtasks are done after this answer, in a mode that counts them."""


@dataclass(frozen=True, slots=True)
class GateStarted:
    """A check starts. Written so that views of the loop can show the running command."""

    command: str


@dataclass(frozen=True, slots=True)
class GatesRan:
    """Gates have judged the present claim."""

    results: tuple[GateResult, ...]
    seconds: float = 0.0
    seen: str = ""
    """The fingerprint of the workspace before and after the checks; empty: no check ran."""
    signs: tuple[str, ...] = ()
    """The tampering report: what in the agent's work could deceive a check, one sentence each."""
    weighs: bool = False
    """Whether they judge no claim and only say how many checks hold after a round, for `ratchet`."""


@dataclass(frozen=True, slots=True)
class BudgetWarned:
    """A limit is nearly used up, and the person is warned."""

    limit: Limit
    used: float
    allowed: float


@dataclass(frozen=True, slots=True)
class Rested:
    """The loop came to rest: completed, failed, or paused and able to go on."""

    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SubtasksChanged:
    """A person changed the loop's subtasks."""

    changes: tuple[SubtaskChange, ...]


@dataclass(frozen=True, slots=True)
class ChangesApproved:
    """A person accepts the agent's changes of these judge files or programs. Results of gates are void: they run again."""

    paths: tuple[str, ...]
    contents: tuple[str, ...] = ()
    """For each path, the digest of the content that the person approved; empty: any content."""


@dataclass(frozen=True, slots=True)
class LoopRenamed:
    """A person changed the title."""

    title: str


@dataclass(frozen=True, slots=True)
class LiveStateSeen:
    """A person or the agent edited the live state file."""

    text: str
    """Its new content."""
    before: str = ""
    """Its content before the edit."""
    at_rest: bool = False
    """Whether the edit was made while nothing drove the loop: then it is a person's. Else an agent may have made it."""


@dataclass(frozen=True, slots=True)
class StateRepaired:
    """State on disk was damaged and has been repaired."""

    detail: str
    """What was damaged and how it was repaired."""


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """Files that steer loops (settings, SUPERVISOR.md, action texts) are not as they were when the loop was taken up."""

    paths: tuple[str, ...]
    """The changed paths that no earlier entry names."""


@dataclass(frozen=True, slots=True)
class HookTriggered:
    """The agent of a person's own session wants to stop. `stop_hook_active`: the hook blocked its last stop."""

    session_id: str
    stop_hook_active: bool = False


@dataclass(frozen=True, slots=True)
class SessionRead:
    """The agent's transcript of a person's own session was read."""

    asked: tuple[str, ...]
    """All prompts of the person in the transcript, in order: also those from before the loop, and those that the loop knows."""


@dataclass(frozen=True, slots=True)
class PromptReinjected:
    """The hook sent the agent of a person's own session back to work, for this iteration."""

    iteration: int


@dataclass(frozen=True, slots=True)
class ChildReserved:
    """The agent starts a loop below this one. Its share is taken from the budget; written before the child exists."""

    child: Child


@dataclass(frozen=True, slots=True)
class ChildSpent:
    """What a child has used in all. If it has ended, or never came to exist, the rest of its share is free again."""

    child_id: str
    spend: Spend
    ended: bool


Event = (
    LoopCreated
    | RunnerLeased
    | StartRequested
    | PauseRequested
    | ResumeRequested
    | StopRequested
    | RetryRequested
    | Rewound
    | WorkspaceRestored
    | MessageSent
    | BudgetChanged
    | WorkspaceSeen
    | StartKept
    | TurnStarted
    | MachineLacked
    | SessionOpened
    | UsageSeen
    | TurnEnded
    | SessionDistrusted
    | SupervisorSeen
    | SandboxSeen
    | BaselineRan
    | FailuresExplained
    | AcceptanceRan
    | HostsAsked
    | TurnInterrupted
    | TurnRetried
    | LimitReached
    | Escalated
    | AnswerRead
    | GateStarted
    | GatesRan
    | BudgetWarned
    | Rested
    | SubtasksChanged
    | ChangesApproved
    | LoopRenamed
    | LiveStateSeen
    | StateRepaired
    | SettingsChanged
    | HookTriggered
    | SessionRead
    | PromptReinjected
    | ChildReserved
    | ChildSpent
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal: an event, its number and its time (epoch seconds)."""

    seq: int
    at: float
    event: Event
    who: str = ""
    """The name of the server's token with which a person asked for this; empty: it did not come through a server."""


BY_PERSON = (
    LoopCreated,
    StartRequested,
    PauseRequested,
    ResumeRequested,
    StopRequested,
    RetryRequested,
    Rewound,
    MessageSent,
    BudgetChanged,
    SubtasksChanged,
    ChangesApproved,
    LoopRenamed,
)
"""Events that a person asks for. Entries of other events name no caller: see `Entry.who`."""


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
    RetryRequested: "retry_requested",
    Rewound: "rewound",
    WorkspaceRestored: "workspace_restored",
    MessageSent: "message",
    BudgetChanged: "budget_changed",
    WorkspaceSeen: "workspace_seen",
    StartKept: "start_kept",
    MachineLacked: "machine_lacked",
    SessionOpened: "session_opened",
    UsageSeen: "usage_seen",
    SessionDistrusted: "session_distrusted",
    SupervisorSeen: "supervisor_seen",
    SandboxSeen: "sandbox_seen",
    BaselineRan: "baseline_ran",
    FailuresExplained: "failures_explained",
    AcceptanceRan: "acceptance_ran",
    HostsAsked: "hosts_asked",
    LimitReached: "limit_reached",
    Escalated: "escalated",
    AnswerRead: "answer_read",
    GateStarted: "gate_start",
    GatesRan: "gates_ran",
    BudgetWarned: "budget_warning",
    SubtasksChanged: "tasks_changed",
    ChangesApproved: "changes_approved",
    LoopRenamed: "loop_renamed",
    LiveStateSeen: "live_state_seen",
    StateRepaired: "state_repaired",
    SettingsChanged: "settings_changed",
    HookTriggered: "stop_hook_trigger",
    SessionRead: "session_read",
    PromptReinjected: "prompt_reinjected",
    ChildReserved: "child_reserved",
    ChildSpent: "child_spent",
}
KINDS: dict[str, type] = {
    **{name: kind for kind, name in _NAMES.items()},
    **{f"{turn}_{suffix}": kind for kind, suffix in _TURNS.items() for turn in ("iteration", "consultation")},
    **dict.fromkeys(_RESTS.values(), Rested),
}
"""The event types by their names in the journal."""


def name_of(event: Event) -> str:
    """The event's name in the journal. Turns of the worker are iterations, turns of other roles are consultations."""
    if isinstance(event, TurnStarted | TurnEnded | TurnInterrupted | TurnRetried):
        turn = "iteration" if event.role is Role.WORKER else "consultation"
        return f"{turn}_{_TURNS[type(event)]}"
    if isinstance(event, Rested):
        return _RESTS[event.outcome.status]
    return _NAMES[type(event)]


def level_of(event: Event) -> str:
    """The log level of an event: INFO, WARN or ERROR."""
    match event:
        case TurnRetried() | TurnInterrupted() | SessionDistrusted() | LimitReached() | BudgetWarned() | Escalated():
            return "WARN"
        case StateRepaired() | SettingsChanged() | MachineLacked():
            return "WARN"
        case StartKept(problem=problem) if problem:
            return "WARN"
        case Rested(outcome=outcome) if outcome.status is Status.FAILED:
            return "ERROR"
        case _:
            return "INFO"
