"""The timeline of a loop: rounds with their prompts, and what happened between turns in its place."""

from __future__ import annotations

import pytest

from untildone.core.events import (
    BudgetChanged,
    Entry,
    Event,
    GatesRan,
    GateStarted,
    LimitReached,
    MessageSent,
    PauseRequested,
    Rested,
    ResumeRequested,
    SessionOpened,
    StartRequested,
    StopRequested,
    TurnEnded,
    TurnRetried,
    TurnStarted,
)
from untildone.core.limits import Limit
from untildone.core.model import (
    Answer,
    Failure,
    FailureKind,
    GateResult,
    Outcome,
    Role,
    SessionUse,
    Urgency,
    Usage,
)
from untildone.operations.showing.moments import Moment, MomentKind, moment_of
from untildone.operations.showing.timeline import KEPT_PROMPT, Timeline, extended

FAILURE = Failure(FailureKind.OVERLOADED, "try later")


def timeline(*events: Event) -> Timeline:
    return extended(Timeline(), tuple(Entry(seq, 100.0 + seq, event) for seq, event in enumerate(events, 1)))


def started(number: int, prompt: str, role: Role = Role.WORKER) -> TurnStarted:
    return TurnStarted(role, number, 1, "claude", SessionUse.NEW, prompt)


def ended(number: int, text: str, role: Role = Role.WORKER) -> TurnEnded:
    return TurnEnded(role, number, Answer(text=text, usage=Usage(0.25)), 2.0)


@pytest.mark.parametrize(
    ("event", "moment"),
    [
        (StartRequested(), Moment(7.0, MomentKind.START)),
        (PauseRequested(), Moment(7.0, MomentKind.PAUSE)),
        (PauseRequested(Urgency.NOW), Moment(7.0, MomentKind.PAUSE_NOW)),
        (StopRequested(Urgency.NOW, Outcome.ABANDONED), Moment(7.0, MomentKind.STOP_NOW, name="abandoned")),
        (ResumeRequested(skip_wait=True), Moment(7.0, MomentKind.RESUME_NOW)),
        (MessageSent("hello"), Moment(7.0, MomentKind.MESSAGE, "hello", name="person")),
        (BudgetChanged(Limit.COST, 5, add=True), Moment(7.0, MomentKind.BUDGET, "add", number=5, name="cost")),
        (
            TurnRetried(Role.WORKER, 1, 2, FAILURE, 9.0),
            Moment(7.0, MomentKind.TRY_AGAIN, "try later", 9.0, 2, "overloaded"),
        ),
        (LimitReached("claude", 99.0, "at 5pm"), Moment(7.0, MomentKind.LIMIT, "at 5pm", 99.0, name="claude")),
        (Rested(Outcome.BUDGET, "used up"), Moment(7.0, MomentKind.REST, "used up", name="budget")),
        (SessionOpened(Role.WORKER, "claude", "s"), None),
    ],
)
def test_an_entry_is_a_moment_or_belongs_to_a_turn(event: Event, moment: Moment | None) -> None:
    assert moment_of(Entry(1, 7.0, event)) == moment


def test_a_round_has_what_was_asked_and_what_was_checked() -> None:
    shown = timeline(
        started(1, "Do it"),
        ended(1, "done"),
        GateStarted("make test"),
        GatesRan((GateResult("check", "make test", passed=False),), signs=("tests/x.py was changed",)),
        started(1, "Is it done?", Role.SUPERVISOR),
        ended(1, "No.", Role.SUPERVISOR),
    )
    (only,) = shown.rounds
    assert (only.prompt, only.words, only.ended_at, only.checked_at) == ("Do it", "done", 102.0, 103.0)
    assert [gate.passed for gate in only.gates] == [False]
    assert only.signs == ("tests/x.py was changed",)
    (asked,) = only.consultations
    assert (asked.prompt, asked.words, asked.profile, asked.started_at) == ("Is it done?", "No.", "claude", 105.0)
    assert only.usage.cost_usd == 0.5


def test_what_happens_before_during_and_after_a_round_is_in_its_place() -> None:
    shown = timeline(
        MessageSent("first"),
        StartRequested(),
        started(1, "one"),
        PauseRequested(),
        ended(1, "a"),
        Rested(Outcome.PAUSED),
        started(2, "two"),
        LimitReached("claude", 500.0, "later"),
    )
    assert [each.kind for each in shown.moments] == ["message", "start"]
    assert [[each.kind for each in one.moments] for one in shown.rounds] == [["pause", "rest"], ["limit"]]


def test_the_prompt_of_the_last_attempt_is_kept_and_bounded() -> None:
    shown = timeline(
        started(1, "x" * (KEPT_PROMPT + 5)), TurnRetried(Role.WORKER, 1, 2, FAILURE, 5.0), started(1, "again")
    )
    assert shown.rounds[0].prompt == "again"
    assert len(timeline(started(1, "x" * (KEPT_PROMPT + 5))).rounds[0].prompt) == KEPT_PROMPT
