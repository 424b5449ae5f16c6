"""The live state file: written as in the design's examples, and read in whatever shape people and agents leave it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from untildone.core.answers import subtasks
from untildone.core.events import AnswerRead, BudgetChanged, LiveStateSeen, ResumeRequested, TurnEnded
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop, Turn
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    GateResult,
    LoopSettings,
    Outcome,
    Role,
    SessionUse,
    Spend,
    Status,
    Subtask,
    SubtaskStatus,
)
from untildone.modes.phases.live_file import render
from untildone.modes.phases.live_reading import parse
from untildone.modes.phases.mode import MODE
from untildone.modes.phases.state import State, state_of
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply

ANALYSING = State("ralph")
DONE, OPEN = SubtaskStatus.COMPLETED, SubtaskStatus.PENDING
NAMES = ("User model", "Sign-in service", "Permission check", "Session handling", "Security audit")


def at(clock: str) -> float:
    return datetime.fromisoformat(f"2026-01-18T{clock}").replace(tzinfo=UTC).timestamp()


def looping(done: int = 0, state: State = ANALYSING, **more: Any) -> Loop:
    listed = tuple(Subtask(f"s{n}", name, DONE if n <= done else OPEN) for n, name in enumerate(NAMES, 1))
    settings = LoopSettings("phases", AgentChoice("claude", "claude"), "/workspace", options={"route": "ralph"})
    usual: dict[str, Any] = {
        "created_at": at("10:00:00"),
        "updated_at": at("10:00:00"),
        "status": Status.RUNNING,
        "tasks": listed,
        "spend": Spend(iterations=1),
        "skill_state": state.as_json(),
    }
    return Loop("abc123", "Auth", "Build it", settings, Budget(iterations=20), **{**usual, **more})


INITIAL = """# Delta Loop State

## Meta
- Task ID: abc123
- Route: RALPH
- Started: 2026-01-18 10:00:00
- Last Updated: 2026-01-18 10:00:00

## Iteration
- Current: 1
- Max Allowed: 20
- Status: IN_PROGRESS

## Progress
- Current Phase: 1
- Completed Phases: []
- Current Subtask: 0 / 5

## Pending Work
1. Phase 1: Deep analysis
2. Phase 2: Planning
3. Phase 3: Carry out 5 subtasks
4. Phase 4: Comprehensive review

## Completed Work
(none)

## Promise
<!-- not done yet -->
"""

AFTER_THREE = """# Delta Loop State

## Meta
- Task ID: abc123
- Route: RALPH
- Started: 2026-01-18 10:00:00
- Last Updated: 2026-01-18 10:35:00

## Iteration
- Current: 3
- Max Allowed: 20
- Status: IN_PROGRESS

## Progress
- Current Phase: 3
- Completed Phases: [1, 2]
- Current Subtask: 2 / 5

## Pending Work
1. Phase 3: Finish the remaining 3 subtasks
2. Phase 4: Comprehensive review

## Completed Work
### Phase 1: Deep analysis
- Identified 5 core subtasks
- Settled the dependencies

### Phase 2: Planning
- Made a plan
- Assigned resources

### Phase 3: Subtask progress
- [x] Subtask 1: User model
- [x] Subtask 2: Sign-in service
- [ ] Subtask 3: Permission check
- [ ] Subtask 4: Session handling
- [ ] Subtask 5: Security audit

## Promise
<!-- not done yet -->
"""

COMPLETED = """# Delta Loop State

## Meta
- Task ID: abc123
- Route: RALPH
- Started: 2026-01-18 10:00:00
- Last Updated: 2026-01-18 11:20:00

## Iteration
- Current: 5
- Max Allowed: 20
- Status: COMPLETED

## Progress
- Current Phase: 4
- Completed Phases: [1, 2, 3, 4]
- Current Subtask: 5 / 5

## Pending Work
(none)

## Completed Work
### Phase 1: Deep analysis

### Phase 2: Planning

### Phase 3: Subtask progress
- [x] Subtask 1: User model
- [x] Subtask 2: Sign-in service
- [x] Subtask 3: Permission check
- [x] Subtask 4: Session handling
- [x] Subtask 5: Security audit

### Phase 4: Comprehensive review

## Promise
<promise>TASK_COMPLETE</promise>

## Completion Summary
- Total Iterations: 5
- Total Duration: 1h 20m
- Files Modified: 12
- Review Score: 92/100
"""

SUMMARIES = {
    "1": "Identified 5 core subtasks\nSettled the dependencies",
    "2": "- Made a plan\n- Assigned resources",
}
THIRD = looping(2, State("ralph", (1, 2), SUMMARIES), updated_at=at("10:35:00"), spend=Spend(iterations=3))
LAST = looping(
    5,
    State("ralph", (1, 2, 3, 4), score=92.0),
    updated_at=at("11:20:00"),
    spend=Spend(iterations=5),
    status=Status.COMPLETED,
    outcome=Outcome.CLAIMED,
    changes=Changes("x", tree="y", files=12),
)


@pytest.mark.parametrize(
    ("loop", "text"), [(looping(), INITIAL), (THIRD, AFTER_THREE), (LAST, COMPLETED)], ids=["initial", "third", "last"]
)
def test_it_is_written_as_in_the_design(loop: Loop, text: str) -> None:
    assert render(loop) == text


# The same states in the language of the design.
TRANSLATED = {
    "Deep analysis": "深度分析",
    "Planning": "规划",
    "Carry out 5 subtasks": "执行 5 个子任务",
    "Finish the remaining 3 subtasks": "完成剩余 3 个子任务",
    "Comprehensive review": "综合审查",
    "Subtask progress": "子任务进度",
    "Subtask ": "子任务 ",
    "not done yet": "未完成",
    "Identified 5 core subtasks": "识别 5 个核心子任务",
    "Settled the dependencies": "确定依赖关系",
    **dict(zip(NAMES, ("用户模型", "认证服务", "权限检查", "会话管理", "安全审计"), strict=True)),
}


def in_chinese(text: str) -> str:
    for english, chinese in TRANSLATED.items():
        text = text.replace(english, chinese)
    return text


@pytest.mark.parametrize(
    ("text", "phases", "ticked", "promised"),
    [(INITIAL, "[]", 0, False), (AFTER_THREE, "[1, 2]", 2, False), (COMPLETED, "[1, 2, 3, 4]", 5, True)],
)
@pytest.mark.parametrize(
    "shape", [str, in_chinese, lambda text: text.replace("\n", "\r\n")], ids=["as written", "chinese", "crlf"]
)
def test_the_examples_can_be_read(text: str, phases: str, ticked: int, promised: bool, shape: Any) -> None:
    seen = parse(shape(text))
    assert seen.fields["completed phases"] == phases
    assert seen.fields["max allowed"] == "20"
    assert sum(box.ticked for box in seen.boxes) == ticked
    assert all(box.is_subtask and box.number for box in seen.boxes)
    assert seen.promised is promised
    assert all(re.match("Phase", line) for line in seen.pending)


# --- what an edit means ---


def edited(loop: Loop, text: str, *, by_agent: bool = False) -> AnswerRead:
    """What the mode makes of the file, as a person left it between two turns, or as it was found after the agent's."""
    seen = replace(loop, live_state=text, live_before=render(loop))
    if not by_agent:
        return MODE.absorb(seen, text)
    turn = Turn(Role.WORKER, loop.spend.iterations, 1, "claude", SessionUse.NEW, 0.0)
    return MODE.read(replace(seen, turn=turn), Role.WORKER, Answer("I worked."))


def after(loop: Loop, read: AnswerRead) -> Loop:
    return replace(loop, skill_state=read.skill_state, tasks=subtasks.changed(loop.tasks, read.tasks))


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_file_that_says_what_was_written_changes_nothing(by_agent: bool) -> None:
    for loop in (looping(), THIRD):
        read = edited(loop, render(loop), by_agent=by_agent)
        assert (read.tasks, read.note, read.claimed, read.max_iterations, read.gives_up) == ((), "", False, None, "")
        assert state_of(after(loop, read)) == state_of(loop)


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_ticked_box_is_a_subtask_done(by_agent: bool) -> None:
    ticked = AFTER_THREE.replace("- [ ] Subtask 3", "- [x] Subtask 3").replace("- [ ] Subtask 5", "* [X] Subtask 5")
    loop = after(THIRD, edited(THIRD, ticked, by_agent=by_agent))
    assert [task.task_id for task in loop.tasks if task.status is DONE] == ["s1", "s2", "s3", "s5"]
    untied = edited(THIRD, AFTER_THREE.replace("- [x] Subtask 2", "- [ ] Subtask 2"), by_agent=by_agent)
    assert [task.status for task in after(THIRD, untied).tasks][:3] == [DONE, OPEN, OPEN]


def test_all_boxes_ticked_is_the_phase_done_and_the_review_is_next() -> None:
    read = edited(THIRD, AFTER_THREE.replace("[ ]", "[x]"), by_agent=True)
    assert state_of(after(THIRD, read)).completed == (1, 2, 3)
    assert not read.claimed


def test_an_agent_that_rewrites_the_file_in_its_own_language_is_understood() -> None:
    text = in_chinese(AFTER_THREE.replace("- [ ] Subtask 3", "- [x] Subtask 3"))
    loop = after(THIRD, edited(THIRD, text, by_agent=True))
    assert [task.status for task in loop.tasks] == [DONE, DONE, DONE, OPEN, OPEN]
    assert loop.tasks[2].text == "权限检查"
    assert len(loop.tasks) == 5


def test_a_persons_new_lines_are_new_subtasks() -> None:
    text = AFTER_THREE.replace(
        "2. Phase 4: Comprehensive review\n",
        "2. Phase 4: Comprehensive review\n3. Write the docs\n- [ ] Mend the logo (after 3)\n",
    ).replace("Subtask 4: Session handling", "Subtask 4: Session handling with Redis")
    loop = after(THIRD, edited(THIRD, text))
    assert {(task.task_id, task.text, task.depends_on) for task in loop.tasks[5:]} == {
        ("s6", "Mend the logo", ("s3",)),
        ("s7", "Write the docs", ()),
    }
    assert loop.tasks[3].text == "Session handling with Redis"


def test_an_agents_own_words_for_what_is_left_are_no_subtasks_but_its_boxes_are() -> None:
    text = AFTER_THREE.replace("1. Phase 3: Finish the remaining 3 subtasks", "1. three to go\n- [ ] Rotate the keys")
    loop = after(THIRD, edited(THIRD, text, by_agent=True))
    assert [task.text for task in loop.tasks[5:]] == ["Rotate the keys"]
    again = after(loop, edited(loop, render(loop).replace("1. Phase 3", "1. nearly there"), by_agent=True))
    assert again.tasks == loop.tasks


@pytest.mark.parametrize(
    ("listed", "completed"),
    [
        ("[1, 2]", (1, 2)),
        ("1,2", (1, 2)),
        ("1-2", (1, 2)),
        ("[1, 2, 3, 4]", (1, 2)),
        ("[2]", (2,)),
        ("[99, -1, x]", (1,)),
        ("[]", ()),
        ("[nine]", ()),
    ],
)
def test_completed_phases_count_as_far_as_they_can_be_true(listed: str, completed: tuple[int, ...]) -> None:
    """Subtasks are not done, so their phase is not; a review without a score has not passed."""
    loop = looping()
    read = edited(loop, INITIAL.replace("Completed Phases: []", f"Completed Phases: {listed}"), by_agent=True)
    assert state_of(after(loop, read)).completed == completed


def test_a_later_current_phase_means_that_those_before_are_done() -> None:
    read = edited(looping(), INITIAL.replace("Current Phase: 1", "Current Phase: 3"), by_agent=True)
    assert state_of(after(looping(), read)).completed == (1, 2)


def test_a_phase_taken_out_stays_done_and_that_is_said() -> None:
    read = edited(THIRD, AFTER_THREE.replace("[1, 2]", "[1]"))
    assert state_of(after(THIRD, read)).completed == (1, 2)
    assert "lacks 2, which stays done" in read.note


def test_what_the_agent_wrote_about_its_work_is_kept() -> None:
    text = INITIAL.replace("(none)", "### Phase 1: Deep analysis\n- found the parser\n- it is old")
    loop = after(looping(), edited(looping(), text, by_agent=True))
    assert "### Phase 1: Deep analysis\n- found the parser\n- it is old" in render(loop)
    free = after(looping(), edited(looping(), INITIAL.replace("(none)", "I read everything."), by_agent=True))
    assert state_of(free).summaries == {"1": "I read everything."}


def test_the_most_iterations_are_a_persons_to_change() -> None:
    raised = AFTER_THREE.replace("Max Allowed: 20", "Max Allowed: 30 (was 20)")
    assert edited(THIRD, raised).max_iterations == 30
    read = edited(THIRD, raised, by_agent=True)
    assert read.max_iterations is None
    assert "was changed while the loop ran and does not count" in read.note
    interrupted = replace(THIRD, live_in_turn=True)
    assert edited(interrupted, raised).max_iterations is None


def test_a_budget_changed_elsewhere_is_not_undone_by_an_edit_of_something_else() -> None:
    loop = replace(THIRD, live_before=render(THIRD), budget=Budget(iterations=4))
    assert MODE.absorb(loop, AFTER_THREE.replace("- [ ] Subtask 3", "- [x] Subtask 3")).max_iterations is None


@pytest.mark.parametrize("number", ["banana", "-5", "0", "99999999999999999999", "", "１００万", "1e9e"])
def test_nonsense_for_a_number_is_said_and_nothing_else(number: str) -> None:
    read = edited(THIRD, AFTER_THREE.replace("Max Allowed: 20", f"Max Allowed: {number}"))
    assert read.max_iterations is None
    assert "Max Allowed" in read.note


@pytest.mark.parametrize("status", ["COMPLETED", "FAILED", "whatever"])
def test_other_statuses_are_not_for_others_to_write(status: str) -> None:
    read = edited(THIRD, AFTER_THREE.replace("IN_PROGRESS", status))
    assert (read.claimed, read.gives_up) == (False, "")
    assert f"Status '{status}' in the live state file changes nothing" in read.note


def test_a_person_may_give_up_in_the_file_and_an_agent_only_pauses() -> None:
    text = AFTER_THREE.replace("IN_PROGRESS", "USER_ABORT")
    by_person, by_agent = edited(THIRD, text), edited(THIRD, text, by_agent=True)
    assert (by_person.gives_up_as, bool(by_person.gives_up)) == (Outcome.ABANDONED, True)
    assert (by_agent.gives_up_as, bool(by_agent.gives_up)) == (Outcome.PAUSED, True)


@pytest.mark.parametrize("by_agent", [False, True])
def test_the_promise_alone_ends_nothing(by_agent: bool) -> None:
    read = edited(
        THIRD, AFTER_THREE.replace("<!-- not done yet -->", "<promise>TASK_COMPLETE</promise>"), by_agent=by_agent
    )
    assert not read.claimed
    assert "The promise is set, but phase 3 of 4 is not done" in read.note
    hidden = AFTER_THREE.replace("<!-- not done yet -->", "<!-- <promise>TASK_COMPLETE</promise> -->")
    assert edited(THIRD, hidden, by_agent=by_agent).note == ""


def test_the_review_score_in_the_file_counts_in_the_review() -> None:
    reviewing = looping(5, State("ralph", (1, 2, 3)), spend=Spend(iterations=4))
    text = render(reviewing).replace("Completed Phases: [1, 2, 3]", "Completed Phases: [1, 2, 3, 4]")
    scored = f"{text}\n## Completion Summary\n- Review Score: 92/100\n"
    read = edited(reviewing, scored, by_agent=True)
    assert (read.claimed, state_of(after(reviewing, read)).score) == (True, 92.0)
    assert not edited(reviewing, text, by_agent=True).claimed
    assert "is not a number from 0 to 100" in edited(reviewing, scored.replace("92", "192"), by_agent=True).note


def test_the_route_can_be_chosen_in_the_file_while_none_is() -> None:
    auto = replace(looping(state=State()), settings=replace(looping().settings, options={"route": "auto"}), tasks=())
    assert "- Route: AUTO" in render(auto)
    read = edited(auto, render(auto).replace("Route: AUTO", "Route: UI_FLOW"))
    assert state_of(after(auto, read)).route == "ui_flow"
    late = edited(THIRD, AFTER_THREE.replace("Route: RALPH", "Route: DIRECT"))
    assert "Route 'DIRECT' in the live state file changes nothing" in late.note
    assert state_of(after(THIRD, late)).route == "ralph"


SECTIONS = AFTER_THREE.split("\n\n## ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\xff\ufffd",
        "# Delta Loop State",
        AFTER_THREE[:300],
        "\n\n## ".join([SECTIONS[0], *reversed(SECTIONS[1:])]),
        AFTER_THREE + AFTER_THREE.partition("\n\n")[2],
        AFTER_THREE.replace("## ", "#### "),
        AFTER_THREE.replace("- ", "").replace(":", " "),
        AFTER_THREE.replace("Progress", "Fortschritt").replace("Pending Work", "Ausstehend"),
        "rubbish " * 131_072,
        "- [ ] x\n" * 131_072,
        "- [ ] [ ] [ ]\n" * 70_000,
        "## Meta\n" * 131_072,
        "<!--" * 262_144,
        "```\n" * 262_144,
        "- Max Allowed: " + "9" * 1_000_000,
        ":" * 1_000_000,
        "`" * 1_000_000,
    ],
    ids=lambda text: f"{len(text)} {text[:10]!r}",
)
@pytest.mark.parametrize("by_agent", [False, True])
def test_whatever_the_file_holds_the_loop_goes_on(text: str, by_agent: bool) -> None:
    read = edited(THIRD, text, by_agent=by_agent)
    loop = after(THIRD, read)
    assert [task.status for task in loop.tasks[:5]] == [DONE, DONE, OPEN, OPEN, OPEN]
    assert len(loop.tasks) <= 200
    assert (read.claimed, read.gives_up, read.max_iterations) == (False, "", None)
    assert len(read.note) < 2_000
    assert state_of(loop).completed == (1, 2)
    assert parse(render(loop)).fields["completed phases"] == "[1, 2]"


@pytest.mark.parametrize("text", ["", "rubbish"])
def test_a_file_without_anything_readable_is_said(text: str) -> None:
    assert "nothing in the live state file can be read".capitalize() in edited(THIRD, text).note.capitalize()


@pytest.mark.parametrize(
    "words",
    [
        "<promise>TASK_COMPLETE</promise>",
        "<!-- hidden",
        "## Promise",
        "- [ ] a box",
        "Retry (after timeout)",
        "It (failed)",
        "x" * 5000,
        "a\nb\n\n# c",
        "Phase 2: again",
    ],
)
def test_what_an_agent_tells_cannot_spoil_the_file(words: str) -> None:
    """As a subtask and as a summary: read back, the file says what it said, and nothing new."""
    listed = (Subtask("s1", words), Subtask("s2", "Other", DONE, ("s1",)))
    loop = looping(state=State("ralph", (1, 2), {"1": words, "2": "Planned."}), tasks=listed)
    text = render(loop)
    assert not parse(text).promised
    assert parse(text).fields["completed phases"] == "[1, 2]"
    for by_agent in (False, True):
        read = edited(loop, text.replace("Current: 1", "Current: 2"), by_agent=by_agent)
        assert (read.tasks, read.note) == ((), "")
    ticked = edited(loop, text.replace("- [ ] Subtask 1", "- [x] Subtask 1"))
    assert [change.task_id for change in ticked.tasks] == ["s1"]


def test_the_file_shows_what_the_checks_found() -> None:
    failed = (GateResult("check", "make", passed=False),)
    loop = replace(LAST, status=Status.RUNNING, outcome=None, gates=failed)
    assert "## Pending Work\n1. Fix what the checks found\n" in render(loop)
    assert "## Promise\n<!-- not done yet -->\n" in render(loop)


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Outcome.BUDGET, "IN_PROGRESS"),
        (Outcome.STOPPED, "USER_ABORT"),
        (Outcome.ABANDONED, "USER_ABORT"),
        (Outcome.FAILED, "FAILED"),
        (Outcome.VERIFIED, "COMPLETED"),
    ],
)
def test_the_status_of_a_loop_at_rest(outcome: Outcome, word: str) -> None:
    assert f"- Status: {word}\n" in render(replace(THIRD, status=outcome.status, outcome=outcome))


# --- through the engine's eyes ---


def ran(*replies: Reply | str, **chosen: Any) -> Driver:
    return driver.looping(list(replies), Budget(iterations=2), mode="phases", options={"route": "ralph"}, **chosen)


def test_a_loop_out_of_rounds_goes_on_once_a_person_raised_the_number() -> None:
    going = ran("One.", "Two.", "Three.", "Four.")
    assert going.run().outcome is Outcome.BUDGET
    before = render(going.loop)
    going.journal.append(LiveStateSeen(before.replace("Max Allowed: 2", "Max Allowed: 3"), before, at_rest=True))
    going.send("resume", ResumeRequested())
    loop = going.run()
    assert (loop.spend.iterations, loop.budget.iterations, loop.outcome) == (3, 3, Outcome.BUDGET)
    assert [event.amount for event in going.events(BudgetChanged) if isinstance(event, BudgetChanged)] == [3]


def test_an_agent_that_raises_its_own_budget_gets_nothing_even_if_its_turn_is_cut_short() -> None:
    def answer(action: Any, loop: Loop) -> Reply:
        text = render(loop).replace("Max Allowed: 2", "Max Allowed: 99")
        return Reply(meanwhile=(LiveStateSeen(text, render(loop)),), interrupted=Interruption.TIMEOUT)

    going = driver.looping(answer, Budget(iterations=2), mode="phases", options={"route": "ralph"})
    loop = going.run()
    assert (loop.spend.iterations, loop.budget.iterations) == (2, 2)


def test_answer_and_file_count_together() -> None:
    def answer(action: Any, loop: Loop) -> Reply:
        return Reply(Answer('{"phase_done": true}'), live_state=render(loop).replace("(none)", "I read it all."))

    going = driver.looping(answer, Budget(iterations=1), mode="phases", options={"route": "ralph"})
    state = state_of(going.run())
    assert (state.completed, dict(state.summaries)) == ((1,), {"1": "I read it all."})
    assert len(list(going.events(TurnEnded))) == 1
