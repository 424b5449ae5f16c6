"""The law of `verified`: no list of events completes a loop unless every gate has passed since the claim."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from untildone.core.actions import GateStep, InspectWorkspace, Record, RunCommand, RunGates
from untildone.core.apply import apply
from untildone.core.decide import decide
from untildone.core.events import (
    AnswerRead,
    Entry,
    Event,
    GatesRan,
    LoopCreated,
    PauseRequested,
    Rested,
    ResumeRequested,
    StartRequested,
    StopRequested,
    TurnEnded,
    TurnInterrupted,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop
from untildone.core.model import (
    Answer,
    Budget,
    Changes,
    GateResult,
    LoopSettings,
    NeededGate,
    Outcome,
    Role,
    SessionUse,
    Status,
)
from untildone.core.plugins.gate import PlainGate
from untildone.core.receipts.completion import named_by, outcome_of_claim
from untildone.core.values.value import replace
from untildone.gates import gates_of
from untildone.modes import find
from untildone.testing.driver import NOON, WORKER

SETTINGS = LoopSettings("ralph", WORKER, "/workspace", checks=("make", "make lint"), require_change=True, review=True)
PROVED = replace(SETTINGS, options={"prove": True})
PLAIN = LoopSettings("ralph", WORKER, "/workspace")
KEYS = named_by(SETTINGS)
EXTRA = NeededGate("plugin", "scan")
PASSED = tuple(GateResult(key.gate, key.command, passed=True) for key in KEYS)
CLAIM = AnswerRead(claimed=True)


def created(settings: LoopSettings = SETTINGS) -> Loop:
    return apply(None, Entry(1, NOON, LoopCreated("loop-1", "t", "the task", settings, Budget())))


def after(*events: Event, of: Loop) -> Loop:
    for event in events:
        of = apply(of, Entry(of.seq + 1, of.updated_at + 1, event))
    return of


def starts(role: Role) -> TurnStarted:
    return TurnStarted(role, 1, 1, "worker", SessionUse.NEW, "prompt")


results = st.builds(
    lambda key, passed: GateResult(key.gate, key.command, passed=passed),
    st.sampled_from((*KEYS, EXTRA)),
    st.sampled_from((True, True, True, False)),
)
events = st.one_of(
    st.builds(AnswerRead, claimed=st.booleans(), needed=st.sampled_from(((), KEYS[:1], (EXTRA,), (*KEYS, EXTRA)))),
    st.just(CLAIM),
    st.builds(GatesRan, st.lists(results, max_size=3).map(tuple)),
    st.just(GatesRan(PASSED)),
    st.sampled_from(Role).map(starts),
    st.builds(
        TurnEnded,
        role=st.sampled_from(Role),
        iteration=st.just(1),
        answer=st.just(Answer("done")),
        seconds=st.just(1.0),
        changes=st.sampled_from((None, Changes("a"), Changes("b"))),
    ),
    st.just(TurnInterrupted(Role.WORKER, 1, Interruption.CRASH)),
    st.sampled_from((Changes("a"), Changes("b"))).map(WorkspaceSeen),
    st.builds(Rested, st.sampled_from(Outcome)),
    st.sampled_from((Outcome.VERIFIED, Outcome.CLAIMED)).map(Rested),
    st.builds(PauseRequested, outcome=st.sampled_from(Outcome)),
    st.builds(StopRequested, outcome=st.sampled_from(Outcome)),
    st.just(ResumeRequested()),
)


def proven(history: list[Event]) -> set[NeededGate]:
    """The gates that passed since the claim that stands at the end, read backwards; empty if none stands. A claim that is made
    again while it stands is the same claim."""
    passed: set[NeededGate] = set()
    claimed: set[NeededGate] = set()
    for event in reversed(history):
        match event:
            case GatesRan(results=judged) if not all(result.passed for result in judged):
                return claimed
            case GatesRan(results=judged):
                passed |= {NeededGate(result.gate, result.command) for result in judged}
            case TurnStarted(role=Role.WORKER | Role.INSTRUCTOR) | AnswerRead(claimed=False):
                return claimed
            case AnswerRead(claimed=True):
                claimed = set(passed)
            case _:
                pass
    return claimed


@given(st.lists(events, max_size=25))
@example([Rested(Outcome.VERIFIED)])
@example([GatesRan(PASSED), Rested(Outcome.VERIFIED)])
@example([CLAIM, GatesRan(PASSED[:-1]), Rested(Outcome.VERIFIED)])
@example([CLAIM, GatesRan(PASSED), starts(Role.WORKER), Rested(Outcome.VERIFIED)])
@example([CLAIM, GatesRan(PASSED), Rested(Outcome.VERIFIED)])
@example([CLAIM, GatesRan(PASSED), CLAIM, Rested(Outcome.VERIFIED)])
def test_a_loop_is_verified_only_after_every_gate_passed_for_its_claim(history: list[Event]) -> None:
    loop = after(StartRequested(), of=created())
    for count, event in enumerate(history, 1):
        before, loop = loop, after(event, of=loop)
        assert loop.outcome is not Outcome.CLAIMED, "a loop with gates is never merely claimed"
        if loop.outcome is Outcome.VERIFIED and before.outcome is not Outcome.VERIFIED:
            assert set(KEYS) <= proven(history[:count])
            assert set(before.needed) <= proven(history[:count])


@given(st.lists(events, max_size=15))
def test_no_order_of_a_person_completes_a_loop(history: list[Event]) -> None:
    loop = after(StartRequested(), *history, of=created(PLAIN))
    assert loop.pause is None or loop.pause.outcome.status is Status.PAUSED
    assert loop.stop is None or loop.stop.outcome.status is Status.FAILED


CLAIMED = after(StartRequested(), CLAIM, of=created())
OUTCOMES = {
    "no claim": (after(StartRequested(), of=created()), None),
    "no claim and no gate": (after(StartRequested(), of=created(PLAIN)), None),
    "a claim without gates": (after(StartRequested(), CLAIM, of=created(PLAIN)), Outcome.CLAIMED),
    "a claim that is not judged": (CLAIMED, None),
    "one gate missing": (after(GatesRan(PASSED[1:]), of=CLAIMED), None),
    "one gate failed": (after(GatesRan((*PASSED[1:], replace(PASSED[0], passed=False))), of=CLAIMED), None),
    "all passed": (after(GatesRan(PASSED), of=CLAIMED), Outcome.VERIFIED),
    "all passed, one after the other": (
        after(*(GatesRan((result,)) for result in PASSED), of=CLAIMED),
        Outcome.VERIFIED,
    ),
    "passed before the claim": (after(StartRequested(), GatesRan(PASSED), CLAIM, of=created()), None),
    "a gate of a plugin is missing": (
        after(StartRequested(), AnswerRead(claimed=True, needed=(EXTRA,)), GatesRan(PASSED), of=created()),
        None,
    ),
    "a result that nobody asked for": (
        after(StartRequested(), CLAIM, GatesRan(PASSED), of=created(PLAIN)),
        None,
    ),
    "void since the workspace changed": (
        after(WorkspaceSeen(Changes("a")), CLAIM, GatesRan(PASSED), WorkspaceSeen(Changes("b")), of=created()),
        None,
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_the_outcome_that_follows_from_a_claim_is_the_only_one_that_completes(case: str) -> None:
    loop, expected = OUTCOMES[case]
    assert outcome_of_claim(loop) is expected
    for outcome in (Outcome.VERIFIED, Outcome.CLAIMED):
        rested = after(Rested(outcome, "why"), of=loop)
        assert rested.outcome is (outcome if outcome is expected else loop.outcome)
        assert rested.status is (Status.COMPLETED if outcome is expected else loop.status)


def test_a_claim_names_the_gates_that_it_needs() -> None:
    answered = after(
        StartRequested(),
        starts(Role.WORKER),
        TurnEnded(Role.WORKER, 1, Answer(f"{SETTINGS.promise}"), 1.0),
        of=created(),
    )
    action = decide(answered, NOON, find("ralph"), gates_of)
    assert isinstance(action, Record)
    (read,) = action.events
    assert isinstance(read, AnswerRead)
    assert set(read.needed) == set(KEYS)


class Fickle(PlainGate):
    """A gate that needs a step as long as it has no result, and another one when the claim is made."""

    name = "fickle"

    def steps(self, loop: Loop) -> tuple[GateStep, ...]:
        need = RunCommand("scan", 1.0) if not loop.gates else InspectWorkspace()
        return (GateStep(self.name, need),)


def test_a_gate_that_changes_its_mind_ends_the_loop_and_never_verifies_it() -> None:
    claim = AnswerRead(claimed=True, needed=(NeededGate("fickle", "other"),))
    loop = after(StartRequested(), claim, of=created(PLAIN))
    gates = (Fickle(),)
    for _ in range(5):
        action = decide(loop, NOON, find("ralph"), lambda _settings: gates)  # type: ignore[arg-type, return-value]
        if isinstance(action, RunGates):
            judged = tuple(GateResult(step.gate, step.command, passed=True) for step in action.steps)
            loop = after(GatesRan(judged), of=loop)
        elif isinstance(action, Record):
            loop = after(*action.events, of=loop)
    assert (loop.status, loop.outcome) == (Status.FAILED, Outcome.FAILED)
    assert "gave no result" in loop.reason


def test_proofs_that_the_settings_ask_for_are_needed_whatever_the_journal_says() -> None:
    wanted = set(named_by(PROVED)) - set(named_by(SETTINGS))
    assert {each.gate for each in wanted} == {"repeat", "canary", "causal", "red_first", "mutants"}
    passed = tuple(GateResult(each.gate, each.command, passed=True) for each in named_by(SETTINGS))
    claimed = Loop("loop-x", "x", "x", SETTINGS, Budget(), NOON, NOON, claimed=True, gates=passed)
    assert outcome_of_claim(claimed) is Outcome.VERIFIED
    assert outcome_of_claim(replace(claimed, settings=PROVED)) is None
