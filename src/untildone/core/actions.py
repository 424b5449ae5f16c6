"""What a host can be told to do next, and what a mode can ask for."""

from __future__ import annotations

from untildone.core.events import Event
from untildone.core.model import AgentChoice, Outcome, Role, SessionUse
from untildone.core.value import dataclass


@dataclass(frozen=True, slots=True)
class Ask:
    """A mode's wish: ask the agent of a role. RESUME means its session if it has one, FORK a copy of the worker's."""

    role: Role
    prompt: str
    session: SessionUse = SessionUse.RESUME
    system_prompt: str | None = None
    prompt_if_new: str = ""
    """What to say instead to an agent that has no session to go on in: it must be told everything."""
    label: str = ""
    """What the turn is for, in a word: an action, a phase."""
    show_diff: bool = False
    """The host adds what changed in the workspace since the loop began."""
    carries_messages: bool | None = None
    """Whether the prompt holds what the person said since. None: the worker's does, no other."""

    @property
    def hears_person(self) -> bool:
        return self.role is Role.WORKER if self.carries_messages is None else self.carries_messages


@dataclass(frozen=True, slots=True)
class AwaitPerson:
    """Only a person can say what comes next. A host without a person pauses the loop."""

    question: str
    choices: tuple[str, ...] = ()
    leave: Outcome = Outcome.PAUSED
    """How the loop rests if nobody answers."""
    reason: str = ""
    """And why."""


@dataclass(frozen=True, slots=True)
class AskAgent:
    """Run an agent: `TurnStarted` first, on disk; then `TurnEnded` or `TurnInterrupted`."""

    ask: Ask
    agent: AgentChoice
    iteration: int
    attempt: int
    session: SessionUse
    session_id: str | None
    messages: int
    max_cost_usd: float | None


@dataclass(frozen=True, slots=True)
class RunCommand:
    """A gate needs a command run in the workspace."""

    command: str
    timeout: float
    """Seconds."""


@dataclass(frozen=True, slots=True)
class InspectWorkspace:
    """A gate needs to know how the workspace differs from the one in which the loop began."""


@dataclass(frozen=True, slots=True)
class AskSupervisor:
    """A gate needs the supervisor's answer to a question."""


@dataclass(frozen=True, slots=True)
class GateStep:
    """One thing that a gate needs done; its result carries the same gate and command."""

    gate: str
    """The gate's name."""
    need: RunCommand | InspectWorkspace | AskSupervisor

    @property
    def command(self) -> str:
        """Empty for a step that runs none."""
        return self.need.command if isinstance(self.need, RunCommand) else ""


@dataclass(frozen=True, slots=True)
class RunGates:
    """Run these steps in their order, write `GateStarted` before each command, then `GatesRan`."""

    steps: tuple[GateStep, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Nothing to do but to write this down."""

    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Until a time, or until somebody says something."""

    until: float
    reason: str


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing more to do: the loop has ended, or is paused, or was never started."""

    outcome: Outcome | None


Action = AskAgent | RunGates | Record | Wait | AwaitPerson | Rest
