"""phases from the command line: real runners, a scripted agent, the live state file that both sides write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.support.command_line import CommandLine, Ended, finish, until
from tests.support.terminal import Terminal

from untildone.faces.cli.views import menus

LIVE = ".claude/ralph-delta.local.md"
TASK = "Build the login"


def said(**told: Any) -> str:
    return f"Did it.\n{json.dumps(told)}"


def phase(name: str, **told: Any) -> dict[str, Any]:
    """A turn of the script that fits the prompt of one phase."""
    return {"match": rf"phase \d of \d: {name}", "say": said(**told)}


ANALYSIS = phase("Deep analysis", phase_done=True, summary="Identified 2 core subtasks")
PLAN = phase(
    "Planning",
    phase_done=True,
    summary="Made a plan",
    subtasks=[{"id": "a", "text": "User model"}, {"id": "b", "text": "Sign-in", "depends_on": ["a"]}],
)
WORK = [
    {**phase("Subtasks", subtasks=[{"id": "a", "status": "completed"}]), "write": {"model.py": "user = 1\n"}},
    {**phase("Subtasks", subtasks=[{"id": "b", "status": "completed"}]), "write": {"signin.py": "door = 1\n"}},
]
REVIEW = phase("Comprehensive review", phase_done=True, review_score=92)
RALPH = [ANALYSIS, PLAN, *WORK, REVIEW]


@pytest.fixture(autouse=True)
def _workspace_is_a_repository(cli: CommandLine) -> None:
    subprocess.run(["git", "init", "-q", cli.workspace], check=True)


def run(cli: CommandLine, script: list[dict[str, Any]], *arguments: str) -> Ended:
    return cli.run("run", TASK, "--mode", "phases", *arguments, "--json", *cli.script(*script))


def journal(cli: CommandLine) -> Iterator[dict[str, Any]]:
    for path in (cli.workspace / ".loop").rglob("execution.log.jsonl"):
        yield from (json.loads(line) for line in path.read_text().splitlines())


def live(cli: CommandLine) -> Path:
    return cli.workspace / LIVE


def test_the_whole_way_with_its_history_and_report(cli: CommandLine) -> None:
    ended = run(cli, RALPH, "--route", "ralph", "--check", "test -e signin.py")
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (0, "verified", 5)
    assert not live(cli).exists()
    (history,) = (cli.workspace / ".loop" / "history").iterdir()
    state = (history / "ralph-delta.state.md").read_text()
    for part in (
        "- Status: COMPLETED",
        "- Completed Phases: [1, 2, 3, 4]",
        "- Current Subtask: 2 / 2",
        "## Pending Work\n(none)",
        "### Phase 1: Deep analysis\n- Identified 2 core subtasks",
        "- [x] Subtask 2: Sign-in (after 1)",
        "## Promise\n<promise>TASK_COMPLETE</promise>\n",
        "- Total Iterations: 5",
        "- Files Modified: 2",
        "- Review Score: 92/100",
    ):
        assert part in state
    report = (history / "report.md").read_text()
    assert "- Iterations: 5" in report
    assert "- Review score: 92/100" in report
    assert "- Files changed: 2" in report
    assert json.loads((history / "receipt.json").read_text())["review_score"] == 92
    assert "Round 3: subtasks" in (history / "progress.md").read_text()


def test_a_full_checkpoint_is_kept_every_three_iterations(cli: CommandLine) -> None:
    run(cli, RALPH, "--route", "ralph")
    (history,) = (cli.workspace / ".loop" / "history").iterdir()
    (kept,) = (history / "checkpoints").iterdir()
    assert kept.name == "0003"
    assert json.loads((kept / "checkpoint.json").read_text())["current_iteration"] == 3
    assert (kept / "checkpoint.json.sha256").exists()
    assert "- Completed Phases: [1, 2]" in (kept / "ralph-delta.state.md").read_text()


@pytest.mark.parametrize(("flag", "route", "asked"), [("--quick", "direct", 1), ("--deep", "ralph", 5)])
def test_quick_and_deep(cli: CommandLine, flag: str, route: str, asked: int) -> None:
    script = [*RALPH, phase("Execution", summary="Did it at once.")]
    ended = cli.run("run", TASK, flag, "--json", *cli.script(*script))
    assert (ended.code, ended.records[-1]["iterations"]) == (0, asked)
    shown = cli.shown()
    assert (shown["settings"]["mode"], shown["skill_state"]["route"]) == ("phases", route)


def test_auto_lets_the_first_turn_choose(cli: CommandLine) -> None:
    choosing = {"match": "Nothing is chosen yet", "say": said(route="ralph", score=60)}
    ended = run(cli, [choosing, *RALPH])
    assert (ended.code, ended.records[-1]["iterations"]) == (0, 6)
    notes = [entry["note"] for entry in journal(cli) if entry["event"] == "answer_read"]
    assert notes[0] == "The route is ralph."


def test_the_usual_budget_and_that_of_skillpackrc(cli: CommandLine) -> None:
    run(cli, RALPH, "--route", "ralph")
    usual = cli.shown()
    assert (usual["max_iterations"], usual["budget"]["iteration_timeout"]) == (20, 1800.0)
    block = {
        "max_iterations": 7,
        "warning_threshold": 2,
        "auto_checkpoint_interval": 2,
        "timeout_per_iteration_minutes": 5,
    }
    (cli.workspace / ".skillpackrc").write_text(json.dumps({"loop": block, "other": True}))
    ended = run(cli, RALPH, "--route", "ralph")
    told = cli.shown()
    assert (told["max_iterations"], told["budget"]["iteration_timeout"]) == (7, 300.0)
    assert [record["used"] for record in ended.records if record["event"] == "budget_warning"] == [2]
    newest = max((cli.workspace / ".loop" / "history").iterdir())
    assert sorted(place.name for place in (newest / "checkpoints").iterdir()) == ["0002", "0004"]
    run(cli, RALPH, "--route", "ralph", "-r", "9", "--iteration-timeout", "60")
    chosen = cli.shown()
    assert (chosen["max_iterations"], chosen["budget"]["iteration_timeout"]) == (9, 60.0)


@pytest.mark.parametrize(
    "content",
    ['{"loop": {"max_iterations": -1}}', '{"loop": {"max_iterations": "many"}}', '{"loop": []}', "{", "[" * 100_000],
)
def test_a_broken_skillpackrc_is_one_sentence(cli: CommandLine, content: str) -> None:
    (cli.workspace / ".skillpackrc").write_text(content)
    ended = run(cli, RALPH)
    assert ended.code == 2
    assert ".skillpackrc" in ended.errors
    assert "Traceback" not in ended.errors
    assert cli.run("run", "x", "--command", "echo '<promise>COMPLETE</promise>'").code == 0, (
        "other modes do not read it"
    )


def test_what_the_agent_writes_into_the_live_file_counts(cli: CommandLine) -> None:
    """It ticks the boxes itself and says nothing in JSON."""
    tick = [sys.executable, "-c", f"p='{LIVE}'; t=open(p).read(); open(p,'w').write(t.replace('[ ]','[x]'))"]
    script = [ANALYSIS, PLAN, {"match": "Subtasks", "run": tick, "say": "Ticked them."}, REVIEW]
    ended = run(cli, script, "--route", "ralph")
    assert (ended.code, ended.records[-1]["iterations"]) == (0, 4)
    assert sum(entry["event"] == "live_state_seen" for entry in journal(cli)) == 1


def test_the_live_file_is_there_while_the_agent_works(cli: CommandLine) -> None:
    copy = {"run": ["cp", LIVE, "seen.md"]}
    run(cli, [{**ANALYSIS, **copy}, PLAN, *WORK, REVIEW], "--route", "ralph")
    seen = (cli.workspace / "seen.md").read_text()
    assert "- Current: 1\n- Max Allowed: 20\n- Status: IN_PROGRESS" in seen
    assert "1. Phase 1: Deep analysis" in seen


def test_an_agent_cannot_raise_its_own_budget(cli: CommandLine) -> None:
    raising = [
        sys.executable,
        "-c",
        f"p='{LIVE}'; t=open(p).read(); open(p,'w').write(t.replace('Allowed: 2','Allowed: 99'))",
    ]
    ended = run(cli, [{"run": raising, "say": "Working {call}.", "repeat": "forever"}], "--route", "ralph", "-r", "2")
    assert (ended.code, ended.records[-1]["iterations"]) == (3, 2)
    notes = [entry["note"] for entry in journal(cli) if entry["event"] == "answer_read"]
    assert all("while the loop ran" in note for note in notes)


RAISE = f"sed -i 's/Max Allowed: .*/Max Allowed: 777/' {LIVE}"


@pytest.mark.parametrize("when", ["while a gate runs", "from a check", "when the loop comes to rest"])
def test_what_an_agent_left_running_cannot_raise_the_budget(cli: CommandLine, when: str) -> None:
    """A daemon that left its ancestors and its mark edits the file all the time; so does the check itself."""
    daemon = cli.home / "daemon.sh"
    daemon.write_text(f"cd {cli.workspace}; while test -e {cli.home}/on; do {RAISE}; sleep 0.02; done\n")
    (cli.home / "on").touch()
    leave = ["sh", "-c", f"setsid env -i sh {daemon} > /dev/null 2>&1 < /dev/null &"]
    turn = {"say": '{"phase_done": true}', "repeat": "forever", **({} if when == "from a check" else {"run": leave})}
    check = f"{RAISE}; false" if when == "from a check" else "sleep 0.3; false"
    script = [turn] if when != "when the loop comes to rest" else [{**turn, "say": "Working {call}."}]
    try:
        ended = run(cli, script, "--route", "direct", "-r", "2", "--check", check)
        assert ended.code == 3, ended.errors
        again = cli.run("resume", "last", "--json", "--max-iterations", "+1")
    finally:
        (cli.home / "on").unlink()
    assert (again.code, again.records[-1]["iterations"]) == (3, 3), again.errors
    assert not [entry for entry in journal(cli) if entry["event"] == "budget_changed" and entry["amount"] == 777]


def paused(cli: CommandLine, *script: dict[str, Any]) -> str:
    """A loop that rests after its two rounds."""
    ended = run(cli, [*script, {"say": "Working {call}.", "repeat": "forever"}], "--route", "ralph", "-r", "2")
    assert ended.code == 3
    return str(ended.records[-1]["loop_id"])


def test_a_person_raises_max_allowed_and_resumes(cli: CommandLine) -> None:
    paused(cli)
    live(cli).write_text(live(cli).read_text().replace("Max Allowed: 2", "Max Allowed: 4"))
    ended = cli.run("resume", "last", "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (3, 4)
    changes = [entry for entry in journal(cli) if entry["event"] == "budget_changed"]
    assert [(entry["limit"], entry["amount"]) for entry in changes] == [("iterations", 4)]


def test_a_person_gives_up_in_the_file(cli: CommandLine) -> None:
    loop_id = paused(cli)
    live(cli).write_text(live(cli).read_text().replace("IN_PROGRESS", "USER_ABORT"))
    ended = cli.run("resume", loop_id, "--json")
    assert (ended.code, ended.records[-1]["outcome"]) == (6, "abandoned")
    (state,) = (cli.workspace / ".loop" / "history").glob("*/ralph-delta.state.md")
    assert "- Status: USER_ABORT" in state.read_text()


def test_a_person_adds_work_and_ticks_a_box_while_it_rests(cli: CommandLine) -> None:
    paused(cli, ANALYSIS, PLAN)
    text = live(cli).read_text().replace("- [ ] Subtask 1", "- [x] Subtask 1")
    live(cli).write_text(text.replace("## Completed Work", "- [ ] Write the docs\n\n## Completed Work"))
    assert cli.run("resume", "last", "-r", "+1", "--json").code == 3
    tasks = [(task["task_id"], task["text"], task["status"]) for task in cli.shown()["tasks"]]
    assert tasks == [("a", "User model", "completed"), ("b", "Sign-in", "pending"), ("s3", "Write the docs", "pending")]


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 1000, b"- [ ] rubbish\n" * 80_000], ids=["empty", "no text", "a megabyte"]
)
def test_a_spoilt_live_file_never_ends_the_loop(cli: CommandLine, content: bytes) -> None:
    paused(cli, ANALYSIS, PLAN)
    live(cli).write_bytes(content)
    ended = cli.run("resume", "last", "-r", "+1", "--json")
    assert (ended.code, ended.records[-1]["outcome"]) == (3, "budget")
    assert "- Completed Phases: [1, 2]" in live(cli).read_text()


def test_two_loops_of_one_folder_have_a_file_each(cli: CommandLine) -> None:
    first, second = paused(cli), paused(cli)
    names = sorted(path.name for path in (cli.workspace / ".claude").iterdir())
    assert names == sorted([f"ralph-delta.{second.rpartition('-')[2]}.local.md", "ralph-delta.local.md"])
    assert f"Task ID: {first}" in live(cli).read_text()
    for loop_id in (first, second):
        assert cli.run("stop", loop_id, "--abandon").code == 0
    assert not (cli.workspace / ".claude").exists(), "no empty folder is left"
    states = (cli.workspace / ".loop" / "history").glob("*/ralph-delta.state.md")
    assert all("- Status: USER_ABORT" in state.read_text() for state in states)


def test_a_killed_runner_is_taken_up_again_and_its_edit_is_not_lost(cli: CommandLine) -> None:
    tick = [
        sys.executable,
        "-c",
        f"p='{LIVE}'; t=open(p).read(); open(p,'w').write(t.replace('[ ] Subtask 1','[x] Subtask 1'))",
    ]
    flag = cli.workspace.parent / "again"
    hang: list[list[dict[str, Any]]] = [
        [{"match": "Subtasks"}, {"run": tick}, {"run": ["sh", "-c", f"test -e {flag} || sleep 60"]}, {"say": "Hm."}]
    ]
    process = cli.start(
        "run", TASK, "--mode", "phases", "--route", "ralph", "-r", "3", "--json", *cli.script(ANALYSIS, PLAN, *hang)
    )
    until(lambda: live(cli).exists() and "[x] Subtask 1" in live(cli).read_text())
    process.send_signal(signal.SIGKILL)
    finish(process)
    flag.touch()
    ended = cli.run("resume", "last", "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (3, 3)
    assert [task["status"] for task in cli.shown()["tasks"]] == ["completed", "pending"]


def test_live_file_is_no_change_of_the_workspace(cli: CommandLine) -> None:
    """An agent that repeats itself is stalled, though untildone writes its own file each round."""
    ended = run(cli, [{"say": "Same again.", "repeat": "forever"}], "--route", "ralph")
    assert (ended.code, ended.records[-1]["outcome"]) == (4, "stalled")
    assert os.listdir(cli.workspace / ".claude") == ["ralph-delta.local.md"]


# --- menus, at a terminal of their own ---


@pytest.mark.parametrize(
    ("flags", "title", "more", "limit"),
    [
        (("-r", "1"), "Round limit reached", "[1] +10 rounds", "iterations"),
        (("--max-minutes", "0.0001"), "Time limit reached", "[1] +30 minutes", "minutes"),
        (("--max-cost", "1"), "Cost limit reached", "[1] +1 dollars", "cost"),
    ],
)
def test_what_ran_out_is_what_is_offered(
    cli: CommandLine, flags: tuple[str, ...], title: str, more: str, limit: str
) -> None:
    spends = {"say": "A plan.", "usage": {"cost_usd": 2.5, "tokens": 1}}
    script = cli.script(spends, {"say": "Did it.", "repeat": "forever"})
    program = [sys.executable, "-m", "untildone", "run", TASK, "--route", "planned", *flags, *script]
    with Terminal(program, cli.workspace, cli.environment) as terminal:
        terminal.shows(title)
        terminal.shows(more)
        terminal.shows("Choose (1-4): ")
        terminal.enter("1")
        assert terminal.ends() == 0
        assert terminal.text.count("limit reached") == 1
    changes = [entry for entry in cli.run("log", "last", "--json").records if entry["event"] == "budget_changed"]
    assert [(entry["limit"], entry["add"]) for entry in changes] == [(limit, True)]


MENU = """
from untildone.faces.cli.views import menus
print("chosen:", menus.pick("Round limit reached", ("Round: 20/20", "Task: 用户模型 " * 9), ("more", "less", "leave")))
print("said:", menus.ask("What may it leave out? "))
"""


@pytest.fixture
def menu(cli: CommandLine) -> Iterator[Terminal]:
    with Terminal([sys.executable, "-c", MENU], cli.workspace, cli.environment) as terminal:
        yield terminal


def test_a_choice_is_a_number_on_a_line(menu: Terminal) -> None:
    shown = menu.shows("Choose (1-3): ")
    assert "[2] less" in shown
    assert {cell_len(line) for line in shown.split("\n") if line[:1] in "╔║╠╚" and line} == {78}
    menu.enter(" 2 ")
    menu.shows("chosen: less")
    menu.enter("the colours, please")
    menu.shows("said: the colours, please")
    assert menu.ends() == 0


def test_nonsense_is_asked_for_again_and_then_nothing_is_chosen(menu: Terminal) -> None:
    for nonsense in ("0", "", "9999999999999"):
        menu.shows("Choose (1-3): ")
        menu.enter(nonsense)
        menu.shows(f"'{nonsense}' is none of 1 to 3.")
    menu.shows("chosen: None")


def test_leaving_chooses_nothing(menu: Terminal) -> None:
    menu.shows("Choose (1-3): ")
    menu.type("\x04")
    menu.shows("chosen: None")
    menu.shows("leave out? ")
    menu.type("\x04")
    menu.shows("said: None")
    assert menu.ends() == 0


def test_facts_say_where_a_loop_stands(cli: CommandLine) -> None:
    loop_id = paused(cli, ANALYSIS, PLAN)
    loop = cli.store().load(loop_id)
    assert menus.facts_at_limit(loop) == ("Round: 2/2", "Done: no subtask yet", "Not done: User model; Sign-in")
    task, mode, progress, last = menus.facts_of_unfinished(loop)
    assert (task, mode) == (f"Task: {TASK}", "Mode: phases, route ralph")
    assert progress == "Progress: Phase 3 of 4: Carry out 2 subtasks, round 2/2"
    assert last.endswith(" UTC")


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("3\n", 0)], ids=["ctrl-c", "none of these"])
def test_the_resume_menu_can_be_left(cli: CommandLine, keys: str, code: int) -> None:
    older, newer = paused(cli), paused(cli)
    with Terminal([sys.executable, "-m", "untildone", "resume"], cli.workspace, cli.environment) as terminal:
        terminal.shows("Unfinished loops (2)")
        terminal.shows(newer)
        terminal.shows(older)
        terminal.shows("[3] none of these")
        terminal.shows("Choose (1-3): ")
        terminal.type(keys)
        assert terminal.ends() == code
    assert {cli.store().load(name).spend.iterations for name in (older, newer)} == {2}, "nothing went on"


def test_subtasks_are_listed_and_changed_from_the_command_line(cli: CommandLine) -> None:
    paused(cli, ANALYSIS, PLAN)
    assert cli.run("tasks").output == "○ a: User model\n○ b: Sign-in (after a)\n"
    assert cli.run("tasks", "last", "--done", "a", "--add", "Write the docs").code == 0
    *_, added = (task.task_id for task in cli.store().load(cli.shown()["loop_id"]).tasks)
    changed = cli.run(
        "tasks", "--reword", added, "Write all docs", "--needs", "b", "", "--order", f"{added},b", "--json"
    )
    assert [(record["text"], record["status"], record["depends_on"]) for record in changed.records] == [
        ("Write all docs", "pending", []),
        ("Sign-in", "pending", []),
        ("User model", "completed", []),
    ]
    assert cli.run("tasks", "--delete", added).output == "○ b: Sign-in\n✓ a: User model\n"
    refused = cli.run("tasks", "--done", "zzz")
    assert (refused.code, "has no subtask 'zzz'" in refused.errors) == (2, True)
    circle = cli.run("tasks", "--needs", "b", "b")
    assert (circle.code, "could never start" in circle.errors) == (2, True)


def test_ended_loops_can_be_deleted_and_others_cannot(cli: CommandLine) -> None:
    ended, resting = paused(cli), paused(cli)
    assert cli.run("stop", ended).code == 0
    assert cli.run("delete", ended).output == f"{ended} deleted\n"
    refused = cli.run("delete", resting)
    assert (refused.code, refused.errors.startswith("untildone: ")) == (2, True)
    assert [record["loop_id"] for record in cli.run("list", "--json").records] == [resting]
