"""A host without a machine: drives a loop in memory, as the engine does, on a clock that only moves when told.

Agents, gates and the person are functions; the journal is a list of entries; a crash drops everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, assert_never

from untildone import gates, modes
from untildone.core import moves
from untildone.core.actions import Action, AskAgent, AwaitPerson, GateStep, Record, Rest, RunGates, Wait
from untildone.core.apply import apply
from untildone.core.codec import epoch, timestamp
from untildone.core.decide import decide
from untildone.core.events import (
    Entry,
    Event,
    GatesRan,
    GateStarted,
    LiveStateSeen,
    LoopCreated,
    MessageSent,
    Rested,
    RunnerClaimed,
    SessionOpened,
    StartRequested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.gate import WorkspaceFacts
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop
from untildone.core.model import (
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
from untildone.core.value import replace
from untildone.gates import gates_of

NOON = 1_767_268_800.0
MANY_STEPS = 2_000
WORKER = AgentChoice("worker", "scripted", abilities=("resume", "fork"))


class Crash(Exception):
    """The process died: only the journal is left."""


class NoRest(AssertionError):
    """The loop did not come to rest within as many steps as it was given."""


class Clock:
    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call of an agent comes to, and what happens meanwhile."""

    answer: Answer = Answer()
    seconds: float = 1.0
    changes: Changes | None = None
    """The workspace after a worker's or a supervisor's turn; None: as before."""
    session_id: str | None = None
    """Told while the agent is still at work."""
    meanwhile: tuple[Event, ...] = ()
    """What others write to the journal during the turn."""
    interrupted: Interruption | None = None
    """The turn is ended from outside: `timeout`, `budget`, `person`."""
    live_state: str | None = None
    """What the live state file is edited to, where the mode has one."""


Answers = Callable[[AskAgent, Loop], Reply | Answer | str]
Gates = Callable[[str, Loop], GateResult]
Person = Callable[[AwaitPerson, Loop], str | None]


class Journal:
    """The entries, and what they fold to. It can be told when the process is to die."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.entries: list[Entry] = []
        self.folded: Loop | None = None
        self.dies_before: int | None = None
        """The number of the entry that is never written."""
        self.dies_after: int | None = None
        """The number of the last entry that is written."""

    @property
    def loop(self) -> Loop:
        assert self.folded is not None
        return self.folded

    def append(self, *events: Event) -> None:
        for event in events:
            self._append(event)

    def _append(self, event: Event) -> None:
        entry = Entry(len(self.entries) + 1, epoch(timestamp(self.clock())), event)
        if self.dies_before == entry.seq:
            raise Crash
        self.entries.append(entry)
        self.folded = apply(self.folded, entry)
        if self.dies_after == entry.seq:
            raise Crash

    def read_again(self) -> None:
        """Forget the folded loop and fold the entries."""
        self.dies_before = self.dies_after = None
        self.folded = fold(self.entries)


def fold(entries: Iterable[Entry]) -> Loop:
    loop = reduce(apply, entries, None)
    assert loop is not None
    return loop


def from_list(replies: Sequence[Reply | Answer | str]) -> Answers:
    """One reply after the other; the last one again and again."""
    given = iter(range(len(replies)))
    return lambda _action, _loop: replies[next(given, len(replies) - 1)]


def passes(command: str, _loop: Loop | None = None) -> GateResult:
    return GateResult("check", command, passed=True, exit_code=0)


def fails(command: str, _loop: Loop | None = None, tail: str = "") -> GateResult:
    return GateResult("check", command, passed=False, tail=tail, exit_code=1, reason="exit code 1")


def nobody(_question: AwaitPerson, _loop: Loop) -> str | None:
    return None


@dataclass(slots=True)
class Driver:
    """Drives one loop. `asked` and `gates_run` are what the world saw, and survive a crash."""

    answers: Answers
    gates: Gates = passes
    person: Person = nobody
    clock: Clock = field(default_factory=Clock)
    asked: list[AskAgent] = field(default_factory=list)
    gates_run: list[str] = field(default_factory=list)
    journal: Journal = field(init=False)

    def __post_init__(self) -> None:
        self.journal = Journal(self.clock)

    @property
    def loop(self) -> Loop:
        return self.journal.loop

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
        self.tell("start", StartRequested())
        return self

    def tell(self, verb: str, *events: Event) -> None:
        """What a person wants, through the door that every face uses: refused if the status does not allow it."""
        moves.check(self.loop, verb)
        if not self.loop.status.ended:
            self.journal.append(*events)

    def run(self, most_steps: int = MANY_STEPS) -> Loop:
        """Claim the loop and drive it until it rests; a wait takes no time."""
        self.claim()
        for _ in range(most_steps):
            action = self.step()
            if isinstance(action, Rest):
                return self.loop
            if isinstance(action, Wait):
                self.clock.now = max(self.clock.now, action.until)
        raise NoRest(f"no rest after {most_steps} steps: {self.loop}")

    def claim(self) -> None:
        self.journal.append(RunnerClaimed(f"runner-{len(self.entries)}", 1, "here"))
        if not self.loop.start.fingerprint:
            self.journal.append(WorkspaceSeen(Changes("as it was")))

    def step(self) -> Action:
        """Decide once, and carry it out. A wait is not waited for."""
        action = decide(self.loop, self.clock(), modes.find(self.loop.settings.mode), gates_of)
        self._carry_out(action)
        return action

    def crash(self) -> None:
        """Everything but the journal is gone; what it says is read again."""
        self.journal.read_again()

    def _carry_out(self, action: Action) -> None:
        match action:
            case Record(events=events):
                self.journal.append(*events)
            case AskAgent():
                self._ask(action)
            case RunGates():
                self._run_gates(action)
            case AwaitPerson():
                self._await_person(action)
            case Wait() | Rest():
                return
            case _:
                assert_never(action)

    def _ask(self, action: AskAgent) -> None:
        self.journal.append(_started(action))
        self.asked.append(action)
        shown = self._live_state()
        reply = _reply(self.answers(action, self.loop))
        self.journal.append(*reply.meanwhile)
        self._note_session(action, reply)
        self.clock.advance(reply.seconds)
        if reply.live_state is not None and shown is not None and reply.live_state != shown:
            self.journal.append(LiveStateSeen(reply.live_state, shown))
        self._conclude(action, reply)

    def _live_state(self) -> str | None:
        return modes.find(self.loop.settings.mode).live_state(self.loop)

    def _note_session(self, action: AskAgent, reply: Reply) -> None:
        role, profile = action.ask.role, action.agent.profile
        known = self.loop.session_of(role, profile)
        if reply.session_id is not None and (known is None or known.session_id != reply.session_id):
            self.journal.append(SessionOpened(role, profile, reply.session_id))

    def _conclude(self, action: AskAgent, reply: Reply) -> None:
        role, reason = action.ask.role, Interruption.CONTROL if self.loop.interrupts_now else reply.interrupted
        if reason is Interruption.TIMEOUT and role is not Role.WORKER:
            late = Failure(FailureKind.TIMEOUT, "no answer in time")
            self._finish(action, replace(reply, answer=replace(reply.answer, failure=late)))
        elif reason is not None:
            self.journal.append(TurnInterrupted(role, action.iteration, reason, reply.seconds))
        else:
            self._finish(action, reply)

    def _finish(self, action: AskAgent, reply: Reply) -> None:
        looked_at = {Role.WORKER: reply.changes or self.loop.changes, Role.SUPERVISOR: reply.changes}
        changes = looked_at.get(action.ask.role)
        self.journal.append(TurnEnded(action.ask.role, action.iteration, reply.answer, reply.seconds, changes))

    def _run_gates(self, action: RunGates) -> None:
        results: list[GateResult] = []
        for step in action.steps:
            results.append(self._run_step(step))
            if self.loop.interrupts_now:
                return
        self.journal.append(GatesRan(tuple(results), 0.5, self.loop.changes.fingerprint))

    def _run_step(self, step: GateStep) -> GateResult:
        if not step.command:
            return gates.find(step.gate).judge(self.loop, step, WorkspaceFacts(self.loop.start, self.loop.changes))
        self.gates_run.append(step.command)
        self.journal.append(GateStarted(step.command))
        return self.gates(step.command, self.loop)

    def _await_person(self, question: AwaitPerson) -> None:
        answer = self.person(question, self.loop)
        self.journal.append(
            Rested(question.leave, question.reason) if answer is None else MessageSent(answer, "terminal")
        )


def looping(
    answers: Answers | Sequence[Reply | Answer | str],
    budget: Budget | None = None,
    gates: Gates = passes,
    person: Person = nobody,
    task: str = "Make the tests pass.",
    **chosen: Any,
) -> Driver:
    """A loop that has been started, five iterations long if nothing else is said; `chosen` are its settings."""
    settings = LoopSettings(**{"mode": "ralph", "worker": WORKER, "workspace": "/workspace", **chosen})
    driver = Driver(answers if callable(answers) else from_list(answers), gates, person)
    return driver.create(settings, budget or Budget(iterations=5), task).start()


def _started(action: AskAgent) -> TurnStarted:
    return TurnStarted(
        role=action.ask.role,
        iteration=action.iteration,
        attempt=action.attempt,
        profile=action.agent.profile,
        session=action.session,
        prompt=action.ask.prompt,
        messages=action.messages,
        session_id=action.session_id,
        label=action.ask.label,
    )


def _reply(told: Reply | Answer | str) -> Reply:
    match told:
        case Reply():
            return told
        case Answer():
            return Reply(told)
        case str():
            return Reply(Answer(told))
        case _:
            assert_never(told)
