"""Every mode under arbitrary agents, people, edits of its file and crashes: it rests, lawfully, within its budget."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.modes.plays import PROMISES, Moment, Play, Works, plays
from tests.modes.stage import Stage, perform

from untildone import modes
from untildone.core.events import AnswerRead, BudgetChanged, Event, PauseRequested, StopRequested
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.model import Answer, Changes, Failure, FailureKind, Outcome, Urgency
from untildone.testing.driver import Reply


@pytest.mark.parametrize("mode", modes.names())
@settings(
    max_examples=60 if settings().derandomize else 25,  # CI tries the same ones each time, other runs others
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(data=st.data())
def test_whatever_happens_it_rests_lawfully_and_can_go_on(mode: str, data: st.DataObject) -> None:
    event(f"rested: {perform(mode, data.draw(plays(mode)))}")


# --- plays that once went wrong ---

QUESTION = '{"continue": false, "message": "Which database?"}'
SPOILT = '{"message": "\\ud800", "summary": "\\ud800", "subtasks": [{"id": "a", "text": "b", "status": "\\udfff"}]}'
STOP = StopRequested(Urgency.AFTER_ITERATION, Outcome.ABANDONED)
PAUSE = PauseRequested(Urgency.AFTER_ITERATION, Outcome.INTERRUPTED)
GONE = Failure(FailureKind.UNAVAILABLE, "it is not on PATH")


def play(*moments: Moment, last: str = PROMISES, **chosen: Any) -> Play:
    settings = {"options": {"route": "ralph"}, "supervisor_prompt": "Look closely."}
    return Play({**settings, **chosen}, ("resume",), 6, list(moments), [], [Reply(Answer(last))])


def answered(text: str, *meanwhile: Event, edit: str | None = None, failure: Failure | None = None) -> Works:
    return Works(Reply(Answer(text, failure=failure), meanwhile=meanwhile), (), edit)


@pytest.mark.parametrize(("order", "outcome"), [(STOP, Outcome.ABANDONED), (PAUSE, Outcome.INTERRUPTED)])
@pytest.mark.parametrize(
    ("mode", "text", "edit", "failure"),
    [
        ("workflow", QUESTION, None, None),
        ("workflow", "", None, GONE),
        ("phases", "", "give up", None),
    ],
)
def test_an_order_given_meanwhile_comes_before_what_the_mode_wants(
    mode: str, text: str, edit: str | None, failure: Failure | None, order: Event, outcome: Outcome
) -> None:
    assert perform(mode, play(answered(text, order, edit=edit, failure=failure))) is outcome


def test_who_resumes_after_an_interrupted_turn_is_heard_though_the_file_was_given_up_in_it() -> None:
    stage = Stage("phases", play())
    stage.happens(Works(Reply(Answer("At it."), interrupted=Interruption.PERSON), (), "give up"))
    stage.comes_to_rest([Reply(Answer("At it."))])
    stage.goes_on([Reply(Answer("At it."))])
    reads = [event for event in stage.driver.events(AnswerRead) if isinstance(event, AnswerRead)]
    assert any("is older than the resume" in read.note for read in reads)


def test_a_question_of_the_agent_is_why_it_rests_and_an_answer_goes_on() -> None:
    for interactive in (False, True):
        stage = Stage("workflow", play(interactive=interactive))
        stage.comes_to_rest([Reply(Answer(QUESTION))])
        assert (stage.loop.outcome, stage.loop.reason) == (Outcome.PAUSED, "Which database?")
        stage.goes_on([Reply(Answer(QUESTION))])


@pytest.mark.parametrize("mode", modes.names())
def test_characters_that_no_file_can_hold_do_no_harm(mode: str) -> None:
    perform(mode, play(*[answered(SPOILT)] * 3, last=SPOILT))


def many(number: int) -> str:
    listed = [{"id": f"{number}-{place}", "text": "more", "status": "completed"} for place in range(150)]
    found = {"passed": False, "failures": ["wrong"] * 150}
    updates = {"develop": {"tasks": listed}, "validate": found}
    return json.dumps(
        {"skillStateUpdates": updates, "subtasks": listed, "phase_done": True, "review_score": 1, **found}
    )


@pytest.mark.parametrize("mode", modes.names())
def test_tasks_do_not_grow_without_end(mode: str) -> None:
    stage = Stage(mode, play(promise=None))
    stage.driver.journal.append(BudgetChanged(Limit.ITERATIONS, 20))
    stage.comes_to_rest([Reply(Answer(many(number)), changes=Changes(f"{number}")) for number in range(20)])


@pytest.mark.parametrize("text", ["{" * 200_000, '{"a":' * 40_000, '[{"' * 60_000, "{}" * 100_000])
@pytest.mark.parametrize("mode", ["phases", "workflow"])
@pytest.mark.timeout(30)
def test_a_long_answer_full_of_braces_is_read_in_no_time(mode: str, text: str) -> None:
    perform(mode, play(answered(text), last=text))
