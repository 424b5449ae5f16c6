"""Seed 001, the orchestrator (mode workflow): its requirements, one test each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from untildone import settings
from untildone.core import moves
from untildone.core.actions import AwaitPerson
from untildone.core.apply import apply
from untildone.core.errors import LoopNotFound, UsageError, WrongMove
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    Event,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StartRequested,
    StopRequested,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import Answer, Budget, Failure, FailureKind, LoopSettings, Outcome, Status, Urgency
from untildone.core.moves import Control
from untildone.core.values.codec import epoch
from untildone.core.values.value import replace
from untildone.faces.text import loop_lines
from untildone.modes.workflow.mode import MODE
from untildone.operations import control, subtasks
from untildone.operations.creating import creation
from untildone.store.files import FileStore
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply

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


def working(*replies: str | Answer, **chosen: Any) -> Driver:
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


# --- the state file, the id, and what there must be to begin ---


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / ".loop")


def created(store: FileStore, tmp_path: Path, task: str = "Write a parser") -> Loop:
    chosen = settings.load(tmp_path, {"agent": "scripted", "mode": "workflow"}, {})
    return creation.create(store, task, chosen, tmp_path, {}).loop


def state_file(store: FileStore, loop: Loop) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((store.root / f"{loop.loop_id}.json").read_text())
    return fields


def test_requirement_the_state_file_has_the_eight_fields(store: FileStore, tmp_path: Path) -> None:
    loop = created(store, tmp_path)
    fields = state_file(store, loop)
    assert (fields["loop_id"], fields["title"], fields["description"]) == (loop.loop_id, *["Write a parser"] * 2)
    assert (fields["status"], fields["max_iterations"], fields["current_iteration"]) == ("created", 10, 0)
    assert epoch(fields["created_at"]) == epoch(fields["updated_at"]) == loop.created_at
    assert fields["skill_state"] is None


def test_requirement_the_title_is_the_first_hundred_characters(store: FileStore, tmp_path: Path) -> None:
    task = "0123456789" * 23
    loop = created(store, tmp_path, task)
    assert (loop.title, loop.description) == (f"{task[:99]}…", task)


def test_requirement_ten_iterations_unless_set(store: FileStore, tmp_path: Path) -> None:
    assert created(store, tmp_path).budget.iterations == 10


def test_on_purpose_ids_and_times_are_in_utc(store: FileStore, tmp_path: Path) -> None:
    """The design adds eight hours to the clock and writes the result as UTC, which is wrong anywhere: times are RFC 3339 in
    UTC here, and an id is made from the same clock, so that ids sort by time."""
    loop = created(store, tmp_path)
    assert re.fullmatch(r"loop-\d{8}-\d{9}-[0-9a-f]{6}", loop.loop_id)
    assert state_file(store, loop)["created_at"].endswith("Z")
    assert loop.loop_id < created(store, tmp_path).loop_id


def test_requirement_each_loop_has_a_progress_folder(store: FileStore, tmp_path: Path) -> None:
    loop = created(store, tmp_path)
    assert (store.root / f"{loop.loop_id}.progress" / "execution.log.jsonl").is_file()


def test_requirement_an_unknown_loop_is_an_error(store: FileStore) -> None:
    with pytest.raises(LoopNotFound, match="There is no loop 'loop-v2-nope'") as refused:
        store.find("loop-v2-nope")
    assert refused.value.exit_code == 2


def test_requirement_neither_a_loop_nor_a_task_is_an_error(store: FileStore, tmp_path: Path) -> None:
    for task in ("", " \n", "[r+3]"):
        with pytest.raises(UsageError) as refused:
            created(store, tmp_path, task)
        assert refused.value.hint
    assert store.live_ids() == (), "nothing is written"


# --- two planes: control and work ---


def test_requirement_control_and_work_never_overwrite_each_other(store: FileStore, tmp_path: Path) -> None:
    loop = created(store, tmp_path)
    with store.lease(loop.loop_id) as journal:
        journal.append(StartRequested())
        control.budget(store, loop.loop_id, BudgetChanged(Limit.ITERATIONS, 3, add=True))
        control.say(store, loop.loop_id, "mind the docs")
        subtasks.add(store, loop.loop_id, "also the tests", task_id="mine")
        journal.append(AnswerRead(claimed=False, skill_state={"initialised": True}))
        control.pause(store, loop.loop_id)
    after = store.load(loop.loop_id)
    assert (after.budget.iterations, after.inbox, after.skill_state) == (
        13,
        ("mind the docs",),
        {"initialised": True},
    )
    assert [task.task_id for task in after.tasks] == ["mine"]


def rests_after(*orders: Event) -> Loop:
    """A loop that got these orders while its first action ran."""
    first = Reply(Answer(tasks("pending")), meanwhile=orders)
    ran = driver.looping([first, tasks("completed")], Budget(iterations=10), mode="workflow")
    loop = ran.run()
    assert actions(ran) == ["init"], "no action begins after the order"
    return loop


def test_requirement_signal_paused_rests_and_resume_goes_on() -> None:
    first = Reply(Answer(tasks("pending")), meanwhile=(PauseRequested(),))
    ran = driver.looping([first, tasks("completed"), said(PASSED), said()], Budget(iterations=10), mode="workflow")
    assert ran.run().status is Status.PAUSED
    ran.send("resume", ResumeRequested())
    assert ran.run().status is Status.COMPLETED
    assert actions(ran) == ["init", "develop", "validate", "complete"]


def test_requirement_signal_stopped_ends_it_and_every_further_control_is_refused() -> None:
    loop = rests_after(StopRequested())
    assert (loop.status, loop.outcome) == (Status.FAILED, Outcome.STOPPED)
    for order in (Control.START, Control.PAUSE, Control.RESUME, Control.SAY):
        with pytest.raises(WrongMove, match="is failed: it cannot"):
            moves.check(loop, order)


def test_requirement_signal_completed_refuses_to_resume() -> None:
    loop = working(tasks("completed"), said(), said(PASSED), said()).run()
    assert loop.status is Status.COMPLETED
    with pytest.raises(WrongMove, match="is completed: it cannot be resumed"):
        moves.check(loop, Control.RESUME)


def test_on_purpose_resume_starts_a_loop_that_was_only_created() -> None:
    """The design calls this "should not happen" and rests. To go on with a loop that never began is to begin it; a pause is
    refused, because nothing runs."""
    ran = Driver(driver.from_list([tasks("pending")]))
    ran.create(LoopSettings("workflow", driver.WORKER, "/workspace"), Budget(iterations=1))
    with pytest.raises(WrongMove, match="is created: it cannot be paused"):
        moves.check(ran.loop, Control.PAUSE)
    ran.send("resume", ResumeRequested())
    ran.run()
    assert actions(ran) == ["init"]


def test_on_purpose_a_status_written_into_the_file_by_hand_does_not_count(store: FileStore, tmp_path: Path) -> None:
    """The journal is the truth, and the file carries a checksum: another program's status is noticed and replaced. Control is
    an entry of the journal, so that no two writers can undo each other."""
    loop = created(store, tmp_path)
    path = store.root / f"{loop.loop_id}.json"
    path.write_text(path.read_text().replace('"status":"created"', '"status":"weird"'))
    assert '"weird"' in path.read_text()
    assert store.load(loop.loop_id).status is Status.CREATED


# --- the rules of the auto mode ---


def way(*replies: str) -> list[str]:
    ran = working(*replies)
    ran.run()
    return actions(ran)


def test_requirement_rule_not_initialised_is_init() -> None:
    assert way("no JSON", tasks("pending"))[:2] == ["init", "init"]


def test_requirement_rule_a_pending_task_is_develop() -> None:
    assert way(tasks("pending", "pending"), tasks("completed", "pending"), tasks("completed", "completed"))[:3] == [
        *("init", "develop", "develop"),
    ]


def test_requirement_rule_a_failed_task_after_develop_is_debug() -> None:
    assert way(tasks("pending"), tasks("failed"), tasks("completed"))[:3] == ["init", "develop", "debug"]


def test_requirement_rule_debug_or_a_confirmed_hypothesis_is_validate() -> None:
    confirmed = said({"debug": {"confirmed_hypothesis": "off by one"}, "develop": {"tasks": []}})
    assert way(tasks("pending"), tasks("failed"), confirmed, said(PASSED))[2:4] == ["debug", "validate"]


def test_requirement_rule_a_clean_develop_is_validate() -> None:
    assert way(tasks("pending"), tasks("completed"), said(PASSED))[1:3] == ["develop", "validate"]


FAILED = said({"validate": {"passed": False, "failures": ["the empty list crashes"]}})


def test_requirement_rule_a_failed_validation_is_develop_with_what_failed_as_tasks() -> None:
    ran = working(tasks("pending"), tasks("completed"), FAILED, tasks("completed"))
    ran.run(most_steps=30)
    assert actions(ran)[2:4] == ["validate", "develop"]
    assert ("fix-3-1", "the empty list crashes") in [(task.task_id, task.text) for task in ran.loop.tasks]


def test_requirement_rule_a_passed_validation_is_complete() -> None:
    mended = said({"develop": {"tasks": [{"id": "fix-4-1", "status": "completed"}]}})
    replies = (tasks("pending"), tasks("failed"), tasks("completed"), FAILED, mended, said(PASSED), said())
    assert way(*replies) == ["init", "develop", "debug", "validate", "develop", "validate", "complete"]


def test_requirement_rule_otherwise_develop() -> None:
    assert way(said(), said(), said(PASSED), said()) == ["init", "develop", "validate", "complete"]


def test_on_purpose_the_iteration_limit_is_a_pause_and_no_completion() -> None:
    """The design runs `complete` at the limit. A budget that is used up is never success here: the loop can go on from there."""
    loop = driver.looping([tasks("pending"), tasks("pending")], Budget(iterations=2), mode="workflow").run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.PAUSED, Outcome.BUDGET, 2)


# --- the prompt and the answer ---


def test_requirement_the_prompt_has_all_sections() -> None:
    ran = working(tasks("pending"))
    ran.step()
    prompt = ran.calls()[0].ask.prompt
    for part in (
        "[LOOP CONTEXT]\nLoop ID: loop-1\nState File: .loop/loop-1.json\nProgress Dir: .loop/loop-1.progress",
        "[CURRENT STATE]\n{",
        "[ACTION INSTRUCTIONS]\n",
        "[TASK]\nYou are executing init for loop: Make the tests pass.",
        "[CONTROL SIGNALS]\n",
        "[RETURN]\n",
        *("skillStateUpdates", "continue", "message"),
    ):
        assert part in prompt


def test_requirement_the_prompt_says_the_control_rule() -> None:
    ran = working(tasks("pending"))
    ran.step()
    rule = ran.calls()[0].ask.prompt.partition("[CONTROL SIGNALS]\n")[2].partition("\n\n[")[0]
    assert "go on only if it is `running`" in rule


def test_on_purpose_continue_false_is_a_question_to_the_person() -> None:
    """In the design it ends the loop, whose status then stays `running`. Here the loop pauses with the agent's words as its
    reason, and an answer goes on."""
    asks = json.dumps({"continue": False, "message": "Which database?"})
    ran = working(tasks("pending"), asks, tasks("completed"), said(PASSED), said())
    loop = ran.run()
    assert (loop.status, loop.reason) == (Status.PAUSED, "Which database?")
    ran.send("say", MessageSent("Postgres."))
    ran.send("resume", ResumeRequested())
    assert ran.run().outcome is Outcome.CLAIMED
    assert "[MESSAGE FROM THE PERSON]\nPostgres." in ran.calls()[2].ask.prompt


def test_requirement_last_action_and_completed_actions_are_kept() -> None:
    ran = working(tasks("pending"), tasks("completed"), said(PASSED), said())
    state = ran.run().skill_state or {}
    assert state["last_action"] == "complete"
    assert state["completed_actions"] == ["init", "develop", "validate", "complete"]


def test_requirement_a_failed_action_is_recorded_and_the_next_goes_on() -> None:
    ran = working(tasks("pending"), "no JSON", tasks("completed"), said(PASSED), said())
    loop = ran.run()
    assert actions(ran) == ["init", "develop", "develop", "validate", "complete"]
    assert (loop.skill_state or {})["error_count"] == 1


def test_requirement_damaged_state_is_rebuilt_from_journal_and_progress_files(store: FileStore, tmp_path: Path) -> None:
    loop = created(store, tmp_path)
    with store.lease(loop.loop_id) as journal:
        journal.append(StartRequested(), AnswerRead(claimed=False, skill_state={"initialised": True}))
    (store.root / f"{loop.loop_id}.json").write_text("{ garbage")
    assert store.load(loop.loop_id).skill_state == {"initialised": True}
    found = MODE.recover(loop, {"progress.md": "\n## Round 2: develop\n\n- [x] t1: parser\n- [!] t2: docs\n"})
    assert found is not None
    assert [(each.task_id, each.status) for each in found.tasks] == [("t1", "completed"), ("t2", "failed")]


def test_requirement_a_person_who_aborts_can_resume() -> None:
    cut = Reply(Answer(tasks("completed")), interrupted=Interruption.CONTROL, meanwhile=(PauseRequested(Urgency.NOW),))
    ran = driver.looping(
        [tasks("pending"), cut, tasks("completed"), said(PASSED), said()], Budget(iterations=10), mode="workflow"
    )
    assert ran.run().status is Status.PAUSED
    ran.send("resume", ResumeRequested())
    assert ran.run().outcome is Outcome.CLAIMED
    assert actions(ran) == ["init", "develop", "develop", "validate", "complete"]


def test_requirement_an_agent_program_that_fails_is_a_pause_for_work_by_hand() -> None:
    missing = Answer(failure=Failure(FailureKind.UNAVAILABLE, "claude is not on PATH."))
    loop = working(missing).run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.PAUSED)
    assert "Work by hand" in loop.reason
    person = Chooses()
    working(missing, interactive=True, person=person).run()
    assert "What next?" in person.asked[0], "a person who is there gets the menu"


def test_requirement_files_of_the_project_replace_the_instructions() -> None:
    texts = {".loop/actions/develop.md": "Work in pairs.\n", ".loop/actions/validate.md": " \n"}
    kept = MODE.from_files(texts).options
    ran = working(tasks("pending"), tasks("completed"), said(PASSED), options=dict(kept))
    ran.run(most_steps=12)
    init, develop, validate = (call.ask.prompt for call in ran.calls()[:3])
    assert "[ACTION INSTRUCTIONS]\nWork in pairs.\n" in develop
    assert "Work in pairs" not in init + validate


def test_requirement_the_menu_shows_the_state_and_the_actions() -> None:
    offered: list[AwaitPerson] = []

    def leaves(question: AwaitPerson, _loop: Loop) -> None:
        offered.append(question)

    driver.looping([tasks("pending")], Budget(iterations=9), person=leaves, mode="workflow", interactive=True).run()
    assert offered[0].choices == ("develop", "debug", "validate", "status", "complete", "exit")
    assert offered[0].question.startswith("Tasks: 0 of 1 done. Last action: init. Validation: not yet.")


def test_requirement_the_auto_mode_asks_nobody() -> None:
    person = Chooses()
    loop = working(tasks("pending"), tasks("completed"), said(PASSED), said(), person=person).run()
    assert (loop.outcome, person.asked) == (Outcome.CLAIMED, [])


def test_requirement_the_state_machine_of_the_api() -> None:
    """Every arrow of the design's diagram, and no other."""
    loop = working(tasks("pending")).loop
    arrows = {
        Status.CREATED: {Control.START, Control.RESUME, Control.STOP},
        Status.RUNNING: {Control.START, Control.PAUSE, Control.RESUME, Control.STOP},
        Status.PAUSED: {Control.PAUSE, Control.RESUME, Control.STOP},
        Status.COMPLETED: set[Control](),
        Status.FAILED: set[Control](),
    }
    orders = (Control.START, Control.PAUSE, Control.RESUME, Control.STOP)
    for status, allowed in arrows.items():
        at = replace(loop, status=status)
        assert {order for order in orders if _allowed(at, order)} == allowed, status


def _allowed(loop: Loop, order: Control) -> bool:
    try:
        moves.check(loop, order)
    except WrongMove:
        return False
    return True
