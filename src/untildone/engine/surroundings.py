"""What a runner needs from its host: observers, the person at the terminal, signals, environment, guard."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from untildone.core.actions import Action, AskAgent, AwaitPerson, Wait
from untildone.core.events import Entry
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Urgency
from untildone.core.plugins.agent_io import AgentEvent
from untildone.core.prices import PUBLISHED, Prices
from untildone.core.protection.secrets import Redactor
from untildone.engine.notices.telling import Notifier, SilentNotifier
from untildone.engine.site import LocalSite, Site
from untildone.engine.usage_limits import SharedLimits
from untildone.system.adoption import Adoption
from untildone.system.guard import Guard

if TYPE_CHECKING:
    from untildone.engine.engine import Engine
    from untildone.engine.process_hands import ProcessHands


class Observer(Protocol):
    """Is called for everything that happens to a loop while it is driven."""

    def entry(self, entry: Entry, loop: Loop) -> None:
        """An entry was appended, by this or another process; `loop` is the loop after it."""

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        """The running agent printed something."""

    def gate(self, command: str, result: GateResult | None) -> None:
        """A gate starts (no result yet), or has ended."""

    def trying(self, proof: str, number: int, total: int, about: str) -> None:
        """A trial of a proof has begun: its number, the number of all, and what it is about."""

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        """The loop waits."""


class IgnoringObserver:
    """An observer that ignores everything."""

    def entry(self, entry: Entry, loop: Loop) -> None:
        return

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        return

    def gate(self, command: str, result: GateResult | None) -> None:
        return

    def trying(self, proof: str, number: int, total: int, about: str) -> None:
        return

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        return


class Person(Protocol):
    """A person at the terminal."""

    def ask(self, question: AwaitPerson, loop: Loop, moved_on: Callable[[], bool]) -> str | None:
        """The person's answer; None: they leave; empty: `moved_on` returned True, so the question is obsolete."""
        ...

    def tell(self, notice: str) -> None:
        """Show a notice about the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Signals:
    """Requests to a runner from a signal handler or another thread of its process."""

    interrupt: threading.Event = field(default_factory=threading.Event)
    """End the turn at once, save, and let the loop rest."""
    leave: threading.Event = field(default_factory=threading.Event)
    """End the turn at once, and leave the loop running for the next runner."""
    leave_after_turn: threading.Event = field(default_factory=threading.Event)
    """Leave the loop running for the next runner, once the turn and its gates have ended."""
    speak: threading.Event = field(default_factory=threading.Event)
    """End the turn at once and ask the person for a message."""

    def hand_over(self, urgency: Urgency) -> None:
        self.leave_after_turn.set()
        if urgency is Urgency.NOW:
            self.leave.set()

    def leaves_before(self, action: Action) -> bool:
        """Whether the runner leaves instead of carrying out the action."""
        starts = isinstance(action, AskAgent | Wait | AwaitPerson)
        return self.leave.is_set() or (self.leave_after_turn.is_set() and starts)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a runner gets from its host: the environment, the guard, the shared usage limits."""

    environment: Mapping[str, str]
    """The person's. `environments` says what of it agents and checks get."""
    redactor: Redactor
    guard: Guard
    limits: SharedLimits
    profile_environment: Callable[[str], Mapping[str, str]] = lambda _profile: {}
    """Variables for agents of one profile."""
    pass_env: tuple[str, ...] = ()
    """Variables that the settings let pass now, beside those that the loop was created with."""
    clock: Callable[[], float] = time.time
    host: Host = Host.TERMINAL
    site: Site = LocalSite()
    token: str | None = None
    """The token with which an attempt in a cluster takes the lease; None outside a cluster."""
    adoption: Adoption | None = None
    """Finds daemons that agents left, in a process that drives one loop; None: this process drives several."""
    prices: Prices = PUBLISHED
    """What tokens cost, where an agent reports no dollars."""
    notifier: Notifier = SilentNotifier()
    """Tells people what happens to the loop."""
    children: Callable[[Engine, ProcessHands], AbstractContextManager[None]] = lambda _engine, _hands: nullcontext()
    """Lets the agent of a loop start loops while the loop is driven."""
