"""The first minutes in a project: `init`, `doctor`, and a loop without a check."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine
from tests.support.terminal import Terminal

from untildone import settings


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def test_a_loop_without_a_check_is_told_which_one_fits(cli: CommandLine) -> None:
    claims = cli.script({"claim": True})
    assert "no check is set" not in cli.run("run", "x", *claims).errors
    (cli.workspace / "Makefile").write_text("test:\n\ttrue\n")
    assert 'this project has one: --check "make test"' in cli.run("run", "x", *claims).errors
    for flags in (("--check", "true"), ("--once",)):
        assert "no check is set" not in cli.run("run", "x", *flags, *claims).errors
    (cli.workspace / "untildone.toml").write_text("checks = []\n")
    assert "no check is set" not in cli.run("run", "x", *claims).errors, "the person has decided"


def test_a_loop_that_nothing_verified_ends_with_a_check_that_fits_the_project(cli: CommandLine) -> None:
    claims = cli.script({"claim": True})
    assert 'next time name a check, such as --check "pytest -q"' in cli.run("run", "x", *claims).errors
    (cli.workspace / "go.mod").write_text("module x\n")
    assert 'next time name a check, such as --check "go test ./..."' in cli.run("run", "x", *claims).errors


@pytest.mark.parametrize(("answer", "outcome"), [("1", "verified"), ("2", "claimed")])
def test_at_a_terminal_the_person_chooses(cli: CommandLine, answer: str, outcome: str) -> None:
    (cli.workspace / "Makefile").write_text("test:\n\ttrue\n")
    command = (sys.executable, "-m", "untildone", "run", "x", *cli.script({"claim": True}))
    with Terminal(command, cli.workspace, cli.environment) as terminal:
        terminal.shows("check with: make test", 60)
        terminal.shows("Choose (1-2)", 60)
        terminal.enter(answer)
        assert terminal.ends(60) == 0
    assert cli.shown()["outcome"] == outcome


def test_init_writes_settings_that_hold_also_with_every_line_in_use(cli: CommandLine) -> None:
    (cli.workspace / "Makefile").write_text("test:\n\ttrue\n")
    made = cli.run("init")
    file = cli.workspace / "untildone.toml"
    assert (made.code, made.output.strip()) == (0, str(file))
    assert settings.load(cli.workspace, {}).checks == ("make test",)
    comments = re.sub(r"^(# )?\w+ = .*$", "", file.read_text(), flags=re.MULTILINE)
    assert "rounds" in comments
    assert "iteration" not in comments
    used = re.sub(r"^# (\w+ = )", r"\1", file.read_text(), flags=re.MULTILINE)
    file.write_text(used)
    assert settings.load(cli.workspace, {}).max_cost == 5.0
    again = cli.run("init")
    assert (again.code, "There is already a" in again.errors) == (2, True)
    assert cli.run("init", "--force").code == 0


def test_the_doctor_names_each_problem_with_its_fix(cli: CommandLine) -> None:
    programs = cli.home / "programs"
    programs.mkdir()
    env = {**cli.environment, "PATH": f"{programs}:/usr/bin:/bin"}
    (programs / "codex").write_text("#!/bin/sh\necho codex-cli 0.100.0\n")
    (programs / "codex").chmod(0o755)
    looked = cli.run("doctor", "--json", env=env, patience=60)
    findings = [json.loads(line) for line in looked.output.splitlines()]
    assert {each["area"] for each in findings} == {"agents", "sandbox", "git", "terminal", "server", "store", "project"}
    assert all(each["fix"] for each in findings if each["state"] != "ok"), findings
    said = cli.run("doctor", env=env, patience=60).output
    assert "codex 0.100.0 is older than 0.150.0" in said
    assert "fix: log in with `codex login`" in said
    assert "is not in a repository" in said


def test_the_doctor_says_that_no_agent_is_there(cli: CommandLine) -> None:
    looked = cli.run("doctor", env={**cli.environment, "PATH": "/usr/bin:/bin"}, patience=60)
    assert looked.code == 6
    assert "No coding agent is installed." in looked.output
    assert "npm install -g" in looked.output
