"""A loop that waits for a person: the question is shown everywhere, an answer lets it go on, and a round is counted once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

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
