"""Hands that run agents and gates as processes on this machine.

Terminal, server and cluster use them; the stop hook uses them for gates and supervisors.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from untildone import gates
from untildone.core import budget as budgets
from untildone.core import rounds
from untildone.core.actions import Action, AskAgent, AwaitPerson, GateStep, RunGates, Wait
from untildone.core.errors import UsageError
from untildone.core.events import (
    GatesRan,
    GateStarted,
    LimitReached,
    MessageSent,
    PauseRequested,
    Rested,
    TurnInterrupted,
)
from untildone.core.gate import Gate
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Outcome, Role, Urgency
from untildone.core.value import replace
from untildone.engine import gating, turns, usage_limits
from untildone.engine.stepper import CHANGED_SINCE, Next, Stepper
from untildone.engine.surroundings import IgnoringObserver, Observer, Person, Signals, Surroundings

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
        self.waits_until: float | None = None
        self.time_left = time_left
        self._person = person
        self._longest_wait = longest_wait
        self._pause_written = False

    @property
    def loop(self) -> Loop:
        return self.stepper.loop

    def ask(self, action: AskAgent) -> Next:
        return self._instead_of(action) or self._ask(action)

    def gates(self, action: RunGates) -> Next:
        return self._instead_of(action) or self._run_gates(action)

    def wait(self, action: Wait) -> Next:
        return self._instead_of(action) or self._wait(action)

    def person(self, action: AwaitPerson) -> Next:
        return self._instead_of(action) or self._ask_person(action)

    def must_stop(self) -> bool:
        """Read signals and new entries of the journal. True: the running agent or gate must end at once."""
        self.stepper.catch_up()
        if self.signals.interrupt.is_set() and not self._pause_written:
            self._pause_written = True
            self.stepper.write(PauseRequested(Urgency.NOW, Outcome.INTERRUPTED))
        return self.loop.interrupts_now or self.signals.speak.is_set() or self.signals.leave.is_set()

    def _instead_of(self, action: Action) -> Next | None:
        """GO_ON if the action is obsolete, LEAVE if the host leaves before it, None if it is to be carried out."""
        self.must_stop()
        if self.signals.speak.is_set() and self.loop.turn is None:
            self.signals.speak.clear()
            self.stepper.write(TurnInterrupted(Role.WORKER, self.loop.spend.iterations, Interruption.PERSON))
        if not self.stepper.is_current:
            return Next.GO_ON
        return Next.LEAVE if self.signals.leaves_before(action) else None

    def _ask(self, action: AskAgent) -> Next:
        if not (self._limit_known(action) or self._group_used_up() or self.stepper.note_edit()):
            turns.Turn(self).take(action)
        return Next.GO_ON

    def _limit_known(self, action: AskAgent) -> bool:
        """Whether another loop has reached a usage limit of this agent. Then it is written to the journal, and the agent is not asked."""
        profile, account = action.agent.profile, usage_limits.account(action.agent, self.stepper.place)
        if self.loop.tries_limits:
            self.around.limits.forget(account)
        known = self.around.limits.find(account, self.around.clock())
        if known is None or self.loop.limits.get(profile) == known:
            return False
        self.stepper.write(LimitReached(profile, known.until, known.message, known.strikes))
        return True

    def _group_used_up(self) -> bool:
        """Whether the loop rests now because the loops of its group have together used up the group's cost limit."""
        name = self.loop.settings.group
        group = self.store.group(name) if name else None
        if group is None or group.max_cost is None or not group.used_up:
            return False
        reason = f"The group '{group.name}' has spent ${group.cost:.2f} of its ${group.max_cost:.2f}."
        self.stepper.write(Rested(Outcome.BUDGET, reason))
        return True

    def _run_gates(self, action: RunGates) -> Next:
        self.stepper.write()
        loop, started = self.loop, time.monotonic()
        results = self._results(action)
        if results is None:
            return self._instead_of(action) or Next.GO_ON
        self.around.site.secure(loop, f"Checks after round {loop.spend.iterations}: {loop.title}")
        fingerprint = self.stepper.workspace.look(loop.changes).fingerprint
        self.stepper.write(GatesRan(results, time.monotonic() - started, fingerprint), sync=False)
        return Next.GO_ON

    def _results(self, action: RunGates) -> tuple[GateResult, ...] | None:
        """The result of every step; None: the runner must stop."""
        environment = turns.environment(self.around, self.loop.loop_id)
        room = gating.Room(
            self.stepper.place, environment, self.must_stop, self.around.redactor, self.groups, self.time_left
        )
        results: list[GateResult] = []
        for step in action.steps:
            results.append(self._run_step(step, room))
            if self.must_stop():
                return None
        return tuple(results)

    def _gate(self, step: GateStep) -> Gate:
        gate = gates.gate_of(self.loop.settings, step.gate)
        if gate is None:
            raise UsageError(f"The gate '{step.gate}' is not installed here.", "install the package that defines it")
        return gate

    def _run_step(self, step: GateStep, room: gating.Room) -> GateResult:
        if step.command:
            self.stepper.write(GateStarted(step.command), sync=False)
            self.observer.gate(step.command, None)
        result = gating.run_step(self._gate(step), step, self.loop, room)
        if step.command:
            self.observer.gate(step.command, result)
        return result

    def _wait(self, action: Wait) -> Next:
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
        while self.around.clock() < until and not self.must_stop() and self.stepper.is_current:
            if time.monotonic() > long_enough:
                return
            time.sleep(max(0.0, min(LOOK_EVERY, until - self.around.clock())))

    def _ask_person(self, question: AwaitPerson) -> Next:
        """Ask until the person answers or leaves, or until an entry of another process makes the question obsolete."""
        self.stepper.write()
        action: Action = question
        while (answer := self._answer(question, action)) is not None:
            if not answer or self._take_in(answer):
                return Next.GO_ON
            action = self.stepper.decide()
            question = replace(action, question="") if isinstance(action, AwaitPerson) else AwaitPerson("")
        self._rest_as(question)
        return Next.GO_ON

    def _answer(self, question: AwaitPerson, action: Action) -> str | None:
        def moved_on() -> bool:
            return self.must_stop() or self.stepper.decide() != action

        return None if self._person is None else self._person.ask(question, self.loop, moved_on)

    def _take_in(self, answer: str) -> bool:
        """Write the person's message and show the notices about round controls. True: it was more than round controls."""
        loop = self.loop
        parsed = rounds.parse(answer, budgets.rounds_left(loop.budget, loop.spend))
        self.stepper.write(MessageSent(answer, "terminal"))
        for notice in parsed.notices:
            if self._person is not None:
                self._person.tell(notice)
        return bool(parsed.rest.strip())

    def _rest_as(self, question: AwaitPerson) -> None:
        """Let the loop rest after the person left, or if there is no person."""
        if question.leave is Outcome.VERIFIED and self.stepper.recheck():
            self.stepper.write(Rested(Outcome.PAUSED, CHANGED_SINCE))
        else:
            # A control that another process has just written takes precedence.
            self.stepper.write_if_current(Rested(question.leave, question.reason))
