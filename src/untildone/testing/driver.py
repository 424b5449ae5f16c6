"""A simulated host for tests: the real stepper with simulated hands and a manual clock.

Agents, gates and the person are functions; the journal is a list of entries. A crash drops everything but the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, assert_never

from untildone import gates
from untildone.core import moves
from untildone.core.actions import Action, AskAgent, AwaitPerson, GateStep, Rest, RunGates, Wait
from untildone.core.answers.agreement import digest
from untildone.core.apply import apply
from untildone.core.events import (
    Entry,
    Event,
    GatesRan,
    GateStarted,
    LoopCreated,
    MessageSent,
    Rested,
    RunnerLeased,
    SessionOpened,
    StartRequested,
    TurnInterrupted,
    WorkspaceSeen,
)
from untildone.core.kinds import Interruption, Source
from untildone.core.loop import Loop
from untildone.core.model import (
    AcceptanceTests,
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Failure,
    FailureKind,
    GateResult,
    LoopSettings,
    Role,
)
from untildone.core.plugins.gate import WorkspaceFacts
from untildone.core.values.codec import epoch, timestamp
from untildone.core.values.value import replace
from untildone.engine.stepper import HostParts, Stepper
from untildone.engine.stepper_ports import Next, WorkspaceAfterTurn
from untildone.store.live import Edit

NOON = 1_767_268_800.0
MANY_STEPS = 2_000
WORKER = AgentChoice("worker", "scripted", abilities=("resume", "fork"))


class Crash(Exception):
    """The simulated process died; only the journal is left."""


class NoRest(AssertionError):
    """The loop did not come to rest within the given number of steps."""


class Clock:
    """A clock that moves only when a test moves it."""

    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of an agent call, and what happens during the call."""

    answer: Answer = Answer()
    seconds: float = 1.0
    changes: Changes | None = None
    """The workspace after a turn of the worker or the supervisor; None if unchanged."""
    session_id: str | None = None
    """The session id, reported while the agent runs."""
    meanwhile: tuple[Event, ...] = ()
    """Events that other processes append during the turn."""
    interrupted: Interruption | None = None
    """Why the turn is interrupted; None if it ends by itself."""
    live_state: str | None = None
    """New text of the live state file; None if it is not edited."""
    tests: AcceptanceTests | None = None
    """The acceptance tests that an author wrote."""
    transcript: str = "vouched"
    """The digest of the transcript after a turn of the worker; empty: it cannot be vouched for, so no reviewer forks the session."""


AGREED = "[TASK_COMPLETED {word}]"
"""The answer of a reviewer that agrees: `{word}` in a reply is replaced by the word that was drawn for the question;
without one, the line is left out."""
Answers = Callable[[AskAgent, Loop], Reply | Answer | str]
Gates = Callable[[str, Loop], GateResult]
Person = Callable[[AwaitPerson, Loop], str | None]


class Journal:
    """The entries and the folded loop, in memory. Can raise Crash at a given entry."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.entries: list[Entry] = []
        self.folded: Loop | None = None
        self.dies_before: int | None = None
        """Sequence number of the entry before which the process dies."""
        self.dies_after: int | None = None
        """Sequence number of the entry after which the process dies."""

    @property
    def loop(self) -> Loop:
        assert self.folded is not None
        return self.folded

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        if after is not None and self.loop.seq != after:
            return ()
        return tuple([self._append(event) for event in events])

    def catch_up(self) -> tuple[Entry, ...]:
        return ()

    def _append(self, event: Event) -> Entry:
        entry = Entry(len(self.entries) + 1, epoch(timestamp(self.clock())), event)
        if self.dies_before == entry.seq:
            raise Crash
        self.entries.append(entry)
        self.folded = apply(self.folded, entry)
        if self.dies_after == entry.seq:
            raise Crash
        return entry

    def read_again(self) -> None:
        """Fold the entries again, as a new process does."""
        self.dies_before = self.dies_after = None
        self.folded = fold(self.entries)


class LiveFile:
    """The live state file, in memory."""

    def __init__(self) -> None:
        self.text: str | None = None
        self._known: str | None = None

    def edited(self) -> Edit | None:
        if self.text is None or self._known is None or self.text == self._known:
            return None
        return Edit(self.text, self._known)

    def accept(self, text: str) -> None:
        self._known = text

    def write(self, text: str) -> None:
        self.text = self._known = text


@dataclass(slots=True)
class MemoryRecords:
    """What a store keeps besides the journal, in memory."""

    live: LiveFile = field(default_factory=LiveFile)
    texts: dict[str, str] = field(default_factory=dict)
    checkpoints: list[Loop] = field(default_factory=list)

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        return self.live

    def documents(self, loop_id: str) -> Mapping[str, str]:
        return self.texts

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        self.texts[name] = self.texts.get(name, "") + text

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        self.checkpoints.append(loop)


def fold(entries: Iterable[Entry]) -> Loop:
    """The loop that the entries fold to."""
    loop = reduce(apply, entries, None)
    assert loop is not None
    return loop


def from_list(replies: Sequence[Reply | Answer | str]) -> Answers:
    """An agent that gives these replies in order and repeats the last one."""
    given = iter(range(len(replies)))
    return lambda _action, _loop: replies[next(given, len(replies) - 1)]


def passes(command: str, _loop: Loop | None = None) -> GateResult:
    return GateResult("check", command, passed=True, exit_code=0)


def fails(command: str, _loop: Loop | None = None, tail: str = "") -> GateResult:
    return GateResult("check", command, passed=False, tail=tail, exit_code=1, reason="exit code 1")


def no_person(_question: AwaitPerson, _loop: Loop) -> str | None:
    return None


@dataclass(slots=True)
class Driver:
    """Drives one loop. `asked` and `gates_run` record all calls and survive a crash."""

    answers: Answers
    gates: Gates = passes
    person: Person = no_person
    clock: Clock = field(default_factory=Clock)
    asked: list[AskAgent] = field(default_factory=list)
    gates_run: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """The words that were drawn for reviewers, one for each question."""
    records: MemoryRecords = field(default_factory=MemoryRecords)
    journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        self.journal = Journal(self.clock)

    @property
    def loop(self) -> Loop:
        return self.journal.loop

    @property
    def stepper(self) -> Stepper:
        return Stepper(self.records, self.journal, HostParts(clock=self.clock))

    @property
    def entries(self) -> list[Entry]:
        return self.journal.entries

    def events(self, *kinds: type) -> Iterator[Event]:
        return (entry.event for entry in self.entries if not kinds or isinstance(entry.event, kinds))

    def calls(self, role: Role = Role.WORKER) -> list[AskAgent]:
        return [action for action in self.asked if action.ask.role is role]

    def create(self, settings: LoopSettings, budget: Budget, task: str = "Make the tests pass.") -> Driver:
        self.journal.append(LoopCreated("loop-1", task[:100], task, settings, budget))
        return self

    def start(self) -> Driver:
        self.send("start", StartRequested())
        return self

    def send(self, control: str, *events: Event) -> None:
        """Append the events of a control; raises if the status of the loop does not allow it."""
        moves.check(self.loop, moves.Control(control))
        if not self.loop.status.ended:
            self.journal.append(*events)

    def run(self, most_steps: int = MANY_STEPS) -> Loop:
        """Lease the loop and drive it until it rests. Waits advance the clock at once."""
        self.lease()
        for _ in range(most_steps):
            action = self.step()
            if isinstance(action, Rest):
                return self.loop
            if isinstance(action, Wait):
                self.clock.now = max(self.clock.now, action.until)
        raise NoRest(f"no rest after {most_steps} steps: {self.loop}")

    def lease(self) -> None:
        self.journal.append(RunnerLeased(f"runner-{len(self.entries)}", 1, "here"))
        if not self.loop.start.fingerprint:
            self.journal.append(WorkspaceSeen(Changes("as it was")))

    def step(self) -> Action:
        """Decide once and carry the action out, without waiting."""
        stepper = self.stepper
        action = stepper.decide()
        stepper.carry_out(action, _SimulatedHands(self, stepper))
        return action

    def crash(self) -> None:
        """Drop everything but the journal and read it again."""
        self.journal.read_again()


class _SimulatedHands:
    """Hands that call the driver's functions instead of processes."""

    def __init__(self, driver: Driver, stepper: Stepper) -> None:
        self._driver = driver
        self._stepper = stepper

    @property
    def _loop(self) -> Loop:
        return self._stepper.loop

    def ask(self, action: AskAgent) -> Next:
        stepper, driver = self._stepper, self._driver
        word = f"W{self._loop.seq}" if action.ask.agrees_with else ""
        stepper.begin_turn(action, action.prompt, word=digest(word) if word else "")
        driver.asked.append(action)
        driver.words += [word] if word else []
        stepper.show_live_state()
        reply = _with_word(_reply(driver.answers(action, self._loop)), word)
        stepper.write(*reply.meanwhile)
        self._note_session(action, reply)
        driver.clock.advance(reply.seconds)
        if reply.live_state is not None:
            driver.records.live.text = reply.live_state
        stepper.note_edit()
        self._conclude(action, reply)
        return Next.GO_ON

    def _note_session(self, action: AskAgent, reply: Reply) -> None:
        role, profile = action.ask.role, action.agent.profile
        known = self._loop.session_of(role, profile)
        if reply.session_id is not None and (known is None or known.session_id != reply.session_id):
            self._stepper.write(SessionOpened(role, profile, reply.session_id))

    def _conclude(self, action: AskAgent, reply: Reply) -> None:
        role, reason = action.ask.role, Interruption.CONTROL if self._loop.interrupts_now else reply.interrupted
        if reason is Interruption.TIMEOUT and role is not Role.WORKER:
            late = Failure(FailureKind.TIMEOUT, "no answer in time")
            self._finish(action, replace(reply, answer=replace(reply.answer, failure=late)))
        elif reason is not None:
            self._stepper.write(TurnInterrupted(role, action.iteration, reason, reply.seconds))
        else:
            self._finish(action, reply)

    def _finish(self, action: AskAgent, reply: Reply) -> None:
        changes = {Role.WORKER: reply.changes or self._loop.changes, Role.SUPERVISOR: reply.changes}
        role = action.ask.role
        look, transcript = (
            (lambda _: WorkspaceAfterTurn(changes.get(role))),
            reply.transcript if role is Role.WORKER else "",
        )
        self._stepper.end_turn(role, action.iteration, reply.answer, reply.seconds, look, transcript, reply.tests)

    def gates(self, action: RunGates) -> Next:
        results: list[GateResult] = []
        for step in action.steps:
            results.append(self._run_step(step))
            if self._loop.interrupts_now:
                return Next.GO_ON
        self._stepper.write(GatesRan(tuple(results), 0.5, self._loop.changes.fingerprint))
        return Next.GO_ON

    def _run_step(self, step: GateStep) -> GateResult:
        if not step.command:
            return gates.find(step.gate).judge(self._loop, step, WorkspaceFacts(self._loop.start, self._loop.changes))
        self._driver.gates_run.append(step.command)
        self._stepper.write(GateStarted(step.command))
        return replace(self._driver.gates(step.command, self._loop), gate=step.gate)

    def wait(self, action: Wait) -> Next:
        return Next.GO_ON

    def person(self, action: AwaitPerson) -> Next:
        answer = self._driver.person(action, self._loop)
        self._stepper.write(
            Rested(action.leave, action.reason) if answer is None else MessageSent(answer, Source.TERMINAL)
        )
        return Next.GO_ON


def decided(entries: Iterable[Entry], now: float) -> Action:
    """The action that the stepper decides for these entries at this time."""
    journal = Journal(Clock(now))
    journal.entries, journal.folded = list(entries), fold(entries)
    return Stepper(MemoryRecords(), journal, HostParts(clock=journal.clock)).decide()


def looping(
    answers: Answers | Sequence[Reply | Answer | str],
    budget: Budget | None = None,
    gates: Gates = passes,
    person: Person = no_person,
    task: str = "Make the tests pass.",
    **chosen: Any,
) -> Driver:
    """A driver with a started loop, by default with a budget of five rounds; `chosen` are its settings."""
    settings = LoopSettings(**{"mode": "ralph", "worker": WORKER, "workspace": "/workspace", **chosen})
    driver = Driver(answers if callable(answers) else from_list(answers), gates, person)
    return driver.create(settings, budget or Budget(iterations=5), task).start()


def _with_word(reply: Reply, word: str) -> Reply:
    """The reply with the drawn word in the place of `{word}`. A question without a word is answered without that line."""
    lines = [line for line in reply.answer.text.split("\n") if word or "{word}" not in line]
    return replace(reply, answer=replace(reply.answer, text="\n".join(lines).replace("{word}", word)))


def _reply(value: Reply | Answer | str) -> Reply:
    match value:
        case Reply():
            return value
        case Answer():
            return Reply(value)
        case str():
            return Reply(Answer(value))
        case _:
            assert_never(value)
