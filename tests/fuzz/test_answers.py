"""Answers that should be JSON: found wherever they stand, against a search that tries every place; anything else is a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import check_sentence, damaged_bytes, deeply_nested, misshapen, sound_json, tried

from untildone.core.answers.subtasks import changed
from untildone.core.model import Subtask, SubtaskChange, SubtaskStatus
from untildone.core.values.codec import from_json, to_json
from untildone.modes._json_objects import objects
from untildone.modes.phases import answers as phases
from untildone.modes.phases.state import ROUTES
from untildone.modes.workflow import answers as workflow

TASKS = (
    Subtask("t1", "Write the parser"),
    Subtask("t2", "Write its test", SubtaskStatus.COMPLETED),
    Subtask("s3", "Docs"),
)
NOISE = st.lists(
    st.sampled_from(("Here it is:", "```json", "```", "{", "}", '{"', "[", "]", '"', "\\", "{}", "{ }", "\n", "null", '{"a": '))
    | st.text(max_size=8),
    max_size=5,
).map(" ".join)  # fmt: skip
WORKFLOW: dict[str, Any] = {
    "skillStateUpdates": {
        "develop": {"tasks": [{"id": "t1", "status": "completed"}, {"id": "t9", "text": "More", "status": "pending"}]},
        "debug": {
            "hypotheses": [{"text": "it is the cache", "status": "open", "evidence": "x"}],
            "confirmed_hypothesis": "y",
        },
        "validate": {"passed": True, "failures": ["one"]},
    },
    "continue": True,
    "message": "Two tasks.",
}
PHASES: dict[str, Any] = {
    "phase_done": True,
    "summary": "Done.",
    "review_score": 92,
    "route": "ralph",
    "subtasks": [
        {"id": "s1", "text": "One", "depends_on": ["t1", "s3"], "status": "completed"},
        {"id": "s3"},
        {"text": "Docs"},
    ],
    "findings": ["slow", "ugly"],
}


def slow_objects(text: str) -> list[dict[str, Any]]:
    """Try every place where an object can begin; what lies inside one that was found does not count."""
    found, at = [], 0
    while at < len(text):
        if text[at] == "{":
            try:
                value, end = json.JSONDecoder().raw_decode(text, at)
            except (ValueError, RecursionError):
                at += 1
                continue
            found.append(value)
            at = end
            continue
        at += 1
    return found[::-1]


@tried()
@given(parts=st.lists(NOISE | st.dictionaries(st.text(max_size=4), sound_json, max_size=3).map(json.dumps), max_size=5))
def test_objects_are_found_as_by_trying_every_place(parts: list[str]) -> None:
    text = " ".join(parts)
    found = objects(text)
    assert [json.dumps(each) for each in found] == [
        json.dumps(each).encode("utf-8", "replace").decode() for each in slow_objects(text)
    ]


@tried()
@given(before=NOISE, message=st.text(st.characters(exclude_categories=["Cs"]), max_size=40), goes_on=st.booleans())
def test_an_answer_comes_back_from_whatever_stands_before_it(before: str, message: str, goes_on: bool) -> None:
    told = json.dumps({"message": message, "continue": goes_on})
    read = workflow.parse(f"{before}\n```json\n{told}\n```", TASKS)
    assert (read.message, read.goes_on) == (message, goes_on) or before.count("{")


@tried()
@given(told=misshapen(WORKFLOW), noise=NOISE)
@example(told={"skillStateUpdates": {"develop": {"tasks": [None]}}}, noise="")
@example(told={"skillStateUpdates": {"debug": {"hypotheses": [0]}}}, noise="")
def test_workflow_takes_an_answer_or_says_in_a_sentence_why_not(told: Any, noise: str) -> None:
    text = f"{json.dumps(told)}\n{noise}"
    try:
        read = workflow.parse(text, TASKS)
    except workflow.NotTheAnswer as problem:
        check_sentence(str(problem))
        return
    check_changes(read.tasks)
    json.dumps(to_json(read), allow_nan=True).encode()


@tried()
@given(told=misshapen(PHASES), noise=NOISE)
def test_phases_take_what_can_be_read(told: Any, noise: str) -> None:
    news = phases.news_of(f"{noise}\n{json.dumps(told)}", TASKS)
    check_changes(news.tasks)
    assert news.score is None or 0 <= news.score <= 100
    assert all("\n" not in problem for problem in news.problems)
    assert news.route in ("", *ROUTES)
    json.dumps(to_json(news), allow_nan=False, ensure_ascii=False).encode()


@tried()
@given(draws=st.data(), told=st.sampled_from((WORKFLOW, PHASES)))
def test_damaged_text_is_no_traceback(draws: st.DataObject, told: dict[str, Any]) -> None:
    text = draws.draw(damaged_bytes(json.dumps(told).encode())).decode("utf-8", "replace")
    check_changes(phases.news_of(text, TASKS).tasks)
    try:
        check_changes(workflow.parse(text, TASKS).tasks)
    except workflow.NotTheAnswer:
        return


@pytest.mark.parametrize("depth", [300, 990, 100_000])
def test_nesting_of_any_depth(depth: int) -> None:
    deep = deeply_nested(depth).decode()
    text = json.dumps(PHASES).replace('"Done."', deep)
    phases.news_of(text, TASKS)
    phases.news_of(deep, TASKS)
    with pytest.raises(workflow.NotTheAnswer):
        workflow.parse(json.dumps(WORKFLOW).replace('"Two tasks."', deep), TASKS)


def check_changes(changes: tuple[SubtaskChange, ...]) -> None:
    """They can be written down, applied, and applied once more without changing anything again."""
    written = json.dumps(to_json(list(changes)), ensure_ascii=False).encode()
    assert tuple(from_json(SubtaskChange, each) for each in json.loads(written)) == changes
    once = changed(TASKS, changes)
    assert changed(once, changes) == once
    assert len({task.task_id for task in once}) == len(once)
    assert {task.task_id for task in TASKS} <= {task.task_id for task in once}
