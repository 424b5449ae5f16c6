"""phases: the routes, what answers come to, subtasks and their order, the review, and what the prompts say."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from untildone.core.actions import AskAgent
from untildone.core.events import AnswerRead, BudgetWarned, MessageSent, SubtasksChanged
from untildone.core.loop import Loop
from untildone.core.model import Answer, Budget, Outcome, Status, SubtaskChange, SubtaskStatus
from untildone.modes.phases import answers as answers
from untildone.modes.phases import mode as phases
from untildone.modes.phases.prompts import reinjection
from untildone.modes.phases.state import ROUTES, State, state_of
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply

PROMISE = "<promise>TASK_COMPLETE</promise>"
MANY = Budget(iterations=20)


def said(**answer: Any) -> str:
    return f"I did something.\n```json\n{json.dumps(answer)}\n```"


DONE = said(phase_done=True, summary="All of it.")
NOT_DONE = said(phase_done=False)


def subtasks(*names: str, **status: str) -> str:
    """A plan of subtasks, each after the one before if its name ends in `<`; or what became of some."""
    planned: list[dict[str, Any]] = [{"id": name.rstrip("<"), "text": f"Do {name.rstrip('<')}"} for name in names]
    for place, name in enumerate(names):
        planned[place] |= {"depends_on": [names[place - 1].rstrip("<")]} if name.endswith("<") else {}
    changed = [{"id": name, "status": word} for name, word in status.items()]
    return said(phase_done=bool(names), subtasks=[*planned, *changed])


def working(route: str, *replies: Reply | Answer | str, budget: Budget = MANY, **chosen: Any) -> Driver:
    options = {"route": route, **chosen.pop("options", {})}
    return driver.looping(list(replies), budget, mode="phases", options=options, **chosen)


def labels(ran: Driver) -> list[str]:
    return [call.ask.label for call in ran.calls()]


def notes(ran: Driver) -> str:
    return "\n".join(event.note for event in ran.events(AnswerRead) if isinstance(event, AnswerRead))


def prompt(ran: Driver, number: int = -1) -> str:
    return ran.calls()[number].ask.prompt


@pytest.mark.parametrize(
    ("route", "replies", "asked"),
    [
        ("direct", ["I did it."], ["execution"]),
        ("planned", ["A plan.", "Built.", "Looks good."], ["plan", "implementation", "review"]),
        ("ui_flow", ["Drawn.", "Built.", "Seen."], ["design", "implementation", "preview"]),
        (
            "ralph",
            [
                DONE,
                subtasks("s1", "s2"),
                subtasks(s1="completed", s2="completed"),
                said(review_score=92, phase_done=True),
            ],
            ["analysis", "plan", "subtasks", "review"],
        ),
        (
            "architect",
            [DONE, DONE, subtasks("s1"), subtasks(s1="completed"), said(review_score=80, phase_done=True)],
            ["architecture", "analysis", "plan", "subtasks", "review"],
        ),
    ],
)
def test_each_route_goes_through_its_phases(route: str, replies: list[str], asked: list[str]) -> None:
    ran = working(route, *replies)
    loop = ran.run()
    assert labels(ran) == asked == [phase.value for phase in ROUTES[route].phases]
    assert (loop.status, loop.outcome) == (Status.COMPLETED, Outcome.CLAIMED)
    assert all(f"phase {number} of {len(asked)}" in prompt(ran, number - 1) for number in range(1, len(asked) + 1))


def test_a_linear_phase_that_says_it_is_not_done_is_asked_again() -> None:
    ran = working("planned", "A plan.", NOT_DONE, said(phase_done=True), "Fine.")
    assert ran.run().outcome is Outcome.CLAIMED
    assert labels(ran) == ["plan", "implementation", "implementation", "review"]


def test_a_looping_route_wants_to_be_told_that_a_phase_is_done() -> None:
    ran = working("ralph", "Thought a while.", "Thought more.", "And more.", DONE, budget=Budget(iterations=5))
    assert ran.run().outcome is Outcome.BUDGET
    assert labels(ran) == ["analysis"] * 4 + ["plan"]


# --- auto ---


@pytest.mark.parametrize(
    ("answer", "route"),
    [
        (said(route="architect", score=90), "architect"),
        ('{"route": "UI_FLOW"}', "ui_flow"),
        ('{"route": "direct"}\nMore words.', "direct"),
        (said(route="planned", score=49, summary="Two files."), "planned"),
    ],
)
def test_the_first_answer_chooses_the_route(answer: str, route: str) -> None:
    assert answers.news_of(answer, ()).route == route
    ran = working("auto", answer, budget=Budget(iterations=1))
    assert state_of(ran.run()).route == route
    assert labels(ran) == ["routing"]
    assert f"The route is {route}." in notes(ran)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Let me think.",
        "{",
        '{"route": 7, "score": 3}',
        '{"score": 12}',
        "[]",
        "Route: direct",
        said(route="UI-Flow"),
    ],
)
def test_an_answer_without_a_route_takes_the_one_that_does_not_end_early(answer: str) -> None:
    ran = working("auto", answer, DONE, budget=Budget(iterations=2))
    assert state_of(ran.run()).route == "ralph"
    assert "The answer names no route; it is ralph." in notes(ran)
    assert labels(ran) == ["routing", "analysis"]


def test_a_small_task_may_be_done_in_the_turn_that_chooses() -> None:
    ran = working("auto", said(route="direct", score=5, phase_done=True))
    assert ran.run().outcome is Outcome.CLAIMED
    assert labels(ran) == ["routing"]
    assert labels_of("auto", said(route="direct", score=5), "Did it.") == ["routing", "execution"]


def labels_of(route: str, *replies: str) -> list[str]:
    ran = working(route, *replies)
    ran.run()
    return labels(ran)


# --- subtasks ---


def test_subtasks_are_done_in_the_order_of_their_dependencies() -> None:
    """`b` waits for `a`, listed after it; each turn is told which one comes first."""
    plan = said(
        phase_done=True, subtasks=[{"id": "b", "text": "roof", "depends_on": ["a"]}, {"id": "a", "text": "walls"}]
    )
    ran = working(
        "ralph", DONE, plan, subtasks(a="completed"), subtasks(b="completed"), said(review_score=100, phase_done=True)
    )
    assert ran.run().outcome is Outcome.CLAIMED
    assert "Do the subtask a (walls)" in prompt(ran, 2)
    assert "Do the subtask b (roof)" in prompt(ran, 3)
    assert "- [ ] b: roof (after a)" in prompt(ran, 2)


def test_a_subtask_does_not_count_as_done_before_those_it_depends_on() -> None:
    ran = working(
        "ralph", DONE, subtasks("a", "b<", "c<"), subtasks(c="completed", b="completed"), budget=Budget(iterations=3)
    )
    loop = ran.run()
    assert [task.status for task in loop.tasks] == [SubtaskStatus.PENDING] * 3
    assert "Not counted as done, since they depend on others that are not: b, c." in notes(ran)


def test_all_in_one_turn_counts() -> None:
    ran = working(
        "ralph",
        DONE,
        subtasks("a", "b<"),
        subtasks(b="completed", a="completed"),
        said(review_score=81, phase_done=True),
    )
    assert ran.run().spend.iterations == 4


def test_the_phase_of_subtasks_is_done_when_they_are_and_not_before() -> None:
    ran = working(
        "ralph", DONE, subtasks("a", "b"), said(phase_done=True, subtasks=[{"id": "a", "status": "completed"}])
    )
    loop = ran.run()
    assert loop.outcome is Outcome.STALLED
    assert "Phase 3 is not done while subtasks are not: b." in notes(ran)


@pytest.mark.parametrize(
    "plan",
    [
        [{"id": "a", "text": "A", "depends_on": ["b"]}, {"id": "b", "text": "B", "depends_on": ["a"]}],
        [{"id": "a", "text": "A", "depends_on": ["a"]}],
        [{"id": "a", "text": "A", "depends_on": ["nowhere"]}],
        [
            {"id": "c", "text": "C", "depends_on": ["a"]},
            {"id": "a", "text": "A", "depends_on": ["b"]},
            {"id": "b", "text": "B", "depends_on": ["a"]},
        ],
    ],
    ids=["two", "itself", "missing", "behind a circle"],
)
def test_a_circle_is_told_to_both_and_never_hangs(plan: list[dict[str, Any]]) -> None:
    """The agent is asked to change the dependencies until it does; one that never does stalls, and nothing is lost."""
    ran = working("ralph", DONE, said(phase_done=True, subtasks=plan), *["Cannot."] * 9, budget=Budget(iterations=9))
    loop = ran.run()
    assert loop.outcome is Outcome.STALLED
    assert [task.task_id for task in loop.tasks] == [each["id"] for each in plan]
    assert "wait for each other, or for one that is not there" in prompt(ran, 2)
    assert "wait for each other, or for one that is not there" in prompt(ran, 3)
    assert "These subtasks wait for each other, or for one that is not there" in notes(ran)


def test_an_agent_that_mends_the_circle_goes_on_at_once() -> None:
    plan = [{"id": "a", "text": "A", "depends_on": ["b"]}, {"id": "b", "text": "B", "depends_on": ["a"]}]
    mended = said(subtasks=[{"id": "a", "depends_on": []}])
    ran = working("ralph", DONE, said(phase_done=True, subtasks=plan), mended, "Next.", budget=Budget(iterations=4))
    loop = ran.run()
    assert "Do the subtask a (A)" in prompt(ran)
    assert loop.tasks[1].depends_on == ("a",)


def test_a_failed_subtask_is_asked_for_again() -> None:
    ran = working(
        "ralph", DONE, subtasks("a", "b<"), subtasks(a="failed"), subtasks(a="completed"), budget=Budget(iterations=5)
    )
    ran.run()
    assert "These subtasks failed: a." in prompt(ran, 3)
    assert "Do the subtask b (Do b)" in prompt(ran, 4)


def test_no_subtasks_are_no_obstacle() -> None:
    ran = working("ralph", DONE, DONE, DONE, said(review_score=95, phase_done=True))
    assert ran.run().outcome is Outcome.CLAIMED
    assert "No subtasks are planned" in prompt(ran, 2)


def test_only_a_person_makes_the_task_smaller() -> None:
    dropping = subtasks(b="dropped", a="completed")
    ran = working("ralph", DONE, subtasks("a", "b"), dropping, budget=Budget(iterations=3))
    assert [task.task_id for task in ran.run().tasks] == ["a", "b"]
    assert "Only a person can drop subtasks: b stay." in notes(ran)
    planned = Reply(Answer(subtasks("a", "b")), meanwhile=(MessageSent("leave b out"),))
    heard = working("ralph", DONE, planned, dropping, said(review_score=90, phase_done=True))
    loop = heard.run()
    assert [task.task_id for task in loop.tasks] == ["a"]
    assert loop.outcome is Outcome.CLAIMED
    assert "leave b out" in prompt(heard, 2)
    assert "gets the status `dropped`" in prompt(heard, 2)
    assert "`dropped`" not in prompt(ran, 2)


def test_a_persons_task_must_be_done_too_and_the_review_repeated() -> None:
    added = Reply(
        Answer(said(review_score=99, phase_done=True)),
        meanwhile=(SubtasksChanged((SubtaskChange("mine", "And the docs"),)),),
    )
    review = said(review_score=99, phase_done=True)
    ran = working("ralph", DONE, subtasks("a"), subtasks(a="completed"), added, subtasks(mine="completed"), review)
    loop = ran.run()
    assert labels(ran) == ["analysis", "plan", "subtasks", "review", "subtasks", "review"]
    assert loop.outcome is Outcome.CLAIMED
    linear = working(
        "direct",
        Reply(Answer("Did it."), meanwhile=added.meanwhile),
        said(subtasks=[{"id": "mine", "status": "completed"}]),
    )
    assert linear.run().spend.iterations == 2


# --- the review ---


def test_a_review_below_the_threshold_goes_back_to_subtasks_with_what_it_found() -> None:
    found = said(review_score=79, findings=["No test for empty input.", "Slow."])
    mended = said(subtasks=[{"id": "fix-4-1", "status": "completed"}, {"id": "fix-4-2", "status": "completed"}])
    ran = working(
        "ralph", DONE, subtasks("a"), subtasks(a="completed"), found, mended, said(review_score=80, phase_done=True)
    )
    loop = ran.run()
    assert labels(ran)[3:] == ["review", "subtasks", "review"]
    assert "- [ ] fix-4-1: No test for empty input." in prompt(ran, 4)
    assert "The last review gave 79 of 100; 80 are needed." in prompt(ran, 4)
    assert (loop.outcome, state_of(loop).score) == (Outcome.CLAIMED, 80.0)


def test_a_bad_score_without_findings_still_has_something_to_mend() -> None:
    ran = working(
        "ralph", DONE, DONE, DONE, said(review_score=10, summary="It does not start."), budget=Budget(iterations=4)
    )
    assert [task.text for task in ran.run().tasks] == ["Fix what the review found: It does not start."]


@pytest.mark.parametrize(
    "text",
    [
        said(phase_done=True),
        "Looks good to me.",
        PROMISE,
        said(review_score="splendid", phase_done=True),
        said(review_score="92", phase_done=True),
        said(review_score=101, phase_done=True),
        said(reviewScore=92, phase_done=True),
        "Review Score: 92/100",
    ],
)
def test_a_review_without_a_score_has_not_passed(text: str) -> None:
    ran = working("ralph", DONE, DONE, DONE, text, budget=Budget(iterations=4))
    assert ran.run().outcome is Outcome.BUDGET


def test_the_threshold_can_be_set() -> None:
    ran = working(
        "ralph",
        DONE,
        DONE,
        DONE,
        said(review_score=90, phase_done=True),
        budget=Budget(iterations=4),
        options={"review_threshold": 95},
    )
    assert ran.run().outcome is Outcome.BUDGET
    assert "The review gave 90 of 100; 95 are needed." in notes(ran)


def test_a_score_before_the_review_does_not_count() -> None:
    early = said(phase_done=True, review_score=100)
    ran = working("ralph", early, early, early, said(phase_done=True), budget=Budget(iterations=4))
    loop = ran.run()
    assert loop.outcome is Outcome.BUDGET
    assert labels(ran)[-1] == "review"


@pytest.mark.parametrize("text", [said(score=10, phase_done=True), f"Complexity score: 10\n{PROMISE}"])
def test_a_score_of_the_task_is_a_plan_and_no_work(text: str) -> None:
    ran = working("auto", text, "Thinking.", budget=Budget(iterations=2))
    assert ran.run().outcome is Outcome.BUDGET
    assert labels(ran) == ["routing", "analysis"]


def test_a_bad_review_is_mended_and_reviewed_again_on_a_linear_route_too() -> None:
    bad = said(review_score=10, phase_done=True, findings=["It does not start."])
    ran = working(
        "planned", "A plan.", "Built.", bad, said(subtasks=[{"id": "fix-3-1", "status": "completed"}]), "Fine."
    )
    assert ran.run().outcome is Outcome.CLAIMED
    assert labels(ran) == ["plan", "implementation", "review", "implementation", "review"]
    assert "It does not start." in prompt(ran, 3)


@pytest.mark.parametrize(("route", "last"), [("planned", "review"), ("ui_flow", "preview")])
def test_a_plan_that_ticks_every_phase_off_has_not_been_looked_at(route: str, last: str) -> None:
    def ticks(_action: AskAgent, loop: Loop) -> Reply:
        shown = phases.MODE.live_state(loop) or ""
        return Reply(Answer("A plan."), live_state=shown.replace("Completed Phases: [", "Completed Phases: [1, 2, 3, "))

    ran = driver.looping(ticks, Budget(iterations=9), mode="phases", options={"route": route})
    assert ran.run().outcome is Outcome.CLAIMED
    assert labels(ran)[-1] == last
    assert "Phase 3 looks at what the others left" in notes(ran)


# --- claims and gates ---


def test_a_promise_too_early_is_said_back() -> None:
    ran = working("ralph", DONE, subtasks("a"), f"Done.\n\n{PROMISE}", budget=Budget(iterations=3))
    assert ran.run().outcome is Outcome.BUDGET
    assert "The promise is set, but phase 3 of 4 is not done, nor are the subtasks a." in notes(ran)


def test_the_next_prompt_tells_the_agent_why_its_promise_was_refused() -> None:
    ran = working("ralph", DONE, f"Done.\n\n{PROMISE}", DONE, budget=Budget(iterations=3))
    ran.run()
    section = prompt(ran, 2).partition("[NOT TAKEN FROM YOUR LAST ANSWER]")[2].partition("[WHAT TO DO NOW]")[0]
    assert "The promise is set, but phase" in section


def test_what_the_gates_find_is_mended_and_claimed_again() -> None:
    results = iter((driver.fails, driver.passes))
    ran = working(
        "direct",
        "Did it.",
        NOT_DONE,
        "Now it works.",
        checks=("make",),
        gates=lambda command, _loop: next(results)(command),
    )
    loop = ran.run()
    assert loop.outcome is Outcome.VERIFIED
    assert labels(ran) == ["execution", "mending", "mending"]
    assert "The check `make` failed" in prompt(ran, 1)


def test_a_message_after_the_last_phase_is_heard() -> None:
    ran = working("direct", Reply(Answer("Did it."), meanwhile=(MessageSent("in French, please"),)), "Voilà.")
    assert ran.run().spend.iterations == 2
    assert "in French, please" in prompt(ran, 1)


# --- budget ---


@pytest.mark.parametrize(("warn_from", "warned_at"), [(None, 15), (5, 5), (18, 18)])
def test_the_warning_comes_at_the_threshold(warn_from: int | None, warned_at: int) -> None:
    def answer(action: Any, loop: Any) -> str:
        return f"Thinking {loop.seq}"

    ran = driver.looping(answer, MANY, mode="phases", options={"route": "ralph"}, warn_from=warn_from)
    assert ran.run().spend.iterations == 20
    (warning,) = ran.events(BudgetWarned)
    assert isinstance(warning, BudgetWarned)
    assert warning.used == warned_at


@pytest.mark.parametrize(
    ("options", "kept"), [({}, [3, 6]), ({"skillpack": {"auto_checkpoint_interval": 2}}, [2, 4, 6])]
)
def test_a_full_checkpoint_is_kept_every_so_often(options: dict[str, Any], kept: list[int]) -> None:
    ran = working("ralph", *(f"Thinking {n}" for n in range(7)), budget=Budget(iterations=7), options=options)
    ran.run()
    reads = [event for event in ran.events(AnswerRead) if isinstance(event, AnswerRead)]
    assert [number for number, read in enumerate(reads, 1) if read.keep_checkpoint] == kept


def test_the_state_does_not_grow_with_the_rounds() -> None:
    """A hundred reviews that never pass: the mode's own state stays as small as it was."""
    ran = working(
        "ralph", DONE, DONE, DONE, *(said(review_score=1, summary="x" * 9000, findings=["same"]) for _ in range(3))
    )
    size = len(json.dumps(ran.run().skill_state))
    assert size < 40_000


# --- bad answers ---


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (said(phase_done="perhaps"), "'phase_done' must be true or false"),
        (said(phase_done="yes"), "'phase_done' must be true or false"),
        (said(phaseDone=True, summary="x"), "the answer has unknown fields: phaseDone"),
        (said(subtasks="all of them"), "'subtasks' must be a list"),
        (said(subtasks=[7, None, {}, "One"]), "a subtask must be an object with an `id`, which is a text"),
        (said(subtasks=[{"text": "One"}]), "a subtask must be an object with an `id`, which is a text"),
        (said(subtasks=[{"id": 1, "text": "One"}]), "a subtask must be an object with an `id`, which is a text"),
        (said(subtasks=[{"id": "a"}]), "subtask 'a' is new and has no `text`"),
        (said(subtasks=[{"id": "a", "title": "One"}]), "subtask 'a' is new and has no `text`"),
        (said(subtasks=[{"id": "a", "text": "A", "dependsOn": ["b"]}]), "a subtask has unknown fields: dependsOn"),
        (said(subtasks=[{"id": "a", "text": "A", "depends_on": "b"}]), "'depends_on' must be a list"),
        (said(subtasks=[{"id": "a", "text": "A", "depends_on": [1]}]), "'depends_on' must be a list of texts"),
        (said(subtasks=[{"id": "a", "text": "A", "status": "done"}]), "'done' is not a status of a subtask"),
        (said(subtasks=[{"id": f"t{n}", "text": "T"} for n in range(201)]), "more than 200 subtasks are not taken"),
        (said(findings=[{"text": "Slow."}]), "'findings' must be a list of texts"),
        (said(review_score="92/100"), "'review_score' must be a number from 0 to 100"),
        (said(route="sideways"), "'sideways' is not a route"),
    ],
)
def test_what_nobody_asked_for_is_refused_with_a_sentence_and_nothing_is_lost(text: str, problem: str) -> None:
    """The person reads it in the notes, the agent in its next prompt; the phase is asked for again."""
    ran = working("ralph", DONE, subtasks("mine"), text, DONE, budget=Budget(iterations=4))
    loop = ran.run()
    assert loop.outcome is Outcome.BUDGET
    assert problem.lower() in notes(ran).lower()
    assert f"[NOT TAKEN FROM YOUR LAST ANSWER]\n- {problem}" in prompt(ran, 3)
    assert labels(ran)[2:] == ["subtasks", "subtasks"]
    assert "mine" in {task.task_id for task in loop.tasks}
    assert len(loop.tasks) <= 200


def test_what_can_be_read_counts_beside_what_cannot() -> None:
    listed = [{"id": "a", "text": "One"}, "Two", {"id": "c", "text": "\ud800bad", "status": "completed"}]
    ran = working("ralph", DONE, said(phase_done=True, subtasks=listed), DONE, budget=Budget(iterations=3))
    loop = ran.run()
    assert [(task.task_id, task.text, task.status.value) for task in loop.tasks] == [
        ("a", "One", "pending"),
        ("c", "?bad", "completed"),
    ]
    assert labels(ran)[2] == "subtasks"
    assert "NOT TAKEN" in prompt(ran, 2)


def test_a_refusal_is_said_once() -> None:
    ran = working("ralph", said(phase_done="yes"), DONE, DONE, budget=Budget(iterations=3))
    ran.run()
    assert ["NOT TAKEN" in prompt(ran, number) for number in range(3)] == [False, True, False]


def test_reinjection_says_where_it_stands() -> None:
    ran = working("ralph", DONE, subtasks("a", "b"), subtasks(a="completed"), budget=Budget(iterations=3))
    loop = ran.run()
    text = reinjection(loop)
    assert text.startswith("═" * 60 + "\n🔄 Iteration continues | Round 4/3\n" + "═" * 60)
    for part in (
        "- Route: RALPH",
        "- Phase: Phase 3",
        "- Subtask: 1 / 2",
        "Finish the remaining 1 subtask",
        PROMISE,
        "─" * 60,
    ):
        assert part in text


def test_the_state_is_read_as_it_was_written() -> None:
    state = State("ralph", (1, 2), {"1": "Looked."}, 92.0, ("'subtasks' must be a list",))
    ran = working("ralph", DONE)
    loop = ran.loop
    assert state_of(replace(loop, skill_state=json.loads(json.dumps(state.as_json())))) == state
