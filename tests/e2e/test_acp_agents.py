"""covers: loops with a program that speaks the Agent Client Protocol, through the command line. `test_real_acp.py` has real ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from tests.support import acp_program
from tests.support.command_line import CommandLine, until

from untildone.system import orphans

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def program(cli: CommandLine) -> str:
    """The command line of the program, where a box shows it."""
    copy = cli.workspace / "acp_program.py"
    shutil.copy(Path(acp_program.__file__), copy)
    return f"acp:{sys.executable} {copy}"


def test_a_claim_is_verified_and_what_was_said_can_be_read_again(cli: CommandLine, program: str) -> None:
    ended = cli.run("run", "--json", "--agent", f"{program} asks", "--check", "test -e ran.txt", "Touch it")
    assert (ended.code, ended.records[-1]["outcome"]) == (0, "verified"), ended.errors
    shown = cli.run("log", "last", "--output", "1").output
    assert "touch ran.txt" in shown
    assert "prompt 1" in shown


def test_what_is_not_permitted_is_told(cli: CommandLine, program: str) -> None:
    ended = cli.run("run", "--json", "--agent", f"{program} asks", "--permissions", "edit", "-r", "1", "Touch it")
    (turn,) = [record for record in ended.records if record["event"] == "iteration_complete"]
    assert turn["answer"]["denials"] == ["execute: touch ran.txt"]
    assert not (cli.workspace / "ran.txt").exists()


@pytest.mark.parametrize(("behaviour", "sessions"), [("", ["new", "resume"]), ("forgets", ["new", "resume", "new"])])
def test_a_session_goes_on_if_the_program_can(
    cli: CommandLine, program: str, behaviour: str, sessions: list[str]
) -> None:
    cli.environment["UNTILDONE_RETRY_DELAY"] = "0.1"
    agent = f"{program} {behaviour}".strip()
    ended = cli.run("run", "--json", "--agent", agent, "--check", "false", "-r", "2", "Do it")
    assert ended.records[-1]["outcome"] == "budget", ended.errors
    starts = [record["session"] for record in ended.records if record["event"] == "iteration_start"]
    assert starts == sessions


def test_pause_now_cancels_the_turn_and_leaves_nothing(cli: CommandLine, program: str) -> None:
    started = cli.run("run", "--detach", "--agent", f"{program} cancels", "Do it")
    assert started.code == 0, started.errors
    loop_id = cli.shown()["loop_id"]
    until(lambda: "working" in outputs(cli))
    assert cli.run("pause", "--now", "last").code == 0
    assert cli.run("wait", "last", "--timeout", "60").code == 7
    until(lambda: not orphans.find(orphans.mark(loop_id)[0]))


def test_nothing_is_left_of_a_process_in_its_second_round_when_its_runner_is_killed(
    cli: CommandLine, program: str
) -> None:
    runner = cli.start("run", "--json", "--agent", f"{program} stuck-later", "--promise", "", "-r", "3", "Do it")
    until(lambda: "stuck" in outputs(cli))
    mark = orphans.mark(cli.shown()["loop_id"])[0]
    assert orphans.find(mark)
    runner.kill()
    until(lambda: not orphans.find(mark))
    runner.communicate()
    ended = cli.run("resume", "last", "--json")
    starts = [record for record in ended.records if record["event"] == "iteration_start"]
    assert [(start["iteration"], start["session"]) for start in starts] == [(3, "resume")]
    assert ended.records[-1]["iterations"] == 3


def test_agents_check_asks_it(cli: CommandLine, program: str) -> None:
    checked = cli.run("agents", "check", program)
    assert checked.code == 0, checked.errors
    assert "prompt 1" in checked.output


def test_a_command_line_that_cannot_be_split_is_said(cli: CommandLine) -> None:
    refused = cli.run("run", "--agent", "acp:'open", "Do it")
    assert refused.code == 2
    assert "hint: close every quote in it" in refused.errors


def outputs(cli: CommandLine) -> str:
    return "".join(path.read_text() for path in cli.workspace.glob(".loop/**/output/*"))
