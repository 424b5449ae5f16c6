"""The workflow: its actions in order, its answers, its menu, and what bad answers come to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from untildone.core.actions import AwaitPerson
from untildone.core.events import AnswerRead, MessageSent, ResumeRequested, SubtasksChanged
from untildone.core.loop import Loop
from untildone.core.model import (
    Answer,
    Budget,
    Failure,
    FailureKind,
    GateResult,
    Outcome,
    Status,
    Subtask,
    SubtaskChange,
    SubtaskStatus,
)
from untildone.modes.workflow import answers as answers
from untildone.modes.workflow import prompts
from untildone.modes.workflow.mode import choose
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply

PENDING = {"id": "t1", "text": "Write the parser", "status": "pending"}


STOP: dict[str, Any] = {"continue": False}


def said(action_updates: dict[str, Any] | None = None, **more: Any) -> str:
    return json.dumps({"skillStateUpdates": action_updates or {}, "continue": True, "message": "done that", **more})


def tasks(*statuses: str) -> str:
    listed = [{"id": f"t{n}", "text": f"task {n}", "status": status} for n, status in enumerate(statuses, 1)]
    return said({"develop": {"tasks": listed}})


def validated(passed: bool, *failures: str) -> str:
    return said({"validate": {"passed": passed, "failures": list(failures)}})


def working(*replies: Any, **chosen: Any) -> Driver:
    return driver.looping(list(replies), Budget(iterations=10), mode="workflow", **chosen)


def actions(ran: Driver) -> list[str]:
    return [call.ask.label for call in ran.calls()]


def test_the_plain_way() -> None:
    ran = working(tasks("pending", "pending"), tasks("completed", "completed"), validated(True), said())
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "validate", "complete"]
    assert (loop.status, loop.outcome) == (Status.COMPLETED, Outcome.CLAIMED)


def test_a_failed_task_is_debugged_then_validated() -> None:
    hypothesis = said(
        {
            "debug": {
                "hypotheses": [{"text": "off by one", "status": "confirmed"}],
                "confirmed_hypothesis": "off by one",
            },
            "develop": {"tasks": [{"id": "t1", "status": "completed"}]},
        }
    )
    ran = working(tasks("pending"), tasks("failed"), hypothesis, validated(True), said())
    ran.run()
    assert actions(ran) == ["init", "develop", "debug", "validate", "complete"]


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_it_is_not_complete_while_a_task_is_open(status: str) -> None:
    ran = working(
        tasks("pending"),
        tasks("completed"),
        validated(True),
        tasks("completed", status),
        tasks("completed", "completed"),
        validated(True),
        said(),
        checks=("make",),
    )
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "validate", "complete", "develop", "validate", "complete"]
    assert (loop.outcome, ran.gates_run) == (Outcome.VERIFIED, ["make"])
    reminder = "It is not complete while tasks are open: t2."
    assert [reminder in call.ask.prompt for call in ran.calls()] == [False] * 4 + [True, False, False]
    assert any(isinstance(read, AnswerRead) and reminder in read.note for read in ran.events(AnswerRead))


def test_a_person_who_wants_it_complete_is_told_what_is_open() -> None:
    words, asked = iter(["complete", None]), list[str]()

    def person(question: AwaitPerson, _loop: Loop) -> str | None:
        asked.append(question.question)
        return next(words)

    loop = (ran := working(tasks("pending"), interactive=True, person=person)).run()
    assert (actions(ran), loop.outcome) == (["init"], Outcome.PAUSED), "no round is paid for that"
    assert "complete comes after a passed validation, with no task open" in asked[-1]


def test_a_failed_validation_becomes_tasks() -> None:
    ran = working(
        tasks("pending"),
        tasks("completed"),
        validated(False, "the empty list crashes"),
        said({"develop": {"tasks": [{"id": "fix-3-1", "status": "completed"}]}}),
        validated(True),
        said(),
    )
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "validate", "develop", "validate", "complete"]
    assert [task.text for task in loop.tasks] == ["task 1", "the empty list crashes"]
    assert "the empty list crashes" in ran.calls()[3].ask.prompt


def test_a_confirmed_hypothesis_validates_once_not_for_ever() -> None:
    loop = working(said()).loop
    state = {"initialised": True, "last_action": "validate", "validate": {"passed": True}}
    confirmed = with_state(loop, {**state, "confirmed_since_validation": True})
    assert choose(confirmed) == "validate"
    assert choose(with_state(loop, state)) == "complete"


def with_state(loop: Loop, state: dict[str, Any], *held: Subtask) -> Loop:
    import dataclasses

    return dataclasses.replace(loop, skill_state=state, tasks=held)


@pytest.mark.parametrize(
    ("state", "statuses", "action"),
    [
        ({}, [], "init"),
        ({"initialised": True}, ["pending"], "develop"),
        ({"initialised": True, "last_action": "develop"}, ["completed", "failed"], "debug"),
        ({"initialised": True, "last_action": "develop"}, ["completed"], "validate"),
        ({"initialised": True, "last_action": "debug"}, ["failed"], "validate"),
        ({"initialised": True, "last_action": "validate", "validate": {"passed": False}}, ["completed"], "develop"),
        ({"initialised": True, "last_action": "validate", "validate": {"passed": True}}, ["completed"], "complete"),
        ({"initialised": True, "last_action": "validate", "validate": {"passed": True}}, ["pending"], "develop"),
        ({"initialised": True, "last_action": "complete", "validate": {"passed": True}}, ["completed"], "develop"),
        ({"initialised": True, "last_action": "init"}, [], "develop"),
    ],
)
def test_the_rules_in_order(state: dict[str, Any], statuses: list[str], action: str) -> None:
    held = [Subtask(f"t{n}", "x", SubtaskStatus(status)) for n, status in enumerate(statuses)]
    assert choose(with_state(working(said()).loop, state, *held)) == action


def test_a_refused_claim_goes_back_to_develop() -> None:
    spoken = iter([False, True])

    def gate(command: str, _loop: Loop) -> GateResult:
        return driver.passes(command) if next(spoken) else driver.fails(command, tail="2 failed")

    ran = driver.looping(
        [tasks("pending"), tasks("completed"), validated(True), said(), said(), validated(True), said(message="now")],
        Budget(iterations=10),
        gate,
        mode="workflow",
        checks=("pytest",),
    )
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "validate", "complete", "develop", "validate", "complete"]
    assert "2 failed" in ran.calls()[4].ask.prompt
    assert loop.outcome is Outcome.VERIFIED


@pytest.mark.parametrize(
    "text",
    [
        "I did it!",
        "",
        "[1, 2]",
        '{"skillStateUpdates": []}',
        '{"continue": "yes"}',
        '{"message": 7}',
        '{"skillStateUpdates": {"develop": {"tasks": {"a": 1}}}}',
        '{"skillStateUpdates": {"develop": {"tasks": ["write"]}}}',
        '{"skillStateUpdates": {"develop": {"tasks": [{"id": "new"}]}}}',
        '{"skillStateUpdates": {"develop": {"tasks": [{"id": "a", "text": "b", "status": "maybe"}]}}}',
        '{"skillStateUpdates": {"validate": {"passed": "true"}}}',
        '{"skillStateUpdates": {"debug": {"hypotheses": ["x"]}}}',
        '{"message": "' + "x" * 10_000_000 + '"}',
        "{" * 100_000,
        '{"a":' * 50_000,
    ],
)
def test_what_is_not_the_answer(text: str) -> None:
    with pytest.raises(answers.NotTheAnswer):
        answers.parse(text, ())


@pytest.mark.parametrize(
    "text",
    [
        said({"develop": {"tasks": [PENDING]}}),
        "Here it is:\n```json\n" + said({"develop": {"tasks": [PENDING]}}) + "\n```\nAnything else?",
        '{"draft": 1} and then ' + said({"develop": {"tasks": [PENDING]}, "mood": {"x": 1}}, extra="field"),
    ],
)
def test_an_answer_is_found_whatever_stands_around_it(text: str) -> None:
    parsed = answers.parse(text, ())
    assert parsed.tasks == (SubtaskChange("t1", text="Write the parser", status=SubtaskStatus.PENDING),)
    assert parsed.message == "done that"


def test_three_useless_answers_in_a_row_end_it() -> None:
    ran = working(Reply(Answer("no json")), Reply(Answer("still none")), Reply(Answer("sorry")))
    loop = ran.run()
    assert (loop.status, loop.outcome) == (Status.FAILED, Outcome.FAILED)
    assert "3 actions in a row failed" in loop.reason
    assert loop.spend.iterations == 3


def test_a_useless_answer_is_counted_and_the_next_action_goes_on() -> None:
    ran = working("no json", tasks("pending"), "again none", tasks("completed"), validated(True), said())
    loop = ran.run()
    assert actions(ran) == ["init", "init", "develop", "develop", "validate", "complete"]
    assert loop.skill_state is not None
    assert loop.skill_state["error_count"] == 2
    assert loop.outcome is Outcome.CLAIMED


def test_tasks_of_the_person_and_of_the_agent_do_not_overwrite_each_other() -> None:
    during = Reply(
        Answer(tasks("completed")), meanwhile=(SubtasksChanged((SubtaskChange("mine", text="also the docs"),)),)
    )
    ran = working(
        tasks("pending"),
        during,
        said({"develop": {"tasks": [{"id": "mine", "status": "completed"}]}}),
        validated(True),
        said(),
    )
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "develop", "validate", "complete"]
    assert {task.task_id: task.status for task in loop.tasks} == {
        "t1": SubtaskStatus.COMPLETED,
        "mine": SubtaskStatus.COMPLETED,
    }


def test_an_action_is_read_as_what_was_asked_even_if_tasks_arrive_meanwhile() -> None:
    during = Reply(Answer(validated(True)), meanwhile=(SubtasksChanged((SubtaskChange("late", text="one more"),)),))
    ran = working(tasks("pending"), tasks("completed"), during, tasks("completed"))
    ran.run(40)
    assert actions(ran)[:4] == ["init", "develop", "validate", "develop"]
    reads = [event for event in ran.events(AnswerRead) if isinstance(event, AnswerRead)]
    assert reads[2].skill_state is not None
    assert reads[2].skill_state["validate"] == {"passed": True, "failures": []}


def test_documents_are_kept() -> None:
    ran = working(tasks("pending"), tasks("failed"), said(), validated(False, "no"), said(), validated(True), said())
    ran.run()
    names = [name for event in ran.events(AnswerRead) if isinstance(event, AnswerRead) for name in event.documents]
    assert names[:4] == ["progress.md", "progress.md", "understanding.md", "validation.md"]


def test_the_menu_asks_before_each_action() -> None:
    choices = iter(["develop", "3", "complete"])
    asked: list[AwaitPerson] = []

    def person(question: AwaitPerson, _loop: Loop) -> str | None:
        asked.append(question)
        return next(choices, None)

    ran = driver.looping(
        [tasks("pending"), tasks("completed"), validated(True), said()],
        Budget(iterations=10),
        person=person,
        mode="workflow",
        interactive=True,
    )
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "validate", "complete"]
    assert asked[0].choices == ("develop", "debug", "validate", "status", "complete", "exit")
    assert "0 of 1 done" in asked[0].question
    assert loop.outcome is Outcome.CLAIMED


def test_leaving_the_menu_pauses() -> None:
    loop = driver.looping([tasks("pending")], Budget(iterations=9), mode="workflow", interactive=True).run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.PAUSED)


def test_an_agent_that_asks_for_a_person_pauses_the_loop() -> None:
    ran = working(tasks("pending"), said(message="Which database?", **STOP))
    loop = ran.run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.PAUSED)


def test_a_number_answers_the_question_of_the_agent_and_is_no_menu_choice() -> None:
    words = iter(["status", "complete", "2"])
    asked: list[str] = []

    def person(question: AwaitPerson, _loop: Loop) -> str | None:
        asked.append(question.question)
        return next(words, None)

    replies = [said(message="How many retries?", **STOP), tasks("pending")]
    ran = driver.looping(replies, Budget(iterations=2), person=person, mode="workflow", interactive=True)
    ran.run()
    assert actions(ran) == ["init", "develop"], "2 is debug in the menu"
    assert "[MESSAGE FROM THE PERSON]\n2\n" in ran.calls()[-1].ask.prompt
    assert "Rounds: 1 of 2 used" in asked[1], "status tells the state at a question too"
    assert prompts.NOT_VALIDATED in asked[2]


def test_a_number_answers_the_question_of_a_loop_that_paused() -> None:
    ran = working(tasks("pending"), *[said(message="How many retries?", **STOP)] * 2)
    ran.run()
    ran.send("say", MessageSent("3"))
    ran.send("resume", ResumeRequested())
    ran.run()
    assert actions(ran) == ["init", "develop", "develop"], "3 is validate in the menu"


def test_a_program_that_cannot_be_run_pauses_for_work_by_hand() -> None:
    missing = Answer(failure=Failure(FailureKind.UNAVAILABLE, "claude is not on PATH."))
    loop = working(missing).run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.PAUSED)
    assert "by hand" in loop.reason


def test_instructions_can_be_replaced() -> None:
    ran = working(tasks("pending"), said(), options={"actions": {"init": "Only count the files."}})
    ran.step()
    assert "[ACTION INSTRUCTIONS]\nOnly count the files." in ran.calls()[0].ask.prompt


def test_the_state_does_not_grow() -> None:
    ran = driver.looping(
        [tasks("pending"), *(Reply(Answer(said(message=f"step {n}"))) for n in range(60))],
        Budget(iterations=60),
        mode="workflow",
        promise=None,
    )
    loop = ran.run(2000)
    assert loop.spend.iterations == 60
    assert len(json.dumps(loop.skill_state)) < 5_000


def test_a_program_that_cannot_be_run_offers_the_menu_where_a_person_is() -> None:
    missing = Answer(failure=Failure(FailureKind.UNAVAILABLE, "claude is not on PATH."))
    asked: list[AwaitPerson] = []

    def leaves(question: AwaitPerson, _loop: Loop) -> str | None:
        asked.append(question)
        return None

    ran = driver.looping([missing], Budget(iterations=9), person=leaves, mode="workflow", interactive=True)
    loop = ran.run()
    assert asked[0].choices == ("develop", "debug", "validate", "status", "complete", "exit")
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.PAUSED)
