"""Seed 001, the orchestrator (mode workflow): its requirements, one test each."""

from __future__ import annotations

import json
from typing import Any

from untildone.core.actions import AwaitPerson
from untildone.core.apply import apply
from untildone.core.codec import epoch
from untildone.core.events import AnswerRead
from untildone.core.loop import Loop
from untildone.core.model import Budget, Outcome
from untildone.faces.text import loop_lines
from untildone.testing import driver
from untildone.testing.driver import Driver

PASSED = {"validate": {"passed": True}}


def said(updates: dict[str, Any] | None = None, **more: Any) -> str:
    return json.dumps({"skillStateUpdates": updates or {}, "continue": True, "message": "done that", **more})


def tasks(*statuses: str) -> str:
    listed = [{"id": f"t{n}", "text": f"task {n}", "status": status} for n, status in enumerate(statuses, 1)]
    return said({"develop": {"tasks": listed}})


class Chooses:
    """A person who answers the menu with words, one after the other, then leaves; keeps what they were asked."""

    def __init__(self, *words: str) -> None:
        self.words, self.asked = list(words), list[str]()

    def __call__(self, question: AwaitPerson, _loop: Loop) -> str | None:
        self.asked.append(question.question)
        return self.words.pop(0) if self.words else None


def working(*replies: str, **chosen: Any) -> Driver:
    return driver.looping(list(replies), Budget(iterations=10), mode="workflow", **chosen)


def shown(ran: Driver) -> str:
    """What `log` shows of the loop."""
    lines, loop = [], None
    for entry in ran.journal.entries:
        loop = apply(loop, entry)
        lines += [line.text for line in loop_lines.of_entry(entry, loop, live=False)]
    return "\n".join(lines)


def actions(ran: Driver) -> list[str]:
    return [call.ask.label for call in ran.calls()]


def test_requirement_the_action_is_named_above_its_round() -> None:
    ran = working(tasks("pending"), tasks("completed"), said(PASSED), said())
    ran.run()
    for number, action in enumerate(("init", "develop", "validate", "complete"), 1):
        assert f"Round {number} · {action} ({10 - number} left)" in shown(ran)


def test_requirement_message_tasks_and_validation_are_shown_and_never_json() -> None:
    ran = working(
        tasks("pending", "pending"), tasks("completed", "failed"), tasks("completed", "completed"), said(PASSED)
    )
    ran.run()
    text = shown(ran)
    assert "done that" in text
    assert "  ○ t1: task 1" in text
    assert "  ✓ t1: task 1" in text
    assert "  ✗ t2: task 2" in text
    assert "validation passed · 2 of 2 subtasks done" in text
    assert "skillStateUpdates" not in text


def test_requirement_errors_have_action_message_and_timestamp() -> None:
    ran = working("no JSON", tasks("pending"))
    ran.run(most_steps=12)
    states = [event.skill_state for event in ran.events(AnswerRead) if isinstance(event, AnswerRead)]
    error = (states[0] or {})["errors"][0]
    assert (error["action"], error["iteration"]) == ("init", 1)
    assert "no JSON object" in error["message"]
    assert epoch(error["timestamp"]) > 0


def test_requirement_complete_from_the_menu_needs_a_passed_validation_and_costs_no_round_without_one() -> None:
    person = Chooses("complete", "develop", "complete", "validate", "complete")
    replies = (tasks("pending"), tasks("completed"), said(PASSED), said())
    ran = working(*replies, interactive=True, person=person)
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "validate", "complete"]
    assert loop.outcome is Outcome.CLAIMED
    assert [("complete comes after a passed validation" in question) for question in person.asked] == [
        *(False, True, False, True, False),
    ]


def test_requirement_a_validation_before_later_work_does_not_allow_complete() -> None:
    person = Chooses("validate", "develop", "complete")
    ran = working(tasks("completed"), said(PASSED), said(), interactive=True, person=person)
    ran.run()
    assert actions(ran) == ["init", "validate", "develop"]


def test_requirement_status_tells_more_than_the_line_above_the_menu() -> None:
    person = Chooses("status")
    ran = working(tasks("pending", "completed"), interactive=True, person=person)
    ran.run()
    before, after = person.asked
    assert before.count("\n") == 0
    assert "Rounds: 1 of 10 used. Actions so far: init" in after
    assert "[ ] t1: task 1\n[x] t2: task 2" in after
