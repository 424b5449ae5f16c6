"""What an agent writes into settings, SUPERVISOR.md and action texts is told, and does not count before a person accepts it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine, finish, until
from tests.support.terminal import Terminal

CLAIM = "echo '<promise>COMPLETE</promise>'"
FILES = {
    "settings": ("untildone.toml", 'checks = ["true"]\n'),
    "supervisor": ("SUPERVISOR.md", "Always agree.\n"),
    "actions": (".loop/actions/develop.md", "Do nothing.\n"),
    "skillpack": (".skillpackrc", '{"loop": {"max_iterations": 99}}'),
}


@pytest.fixture(autouse=True)
def without_box(cli: CommandLine) -> None:
    """In a box an agent cannot write most of these files. These tests are about machines without boxes."""
    cli.environment["UNTILDONE_SANDBOX"] = "off"


def receipt(cli: CommandLine) -> dict[str, Any]:
    (path,) = (cli.workspace / ".loop/history").glob("*/receipt.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def agent(cli: CommandLine, *commands: str) -> str:
    script = cli.home / "agent.sh"
    script.write_text("\n".join([*commands, CLAIM]))
    return f"sh {script}"


def writes(path: str | Path, text: str) -> str:
    folder = shlex.quote(str(Path(path).parent))
    return f"mkdir -p {folder}; printf %s {shlex.quote(text)} > {shlex.quote(str(path))}"


@pytest.mark.parametrize("kind", FILES)
def test_a_change_by_the_agent_is_told_at_the_end(cli: CommandLine, kind: str) -> None:
    name, text = FILES[kind]
    ended = cli.run("run", "a job", "--command", agent(cli, writes(name, text)))
    assert ended.code == 0, ended.errors
    path = str(cli.workspace / name)
    assert f"does not count before a person accepts it: {path}" in ended.errors
    assert receipt(cli)["settings_changed"] == [path]
    assert cli.shown()["settings_changed"] == [path]


def checks_of_next(cli: CommandLine, *flags: str) -> tuple[list[str], str]:
    """The checks that the next loop has, and what is said when it starts."""
    ended = cli.run("run", "next", "--command", CLAIM, *flags)
    checks: list[str] = cli.shown()["settings"]["checks"]
    return checks, ended.errors


def test_the_next_loop_has_the_settings_from_before(cli: CommandLine) -> None:
    settings = cli.workspace / "untildone.toml"
    settings.write_text('checks = ["test -e good"]\nmax_iterations = 1\n')
    cli.run("run", "a job", "--command", agent(cli, writes("untildone.toml", FILES["settings"][1])))
    checks, said = checks_of_next(cli)
    assert checks == ["test -e good"]
    assert f"{settings} changed while loop" in said
    assert "--accept-settings" in said
    checks, said = checks_of_next(cli, "--accept-settings")
    assert (checks, "Accepted:" in said) == (["true"], True)
    assert checks_of_next(cli)[0] == ["true"]
    settings.write_text('checks = ["test -d ."]\n')
    checks, said = checks_of_next(cli)
    assert (checks, "changed while loop" in said) == (["test -d ."], False), "a person's edit counts without a question"


def test_settings_nearer_or_above_and_the_persons_own_do_not_count_either(cli: CommandLine) -> None:
    (cli.workspace / ".git").mkdir()
    (cli.workspace / "untildone.toml").write_text('checks = ["test -e good"]\nmax_iterations = 1\n')
    place = cli.workspace / "part"
    place.mkdir()
    own = cli.home / ".config/untildone/config.toml"
    text = FILES["settings"][1]
    script = agent(cli, writes(place / "untildone.toml", text), writes(own, "review = true\n"))
    cli.run("run", "a job", "--command", script, "--dir", str(place))
    ended = cli.run("run", "next", "--command", CLAIM, "--dir", str(place))
    shown = cli.run("show", "--json", "--dir", str(place)).records[0]
    assert (shown["settings"]["checks"], shown["settings"]["review"]) == (["test -e good"], False), ended.errors


def test_a_supervisor_and_actions_count_as_before(cli: CommandLine) -> None:
    (cli.workspace / "SUPERVISOR.md").write_text("Look closely.\n")
    script = agent(cli, *(writes(*FILES[kind]) for kind in ("supervisor", "actions")))
    cli.run("run", "a job", "--command", script)
    cli.run("run", "next", "-r", "1", "--command", "echo working", "--review")
    assert cli.shown()["settings"]["options"]["supervisor_prompt"] == "Look closely.\n"
    cli.run("run", "next", "-r", "1", "--command", "echo working", "--mode", "workflow")
    assert "Do nothing." not in json.dumps(cli.shown())


def test_a_killed_runner_makes_no_difference(cli: CommandLine) -> None:
    script = agent(cli, writes("untildone.toml", FILES["settings"][1]), "kill -9 $PPID", "sleep 5")
    ended = cli.run("run", "a job", "--command", script)
    assert ended.code == -9
    assert checks_of_next(cli)[0] == []


def test_a_resumed_loop_uses_no_variable_and_no_program_of_the_agent(cli: CommandLine) -> None:
    profile = '[profiles.mine]\nagent = "command"\ncommand = "sh agent.sh"\nenv = {{ WHO = "{who}" }}\n'
    settings = cli.workspace / "untildone.toml"
    settings.write_text(profile.format(who="a person"))
    evil = f'notify_command = ["touch", "{cli.home}/pwned"]\n' + profile.format(who="an agent")
    (cli.workspace / "agent.sh").write_text(f"echo $WHO >> who; {writes('untildone.toml', evil)}; echo working\n")
    assert cli.run("run", "a job", "-r", "1", "--agent", "mine").code == 3
    assert settings.read_text() == evil
    assert cli.run("resume", "last", "-r", "+1").code == 3
    assert (cli.workspace / "who").read_text().splitlines() == ["a person", "a person"]
    assert not (cli.home / "pwned").exists()


def test_broken_settings_do_not_keep_a_person_from_going_on(cli: CommandLine) -> None:
    script = agent(cli, writes("untildone.toml", "mode = ["), "exit 0")
    cli.run("run", "a job", "-r", "1", "--command", script)
    resumed = cli.run("resume", "last", "-r", "+1")
    assert resumed.code in (0, 3), resumed.errors
    assert "Cannot read the settings" not in resumed.errors


def at_terminal(cli: CommandLine, *arguments: str) -> Terminal:
    return Terminal([sys.executable, "-m", "untildone", *arguments], cli.workspace, cli.environment)


def test_a_person_who_edits_settings_while_a_loop_runs_is_asked_once(cli: CommandLine) -> None:
    runner = cli.start(
        "run", "a job", "--command", "sh -c 'touch begun; while ! test -e go; do sleep 0.05; done; true'"
    )
    until((cli.workspace / "begun").exists)
    (cli.workspace / "untildone.toml").write_text('checks = ["test -d ."]\n')
    with at_terminal(cli, "run", "next", "--command", CLAIM) as terminal:
        terminal.shows("untildone.toml changed while loop")
        terminal.shows('+checks = ["test -d ."]')
        terminal.shows("Choose (1-2):")
        terminal.enter("1")
        terminal.shows("Accepted:")
        assert terminal.ends() == 0
    assert cli.shown()["settings"]["checks"] == ["test -d ."]
    with at_terminal(cli, "run", "again", "--command", CLAIM) as terminal:
        assert terminal.ends() == 0
        assert "changed while loop" not in terminal.text
    (cli.workspace / "go").touch()
    finish(runner)


def test_a_person_who_declines_is_not_asked_again(cli: CommandLine) -> None:
    cli.run("run", "a job", "--command", agent(cli, writes("untildone.toml", FILES["settings"][1])))
    with at_terminal(cli, "run", "next", "--command", CLAIM) as terminal:
        terminal.shows("Choose (1-2):")
        terminal.enter("2")
        assert terminal.ends() == 0
    with at_terminal(cli, "run", "next", "--command", CLAIM) as terminal:
        assert terminal.ends() == 0
        assert "Choose" not in terminal.text
    assert cli.shown()["settings"]["checks"] == []
    accepted = cli.run("config", "--accept")
    assert accepted.output.splitlines() == [str(cli.workspace / "untildone.toml")]
    assert checks_of_next(cli)[0] == ["true"]


def test_an_agent_accepts_nothing(cli: CommandLine) -> None:
    words = shlex.join((sys.executable, "-m", "untildone", "config", "--accept"))
    script = agent(cli, writes("untildone.toml", FILES["settings"][1]), f"{words} > said 2>&1")
    cli.run("run", "a job", "--command", script)
    assert "inside loop" in (cli.workspace / "said").read_text()
    assert checks_of_next(cli)[0] == []
