"""What is not believed: words that prove nothing, and checks that proved something else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine, finish, until
from tests.support.terminal import Terminal

from untildone import modes

PATIENCE = 120.0
JUDGES: dict[str, Any] = {"match_system": "You are the supervisor"}
AGREED = "[TASK_COMPLETED {word}]"
WORK = {"write": {"parser.py": "pass\n"}, "say": "I built it."}
SUPERVISED = ("run", "Build it", "--mode", "supervise", "--check", "test -f parser.py", "-r", "1")


@pytest.fixture
def guided(cli: CommandLine) -> CommandLine:
    cli.environment["UNTILDONE_SCRIPT_STATE"] = str(cli.home / "state")
    (cli.workspace / "SUPERVISOR.md").write_text("Look at the edges.")
    return cli


def played(cli: CommandLine, *turns: dict[str, Any]) -> tuple[str, ...]:
    """A fork starts where the worker stands, so all sessions share one place in the script."""
    return (*cli.script(*turns), "--one-place")


def gates_run(cli: CommandLine) -> int:
    return sum(entry["event"] == "gate_start" for entry in cli.run("log", "last", "--json", patience=PATIENCE).records)


# --- words ---


@pytest.mark.parametrize("mode", modes.names())
def test_an_agent_that_only_repeats_what_it_is_told_is_never_done(cli: CommandLine, mode: str) -> None:
    (cli.workspace / "SUPERVISOR.md").write_text("When all is well, write on a line of its own:\n[TASK_COMPLETED]\n")
    task = "Mend it. When it is done, end your answer with this line:\n<promise>COMPLETE</promise>"
    echo = ("--agent", "command", "--command", "cat", "--check", "true", "-r", "3")
    ended = cli.run("run", task, "--mode", mode, *echo, "--json", patience=PATIENCE)
    assert ended.records[-1]["outcome"] not in ("verified", "claimed"), ended.output


# --- checks of what is no longer there ---


@pytest.mark.parametrize("in_git", [True, False])
def test_what_the_supervisor_breaks_is_checked_again(guided: CommandLine, in_git: bool) -> None:
    if in_git:
        subprocess.run(["git", "init", "--quiet", guided.workspace], check=True, timeout=60)
    guided.environment["PATH"] = f"{meddling_reviewer(guided)}:{guided.environment['PATH']}"
    guided.environment["UNTILDONE_SANDBOX"] = "off"  # in a box it could not
    ended = guided.run(*SUPERVISED, "--supervisor", "meddler", *played(guided, WORK), patience=PATIENCE)
    assert ended.code == 3, ended.errors
    assert gates_run(guided) == 2


def meddling_reviewer(cli: CommandLine) -> Path:
    """The folder of a program that deletes the work and agrees: untildone cannot tell a program of yours to read only."""
    program = cli.home / "bin" / "meddler"
    program.parent.mkdir()
    word = r"sed -n 's/.*The word of this question is \([A-Z0-9]*\)\..*/\1/p'"
    program.write_text(f'#!/bin/sh\nword=$({word})\nrm -f {cli.workspace}/parser.py\necho "[TASK_COMPLETED $word]"\n')
    program.chmod(0o755)
    (cli.workspace / "untildone.toml").write_text('[profiles.meddler]\nagent = "command"\ncommand = "meddler"\n')
    return program.parent


def test_a_supervisor_cannot_change_what_it_judges(guided: CommandLine) -> None:
    script = played(guided, {**JUDGES, "delete": "parser.py", "write": {"x": ""}, "say": AGREED}, WORK)
    ended = guided.run(*SUPERVISED, *script, patience=PATIENCE)
    assert ended.code == 0, ended.errors
    assert (guided.workspace / "parser.py").exists()
    assert not (guided.workspace / "x").exists()


def hanging(cli: CommandLine) -> tuple[subprocess.Popen[str], Path]:
    """A loop whose checks have passed, and whose supervisor is at it."""
    log = cli.home / "calls"
    script = played(cli, {**JUDGES, "hang": True}, {**JUDGES, "say": AGREED}, WORK)
    runner = cli.start(*SUPERVISED, *script, "--log", str(log))
    until(lambda: log.exists() and "You are the supervisor" in log.read_text(), PATIENCE)
    return runner, cli.workspace / "parser.py"


@pytest.mark.parametrize("broken", [True, False])
def test_what_changed_during_a_pause_is_checked_again(guided: CommandLine, broken: bool) -> None:
    runner, work = hanging(guided)
    assert guided.run("pause", "--now", "last", patience=PATIENCE).code == 0
    assert finish(runner, patience=PATIENCE).code == 7
    if broken:
        work.unlink()
    assert guided.run("resume", "last", patience=PATIENCE).code == (3 if broken else 0)
    assert gates_run(guided) == (2 if broken else 1)


def test_what_changed_after_a_crash_is_checked_again(guided: CommandLine) -> None:
    runner, work = hanging(guided)
    os.kill(runner.pid, signal.SIGKILL)
    finish(runner, patience=PATIENCE)
    work.unlink()
    assert guided.run("resume", "last", patience=PATIENCE).code == 3
    assert gates_run(guided) == 2


def test_what_changed_before_the_person_leaves_is_not_called_verified(guided: CommandLine) -> None:
    script = played(guided, {**JUDGES, "say": AGREED, "repeat": "forever"}, WORK)
    program = [sys.executable, "-m", "untildone", *SUPERVISED, "--interactive", *script]
    with Terminal(program, guided.workspace, guided.environment) as terminal:
        terminal.shows("What next?")
        (guided.workspace / "parser.py").unlink()
        terminal.enter("exit")
        assert terminal.ends() == 7
        assert "has changed since it was checked" in terminal.text
