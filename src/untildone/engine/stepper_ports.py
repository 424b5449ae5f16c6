"""What a host gives the stepper: its hands, and access to the loops below a loop."""

from __future__ import annotations

from enum import Enum

from untildone.core.actions import AskAgent, AwaitPerson, RunGates, Wait
from untildone.core.model import Changes, Outcome
from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass


class Next(Enum):
    """What the stepper does after an action."""

    GO_ON = "go on"
    """Decide again."""
    LEAVE = "leave"
    """Return to the host, with the loop as it is."""


@dataclass(frozen=True, slots=True)
class WorkspaceAfterTurn:
    """The workspace after a turn."""

    changes: Changes | None = None
    """None: unchanged, or not needed."""
    note: str = ""
    """A sentence for the person: what is not committed, and why."""


class Hands(Protocol):
    """What a host can do for the stepper."""

    def ask(self, action: AskAgent) -> Next:
        """Ask an agent: `begin_turn`, then `end_turn` or `TurnInterrupted`."""

    def gates(self, action: RunGates) -> Next:
        """Run the gates in the workspace and write `GatesRan`."""

    def wait(self, action: Wait) -> Next:
        """Wait until the time has come, or until another process appends to the journal."""

    def person(self, action: AwaitPerson) -> Next:
        """Ask the person. A host without a person writes `Rested`, or leaves."""


class Below(Protocol):
    """The loops below a loop, as its stepper sees them."""

    def rest(self, outcome: Outcome) -> None:
        """Bring them to rest, because the loop is about to rest with this outcome; write what they used."""

    def go_on(self) -> None:
        """Go on with those that rested for the loop, because it does not rest after all."""


class Idle:
    """Hands that do nothing: the stepper appends the events of `Record` actions, and returns."""

    def ask(self, action: AskAgent) -> Next:
        return Next.LEAVE

    def gates(self, action: RunGates) -> Next:
        return Next.LEAVE

    def wait(self, action: Wait) -> Next:
        return Next.LEAVE

    def person(self, action: AwaitPerson) -> Next:
        return Next.LEAVE
