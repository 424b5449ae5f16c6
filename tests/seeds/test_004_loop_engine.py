"""Seed 004, the loop engine (mode phases, stop hook): its requirements, one test each."""

from __future__ import annotations

import json
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.test_hook import Session
from tests.support.command_line import CommandLine

from untildone import settings
from untildone.core.apply import apply
from untildone.core.errors import UsageError
from untildone.core.events import AnswerRead, BudgetWarned, StartRequested, SubtasksChanged, TurnRetried
from untildone.core.live_file import FOLDER, NAME
from untildone.core.loop import Loop
from untildone.core.model import Answer, Budget, Failure, FailureKind, Outcome, Status, SubtaskChange
from untildone.core.plugins.mode import LimitChoice
from untildone.core.values.value import replace
from untildone.faces.cli import loop_menus
from untildone.faces.cli.views import menus
from untildone.faces.text import loop_lines
from untildone.modes.phases.live_file import render
from untildone.modes.phases.mode import MODE
from untildone.modes.phases.prompts import reinjection
from untildone.modes.phases.state import ROUTES
from untildone.operations.creating import creation, loop_settings
from untildone.store.files import FileStore
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply

PROMISE = "<promise>TASK_COMPLETE</promise>"
LIVE = ".claude/ralph-delta.local.md"


def said(**fields: Any) -> str:
    return json.dumps({"phase_done": True, **fields})


PLAN = said(subtasks=[{"id": "s1", "text": "one"}, {"id": "s2", "text": "two", "depends_on": ["s1"]}])
FIRST = json.dumps({"subtasks": [{"id": "s1", "status": "completed"}]})


def working(*replies: str, rounds: int = 3) -> Driver:
    return driver.looping(list(replies), Budget(iterations=rounds), mode="phases", options={"route": "ralph"})


def test_requirement_the_resume_menu_shows_phase_n_of_m() -> None:
    loop = working(said(summary="Looked."), rounds=1).run()
    assert "Progress: Phase 2 of 4: Planning, round 1/1" in menus.facts_of_unfinished(loop)


def test_requirement_log_entries_have_phase_and_subtasks_done() -> None:
    ran = working(said(summary="Looked."), PLAN, FIRST)
    ran.run()
    read = [event for event in ran.events(AnswerRead) if isinstance(event, AnswerRead)]
    assert [(event.phase, event.subtasks_done) for event in read] == [(2, 0), (3, 0), (3, 1)]


def test_requirement_route_phase_and_subtasks_are_shown_and_never_json() -> None:
    ran = working(said(summary="Looked."), PLAN, FIRST)
    ran.run()
    lines, loop = [], None
    for entry in ran.journal.entries:
        loop = apply(loop, entry)
        lines += [line.text for line in loop_lines.of_entry(entry, loop, live=False)]
    text = "\n".join(lines)
    assert "Round 3 · subtasks 3/4 (0 left)" in text
    assert "  ✓ s1: one" in text
    assert "route ralph · 2 of 4 phases done · 1 of 2 subtasks done" in text
    assert "phase_done" not in text


# --- routes ---


def goes(route: str, *replies: str) -> list[str]:
    """The phases that a loop of this route asks for until it is done."""
    ran = driver.looping(list(replies), Budget(iterations=20), mode="phases", options={"route": route})
    assert ran.run().outcome is Outcome.CLAIMED
    return [call.ask.label for call in ran.calls()]


BOTH = said(subtasks=[{"id": "s1", "status": "completed"}, {"id": "s2", "status": "completed"}])
REVIEWED = said(review_score=92)


def test_requirement_route_direct_is_one_run() -> None:
    assert goes("direct", "Did it.") == ["execution"]


def test_requirement_route_planned_has_three_phases_in_a_line() -> None:
    assert goes("planned", "A plan.", "Built.", "Fine.") == ["plan", "implementation", "review"]


def test_requirement_route_ui_flow_has_three_phases_in_a_line() -> None:
    assert goes("ui_flow", "Drawn.", "Built.", "Seen.") == ["design", "implementation", "preview"]


def test_requirement_route_ralph_loops_until_it_is_done() -> None:
    assert goes("ralph", said(), PLAN, FIRST, BOTH, REVIEWED) == ["analysis", "plan", "subtasks", "subtasks", "review"]
    assert ROUTES["ralph"].loops


def test_requirement_route_architect_loops_until_it_is_done() -> None:
    assert goes("architect", said(), said(), PLAN, BOTH, REVIEWED) == [
        *("architecture", "analysis", "plan", "subtasks", "review"),
    ]
    assert ROUTES["architect"].loops


def test_requirement_the_route_is_chosen_by_the_first_turn() -> None:
    chosen = json.dumps({"route": "planned", "score": 40})
    assert goes("auto", chosen, "A plan.", "Built.", "Fine.")[1:] == ["plan", "implementation", "review"]


@pytest.mark.parametrize(
    "flags",
    [
        ("--quick", "--deep"),
        ("--mode", "ralph", "--route", "direct"),
        ("--interactive", "--auto"),
        ("--once", "-r", "5"),
    ],
)
def test_requirement_flags_that_contradict_each_other_are_refused(tmp_path: Path, flags: tuple[str, ...]) -> None:
    ended = CommandLine(tmp_path).run("run", "x", "--agent", "scripted", *flags)
    assert ended.code == 2
    assert ended.errors.count("\n") <= 2


# --- the state file ---


def after(*replies: str, rounds: int = 9) -> str:
    """The state file after these answers."""
    ran = working(*replies, rounds=rounds)
    ran.run(most_steps=200)
    return render(ran.loop)


def test_requirement_the_state_file_has_its_place_and_every_section() -> None:
    assert f"{FOLDER}/{NAME}" == LIVE
    text = render(working(said()).loop)
    sections = [line for line in text.splitlines() if line.startswith("#")]
    assert sections == [
        "# Delta Loop State",
        *("## Meta", "## Iteration", "## Progress", "## Pending Work", "## Completed Work", "## Promise"),
    ]
    for name in ("Task ID", "Route: RALPH", "Started", "Last Updated", "Max Allowed: 3", "Current Phase: 1"):
        assert f"- {name}" in text


def test_on_purpose_the_task_id_is_the_loops_id() -> None:
    """A loop has one name, and that is the one to give to `resume` and `show`; a second UUID would name nothing else."""
    assert "- Task ID: loop-1" in render(working(said()).loop)


def test_requirement_it_begins_with_iteration_1_in_progress(tmp_path: Path) -> None:
    session = Session(CommandLine(tmp_path))
    session.say("/until-done build it --deep --max-iterations 9")
    text = (session.cli.workspace / LIVE).read_text()
    assert "- Current: 1\n- Max Allowed: 9\n- Status: IN_PROGRESS" in text


def test_requirement_the_state_is_updated_after_each_phase_and_subtask() -> None:
    first, planned, one = (
        after(said(summary="Looked."), rounds=1),
        after(said(), PLAN, rounds=2),
        after(said(), PLAN, FIRST, rounds=3),
    )
    assert "- Completed Phases: [1]" in first
    assert "Looked." in first
    assert ("- Completed Phases: [1, 2]" in planned, "- Current Subtask: 0 / 2" in planned) == (True, True)
    assert "- Current Subtask: 1 / 2" in one
    assert "- [x] Subtask 1: one\n- [ ] Subtask 2: two" in one


def test_requirement_the_completed_state_has_the_promise_and_a_summary() -> None:
    text = after(said(), PLAN, BOTH, REVIEWED)
    assert f"## Promise\n{PROMISE}\n\n## Completion Summary\n- Total Iterations: 4\n- Total Duration: " in text
    assert "- Files Modified: " in text
    assert "- Review Score: 92/100" in text


# --- the stop hook ---


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(CommandLine(tmp_path))


def test_requirement_hook_without_a_state_the_agent_stops(session: Session) -> None:
    assert session.stop() == {}


def test_requirement_hook_a_status_that_is_not_in_progress_lets_it_stop(session: Session) -> None:
    session.say("/until-done build it --deep")
    live = session.cli.workspace / LIVE
    live.write_text(live.read_text().replace("IN_PROGRESS", "USER_ABORT"))
    assert session.stop().get("decision") is None
    assert session.cli.loops[0]["status"] == "paused"


def test_requirement_hook_without_the_promise_it_blocks_with_where_it_stands(session: Session) -> None:
    session.say("/until-done build it --deep")
    answer = session.stop("I am tired.")
    assert answer["decision"] == "block"
    for part in ("🔄 Iteration continues | Round 2/20", "## Progress so far", "## Pending work", "## Where it stands"):
        assert part in answer["reason"]


def test_requirement_hook_at_the_limit_it_lets_go_with_a_warning(session: Session) -> None:
    session.say("/until-done build it --deep --max-iterations 2")
    assert session.stop()["decision"] == "block"
    last = session.stop()
    assert last.get("decision") is None
    assert "The budget is used up; the job is not done." in last["systemMessage"]


def test_requirement_hook_another_session_is_free_and_has_a_state_file_of_its_own(session: Session) -> None:
    other = Session(session.cli, "99999999-2222-4333-8444-555555555555")
    session.say("/until-done build it --deep")
    assert other.stop() == {}
    other.say("/until-done something else --deep")
    names = sorted(path.name for path in (session.cli.workspace / ".claude").iterdir())
    assert (len(names), names[1]) == (2, "ralph-delta.local.md")
    assert names[0].startswith("ralph-delta.")


def test_on_purpose_the_template_is_in_english() -> None:
    """The design's is Chinese, as its authors are. Models and most users read English; the parts and their order are the same."""
    ran = working(said(summary="Looked."), rounds=1)
    ran.run()
    text = reinjection(ran.loop)
    banner = "═" * 60
    assert text.startswith(f"{banner}\n🔄 Iteration continues | Round 2/1\n{banner}\n")
    titles = ["## Progress so far", "## Pending work", "## Where it stands", "## Instructions"]
    assert [line for line in text.splitlines() if line.startswith("## ")] == titles
    assert "- Route: RALPH\n- Phase: Phase 2\n- Subtask: " in text
    assert f"you must set in the state file:\n{PROMISE}\n" in text


def test_on_purpose_the_promise_in_the_file_alone_ends_nothing_and_the_agent_is_told_why() -> None:
    """In the design, the text in the file ends the loop, whoever wrote it and whatever is open. Here phases, subtasks and
    review decide, and the next prompt says what is missing."""

    def promises(action: Any, loop: Loop) -> Reply:
        text = render(loop)
        unset = text.partition("## Promise\n")[0]
        return Reply(Answer("All is done."), live_state=f"{unset}## Promise\n{PROMISE}\n")

    ran = driver.looping(promises, Budget(iterations=2), mode="phases", options={"route": "ralph"})
    loop = ran.run()
    assert loop.outcome is Outcome.BUDGET
    assert "The promise is set, but phase 1 of 4 is not done" in ran.calls()[1].ask.prompt


# --- completion ---


@pytest.mark.parametrize(
    "replies",
    [
        (said(), PLAN, BOTH),
        (said(), PLAN, FIRST, REVIEWED),
        (said(), PLAN, BOTH, said(review_score=10)),
        (said(), PLAN, BOTH, said()),
        (REVIEWED,),
    ],
    ids=["no review", "open subtask", "bad review", "no score", "only a score"],
)
def test_requirement_done_is_all_phases_all_subtasks_and_a_passed_review(replies: tuple[str, ...]) -> None:
    silent = json.dumps({"phase_done": False})
    loop = working(*replies, silent, rounds=len(replies)).run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.BUDGET)


def test_requirement_the_promise_is_refused_early_with_what_is_missing() -> None:
    ran = working(said(summary="Looked."), json.dumps({"phase_done": False}) + f"\n{PROMISE}", rounds=3)
    ran.run()
    assert "phase 2 of 4 is not done" in ran.calls()[2].ask.prompt


def ended(tmp_path: Path) -> tuple[CommandLine, Path]:
    """A loop that an agent which runs `git add -A` completed in a repository, and its folder in the history."""
    cli = CommandLine(tmp_path)
    git(cli, "init", "-q", ".")
    adds = {"run": ["sh", "-c", "echo x > made.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm w"]}
    turn: list[dict[str, Any]] = [{"match": "phase 1 of 1"}, adds, {"say": "Did it."}]
    done = cli.run("run", "Do it", "--mode", "phases", "--route", "direct", "--json", *cli.script(turn))
    assert done.code == 0, done.errors
    (folder,) = (cli.workspace / ".loop" / "history").iterdir()
    return cli, folder


def git(cli: CommandLine, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=cli.workspace, env=cli.environment, check=True, capture_output=True, text=True
    ).stdout


def test_requirement_at_the_end_state_and_report_are_archived_and_nothing_is_left(tmp_path: Path) -> None:
    cli, folder = ended(tmp_path)
    assert PROMISE in (folder / "ralph-delta.state.md").read_text()
    report = (folder / "report.md").read_text()
    assert "- Iterations: 1" in report
    assert not (cli.workspace / ".claude").exists(), "no empty folder is left"
    assert git(cli, "ls-files").split() == ["made.txt"], "the state file is in no commit"
    assert git(cli, "status", "--porcelain") == ""


# --- limits ---


def test_requirement_the_usual_limits_are_20_15_3_and_30_minutes(tmp_path: Path) -> None:
    chosen = settings.load(tmp_path, {"agent": "scripted", "mode": "phases"}, {"HOME": str(tmp_path)})
    assert loop_settings.loop_budget(chosen, MODE.from_files({})).iterations == 20
    assert MODE.default_iteration_timeout == 30 * 60
    ran = driver.looping(
        lambda _action, loop: f"Thinking {loop.seq}", Budget(iterations=20), mode="phases", options={"route": "ralph"}
    )
    ran.run()
    assert [event.used for event in ran.events(BudgetWarned) if isinstance(event, BudgetWarned)] == [15]
    reads = [event for event in ran.events(AnswerRead) if isinstance(event, AnswerRead)]
    assert [number for number, read in enumerate(reads, 1) if read.keep_checkpoint][:2] == [3, 6]


def test_requirement_skillpackrc_is_honoured_and_a_bad_one_is_one_sentence() -> None:
    block = {
        "max_iterations": 4,
        "warning_threshold": 2,
        "auto_checkpoint_interval": 1,
        "timeout_per_iteration_minutes": 1,
    }
    found = MODE.from_files({".skillpackrc": json.dumps({"loop": block})})
    assert (found.iterations, found.warn_from, found.iteration_timeout) == (4, 2, 60.0)
    assert found.options == {"skillpack": block}
    for text in ("{", '{"loop": 3}', '{"loop": {"max_iterations": 0}}'):
        with pytest.raises(UsageError) as refused:
            MODE.from_files({".skillpackrc": text})
        assert refused.value.hint


def test_requirement_the_limit_menu_has_four_choices() -> None:
    assert MODE.choices_at_limit == tuple(LimitChoice)
    loop = working(said(), PLAN, rounds=2).run()
    assert menus.facts_at_limit(loop) == ("Round: 2/2", "Done: no subtask yet", "Not done: one; two")


def test_requirement_the_resume_menu_has_four_choices() -> None:
    choices = (loop_menus.CONTINUE, loop_menus.START_OVER, loop_menus.SHOW, loop_menus.GIVE_UP)
    assert choices == ("continue", "start over", "show progress", "give up")
    loop = working(said(), rounds=1).run()
    task, mode, progress, last = menus.facts_of_unfinished(loop)
    assert (task, mode) == ("Task: Make the tests pass.", "Mode: phases, route ralph")
    assert progress.startswith("Progress: Phase 2 of 4")
    assert last.startswith("Last active: 2026-01-01 12:00:0")


# --- what is kept ---


@pytest.fixture
def kept(tmp_path: Path) -> tuple[FileStore, Loop]:
    store = FileStore(tmp_path / ".loop")
    chosen = settings.load(tmp_path, {"agent": "scripted", "mode": "phases"}, {})
    loop = creation.create(store, "Build it", chosen, tmp_path, {}).loop
    for number in range(5):
        with store.lease(loop.loop_id) as journal:
            first = () if number else (StartRequested(),)
            journal.append(*first, SubtasksChanged((SubtaskChange(f"s{number}", text="x"),)))
    return store, loop


def test_requirement_the_checkpoint_is_saved_atomically_with_its_sha256(kept: tuple[FileStore, Loop]) -> None:
    store, loop = kept
    path = store.root / f"{loop.loop_id}.json"
    digest, name = path.with_name(f"{path.name}.sha256").read_text().split()
    assert (digest, name) == (sha256(path.read_bytes()).hexdigest(), path.name)
    assert not list(store.root.glob("*.tmp*")), "written beside, then renamed"


def test_requirement_three_backups_of_the_checkpoint_are_kept(kept: tuple[FileStore, Loop]) -> None:
    store, loop = kept
    backups = sorted(path.name for path in store.root.glob("*.backup.*") if not path.name.endswith("sha256"))
    assert backups == [f"{loop.loop_id}.json.backup.{number}" for number in (1, 2, 3)]


def test_requirement_the_events_of_the_design_are_in_the_journal(session: Session) -> None:
    session.say("/until-done build it --quick --max-iterations 3")
    session.stop('Not yet.\n{"phase_done": false}')
    session.stop('Done.\n{"phase_done": true, "summary": "Did it."}')
    (file,) = session.cli.workspace.glob(".loop/**/execution.log.jsonl")
    names = {json.loads(line)["event"] for line in file.read_text().splitlines()}
    assert names >= {
        *("iteration_start", "iteration_complete", "stop_hook_trigger", "prompt_reinjected", "task_complete"),
    }


def test_requirement_a_retry_is_in_the_journal() -> None:
    late = Answer(failure=Failure(FailureKind.TIMEOUT, "mcp_timeout"))
    ran = driver.looping([late, "Did it."], Budget(iterations=2), mode="phases", options={"route": "direct"})
    ran.run()
    (retried,) = ran.events(TurnRetried)
    assert isinstance(retried, TurnRetried)


def test_requirement_a_person_edits_the_state_file() -> None:
    """Boxes that are ticked, new subtasks and USER_ABORT count; tests/modes/test_delta_file.py has every kind of edit."""
    ran = working(said(), PLAN, rounds=2)
    ran.run()
    text = render(ran.loop)
    ticked = text.replace("- [ ] Subtask 1: one", "- [x] Subtask 1: one")
    assert ticked != text
    read = MODE.absorb(replace(ran.loop, live_state=ticked, live_before=text), ticked)
    assert [(change.task_id, change.status) for change in read.tasks] == [("s1", "completed")]
    given_up = text.replace("Status: IN_PROGRESS", "Status: USER_ABORT")
    read = MODE.absorb(replace(ran.loop, live_state=given_up, live_before=text), given_up)
    assert read.gives_up or read.note
