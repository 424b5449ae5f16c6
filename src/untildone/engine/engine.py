"""The engine: drives one loop. Asks the core what to do, does it, writes down what happened, goes round."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, assert_never

from untildone import gates, modes
from untildone.agents import AgentEvent
from untildone.core import budget as budgets
from untildone.core import rounds
from untildone.core.actions import Action, AskAgent, AwaitPerson, GateStep, Record, Rest, RunGates, Wait
from untildone.core.decide import decide
from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    GateStarted,
    LimitReached,
    LiveStateSeen,
    MessageSent,
    PauseRequested,
    Rested,
    TurnInterrupted,
    WorkspaceSeen,
)
from untildone.core.kinds import Host, Interruption
from untildone.core.loop import Loop, UsageLimit
from untildone.core.model import GateResult, Outcome, Role, Urgency
from untildone.core.secrets import Redactor
from untildone.core.value import replace
from untildone.engine import gating, turns
from untildone.engine import usage_limits as limits
from untildone.engine.archiving import archive
from untildone.engine.rechecking import CHANGED_SINCE, changed_since
from untildone.engine.site import Here, Site
from untildone.engine.usage_limits import SharedLimits
from untildone.gates import gates_of
from untildone.store import Journal, Store
from untildone.system import orphans
from untildone.system.guard import Guard
from untildone.workspace.look import Workspace

LOOK_EVERY = 0.02


class Observer(Protocol):
    """Somebody who watches a loop go."""

    def entry(self, entry: Entry, loop: Loop) -> None: ...

    def agent(self, event: AgentEvent, loop: Loop) -> None: ...

    def gate(self, command: str, result: GateResult | None) -> None:
        """A gate begins (no result yet), or has spoken."""
        ...

    def waiting(self, until: float, reason: str, loop: Loop) -> None: ...


class Person(Protocol):
    """Somebody at the terminal who can be asked."""

    def ask(self, question: AwaitPerson, loop: Loop, moved_on: Callable[[], bool]) -> str | None:
        """Their answer; None if they want to leave; empty if `moved_on`, asked now and then, says it is too late."""
        ...

    def tell(self, notice: str) -> None:
        """What became of their answer."""
        ...


class NobodyWatches:
    def entry(self, entry: Entry, loop: Loop) -> None:
        return

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        return

    def gate(self, command: str, result: GateResult | None) -> None:
        return

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        return


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a runner brings along: the environment of agents and checks, the guard, the limits known to all loops."""

    environment: Mapping[str, str]
    redactor: Redactor
    guard: Guard
    limits: SharedLimits
    profile_environment: Callable[[str], Mapping[str, str]] = lambda _profile: {}
    clock: Callable[[], float] = time.time
    host: Host = Host.TERMINAL
    site: Site = Here()
    token: str | None = None
    """What an engine for many machines gave this runner to claim the loop with."""
    on_rest: Callable[[Loop], None] = lambda _loop: None
    """Told when a loop came to rest."""


class Engine:
    def __init__(
        self, store: Store, around: Surroundings, observer: Observer | None = None, person: Person | None = None
    ) -> None:
        self.store = store
        self.around = around
        self.observer = observer or NobodyWatches()
        self.person = person
        self._interrupted = threading.Event()
        self._leaves = threading.Event()
        self._leaves_next = threading.Event()
        self.speaks = threading.Event()
        """The person wants to say something: the turn ends, and they are asked."""

    def interrupt(self) -> None:
        """End the turn at once, save, and rest: what Ctrl-C and a closing server want. Safe in a signal handler."""
        self._interrupted.set()

    def hand_over(self, urgency: Urgency = Urgency.NOW) -> None:
        """Leave the loop as it is, running, for the next runner to go on with: at once, or when the turn has ended."""
        self._leaves_next.set()
        if urgency is Urgency.NOW:
            self._leaves.set()

    def drive(self, loop_id: str) -> Loop:
        """Drive the loop until it rests, or is handed over. LoopBusy if somebody else does."""
        mark, _ = orphans.mark(loop_id)
        with self.store.claim(loop_id, self.around.host, self.around.token) as journal:
            orphans.end_all(mark)
            self.around.guard.watch(mark)
            groups: set[int] = set()
            try:
                drive = _Drive(self, journal, groups)
                loop = drive.until_rest()
            finally:
                orphans.end_all(mark, groups=frozenset(groups))
                self.around.guard.forget(mark)
        if loop.status.ended:
            archive(self.store, loop, drive.place)
        if loop.outcome is not None:
            self.around.on_rest(loop)
        return loop

    @property
    def interrupted(self) -> bool:
        return self._interrupted.is_set()

    @property
    def leaves(self) -> bool:
        return self._leaves.is_set()

    def leaves_before(self, action: Action) -> bool:
        """What only has to be written down is written down; nothing else is begun."""
        if isinstance(action, Record):
            return False
        return self.leaves or (self._leaves_next.is_set() and isinstance(action, AskAgent | Wait | AwaitPerson))


class _Drive:
    """One drive of one loop."""

    def __init__(self, engine: Engine, journal: Journal, groups: set[int]) -> None:
        self.engine = engine
        self.around = engine.around
        self.journal = journal
        self.groups = groups
        """Process groups in which something outlived its turn; it ends with the loop."""
        settings = journal.loop.settings
        self.mode = modes.find(settings.mode)
        self.place = engine.around.site.enter(journal.loop)
        self.workspace = Workspace(self.place)
        self.order_given = False
        self.decided_at = 0
        self.live = engine.store.live_file(journal.loop.loop_id, self.place)

    def until_rest(self) -> Loop:
        if not self.journal.loop.status.ended:
            self.take_up()
        while not (isinstance(action := self.next_action(), Rest) or self.engine.leaves_before(action)):
            self.carry_out(action)
        self.journal.append()
        self.show_live_state()
        return self.journal.loop

    def take_up(self) -> None:
        """What happened since anybody drove it. Of a loop that has ended, nothing matters any more."""
        if not self.journal.loop.start.fingerprint:
            self.write(WorkspaceSeen(self.workspace.look(None)))
        self.look_again()
        self.recover()
        self.note_edit()

    def look_again(self) -> bool:
        """Whether the workspace is no longer as the gates judged it: then what they said is void."""
        seen = changed_since(self.journal.loop, self.workspace)
        if seen is not None:
            self.write(seen)
        return seen is not None

    def recover(self) -> None:
        """A loop that has worked but has nothing of its mode's state lost it: the documents may still tell."""
        loop = self.journal.loop
        if loop.spend.iterations and loop.skill_state is None and loop.turn is None:
            found = self.mode.recover(loop, self.engine.store.documents(loop.loop_id))
            if found is not None:
                self.write(found)

    def next_action(self) -> Action:
        self.wants_out()
        if self.engine.speaks.is_set() and self.journal.loop.turn is None:
            self.engine.speaks.clear()
            self.write(TurnInterrupted(Role.WORKER, self.journal.loop.spend.iterations, Interruption.PERSON))
        return self.decided()

    def decided(self) -> Action:
        self.decided_at = self.journal.loop.seq
        return decide(self.journal.loop, self.around.clock(), self.mode, gates_of)

    def carry_out(self, action: Action) -> None:
        match action:
            case Record(events=events):
                if self.write_if_still_so(*events, sync=False):
                    self.pass_on(events)
            case AskAgent():
                self.ask(action)
            case RunGates():
                self.run_gates(action)
            case Wait(until=until, reason=reason):
                self.wait(until, reason)
            case AwaitPerson():
                self.await_person(action)
            case Rest():
                return
            case _:
                assert_never(action)

    def write(self, *events: Event, sync: bool = True) -> None:
        self.show(self.journal.append(*events, sync=sync))

    def write_if_still_so(self, *events: Event, sync: bool = True) -> bool:
        """Write what was decided, unless somebody said something since: then it must be decided anew."""
        entries = self.journal.append(*events, sync=sync, after=self.decided_at)
        self.show(entries)
        return any(entry.event is events[-1] for entry in entries)

    def show(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            self.engine.observer.entry(entry, self.journal.loop)

    def wants_out(self) -> bool:
        """Read what others wrote; whether the running turn is to end now."""
        self.show(self.journal.catch_up())
        if self.engine.interrupted and not self.order_given:
            self.order_given = True
            self.write(PauseRequested(Urgency.NOW, Outcome.INTERRUPTED))
        return self.journal.loop.interrupts_now or self.engine.speaks.is_set() or self.engine.leaves

    def ask(self, action: AskAgent) -> None:
        profile, account = action.agent.profile, limits.account(action.agent, self.place)
        if self.journal.loop.tries_limits:
            self.around.limits.forget(account)
        known = self.around.limits.find(account, self.around.clock())
        if known is not None and self.journal.loop.limits.get(profile) != known:
            self.write(LimitReached(profile, known.until, known.message, known.strikes))
            return
        if self.group_used_up():
            return
        if not self.note_edit():
            turns.Turn(self).take(action)

    def group_used_up(self) -> bool:
        """Whether the loop rests now because all loops of its group together have spent what they may."""
        name = self.journal.loop.settings.group
        group = self.engine.store.group(name) if name else None
        if group is None or group.max_cost is None or not group.used_up:
            return False
        reason = f"The group '{group.name}' has spent ${group.cost:.2f} of its ${group.max_cost:.2f}."
        self.write(Rested(Outcome.BUDGET, reason))
        return True

    def note_edit(self) -> bool:
        """Write down what somebody made of the live state file; whether somebody did."""
        edit = None if self.mode.live_state(self.journal.loop) is None else self.live.edited()
        if edit is None:
            return False
        self.write(LiveStateSeen(edit.text, edit.before))
        self.live.seen(edit.text)
        return True

    def show_live_state(self) -> None:
        """An edit that nobody has taken note of yet is not written over."""
        text = self.mode.live_state(self.journal.loop)
        if text is not None and (self.journal.loop.status.ended or self.live.edited() is None):
            self.live.write(text)

    def pass_on(self, events: tuple[Event, ...]) -> None:
        """What an event means beyond the loop: limits that others should know of, documents that people read."""
        for event in events:
            if isinstance(event, LimitReached):
                self.tell_others(event)
            if isinstance(event, AnswerRead):
                self.pass_on_answer(event)

    def tell_others(self, event: LimitReached) -> None:
        limit = UsageLimit(event.until, event.message, event.strikes)
        settings = self.journal.loop.settings
        for agent in (settings.worker, settings.instructor, settings.supervisor, settings.fallback):
            if agent is not None and agent.profile == event.profile:
                self.around.limits.tell(limits.account(agent, self.place), limit)

    def pass_on_answer(self, read: AnswerRead) -> None:
        loop, store = self.journal.loop, self.engine.store
        for name, text in read.documents.items():
            store.add_to_document(loop.loop_id, name, text)
        self.show_live_state()
        if read.keep_checkpoint:
            store.keep_checkpoint(loop, self.mode.live_state(loop))

    def run_gates(self, action: RunGates) -> None:
        self.journal.append()
        loop, started = self.journal.loop, time.monotonic()
        results: list[GateResult] = []
        for step in action.steps:
            results.append(self.run_step(step))
            if self.wants_out():
                return
        self.around.site.secure(loop, f"Checks after round {loop.spend.iterations}: {loop.title}")
        seen = self.workspace.look(loop.changes).fingerprint
        self.write(GatesRan(tuple(results), time.monotonic() - started, seen), sync=False)

    def run_step(self, step: GateStep) -> GateResult:
        if step.command:
            self.write(GateStarted(step.command), sync=False)
            self.engine.observer.gate(step.command, None)
        result = gating.run_step(gates.find(step.gate), step, self.journal.loop, self.room())
        if step.command:
            self.engine.observer.gate(step.command, result)
        return result

    def room(self) -> gating.Room:
        env = turns.environment(self.around, self.journal.loop.loop_id)
        return gating.Room(self.place, env, self.wants_out, self.around.redactor, self.groups)

    def wait(self, until: float, reason: str) -> None:
        """Until the time has come, or somebody says something."""
        self.journal.append()
        self.engine.observer.waiting(until, reason, self.journal.loop)
        seq = self.journal.loop.seq
        # A clock that is set back meanwhile does not make it longer: it is decided anew.
        long_enough = time.monotonic() + until - self.around.clock()
        while self.around.clock() < until and not self.wants_out() and self.journal.loop.seq == seq:
            if time.monotonic() > long_enough:
                return
            time.sleep(max(0.0, min(LOOK_EVERY, until - self.around.clock())))

    def await_person(self, question: AwaitPerson) -> None:
        """Until they say something or leave, or somebody else does something that makes the question idle."""
        self.journal.append()
        standing: Action = question
        while (answer := self.answer_of_person(question, standing)) is not None:
            if not answer or self.hear(answer):
                return
            standing = self.decided()
            question = replace(standing, question="") if isinstance(standing, AwaitPerson) else AwaitPerson("")
        if question.leave is Outcome.VERIFIED and self.look_again():
            self.write(Rested(Outcome.PAUSED, CHANGED_SINCE))
        else:
            # What somebody else said in this very moment is heard first.
            self.write_if_still_so(Rested(question.leave, question.reason))

    def answer_of_person(self, question: AwaitPerson, standing: Action) -> str | None:
        def moved_on() -> bool:
            return self.wants_out() or self.decided() != standing

        person = self.engine.person
        return None if person is None else person.ask(question, self.journal.loop, moved_on)

    def hear(self, answer: str) -> bool:
        """Write down what they said, and say what became of it; whether it was more than round control."""
        loop = self.journal.loop
        parsed = rounds.parse(answer, budgets.rounds_left(loop.budget, loop.spend))
        self.write(MessageSent(answer, "terminal"))
        for notice in parsed.notices:
            if self.engine.person is not None:
                self.engine.person.tell(notice)
        return bool(parsed.rest.strip())
