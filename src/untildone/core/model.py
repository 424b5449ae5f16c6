"""The values a loop is made of. All are frozen; `apply` makes new ones."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType

from untildone.core.hints import Any
from untildone.core.value import dataclass, field, replace

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Role(StrEnum):
    WORKER = "worker"
    INSTRUCTOR = "instructor"
    SUPERVISOR = "supervisor"


class Status(StrEnum):
    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (Status.COMPLETED, Status.FAILED)


class Outcome(Enum):
    """How a loop came to rest: its name, the status it leaves, its exit code and its sentence."""

    VERIFIED = ("verified", Status.COMPLETED, 0, "Done, and every gate agrees.")
    CLAIMED = ("claimed", Status.COMPLETED, 0, "The agent says it is done; nothing verified it.")
    BUDGET = ("budget", Status.PAUSED, 3, "The budget is used up; the job is not done.")
    STALLED = ("stalled", Status.PAUSED, 4, "The agent repeats itself and changes nothing.")
    STOPPED = ("stopped", Status.FAILED, 5, "Stopped by a person.")
    FAILED = ("failed", Status.FAILED, 6, "The loop cannot go on.")
    ABANDONED = ("abandoned", Status.FAILED, 6, "Given up by a person.")
    PAUSED = ("paused", Status.PAUSED, 7, "Paused; resume goes on from here.")
    INTERRUPTED = ("interrupted", Status.PAUSED, 130, "Interrupted; everything is saved, resume goes on from here.")

    def __init__(self, word: str, status: Status, exit_code: int, sentence: str) -> None:
        self.word = word
        self.status = status
        self.exit_code = exit_code
        self.sentence = sentence


class Context(StrEnum):
    """Whether the worker's next iteration follows up in its session or starts a new one."""

    CONTINUE = "continue"
    FRESH = "fresh"


class Permissions(StrEnum):
    """How freely an unattended agent may act. `work`: everything it needs; `edit`: files but no free shell; `read`: look only."""

    WORK = "work"
    EDIT = "edit"
    READ = "read"


class SessionUse(StrEnum):
    """What an ask does with the agent's own conversation."""

    NEW = "new"
    RESUME = "resume"
    FORK = "fork"


class FailureKind(StrEnum):
    """Why a turn brought no answer: one table for all agents."""

    LIMIT = "limit"
    AUTH = "auth"
    OVERLOADED = "overloaded"
    CONTEXT_FULL = "context_full"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    UNAVAILABLE = "unavailable"


class TaskStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"


class Urgency(StrEnum):
    """When a pause or a stop acts."""

    AFTER_ITERATION = "after_iteration"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Failure:
    kind: FailureKind
    message: str
    reset_at: float | None = None
    """When a limit lifts (epoch seconds), if the agent told."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an agent reports of one of its runs. None: it does not report that."""

    cost_usd: float | None = None
    tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Both together. What only one of them reports counts as that."""
        return Usage(*(_sum(getattr(self, name), getattr(other, name)) for name in Usage.__match_args__))

    def since(self, before: Usage) -> Usage:
        """What totals grew by since `before`. A total that is smaller now was counted anew."""
        return Usage(*(_growth(getattr(self, name), getattr(before, name)) for name in Usage.__match_args__))


def _sum(one: float | None, other: float | None) -> Any:
    return one if other is None else (one or 0) + other


def _growth(total: float | None, before: float | None) -> Any:
    base = before or 0
    return total if total is None or total < base else total - base


@dataclass(frozen=True, slots=True)
class Spend:
    """What a loop has used so far: with the names of `Usage`, as far as agents report it."""

    iterations: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0
    tokens: int = 0

    def plus(self, seconds: float, usage: Usage) -> Spend:
        """With a turn of so many seconds."""
        reported = {name: getattr(self, name) + (getattr(usage, name) or 0) for name in Usage.__match_args__}
        return replace(self, seconds=self.seconds + seconds, **reported)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a loop may use. None: no limit."""

    iterations: int | None = None
    minutes: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    iteration_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """Which agent acts in a role. `env` of a profile is looked up by name when it runs: secrets stay out of the journal."""

    profile: str
    agent: str
    model: str | None = None
    args: tuple[str, ...] = ()
    command: str | None = None
    permissions: Permissions = Permissions.WORK
    abilities: tuple[str, ...] = ()
    """The names of what the program can do (`resume`, `fork`, …), as it was when the loop was created."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What was chosen when the loop was created."""

    mode: str
    worker: AgentChoice
    workspace: str
    instructor: AgentChoice | None = None
    supervisor: AgentChoice | None = None
    fallback: AgentChoice | None = None
    checks: tuple[str, ...] = ()
    check_timeout: float = 600.0
    review: bool = False
    require_change: bool = False
    gates: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Gates of plugins, by entry point or `module:NAME`, each with the argument that the person gave it."""
    promise: str | None = "<promise>COMPLETE</promise>"
    marker: str = "[TASK_COMPLETED]"
    context: Context = Context.CONTINUE
    interactive: bool = False
    once: bool = False
    worktree: bool = False
    commit: bool = False
    remote: str | None = None
    """The git remote that the work is fetched from and published to, for a loop that may go from machine to machine."""
    branch: str | None = None
    """The branch there; None: one of the loop's own."""
    group: str | None = None
    """Loops of one group share a total."""
    retry_delay: float = 2.0
    """Seconds before the first retry of a turn that failed in passing; each further one waits twice as long."""
    warn_from: int | None = None
    """The iteration from which the person is warned, if not at three quarters of the budget."""
    supervisor_prompt: str = ""
    """What the supervisor is asked to look at; empty: nothing in particular."""
    hook_session: str = ""
    """The id of the person's own agent session that the loop was begun in; empty: it was begun elsewhere."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The options of the mode, as they are written in the journal. Only the mode reads them, as its own typed value."""

    WRITTEN_IN = MappingProxyType({"supervisor_prompt": "options", "hook_session": "options"})
    """Fields that the journal keeps inside another one; see `core.codec`."""

    def agent_for(self, role: Role) -> AgentChoice:
        """The agent of a role: the worker's, if no other was chosen."""
        chosen = {Role.INSTRUCTOR: self.instructor, Role.SUPERVISOR: self.supervisor}.get(role)
        return chosen or self.worker


@dataclass(frozen=True, slots=True)
class Task:
    """One item of work that a loop keeps track of: a develop task, a subtask."""

    task_id: str
    text: str
    status: TaskStatus = TaskStatus.PENDING
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskChange:
    """One change of one task; None leaves a part as it is. A task that is not there yet is added, at `position` or last."""

    task_id: str
    text: str | None = None
    status: TaskStatus | None = None
    depends_on: tuple[str, ...] | None = None
    position: int | None = None
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """An agent's conversation, and what its cumulative totals stood at after the last turn."""

    session_id: str
    total: Usage = Usage()
    machine: str = ""
    """Where the agent keeps it; empty: not known."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the workspace looked like after a turn. `fingerprint` is equal exactly when nothing changed."""

    fingerprint: str = ""
    head: str | None = None
    tree: str | None = None
    files: int = 0
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a turn of an agent came to."""

    text: str = ""
    session_id: str | None = None
    usage: Usage = Usage()
    session_total: Usage | None = None
    """Cumulative totals of the session, from agents that tell only these."""
    failure: Failure | None = None
    denials: tuple[str, ...] = ()
    exit_code: int | None = None
    agent_version: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """One gate's word on a claim."""

    gate: str
    """The gate's name, such as `check`."""
    command: str
    passed: bool
    tail: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    output_sha256: str = ""
    reason: str = ""
    """Why it failed, in a few words: `exit code 1`, `ran no test`, `timed out after 600 s`."""

    @property
    def said(self) -> str:
        """What the supervisor said, word for word; empty for a gate that ran a command."""
        return "" if self.command else self.tail
