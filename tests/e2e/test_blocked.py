"""A loop that waits for a person: the question is shown everywhere, an answer lets it go on, and a round is counted once."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import Server

import untildone

NEEDS = "Which database may I use?"
AGENT = """#!/bin/sh
if grep -q staging; then echo work > work.txt; echo '<promise>COMPLETE</promise>'
else echo '<blocked>Which database may I use?</blocked>'; fi
"""


@pytest.fixture
def agent(cli: CommandLine) -> str:
    program = cli.home / "agent.sh"
    program.write_text(AGENT)
    program.chmod(0o755)
    return str(program)


def test_a_question_is_shown_and_its_answer_lets_the_loop_go_on(cli: CommandLine, agent: str) -> None:
    ended = cli.run("run", "--json", "--command", agent, "--check", "test -e work.txt", "Connect it")
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["status"]) == (8, "blocked", "paused")
    assert NEEDS in ended.errors
    assert "untildone say" in ended.errors
    assert cli.shown()["reason"] == NEEDS
    assert NEEDS in cli.run("show").output
    (listed,) = cli.loops
    assert listed["outcome"] == "blocked"
    said = cli.run("say", "last", "Use staging.")
    assert "goes on in the background" in said.errors
    assert cli.run("wait", "last", "--timeout", "60").code == 0
    shown = cli.shown()
    assert (shown["outcome"], shown["current_iteration"]) == ("verified", 2)


def test_round_controls_alone_answer_nothing(cli: CommandLine, agent: str) -> None:
    assert cli.run("run", "--command", agent, "Connect it").code == 8
    assert "background" not in cli.run("say", "last", "[r+3]").errors
    assert cli.shown()["outcome"] == "blocked"


def test_resume_asks_again_without_an_answer(cli: CommandLine, agent: str) -> None:
    assert cli.run("run", "--command", agent, "Connect it").code == 8
    assert cli.run("resume").code == 8
    assert cli.shown()["current_iteration"] == 2


def test_a_worktree_that_vanished_blocks_and_the_named_commands_bring_it_back(cli: CommandLine) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run((*git, *words), cwd=cli.workspace, check=True)
    script = cli.script({"write": {"a.txt": "1"}, "say": f"<blocked>{NEEDS}</blocked>"}, {"say": "ok", "claim": True})
    assert cli.run("run", "--worktree", *script[:2], "Connect it", *script[2:]).code == 8
    place = Path(cli.shown()["settings"]["workspace"])
    shutil.rmtree(place)
    for verb in (("resume", "last"), ("rewind", "last", "--to", "1")):
        refused = cli.run(*verb)
        assert (refused.code, f"{place}, in which the loop works, does not exist" in refused.errors) in (
            (8, True),
            (2, True),
        )
        assert cli.shown()["current_iteration"] == 1
    add, rewind, *_ = re.findall("`([^`]+)`", " ".join(refused.errors.split()))
    subprocess.run(shlex.split(add), check=True, capture_output=True, timeout=60)
    back = cli.run(*shlex.split(rewind)[1:])
    assert (back.code, (place / "a.txt").read_text()) == (0, "1"), back.errors
    ended = cli.run("resume", "last")
    assert (ended.code, (place / "a.txt").read_text()) == (0, "1"), ended.errors


def test_an_agent_that_vanished_blocks_and_takes_no_second_round(cli: CommandLine, agent: str) -> None:
    cli.environment["UNTILDONE_SANDBOX"] = "off"  # in a box the agent cannot delete its own program
    program = Path(agent)
    program.write_text('#!/bin/sh\nrm -f "$0"; echo working\n')
    ended = cli.run("run", "--json", "--command", agent, "-r", "2", "Use staging")
    assert (ended.code, ended.records[-1]["iterations"]) == (8, 2), ended.errors
    assert "was not found" in ended.errors
    program.write_text(AGENT)
    program.chmod(0o755)
    resumed = cli.run("resume", "--json")
    assert (resumed.code, resumed.records[-1]["outcome"], resumed.records[-1]["iterations"]) == (0, "claimed", 2)


# Says that it is blocked only if its prompt tells it how, and does the job once it was answered. As a supervisor it agrees.
OBEDIENT = """#!/bin/sh
prompt=$(cat)
word=$(printf '%s' "$prompt" | grep -o '\\[TASK_COMPLETED [A-Z0-9]*\\]' | tail -1)
if [ -n "$word" ]; then echo "$word"
elif printf '%s' "$prompt" | grep -q staging; then echo heard > heard.txt; echo '<promise>COMPLETE</promise>'
elif printf '%s' "$prompt" | grep -q '<blocked>what you need</blocked>'; then echo '<blocked>Which database may I use?</blocked>'
else echo 'I cannot do it: there is no database.'; fi
"""
MODES = ("ralph", "supervise", "instruct", "workflow", "phases")


@pytest.fixture
def obedient(cli: CommandLine) -> str:
    (cli.workspace / "SUPERVISOR.md").write_text("Look closely.")
    program = cli.home / "obedient.sh"
    program.write_text(OBEDIENT)
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("mode", MODES)
def test_an_impossible_task_is_blocked_within_two_rounds_in_every_mode(
    cli: CommandLine, obedient: str, mode: str
) -> None:
    ended = cli.run("run", "--json", "--mode", mode, "--command", obedient, "Connect it to the database")
    last = ended.records[-1]
    assert (ended.code, last["outcome"]) == (8, "blocked"), ended.errors
    assert last["iterations"] <= 2
    assert NEEDS in cli.run("list").output
    assert NEEDS in cli.run("log").output
    assert cli.loops[0]["reason"] == NEEDS
    assert cli.run("say", "last", "Use staging.").code == 0
    until(lambda: (cli.workspace / "heard.txt").exists())
    cli.run("stop", "--now", "last")
    until(lambda: cli.shown()["status"] in ("failed", "completed"))
    until(lambda: any(cli.workspace.glob(".loop/history/*/receipt.json")))
    (receipt,) = cli.workspace.glob(".loop/history/*/receipt.json")
    assert json.loads(receipt.read_text())["questions"] == [NEEDS]


@pytest.mark.parametrize("mode", MODES)
def test_a_server_shows_the_question_and_takes_the_answer(cli: CommandLine, obedient: str, mode: str) -> None:
    with Server(cli) as server:
        loop_id = server.create("Connect it", agent="command", command=obedient, mode=mode)
        shown = server.until_status(loop_id, "paused")
        assert (shown["outcome"], shown["reason"]) == ("blocked", NEEDS)
        assert shown["current_iteration"] <= 2
        (listed,) = server.client.get("/api/v1/loops").json()["loops"]
        assert (listed["outcome"], listed["reason"]) == ("blocked", NEEDS)
        answered = server.client.post(f"/api/v1/loops/{loop_id}/messages", json={"text": "Use staging."}).json()
        assert answered["goes_on"] is True
        until(lambda: (cli.workspace / "heard.txt").exists())


def test_python_answers_too(cli: CommandLine, obedient: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in cli.environment.items():
        monkeypatch.setenv(name, value)

    async def play() -> None:
        folder = cli.workspace
        loop = await untildone.create("Connect it", folder=folder, agent="command", command=obedient)
        await untildone.start(loop, folder=folder)
        rested = await untildone.wait(loop, folder=folder)
        assert (rested.outcome, rested.reason) == (untildone.Outcome.BLOCKED, NEEDS)
        assert (await untildone.say(loop, "Use staging.", folder=folder)).goes_on
        assert (await untildone.wait(loop, folder=folder)).outcome is untildone.Outcome.CLAIMED

    asyncio.run(asyncio.wait_for(play(), 120))


def test_a_blocked_round_counts_once_whenever_the_runner_is_killed(cli: CommandLine, obedient: str) -> None:
    """The runner is killed at many moments of round, rest, answer and round."""
    assert cli.run("run", "--command", obedient, "-r", "50", "Connect it").code == 8
    for moment in range(8):
        process = cli.start("resume", "last")
        time.sleep(0.15 + moment * 0.06)
        process.kill()
        process.communicate(timeout=30)
    until(lambda: cli.run("resume", "last").code == 8)
    assert cli.run("say", "last", "Use staging.").code == 0
    assert cli.run("wait", "last", "--timeout", "60").code == 0
    entries = cli.run("log", "--json").records
    starts = [entry["iteration"] for entry in entries if entry["event"] == "iteration_start" and entry["attempt"] == 1]
    assert starts == list(range(1, len(starts) + 1))
    assert cli.shown()["current_iteration"] == len(starts)
    assert cli.shown()["questions"] == [NEEDS]


@pytest.mark.parametrize("files", [10, 12])
def test_a_machine_that_is_short_of_open_files_is_no_defect_and_the_loop_goes_on_later(
    cli: CommandLine, files: int
) -> None:
    script = cli.script({"say": "ok", "claim": True})
    few = ("sh", "-c", f'ulimit -n {files}; exec "$@"', "sh")
    short = cli.run("run", *script[:2], "Work", *script[2:], before=few)
    assert short.code in (6, 8), short.errors
    assert "open files" in short.errors
    assert "defect" not in short.errors
    assert cli.run("resume", "last").code == 0
