"""The values that a loop consists of. All are frozen; `apply` makes new ones."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from types import MappingProxyType

from untildone.core.protection.sandbox import Sandbox, SandboxNet
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass, field, replace

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Role(StrEnum):
    """What an agent is asked as: the worker does the work, the instructor writes instructions, the supervisor reviews, the author writes
    acceptance tests before the work."""

    WORKER = "worker"
    INSTRUCTOR = "instructor"
    SUPERVISOR = "supervisor"
    AUTHOR = "author"


class Status(StrEnum):
    """The status of a loop."""

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
    BLOCKED = ("blocked", Status.PAUSED, 8, "It needs something from you before it can go on.")
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
    """What an unattended agent may do. `work`: everything; `edit`: change files, but use no free shell; `read`: read only."""

    WORK = "work"
    EDIT = "edit"
    READ = "read"


class SessionUse(StrEnum):
    """Whether a turn starts a new session of the agent, resumes one, or forks one."""

    NEW = "new"
    RESUME = "resume"
    FORK = "fork"


class FailureKind(StrEnum):
    """Why a turn failed. The same kinds for all agents."""

    LIMIT = "limit"
    AUTH = "auth"
    OVERLOADED = "overloaded"
    CONTEXT_FULL = "context_full"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    UNAVAILABLE = "unavailable"
    RESOURCES = "resources"
    """The machine is short of processes, memory or open files."""
    SESSION_BUSY = "session_busy"
    """Another program has the session open; a fork of it can go on."""


class TestsRule(StrEnum):
    """What the agent may do to judge files: the tests, runner settings and scripts that decide what a check means.

    `add`: existing ones count as they were when the loop began, new ones count too. `keep`: a changed one fails the gate.
    `free`: they may change.
    """

    ADD = "add"
    KEEP = "keep"
    FREE = "free"


class RoomKind(StrEnum):
    """Where a check runs. `sealed`: in a copy, in namespaces of its own; `restored`: in place, with the original judge files;
    `plain`: in place, as the agent left it."""

    SEALED = "sealed"
    RESTORED = "restored"
    PLAIN = "plain"


class SubtaskStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"


class Urgency(StrEnum):
    """When a pause or a stop takes effect."""

    AFTER_ITERATION = "after_iteration"
    NOW = "now"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn has no answer."""

    kind: FailureKind
    message: str
    reset_at: float | None = None
    """When a usage limit resets (epoch seconds); None: the agent did not report it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an agent reports about one run. None: it does not report that amount."""

    cost_usd: float | None = None
    tokens: int | None = None

    @property
    def unpriced(self) -> int:
        """The tokens, if their price is unknown; else 0."""
        return self.tokens or 0 if self.cost_usd is None else 0

    def plus(self, other: Usage) -> Usage:
        """The sum of both. An amount that only one of them reports counts as is."""
        return Usage(*(_sum(getattr(self, name), getattr(other, name)) for name in Usage.__match_args__))

    def or_more(self, other: Usage) -> Usage:
        """The greater of the two values of each amount. An amount that only one of them reports counts as is."""
        return Usage(*(_greater(getattr(self, name), getattr(other, name)) for name in Usage.__match_args__))

    def since(self, before: Usage) -> Usage:
        """The growth of totals since `before`. A total that is smaller than before was reset and counts as a whole."""
        return Usage(*(_growth(getattr(self, name), getattr(before, name)) for name in Usage.__match_args__))


def _sum(one: float | None, other: float | None) -> Any:
    return one if other is None else (one or 0) + other


def _greater(one: float | None, other: float | None) -> Any:
    return other if one is None else one if other is None else max(one, other)


def _growth(total: float | None, before: float | None) -> Any:
    base = before or 0
    return total if total is None or total < base else total - base


@dataclass(frozen=True, slots=True)
class SoFar:
    """What the running turn has used so far."""

    usage: Usage = Usage()
    seconds: float = 0.0
    priced: str = ""
    """See `Answer.priced`."""
    session_total: Usage | None = None
    """See `Answer.session_total`."""


@dataclass(frozen=True, slots=True)
class Spend:
    """What a loop has used so far. Amounts that agents report have the names of `Usage`."""

    iterations: int = 0
    seconds: float = 0.0
    cost_usd: float = 0.0
    tokens: int = 0

    def plus(self, seconds: float, usage: Usage) -> Spend:
        """The spend with one more turn."""
        reported = {name: getattr(self, name) + (getattr(usage, name) or 0) for name in Usage.__match_args__}
        return replace(self, seconds=self.seconds + seconds, **reported)


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a loop. None: no limit."""

    iterations: int | None = None
    minutes: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    iteration_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class AgentChoice:
    """The agent of a role. The `env` of its profile is looked up when it runs, so that secrets stay out of the journal."""

    profile: str
    agent: str
    model: str | None = None
    args: tuple[str, ...] = ()
    command: str | None = None
    permissions: Permissions = Permissions.WORK
    abilities: tuple[str, ...] = ()
    """The names of the agent's capabilities (`resume`, `fork`, …) when the loop was created."""
    program: str = ""
    """The name or path of the program, if it is not the agent's own."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """The settings of a loop, fixed when it is created."""

    mode: str
    worker: AgentChoice
    workspace: str
    instructor: AgentChoice | None = None
    supervisor: AgentChoice | None = None
    fallback: AgentChoice | None = None
    acceptance: AgentChoice | None = None
    """The agent that writes acceptance tests before the work; None: there are none."""
    escalate: tuple[AgentChoice, ...] = ()
    """The agents that take over from the worker, one after the other, while there is no progress."""
    escalate_after: int = 2
    """Rounds without progress, in a row, after which the next one takes over."""
    checks: tuple[str, ...] = ()
    check_timeout: float = 600.0
    review: bool = False
    require_change: bool = False
    tests: TestsRule = TestsRule.ADD
    protect: tuple[str, ...] = ()
    """More judge files, as globs."""
    room: RoomKind | None = None
    """None: the best room that the machine allows."""
    room_net: bool = False
    """Whether a check in a sealed room has the network."""
    keep_running: tuple[str, ...] = ()
    """Programs that may outlive a turn, by name: they are not ended before the gates run."""
    fail_on_tampering: bool = False
    ratchet: bool = False
    """Whether a round after which fewer checks hold than before is undone."""
    sandbox: Sandbox = Sandbox.AUTO
    sandbox_net: SandboxNet = SandboxNet.ALL
    allow_write: tuple[str, ...] = ()
    """Paths outside of the workspace that agents in a box may write to."""
    allow_read: tuple[str, ...] = ()
    """Paths that a box would hide and that agents in it may read."""
    allow_host: tuple[str, ...] = ()
    """Hosts that agents in a box reach, beside those of their own API."""
    allow_ssh: bool = False
    """Whether agents in a box may use the person's SSH agent."""
    pass_env: tuple[str, ...] = ()
    """Variables of the person, by name or as `NAME_*`, that agents and checks get beside the usual ones."""
    gates: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """Gates of plugins, by entry point or `module:NAME`, each with the argument that the person gave it."""
    promise: str | None = "<promise>COMPLETE</promise>"
    marker: str = "[TASK_COMPLETED]"
    native_goal: bool = False
    """Whether each turn of the worker is a run of the agent's own goal loop."""
    context: Context = Context.CONTINUE
    interactive: bool = False
    once: bool = False
    worktree: bool = False
    commit: bool = False
    remote: str | None = None
    """The git remote of a loop on a cluster: each machine fetches the work from it and publishes it there."""
    branch: str | None = None
    """The branch on the remote; None: a branch named after the loop."""
    group: str | None = None
    """The group whose loops share a cost limit."""
    children: int = 0
    """How many loops its agent may start, those of its children included."""
    signing_key: str | None = None
    """The SSH key that signs the receipt; None: it is only sealed."""
    retry_delay: float = 2.0
    """Seconds before the first retry of a failed turn. Each further retry waits twice as long."""
    warn_from: int | None = None
    """The iteration from which the person is warned, if not at three quarters of the budget."""
    supervisor_prompt: str = ""
    """The person's instructions for the supervisor; empty: the default."""
    hook_session: str = ""
    """The id of the person's own agent session in which the loop was created; empty: it was created elsewhere."""
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The options of the mode in the form of the journal. Only the mode reads them, as its own typed value."""

    WRITTEN_IN = MappingProxyType({"supervisor_prompt": "options", "hook_session": "options"})
    """Fields that the journal keeps inside another one; see `core.values.codec`."""

    def agent_for(self, role: Role) -> AgentChoice:
        """The agent of a role; the worker's if the settings name none."""
        others = {
            Role.INSTRUCTOR: self.instructor,
            Role.SUPERVISOR: self.supervisor,
            Role.AUTHOR: self.acceptance,
        }
        chosen = others.get(role)
        return chosen or self.worker

    def agent_of(self, role: Role, profile: str) -> AgentChoice:
        """The agent that took a turn, by the role and the profile in its entry: that of the role, the fallback, or one that took over."""
        own = self.agent_for(role)
        others = (own, self.fallback, *self.escalate)
        return next((each for each in others if each is not None and each.profile == profile), own)


@dataclass(frozen=True, slots=True)
class Subtask:
    """One piece of the task, in the modes `workflow` and `phases`. Files and the API call the list `tasks`."""

    task_id: str
    text: str
    status: SubtaskStatus = SubtaskStatus.PENDING
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubtaskChange:
    """One change of one subtask. None leaves a part as it is. An unknown id adds a subtask, at `position` or at the end."""

    task_id: str
    text: str | None = None
    status: SubtaskStatus | None = None
    depends_on: tuple[str, ...] | None = None
    position: int | None = None
    remove: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """The conversation that an agent keeps between turns."""

    session_id: str
    total: Usage = Usage()
    """The cumulative totals that the agent reported after the last turn."""
    machine: str = ""
    """The machine on which the agent keeps it; empty: unknown."""
    transcript: str = ""
    """The digest of its transcript after the last turn, if it contains only what this loop asked; empty: it cannot be vouched for."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file outside of the snapshots that a verdict depends on: a program, a script, settings."""

    path: str
    """Absolute; or the name of a program that was not found."""
    digest: str
    """The digest of its content; empty: there was no such file."""
    what: str = ""
    """What the agent uses it for, in a few words: `program`, `settings`."""


@dataclass(frozen=True, slots=True)
class KeptStart:
    """What one machine of a cluster kept of the start of a loop: see `StartKept`."""

    record: str = ""
    programs: str = ""
    problem: str = ""
    supervisor_files: tuple[KnownFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """The state of the workspace at one moment. Two fingerprints are equal exactly if nothing changed in between."""

    fingerprint: str = ""
    head: str | None = None
    """The person's last commit."""
    tree: str | None = None
    """The snapshot, as a git tree of the shadow repository."""
    files: int = 0
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one turn of an agent."""

    text: str = ""
    session_id: str | None = None
    usage: Usage = Usage()
    session_total: Usage | None = None
    """Cumulative totals of the session, for an agent that reports only these."""
    failure: Failure | None = None
    """Why there is no answer; None: there is one."""
    denials: tuple[str, ...] = ()
    """Tool calls that the agent was not permitted."""
    exit_code: int | None = None
    agent_version: str | None = None
    model: str | None = None
    priced: str = ""
    """The date of the table of prices that the dollars come from; empty: the agent reported them, or none."""
    claims: bool = False
    """Whether the agent's own goal loop ended. That is a claim, even if the text makes no promise; the gates judge it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Work of an earlier loop that a gate refused, and that is still in the workspace when another loop starts."""

    loop_id: str
    paths: tuple[str, ...]
    unknown: bool = False
    """Whether the loop has no valid seal, so that its refusals are unknown. `paths` are then the judge files that differ from the last
    commit."""

    @property
    def sentence(self) -> str:
        names = ", ".join(self.paths)
        if self.unknown:
            return (
                f"untildone's state was deleted or replaced since loop {self.loop_id}, so it is unknown who changed these judge "
                f"files since the last commit: {names}"
            )
        return (
            f"the workspace differs from the last commit by changes of loop {self.loop_id} that were refused: {names}"
        )


@dataclass(frozen=True, slots=True)
class NeededGate:
    """A step of a gate that must pass before a claim is believed."""

    gate: str
    """The gate's name, such as `check`."""
    command: str = ""


MOST_FAILING_NAMED = 3
"""In a sentence."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The result of a check before any work."""

    command: str
    reason: str = ""
    """Why it failed, or did not run; empty: it passed."""
    tests: str = ""
    """What the test runner reported, in a few words."""
    seconds: float = 0.0
    has_run: bool = True
    passed: int = 0
    """How many tests passed."""
    failing: tuple[str, ...] = ()
    """The tests that failed, by name; empty: none failed, or not all of them have a name."""
    ignored: bool = False
    """Whether these may fail at a claim as well (`--ignore-failing`)."""

    @property
    def sentence(self) -> str:
        """One line for people."""
        said = ", ".join(filter(None, (self.tests or self.reason or "passes", f"{self.seconds:.0f} s")))
        if not self.has_run:
            return f"before any work: {self.command}: did not run: {self.reason}"
        if self.reason:
            return f"before any work: {self.command}: {said}{self._named}; {self._meaning}"
        return f"before any work: {self.command}: {said}; it passes already, so by itself it cannot tell done from not done"

    @property
    def _named(self) -> str:
        more = len(self.failing) - MOST_FAILING_NAMED
        named = ", ".join(self.failing[:MOST_FAILING_NAMED])
        return f" ({named}{f' and {more} more' if more > 0 else ''})" if named else ""

    @property
    def _meaning(self) -> str:
        if self.ignored and self.failing:
            return "what fails now may fail at the end"
        if self.ignored:
            return "its output does not name each failed test, so all must pass at the end"
        return "what fails now is what this loop is for, or was there before (then: --ignore-failing)"


class BeforeWork(StrEnum):
    """What a check says of acceptance tests before any work."""

    FAILS = "fails"
    """As it must: the job is not done."""
    PASSES = "passes"
    """The tests pass before any work: they cannot tell done from not done."""
    NOT_RUN = "not run"
    """The check does not find them."""


@dataclass(frozen=True, slots=True)
class AcceptanceTried:
    """What a check said before any work, with the acceptance tests."""

    command: str
    said: BeforeWork
    tests: str = ""
    """What the test runner reported, in a few words."""
    seconds: float = 0.0

    @property
    def sentence(self) -> str:
        """One line for people."""
        meaning = {
            BeforeWork.FAILS: "fails, as it must before any work",
            BeforeWork.PASSES: "passes before any work, so they cannot tell done from not done",
            BeforeWork.NOT_RUN: "does not run them",
        }
        tests = f" ({self.tests})" if self.tests else ""
        return f"with the acceptance tests: {self.command}: {meaning[self.said]}{tests}"


@dataclass(frozen=True, slots=True)
class AcceptanceTests:
    """The tests that another agent wrote from the task alone. Their contents are in the shadow repository."""

    profile: str
    """The agent that wrote them."""
    tree: str
    """The snapshot of the start with the tests in it."""
    paths: tuple[str, ...]
    sha256: str
    notes: tuple[str, ...] = ()
    """Sentences about files that do not count, and why."""
    tried: tuple[AcceptanceTried, ...] = ()
    """What the checks say of them before any work; empty: they have not run yet."""

    @property
    def sentence(self) -> str:
        """One line for people."""
        return f"acceptance tests by {self.profile}: {', '.join(self.paths)} (sha256 {self.sha256[:12]})"


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdict of one step of a gate on a claim."""

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
    room: RoomKind | None = None
    """Where the command ran; None: it ran none."""
    tree: str = ""
    """The snapshot that was judged, with the judge files that counted; empty: there was none."""
    tests: str = ""
    """What the test runner reported, in a few words: `212 passed`; empty: no known runner spoke."""
    tampered: tuple[str, ...] = ()
    """Judge files that the agent changed and that no person approved."""
    notes: tuple[str, ...] = ()
    """Sentences for the person about how it was judged."""
    proves: bool = True
    """Whether a pass says something about the task. A condition, such as "something changed", does not."""
    failing: tuple[str, ...] = ()
    """Failed tests that were ignored, by name: they failed before the loop too (`--ignore-failing`)."""

    @property
    def said(self) -> str:
        """The supervisor's answer, word for word; empty for a gate that ran a command."""
        return "" if self.command else self.tail
