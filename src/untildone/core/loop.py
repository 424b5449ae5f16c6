"""`Loop`: the whole state of one durable run of a task, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.hints import Any
from untildone.core.kinds import Host
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
    Session,
    SessionUse,
    Spend,
    Status,
    Task,
    Urgency,
)
from untildone.core.value import dataclass, field


@dataclass(frozen=True, slots=True)
class Turn:
    """An agent was asked and has not been understood yet."""

    role: Role
    iteration: int
    attempt: int
    profile: str
    session: SessionUse
    started_at: float
    messages: tuple[str, ...] = ()
    """What the person said that went into this prompt; it returns to the inbox if the turn comes to nothing."""
    label: str = ""
    """What the turn is for, in a word: an action, a phase."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The same iteration is to be asked again, not before a time."""

    role: Role
    iteration: int
    attempt: int
    not_before: float
    failure: Failure


@dataclass(frozen=True, slots=True)
class RunningGate:
    """A check that began and has not spoken yet; if nobody drives the loop any more, it never will."""

    command: str
    started_at: float


@dataclass(frozen=True, slots=True)
class UsageLimit:
    """An agent profile may not be asked before a time."""

    until: float
    message: str
    strikes: int = 1


@dataclass(frozen=True, slots=True)
class Stall:
    """How often in a row the worker changed nothing and gave the same answer, or failed the same check."""

    answer: str = ""
    answers: int = 0
    check: str = ""
    checks: int = 0
    unchanged: bool = False


@dataclass(frozen=True, slots=True)
class PauseOrder:
    urgency: Urgency
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Runner:
    """Who drives the loop."""

    token: str
    pid: int
    machine: str


@dataclass(frozen=True, slots=True)
class Loop:
    loop_id: str
    title: str
    description: str
    settings: LoopSettings
    budget: Budget
    created_at: float
    updated_at: float
    seq: int = 0
    status: Status = Status.CREATED
    outcome: Outcome | None = None
    reason: str = ""
    spend: Spend = Spend()
    warned: tuple[Limit, ...] = ()
    sessions: Mapping[str, Session] = field(default_factory=lambda: EMPTY)
    """By `role:profile`, so that a fallback agent has a session of its own."""
    turn: Turn | None = None
    retry: Retry | None = None
    limits: Mapping[str, UsageLimit] = field(default_factory=lambda: EMPTY)
    """By agent profile."""
    tries_limits: bool = False
    """Whether the next turn is to be tried whatever is known of limits: a person wants that."""
    answer: Answer | None = None
    """What the turn came to, until it has been read."""
    last_answer: str = ""
    """The end of the worker's last answer."""
    claimed: bool = False
    """The agent claims to be done, and the gates have not all spoken."""
    gates: tuple[GateResult, ...] = ()
    """What the gates said: of the present claim so far, or of the last one that failed."""
    checked: str = ""
    """The fingerprint of the workspace when the checks among them had run."""
    gate: RunningGate | None = None
    start: Changes = Changes()
    """The workspace as the loop found it."""
    changes: Changes = Changes()
    """The workspace after the last turn."""
    stall: Stall = Stall()
    pause: PauseOrder | None = None
    stop: PauseOrder | None = None
    inbox: tuple[str, ...] = ()
    """What the person said that no prompt has carried yet."""
    asked: tuple[str, ...] = ()
    """Everything the person asked of this loop so far, in their own words."""
    asked_in_session: tuple[str, ...] = ()
    """What the person asked in their own session, before the loop began as well, when its record was last read."""
    asked_by_then: int = 0
    """So many of `asked` are among them."""
    tasks: tuple[Task, ...] = ()
    live_state: str | None = None
    """What somebody wrote into the live state file, until the mode has read it."""
    live_before: str = ""
    """What the file had said before that."""
    live_in_turn: bool = False
    """An agent was at work meanwhile: it may have been the agent who wrote it."""
    consultations: int = 0
    """How often other roles have answered since the worker's last turn, or the person's last word."""
    asks_person: bool = False
    """The person interrupted a turn to say something: nothing goes on until they did."""
    agent_version: str = ""
    runner: Runner | None = None
    host: Host = Host.NONE
    """What drives the loop, drove it last, or is to drive it."""
    skill_state: Mapping[str, Any] | None = None
    """The mode's own part."""

    def session_of(self, role: Role, profile: str) -> Session | None:
        """The session that can be gone on with: a loop that came from another machine has left it there."""
        session = self.sessions.get(session_key(role, profile))
        return None if session is not None and self._left_behind(session) else session

    def _left_behind(self, session: Session) -> bool:
        if self.settings.remote is None or self.runner is None:
            return False
        return session.machine not in ("", self.runner.machine)

    @property
    def everything_asked(self) -> tuple[str, ...]:
        """Everything the person asked so far, in their own words, wherever they said it."""
        return (*self.asked_in_session, *self.asked[self.asked_by_then :])

    @property
    def next_iteration(self) -> int:
        """The number of the worker's next turn: the same again if the last one is to be retried."""
        if self.retry is not None and self.retry.role is Role.WORKER:
            return self.retry.iteration
        return self.spend.iterations + 1

    @property
    def failed_gates(self) -> tuple[GateResult, ...]:
        return tuple(result for result in self.gates if not result.passed)

    @property
    def last_seen(self) -> str:
        """The fingerprint of the workspace as it was when last looked at: what the gates said holds only of that."""
        return self.checked or self.changes.fingerprint

    @property
    def works_in_session(self) -> bool:
        """Whether a person's own session has it: the end of a turn is told by the stop hook, what comes next by the person."""
        in_session = self.status is Status.RUNNING and self.host is Host.HOOK
        return in_session and (self.turn is not None or self.settings.interactive)

    @property
    def interrupts_now(self) -> bool:
        """Whether a person wants the running turn ended at once."""
        return any(order is not None and order.urgency is Urgency.NOW for order in (self.pause, self.stop))


def session_key(role: Role, profile: str) -> str:
    return f"{role.value}:{profile}"


def output_name(role: Role, iteration: int) -> str:
    """The name of the output of a turn: `0003`, or `0003-supervisor`."""
    return f"{iteration:04d}" if role is Role.WORKER else f"{iteration:04d}-{role.value}"
