"""A loop under arbitrary agents, gates, people, clocks and crashes: the laws of its journal hold at every moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from untildone.core.actions import AskAgent, RunGates, Wait
from untildone.core.errors import WrongMove
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Event,
    LimitReached,
    MessageSent,
    PauseRequested,
    Rested,
    ResumeRequested,
    StartRequested,
    StopRequested,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Context,
    Failure,
    FailureKind,
    GateResult,
    LoopSettings,
    Outcome,
    Role,
    Urgency,
    Usage,
)
from untildone.core.values.value import replace
from untildone.testing.driver import NOON, Crash, Driver, Reply, fails, passes
from untildone.testing.journal_laws import Laws, check_laws

PROMISE = "<promise>COMPLETE</promise>"
TEXTS = (
    "I am still at it.",
    "Still at it, differently.",
    "",
    *[f"All of it.\n{PROMISE}\n[TASK_COMPLETED {{word}}]"] * 6,
    f"I will say `{PROMISE}` when it is done.",
    "[TASK_COMPLETED]",
    "[TASK_COMPLETED {word}]",
    "The docs are missing.",
)
CONTROL = (StartRequested, PauseRequested, ResumeRequested, StopRequested, MessageSent, BudgetChanged)

agents = st.sampled_from([(), ("resume",), ("resume", "fork")])
budgets = st.builds(
    Budget,
    iterations=st.none() | st.integers(0, 8),
    minutes=st.none() | st.none() | st.floats(0.1, 15),
    cost_usd=st.none() | st.none() | st.floats(0.1, 4),
    tokens=st.none() | st.none() | st.integers(1, 4000),
)
failures = st.builds(
    Failure,
    kind=st.sampled_from(FailureKind),
    message=st.just("it failed"),
    reset_at=st.sampled_from([None, NOON - 100, NOON + 300, NOON + 10_000]),
)
replies = st.builds(
    Reply,
    answer=st.builds(
        Answer,
        text=st.sampled_from(TEXTS),
        session_id=st.sampled_from([None, "s1", "s2"]),
        usage=st.sampled_from([Usage(), Usage(0.1, 7), Usage(None, 300), Usage(0.3)]),
        failure=st.none() | st.none() | st.none() | failures,
    ),
    seconds=st.sampled_from([0.0, 1.5, 60.0]),
    changes=st.sampled_from([None, None, Changes("a"), Changes("b"), Changes("c")]),
    session_id=st.sampled_from([None, "s1", "s2"]),
    interrupted=st.sampled_from([*[None] * 9, Interruption.TIMEOUT, Interruption.BUDGET, Interruption.PERSON]),
)
urgencies = st.sampled_from(Urgency)
controls = st.one_of(
    st.builds(PauseRequested, urgencies),
    st.builds(ResumeRequested, st.booleans()),
    st.builds(StopRequested, urgencies, st.sampled_from([Outcome.STOPPED, Outcome.ABANDONED])),
    st.builds(
        BudgetChanged, st.sampled_from([limit for limit in Limit if limit.row.used]), st.integers(0, 5), st.booleans()
    ),
)
round_controls = st.sampled_from(["", "[r+1] ", "[r=0]", "[r=2][R+1] ", " [r+2]"])


gate_results = st.sampled_from([[True, True]] * 3 + [[True, False], [False, True], [False, False]])


class LoopMachine(RuleBasedStateMachine):
    """The driver asks an agent, runs a gate or records something; people say what they like in between; it dies at will."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = Reply()
        self.gates: list[bool] = []
        self.driver = Driver(lambda _action, _loop: self.reply, self.gate)
        self.laws = Laws()
        self.sent: list[Event] = []
        self.notes: list[str] = []

    def gate(self, command: str, _loop: Loop) -> GateResult:
        return (passes if self.gates.pop() else fails)(command)

    @initialize(
        abilities=agents,
        budget=budgets,
        checks=st.sampled_from([(), ("make",), ("make", "make lint")]),
        flags=st.fixed_dictionaries({"review": st.booleans(), "require_change": st.booleans(), "once": st.booleans()}),
        promise=st.sampled_from([PROMISE, PROMISE, None]),
        context=st.sampled_from(Context),
        fallback=st.booleans(),
    )
    def create(
        self,
        abilities: tuple[str, ...],
        budget: Budget,
        checks: tuple[str, ...],
        flags: dict[str, bool],
        promise: str | None,
        context: Context,
        fallback: bool,
    ) -> None:
        worker = AgentChoice("worker", "scripted", abilities=abilities)
        chosen: dict[str, Any] = {**flags, "checks": checks, "promise": promise, "context": context}
        spare = replace(worker, profile="spare") if fallback else None
        self.driver.create(LoopSettings("ralph", worker, "/workspace", fallback=spare, **chosen), budget)
        self.say("start", StartRequested())
        self.driver.lease()

    def say(self, verb: str, event: Event) -> None:
        try:
            self.driver.send(verb, event)
        except WrongMove:
            loop = self.driver.loop
            assert loop.status.ended or loop.stop is not None or verb in ("pause", "start")
            return
        if not self.driver.loop.status.ended:
            self.sent.append(event)

    @rule(reply=replies, gates=gate_results, order=st.none() | st.none() | controls, speaks=st.integers(0, 3))
    def turn(self, reply: Reply, gates: list[bool], order: Event | None, speaks: int) -> None:
        """A few actions; if they ask an agent, this is what comes of it, and what a person orders or writes meanwhile."""
        for _ in range(4):
            self.gates = list(gates)
            said = (MessageSent(self.note()),) if speaks == 0 else ()
            self.reply = replace(reply, meanwhile=(*said, *((order,) if order else ())))
            asked = len(self.driver.asked)
            action = self.driver.step()
            assert len(self.driver.asked) - asked == isinstance(action, AskAgent)
            assert isinstance(action, RunGates) or self.gates == gates
            if isinstance(action, AskAgent):
                self.sent += self.reply.meanwhile
                self.notes += [event.text for event in said]
                return

    def note(self) -> str:
        return f"note {len(self.notes)} of the person"

    @rule(reply=replies, steps=st.integers(1, 3), ahead=st.integers(1, 3), before=st.booleans())
    def die(self, reply: Reply, steps: int, ahead: int, before: bool) -> None:
        """The process dies at a boundary of the journal: after the agent has worked, or before it was even called."""
        self.gates, self.reply = [True] * 6, reply
        seq = len(self.driver.entries) + ahead
        setattr(self.driver.journal, "dies_before" if before else "dies_after", seq)
        try:
            for _ in range(steps):
                self.driver.step()
        except Crash:
            assert len(self.driver.entries) == seq - before
        self.driver.crash()
        self.driver.lease()

    @rule(event=controls)
    def control(self, event: Event) -> None:
        words = {PauseRequested: "pause", ResumeRequested: "resume", StopRequested: "stop", BudgetChanged: "budget"}
        self.say(words[type(event)], event)

    @rule(control=round_controls)
    def message(self, control: str) -> None:
        note = self.note()
        self.say("say", MessageSent(f"{control}{note}"))
        loop = self.driver.loop
        if not loop.status.ended and loop.stop is None:
            self.notes.append(note)

    @rule()
    def goes_on(self) -> None:
        self.say("resume", ResumeRequested())

    @rule(seconds=st.sampled_from([-3600.0, 1.0, 61.0, 7200.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.driver.clock.advance(seconds)

    @invariant()
    def obeys_the_laws(self) -> None:
        """Every new entry is as lawful as the ones before; what they fold to is what the host holds."""
        known = self.laws.loop.seq if self.laws.loop else 0
        if len(self.driver.entries) > known:
            assert self.laws.read(self.driver.entries[known:]) == self.driver.loop

    @invariant()
    def no_word_is_lost(self) -> None:
        assert list(self.driver.events(*CONTROL)) == self.sent
        carried = [*self.driver.loop.inbox, *self.understood_prompts()]
        assert all(any(note in text for text in carried) for note in self.notes)

    def understood_prompts(self) -> Iterator[str]:
        """The prompts of turns that came to something, and of the one under way."""
        prompt = ""
        for event in self.driver.events():
            match event:
                case TurnStarted():
                    prompt = event.prompt
                case TurnInterrupted() | TurnRetried() | LimitReached() | Rested():
                    prompt = ""
                case AnswerRead():
                    yield prompt
                case _:
                    pass
        yield prompt

    def teardown(self) -> None:
        """Left to a good agent, with two rounds more, it comes to rest, lawfully."""
        driver = self.driver
        if not driver.journal.entries:
            return
        self.reply = Reply(Answer(f"{PROMISE}\n[TASK_COMPLETED {{word}}]"), changes=Changes("good"))
        driver.gates = passes
        if not driver.loop.status.ended:
            driver.journal.append(ResumeRequested(skip_wait=True))
            for limit in (Limit.MINUTES, Limit.COST, Limit.TOKENS):
                driver.journal.append(BudgetChanged(limit, None))
            driver.journal.append(BudgetChanged(Limit.ITERATIONS, driver.loop.spend.iterations + 2))
        loop = driver.run(most_steps=60)
        check_laws(driver)
        assert loop.outcome is not None
        assert loop.status is loop.outcome.status
        assert len(driver.calls()) <= sum(event.role is Role.WORKER for event in self.starts())

    def starts(self) -> list[TurnStarted]:
        return [event for event in self.driver.events(TurnStarted) if isinstance(event, TurnStarted)]


TestLoopMachine = pytest.mark.timeout(400)(LoopMachine.TestCase)
TestLoopMachine.settings = settings(
    max_examples=100 if settings().derandomize else 40,  # CI tries the same ones each time, other runs others
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_a_wait_is_over_when_its_time_has_come() -> None:
    limited = Answer(failure=Failure(FailureKind.LIMIT, "limit", NOON + 60))
    given = iter([limited, Answer(PROMISE)])
    driver = Driver(lambda _action, _loop: next(given))
    driver.create(LoopSettings("ralph", AgentChoice("worker", "scripted"), "/workspace"), Budget(iterations=1)).start()
    driver.lease()
    while not isinstance(driver.step(), Wait):
        pass
    assert isinstance(driver.step(), Wait)
    driver.clock.now = NOON + 60
    assert isinstance(driver.step(), AskAgent)
