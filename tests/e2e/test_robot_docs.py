"""covers: `untildone robot-docs`: what the page tells agents is what the program does."""

from __future__ import annotations

import re

from tests.support.command_line import CommandLine

from untildone.core.model import Outcome
from untildone.faces.cli.commands.setup.robot_docs import PAGE
from untildone.faces.cli.table import COMMANDS


def test_it_is_printed(cli: CommandLine) -> None:
    ended = cli.run("robot-docs")
    assert (ended.code, ended.output.strip()) == (0, PAGE.strip())


def test_it_names_commands_that_exist() -> None:
    named = set(re.findall(r"(?:`|    )untildone ([a-z-]+)", PAGE))
    assert len(named) > 5
    assert named <= set(COMMANDS)


def test_exit_codes_are_those_of_the_outcomes() -> None:
    lines = [line for line in PAGE.splitlines() if re.match(r"    [0-8]", line)]
    for word in ("verified", "claimed", "budget", "stalled", "stopped", "failed", "blocked"):
        outcome = next(each for each in Outcome if each.word == word)
        (line,) = (line for line in lines if re.search(rf"\b{word}:|\b{word},", line))
        assert str(outcome.exit_code) in line.split(word)[0].split()


def test_the_way_it_describes_works(cli: CommandLine) -> None:
    flags = ("--check", "test -e scripted-work.md", "--max-iterations", "10", "--detach", "--json")
    agent, name, *script = cli.script({"write": {"scripted-work.md": "x"}, "claim": True})
    ran = cli.run("run", "Do it", *flags, agent, name, *script)
    loop_id = ran.records[-1]["loop_id"]
    assert cli.run("wait", loop_id, "--timeout", "60").code == 0
    assert cli.shown(loop_id)["outcome"] == "verified"
    assert cli.run("verify", loop_id).code == 0
