"""The actions that `decide` returns, and the questions that a mode can ask."""

from __future__ import annotations

from untildone.core.events import Event
from untildone.core.model import AgentChoice, Outcome, Role, SessionUse
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class Ask:
    """A mode asks the agent of a role. RESUME: in the role's session, if it has one. FORK: in a copy of the worker's."""

    role: Role
    prompt: str
    session: SessionUse = SessionUse.RESUME
    system_prompt: str | None = None
    prompt_if_new: str = ""
    """The complete prompt, for an agent without a session to resume or fork; empty: `prompt` is complete."""
    label: str = ""
    """The purpose of the turn in one word: an action, a phase."""
    shows_work: bool = False
    """Whether the host appends what changed in the workspace since the loop began."""
    agrees_with: str = ""
    """The marker with which a reviewer agrees. The host draws a word for it and appends how to answer (`core.answers.agreement`)."""
    agrees_if: str = ""
    """What the reviewer agrees to, as a clause; empty: that everything the person asked for is done."""
    is_closed: bool = False
    """Whether the mode itself put `blocked.closing` into the prompt, because something else comes last."""
    carries_messages: bool | None = None
    """Whether the prompt contains the messages in the inbox. None: only a prompt for the worker does."""

    @property
    def hears_person(self) -> bool:
        """Whether this turn takes the person's messages out of the inbox."""
        return self.role is Role.WORKER if self.carries_messages is None else self.carries_messages


@dataclass(frozen=True, slots=True)
class AwaitPerson:
    """A person must choose what comes next. A host without a person lets the loop rest."""

    question: str
    choices: tuple[str, ...] = ()
    leave: Outcome = Outcome.PAUSED
    """The outcome with which the loop rests if there is no answer."""
    reason: str = ""
    """The reason that goes with `leave`."""


@dataclass(frozen=True, slots=True)
class AskAgent:
    """Run an agent: `TurnStarted` first, on disk; then `TurnEnded` or `TurnInterrupted`."""

    ask: Ask
    agent: AgentChoice
    iteration: int
    attempt: int
    """1 for the first try of this turn, 2 for its first retry."""
    session: SessionUse
    session_id: str | None
    messages: int
    """How many messages of the inbox the prompt contains."""
    max_cost_usd: float | None
    """What is left of the budget; None: no limit."""
    closing: str = ""
    """What follows the mode's own words in every prompt: rounds that were taken back, and how to say that the agent is blocked."""

    @property
    def prompt(self) -> str:
        return self.closed(self.ask.prompt)

    def closed(self, prompt: str) -> str:
        """The prompt with `closing` at its end."""
        return f"{prompt}\n\n{self.closing}" if self.closing else prompt


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A gate needs a command run in the workspace."""

    command: str
    timeout: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class InspectWorkspace:
    """A gate needs the state of the workspace at the start of the loop and now."""


@dataclass(frozen=True, slots=True)
class AskSupervisor:
    """A gate needs the supervisor's answer to a question."""


@dataclass(frozen=True, slots=True)
class RunTrials:
    """A proof needs the checks run on other trees; its gate says which (`core.receipts.proving`)."""

    command: str
    """The name of the proof: people and results know the step by it."""
    timeout: float
    """Seconds for one run of a check."""
    seconds: float
    """For all trials together."""


@dataclass(frozen=True, slots=True)
class GateStep:
    """One thing that a gate needs done; its result carries the same gate and command."""

    gate: str
    """The gate's name."""
    need: RunCommand | InspectWorkspace | AskSupervisor | RunTrials

    @property
    def command(self) -> str:
        """The command of a `RunCommand` step, the name of a proof; empty for other steps."""
        return self.need.command if isinstance(self.need, RunCommand | RunTrials) else ""


@dataclass(frozen=True, slots=True)
class RunGates:
    """Run these steps in their order, write `GateStarted` before each command, then `GatesRan`."""

    steps: tuple[GateStep, ...]
    weighs: bool = False
    """Whether they only say how many checks hold, for `ratchet`: see `GatesRan.weighs`."""


@dataclass(frozen=True, slots=True)
class RestoreWorkspace:
    """Put the workspace back to a snapshot, then write `WorkspaceRestored`. The stepper does it itself, for every host."""

    tree: str
    kept: str
    """The snapshot of what was there when that was decided."""


@dataclass(frozen=True, slots=True)
class Record:
    """Append these events to the journal; nothing else is to be done."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until a time, or until another process appends to the journal."""

    until: float
    """Epoch seconds."""
    reason: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do: the loop has ended, is paused, or was never started."""

    outcome: Outcome | None


Action = AskAgent | RunGates | RestoreWorkspace | Record | Wait | AwaitPerson | Rest
