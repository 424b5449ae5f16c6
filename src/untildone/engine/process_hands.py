"""Hands that run agents and gates as processes on this machine.

Terminal, server and cluster use them; the stop hook uses them for gates and supervisors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from untildone.core.actions import Action, AskAgent, AwaitPerson, RunGates, Wait
from untildone.core.events import HostsAsked, PauseRequested, TurnInterrupted
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Outcome, Role, Urgency, Usage
from untildone.core.protection.sandbox import HostAsked
from untildone.engine import environments
from untildone.engine.agent import leftovers, turns
from untildone.engine.agent.standby import Standby, Warm
from untildone.engine.hands.before_turns import BeforeTurns
from untildone.engine.hands.gates import GateHands
from untildone.engine.hands.person import PersonHands
from untildone.engine.stepper import Stepper
from untildone.engine.stepper_ports import Next
from untildone.engine.surroundings import IgnoringObserver, Observer, Person, Signals, Surroundings
from untildone.engine.verdicts import known_files
from untildone.system.program.process import Ended

if TYPE_CHECKING:
    from untildone.store import Store

LONG_WAIT = 5.0
"""Seconds. A loop that waits longer for a usage limit leaves its slot of a server or machine to another loop meanwhile."""
LOOK_EVERY = 0.02
"""Seconds between two looks at the journal while the loop waits."""


class ProcessHands:
    """The `Hands` of a host that runs processes."""

    def __init__(
        self,
        stepper: Stepper,
        store: Store,
        around: Surroundings,
        *,
        observer: Observer | None = None,
        person: Person | None = None,
        signals: Signals | None = None,
        longest_wait: float | None = None,
        time_left: Callable[[], float] | None = None,
    ) -> None:
        """`longest_wait` (seconds): instead of waiting longer, the runner leaves, and `waits_until` is the end of the wait.

        `time_left`: the seconds until the deadline of the host; None: it has none.
        """
        self.stepper = stepper
        self.store = store
        self.around = around
        self.observer = observer or IgnoringObserver()
        self.signals = signals or Signals()
        self.groups: set[int] = set()
        """Process groups in which a process outlived its turn or gate; the host ends them at the end of the drive."""
        self.unmetered: set[str] = set()
        """Profiles of which the person knows that they do not report their usage while they work."""
        self.unpriced: set[str] = set()
        """Profiles of which the person knows that their prices are unknown."""
        self.refused: dict[Role, tuple[str, ...]] = {}
        """What boxes refused in the last turn of a role; the role's next prompt says so."""
        self.used_in_turn = Usage()
        """What the running agent has used so far, as far as it has reported that."""
        self.standby = Standby(self._after_standby)
        """The program of the worker between two turns."""
        self.loops_socket = ""
        """Where the worker reaches the loops that it may start; empty: it may start none."""
        self.waits_until: float | None = None
        self.time_left = time_left
        self.before_turns = BeforeTurns(self)
        self.judging = GateHands(self)
        self.talking = PersonHands(self, person)
        self._longest_wait = longest_wait
        self._pause_written = False

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def ask(self, action: AskAgent) -> Next:
        return self.instead_of(action) or self.before_turns.leave_to_others(action) or self._ask(action)

    def gates(self, action: RunGates) -> Next:
        return self.instead_of(action) or self.judging.run(action)

    def wait(self, action: Wait) -> Next:
        return self.instead_of(action) or self._wait(action)

    def person(self, action: AwaitPerson) -> Next:
        return self.instead_of(action) or self.talking.ask(action)

    def _after_standby(self, warm: Warm, ended: Ended, asked: tuple[HostAsked, ...]) -> None:
        """End the leftovers of a program that was open between two turns, and write the hosts that it asked for."""
        if ended.leftover_group is not None:
            self.groups.add(ended.leftover_group)
        if ended.exit_code < 0:
            # Something killed it: with its launcher gone, the agent itself may still be at work.
            leftovers.end(self.loop.loop_id, self.around, self.groups, self.loop.settings.keep_running)
        if asked:
            # The entry replaces those that no prompt has named yet.
            earlier = tuple(each.sentence for each in self.loop.hosts_refused)
            self.refused[Role.WORKER] = (*self.refused.get(Role.WORKER, ()), *earlier)
            self.stepper.write(HostsAsked(Role.WORKER, warm.iteration, asked), sync=False)

    def must_stop(self) -> bool:
        """Read signals and new entries of the journal. True: the running agent or gate must end at once."""
        if self.stepper.orders is not None and self.stepper.orders.interrupts_now:
            # Before the journal: an order is there because the journal could not be written.
            return True
        self.stepper.catch_up()
        if self.signals.interrupt.is_set() and not self._pause_written:
            self._pause_written = True
            self.stepper.write(PauseRequested(Urgency.NOW, Outcome.INTERRUPTED))
        return self.loop.interrupts_now or self.signals.speak.is_set() or self.signals.leave.is_set()

    def has_news(self) -> bool:
        """Whether a wait is over: the runner must stop, or an order is waiting."""
        return self.must_stop() or (self.stepper.orders is not None and self.stepper.orders.is_waiting)

    def instead_of(self, action: Action) -> Next | None:
        """GO_ON if the action is obsolete, LEAVE if the host leaves before it, None if it is to be carried out."""
        self.stepper.obey()
        self.must_stop()
        if self.signals.speak.is_set() and self.loop.turn is None:
            self.signals.speak.clear()
            self.stepper.write(TurnInterrupted(Role.WORKER, self.loop.spend.iterations, Interruption.PERSON))
        if not self.stepper.is_current:
            return Next.GO_ON
        return Next.LEAVE if self.signals.leaves_before(action) else None

    def _ask(self, action: AskAgent) -> Next:
        if self.before_turns.holds_back(action):
            return self.instead_of(action) or Next.GO_ON
        if not self.stepper.note_edit():
            turns.Turn(self).take(action)
        return Next.GO_ON

    def note_supervisors(self) -> None:
        """Write which programs and settings supervisors run with, before the first turn."""
        known_files.note(self.stepper, self.environment)

    def environment(self, choice: AgentChoice) -> Mapping[str, str]:
        """The environment of the agent program of a profile."""
        return environments.of_agent(self.around, self.loop, choice)

    def _wait(self, action: Wait) -> Next:
        self.standby.end()
        self.stepper.write()
        self.observer.waiting(action.until, action.reason, self.loop)
        seconds = action.until - self.around.clock()
        if self._longest_wait is not None and seconds > self._longest_wait:
            self.waits_until = action.until
            return Next.LEAVE
        self._sleep(action.until, time.monotonic() + seconds)
        return Next.GO_ON

    def _sleep(self, until: float, long_enough: float) -> None:
        """Sleep until a time, or until another process appends to the journal. `long_enough` bounds it if the clock is set back."""
        while self.around.clock() < until and not self.has_news() and self.stepper.is_current:
            if time.monotonic() > long_enough:
                return
            time.sleep(max(0.0, min(LOOK_EVERY, until - self.around.clock())))
