"""`Loop`: the whole state of the work on one task, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core import children as below
from untildone.core.children import Child, Parent
from untildone.core.history.position import Held, Restoring
from untildone.core.kinds import Host, Interruption
from untildone.core.limits import Limit
from untildone.core.model import (
    EMPTY,
    AcceptanceTests,
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Failure,
    GateResult,
    KeptStart,
    KnownFile,
    LoopSettings,
    Measured,
    NeededGate,
    Outcome,
    Refused,
    Role,
    Session,
    SessionUse,
    SoFar,
    Spend,
    Status,
    Subtask,
    Urgency,
)
from untildone.core.protection.sandbox import Containment, HostAsked
from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass, field


@dataclass(frozen=True, slots=True)
class Turn:
    """The present turn: an agent was asked, and its answer is not there yet or has not been read."""

    role: Role
    iteration: int
    attempt: int
    profile: str
    session: SessionUse
    started_at: float
    messages: tuple[str, ...] = ()
    """The person's messages in this prompt. They return to the inbox if the turn fails or is interrupted."""
    label: str = ""
    """The purpose of the turn in one word: an action, a phase."""
    word: str = ""
    """The digest of the word that was drawn for the question to a reviewer."""
    notes: tuple[str, ...] = ()
    """Sentences for the person about how the reviewer is asked."""
    so_far: SoFar = SoFar()
    """What counts if its runner dies."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The turn failed and will be tried again, not before a time."""

    role: Role
    iteration: int
    attempt: int
    not_before: float
    failure: Failure


@dataclass(frozen=True, slots=True)
class RunningGate:
    """A check that has started and has no result yet. If the runner has died, there will be none."""

    command: str
    started_at: float


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """An agent profile has reached a usage limit and must not be asked before a time."""

    until: float
    message: str
    strikes: int = 1


@dataclass(frozen=True, slots=True)
class Stall:
    """How often in a row the worker changed nothing and gave the same answer, or failed the same check."""

    answer: str = ""
    """A hash of the last answer."""
    answers: int = 0
    check: str = ""
    """The signature of the last failed gates."""
    checks: int = 0
    unchanged: bool = False
    """Whether the last turn of the worker left the workspace as it was."""


@dataclass(frozen=True, slots=True)
class PauseOrder:
    """A person's order to pause or stop the loop."""

    urgency: Urgency
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Runner:
    """The process that drives the loop, and the token of its lease."""

    token: str
    pid: int
    machine: str


@dataclass(frozen=True, slots=True)
class Loop:
    """The state of a loop. The names of the fields are those of the checkpoint."""

    loop_id: str
    title: str
    description: str
    """The task as the person wrote it."""
    settings: LoopSettings
    budget: Budget
    created_at: float
    updated_at: float
    seq: int = 0
    status: Status = Status.CREATED
    outcome: Outcome | None = None
    reason: str = ""
    spend: Spend = Spend()
    gate_seconds: float = 0.0
    """The part of `spend.seconds` in which gates ran."""
    warned: tuple[Limit, ...] = ()
    sessions: Mapping[str, Session] = field(default_factory=lambda: EMPTY)
    """By `role:profile`, so that a fallback agent has a session of its own."""
    turn: Turn | None = None
    retry: Retry | None = None
    limits: Mapping[str, UsageLimit] = field(default_factory=lambda: EMPTY)
    """By agent profile."""
    tries_limits: bool = False
    """Whether the next turn starts although a usage limit is known: a person resumed the loop without waiting."""
    answer: Answer | None = None
    """The answer of the present turn, until the mode has read it."""
    last_answer: str = ""
    """The end of the worker's last answer."""
    claimed: bool = False
    """Whether the agent claims to be done and no gate has failed for this claim."""
    blocked: str = ""
    """What the agent says that it needs from a person, while a supervisor is asked about it. Then it is the `reason` of the rest."""
    questions: tuple[str, ...] = ()
    """What the loop needed from a person each time that it rested as blocked."""
    refuted: bool = False
    """Whether a supervisor has refuted a block since the person last spoke or resumed the loop."""
    gates: tuple[GateResult, ...] = ()
    """The results for the present claim so far, or for the last claim that failed."""
    needed: tuple[NeededGate, ...] = ()
    """The gates that must pass before the present claim is believed, as they were when it was made."""
    checked: str = ""
    """The fingerprint of the workspace after the checks among `gates`; empty: no check ran."""
    signs: tuple[str, ...] = ()
    """The tampering report about the last claim that gates judged."""
    supervisor_files: tuple[KnownFile, ...] = ()
    """The programs and settings of supervisors as they were when the loop began."""
    baseline: tuple[Measured, ...] = ()
    """The result of each check before the first round; empty: not requested, or not run yet."""
    failures_explained: bool = False
    """Whether a person was asked what the failures before the first round are, and answered."""
    acceptance: AcceptanceTests | None = None
    """The acceptance tests of the author; None: not requested, or not written yet."""
    containments: tuple[Containment, ...] = ()
    """What held while agents of the loop ran; the last one holds now."""
    hosts: tuple[HostAsked, ...] = ()
    """The hosts that agents in boxes asked for."""
    hosts_refused: tuple[HostAsked, ...] = ()
    """The hosts that were refused in the worker's last turn; cleared when its next turn starts."""
    approved: tuple[str, ...] = ()
    """Judge files and programs whose change a person accepted."""
    approved_contents: tuple[str, ...] = ()
    """For each path, the digest of the approved content; empty: any content."""
    gate: RunningGate | None = None
    start: Changes = Changes()
    """The workspace before the first turn."""
    start_record: str = ""
    """A hash of what lay beside that snapshot; see `WorkspaceSeen.record`."""
    start_programs: str = ""
    """A hash of the record of the programs on PATH then."""
    start_problem: str = ""
    """Why the machine of a cluster that drives the loop does not have its start, as a sentence; empty: it has it."""
    start_kept_by: str = ""
    """The machine of a cluster whose record, programs and supervisor files these are; empty: the loop is not in a cluster."""
    starts: Mapping[str, KeptStart] = field(default_factory=lambda: EMPTY)
    """What each machine of a cluster kept of the start."""
    uncommitted: int = 0
    """How many files differed from the last commit before the first turn."""
    refused: tuple[Refused, ...] = ()
    """Work of earlier loops that was refused and was still there before the first turn."""
    changes: Changes = Changes()
    """The workspace after the last turn."""
    restoring: Restoring | None = None
    """The snapshot to which the workspace is to be put back, while that is not done."""
    held: Held | None = None
    """For `ratchet`: the checks that held when they ran last, without rounds that were undone. None: they have not run."""
    weighed: str = ""
    """The fingerprint of the workspace in which they ran last."""
    account: str = ""
    """The account for the worker of rounds that were taken back, until it has answered."""
    cut_off: Interruption | None = None
    """The limit at which the worker's last turn was ended, until the worker has answered; None: it was not."""
    stall: Stall = Stall()
    fruitless: int = 0
    """How many rounds in a row made no progress: nothing changed, or the same gates failed as before."""
    escalated: int = 0
    """How many agents of `settings.escalate` have taken over: the last of these is the worker."""
    pause: PauseOrder | None = None
    stop: PauseOrder | None = None
    inbox: tuple[str, ...] = ()
    """Messages of the person that no prompt has contained yet."""
    asked: tuple[str, ...] = ()
    """The task and all messages of the person to this loop."""
    asked_in_session: tuple[str, ...] = ()
    """All prompts of the person in their own session, also from before the loop, as of the last read of its transcript."""
    asked_by_then: int = 0
    """How many entries of `asked` are already contained in `asked_in_session`."""
    tasks: tuple[Subtask, ...] = ()
    """The subtasks, in their order."""
    live_state: str | None = None
    """The edited content of the live state file; None: there is no edit that the mode has not read."""
    live_before: str = ""
    """Its content before the edit."""
    live_in_turn: bool = False
    """Whether an agent, or something that it left running, may have made the edit."""
    live_resumed: bool = False
    """Whether a person resumed the loop after the edit."""
    settings_changed: tuple[str, ...] = ()
    """Files that steer loops and changed while this one ran: they do not count before a person accepts them."""
    consultations: int = 0
    """How many answers other roles gave since the worker's last turn or the person's last message."""
    asks_person: bool = False
    """Whether the person interrupted a turn to write a message: the loop waits for the message."""
    agent_version: str = ""
    priced: str = ""
    """The date of the table of prices that some of the dollars come from; empty: agents reported all of them."""
    unpriced: int = 0
    """Tokens without a known price: the dollars do not include them."""
    runner: Runner | None = None
    lacking: tuple[str, ...] = ()
    """The machines of the cluster that do not have the agent's program, as far as they tried since the last turn or resume."""
    lacking_since: float = 0.0
    """When the first of these machines tried (epoch seconds)."""
    host: Host = Host.NONE
    """The host that drives the loop, drove it last, or shall drive it."""
    not_ours: str = ""
    """Why the loop is not taken for one that untildone wrote here: it has no valid seal. Empty: it is one."""
    skill_state: Mapping[str, Any] | None = None
    """The state of the mode. Only the mode reads it."""
    parent: Parent | None = None
    """The loop whose agent started this one; None: a person did."""
    children: tuple[Child, ...] = ()
    """The loops that its agent started."""

    @property
    def own_budget(self) -> Budget:
        """The budget without the shares of children."""
        return below.own_budget(self.budget, self.children) if self.children else self.budget

    @property
    def total_spend(self) -> Spend:
        """What the loop and all loops below it have used."""
        return below.total(self.spend, self.children)

    def agent_for(self, role: Role) -> AgentChoice:
        """The agent of a role now: as a worker, the one that took over last."""
        if role is Role.WORKER and self.escalated:
            return self.settings.escalate[min(self.escalated, len(self.settings.escalate)) - 1]
        return self.settings.agent_for(role)

    def session_of(self, role: Role, profile: str) -> Session | None:
        """The session of a role that this runner can resume; None: there is none, or it is on another machine of the cluster."""
        session = self.sessions.get(session_key(role, profile))
        return None if session is not None and self._left_behind(session) else session

    def _left_behind(self, session: Session) -> bool:
        if self.settings.remote is None or self.runner is None:
            return False
        return session.machine not in ("", self.runner.machine)

    @property
    def everything_asked(self) -> tuple[str, ...]:
        """Everything the person asked, in their own words: in their own session and by messages to the loop."""
        return (*self.asked_in_session, *self.asked[self.asked_by_then :])

    @property
    def end_sentence(self) -> str:
        """How the loop came to rest, in a sentence; empty while it has not. An ordinary run (`--once`) is no claim of the agent."""
        if self.outcome is Outcome.CLAIMED and self.settings.once:
            return "One round was run, as asked; nothing verified it."
        return self.outcome.sentence if self.outcome else ""

    @property
    def next_iteration(self) -> int:
        """The number of the worker's next turn; the number of the last turn if that one is to be retried."""
        if self.retry is not None and self.retry.role is Role.WORKER:
            return self.retry.iteration
        return self.spend.iterations + 1

    @property
    def failed_gates(self) -> tuple[GateResult, ...]:
        return tuple(result for result in self.gates if not result.passed)

    @property
    def last_seen(self) -> str:
        """The fingerprint of the workspace that the gate results are about: after the checks, else after the last turn."""
        return self.checked or self.changes.fingerprint

    @property
    def works_in_session(self) -> bool:
        """Whether the loop is at work in a person's own session: the stop hook reports the end of its turns."""
        in_session = self.status is Status.RUNNING and self.host is Host.HOOK
        return in_session and (self.turn is not None or self.settings.interactive)

    @property
    def interrupts_now(self) -> bool:
        """Whether a person ordered a pause or stop that ends the running turn at once."""
        return any(order is not None and order.urgency is Urgency.NOW for order in (self.pause, self.stop))


def session_key(role: Role, profile: str) -> str:
    """The key of `Loop.sessions`."""
    return f"{role.value}:{profile}"


def output_name(role: Role, iteration: int) -> str:
    """The name of the output of a turn: `0003`, or `0003-supervisor`."""
    return f"{iteration:04d}" if role is Role.WORKER else f"{iteration:04d}-{role.value}"
