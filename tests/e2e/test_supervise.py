"""supervise from the command line: the guidance file, the loop of work and feedback, and the session handed back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import fake_agents
from tests.support.command_line import CommandLine, Ended
from tests.support.terminal import Terminal

from untildone.core.answers.agreement import word_in
from untildone.core.answers.blocked import HOW_TO_SAY

JUDGES: dict[str, Any] = {"match_system": "You are the supervisor"}
AGREED = "[TASK_COMPLETED {word}]"
TASK = "Build the parser"
NOTE = "Look at the edges."


def supervised(cli: CommandLine, *turns: dict[str, Any], flags: tuple[str, ...] = ()) -> Ended:
    """A fork starts where the worker stands, so all sessions share one place in the script."""
    script = cli.script(*turns)
    return cli.run("run", TASK, "--mode", "supervise", *flags, *script, "--one-place", "--log", str(log(cli)))


def log(cli: CommandLine) -> Path:
    return cli.workspace.parent / "asked.jsonl"


def asked(cli: CommandLine) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log(cli).read_text().splitlines()]


@pytest.fixture
def guided(cli: CommandLine) -> CommandLine:
    cli.environment["UNTILDONE_SCRIPT_STATE"] = str(cli.home / "state")
    (cli.workspace / "SUPERVISOR.md").write_text(NOTE)
    return cli


def test_work_and_feedback_until_the_supervisor_agrees(guided: CommandLine) -> None:
    ended = supervised(
        guided,
        {**JUDGES, "say": "Where are the tests?"},
        {**JUDGES, "say": "And the docs?"},
        {**JUDGES, "say": f"Good.\n\n{AGREED}"},
        {"write": {"parser.py": "pass\n"}, "say": "I built it."},
        {"match": "tests", "write": {"test_parser.py": "pass\n"}, "say": "I tested it."},
        {"match": "docs", "write": {"README.md": "It parses.\n"}, "say": "I described it."},
        flags=("--json",),
    )
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (0, "verified", 3)
    work, looks = asked(guided)[::2], asked(guided)[1::2]
    told = [call["prompt"].removesuffix(f"\n\n{HOW_TO_SAY}") for call in work]
    assert told == [TASK, "Where are the tests?", "And the docs?"]
    assert len({call["session_id"] for call in work}) == 1, "feedback is the next message of the same session"
    for call in looks:
        asked_for, _, shown = call["prompt"].partition("\n\n")
        assert asked_for == f"What the person asked:\n{TASK}", "only the person's words"
        assert shown.startswith("What changed in the workspace since the loop began: ")
        assert (call["fork"], call["resume"]) == (True, work[0]["session_id"])
        assert call["system_prompt"].startswith(NOTE)
    assert len({word_in(call["prompt"]) for call in looks} - {""}) == 3, "each question has a word of its own"
    assert {call["session_id"] for call in looks}.isdisjoint({work[0]["session_id"]}), "the original is not touched"


def test_another_agent_as_supervisor_is_shown_the_work(guided: CommandLine) -> None:
    script = guided.workspace.parent / "reviewer.json"
    script.write_text(json.dumps([{"say": AGREED}]))
    (guided.workspace / "untildone.toml").write_text(
        f'[profiles.reviewer]\nagent = "scripted"\nargs = ["--script", "{script}", "--log", "{log(guided)}"]\n'
    )
    work = {"write": {"parser.py": "def parse(): pass\n"}, "say": "I built it."}
    subprocess.run(["git", "init", "--quiet", guided.workspace], check=True, timeout=10)
    ended = supervised(guided, work, flags=("--supervisor", "reviewer"))
    assert ended.code == 0, ended.errors
    _, look = asked(guided)
    assert (look["fork"], look["resume"]) == (False, "")
    assert look["prompt"].startswith(f"What the person asked:\n{TASK}\n\nThe agent's last message:\n> I built it.\n\n")
    assert "+def parse(): pass" in look["prompt"]


def test_checks_come_before_the_review(guided: CommandLine) -> None:
    ended = supervised(
        guided,
        {**JUDGES, "say": AGREED},
        {"say": "I built it."},
        {"write": {"parser.py": "pass\n"}, "say": "Now I did."},
        flags=("--check", "test -f parser.py"),
    )
    assert ended.code == 0, ended.errors
    first, second, look = asked(guided)
    assert "`test -f parser.py` failed" in second["prompt"]
    assert "What the person asked" in look["prompt"]
    assert first["session_id"] == second["session_id"]


@pytest.mark.parametrize(
    ("turn", "told", "code", "outcome"),
    [
        ({"fail": "auth"}, "Supervisor", 8, "blocked"),
        ({"say": " "}, "said nothing", 6, "failed"),
        ({"crash": True}, "Supervisor", 6, "failed"),
    ],
)
def test_a_supervisor_that_cannot_be_asked_is_never_done(
    guided: CommandLine, turn: dict[str, Any], told: str, code: int, outcome: str
) -> None:
    ended = supervised(guided, {**JUDGES, **turn, "repeat": "forever"}, {"say": "I built it."})
    assert ended.code == code
    assert told in ended.errors
    assert guided.shown()["outcome"] == outcome


def test_a_supervisor_that_hangs_is_not_asked_for_ever(guided: CommandLine) -> None:
    ended = supervised(
        guided,
        {**JUDGES, "hang": True, "repeat": "forever"},
        {"say": "I built it."},
        flags=("--iteration-timeout", "0.5"),
    )
    assert ended.code == 6
    assert "no answer within 0.5 s" in ended.errors


# the guidance file


def test_without_guidance_it_says_how_to_make_one_and_that_works(cli: CommandLine) -> None:
    turns = {**JUDGES, "say": AGREED}, {"say": "I built it."}
    ended = supervised(cli, *turns)
    assert ended.code == 2
    assert "SUPERVISOR.md" in ended.errors
    assert "hint: `untildone supervisor init` writes a good starter" in ended.errors
    assert cli.loops == []
    made = cli.run("supervisor", "init")
    assert (made.code, made.output.strip()) == (0, str(cli.workspace / "SUPERVISOR.md"))
    assert supervised(cli, *turns).code == 0
    assert asked(cli)[1]["system_prompt"].startswith("# Supervisor")


def test_what_is_there_is_not_written_over(guided: CommandLine) -> None:
    refused = guided.run("supervisor", "init")
    assert (refused.code, "--force" in refused.errors) == (2, True)
    assert (guided.workspace / "SUPERVISOR.md").read_text() == NOTE
    assert guided.run("supervisor", "init", "--force").code == 0
    assert (guided.workspace / "SUPERVISOR.md").read_text() != NOTE


def test_the_projects_own_comes_before_the_global_one(cli: CommandLine) -> None:
    made = cli.run("supervisor", "init", "--global")
    assert made.output.strip() == str(cli.home / ".config" / "untildone" / "SUPERVISOR.md")
    turns = {**JUDGES, "say": AGREED}, {"say": "I built it."}
    assert supervised(cli, *turns).code == 0
    (cli.workspace / "SUPERVISOR.md").write_text(NOTE)
    assert supervised(cli, *turns).code == 0
    globally, own = (call["system_prompt"] for call in asked(cli)[1::2])
    assert globally.startswith("# Supervisor")
    assert own.startswith(NOTE)


def test_an_empty_guidance_is_an_error(cli: CommandLine) -> None:
    (cli.workspace / "SUPERVISOR.md").write_text(" \n")
    ended = supervised(cli, {"say": "I built it."})
    assert (ended.code, "is empty" in ended.errors) == (2, True)


def test_a_folder_that_cannot_be_written_is_one_sentence(cli: CommandLine) -> None:
    ended = cli.run("supervisor", "init", "--dir", str(cli.workspace / "nowhere"))
    assert (ended.code, "Traceback" in ended.errors) == (2, False)


# the session handed back


def with_claude(cli: CommandLine) -> Path:
    programs = cli.workspace.parent / "programs"
    fake_agents.write_fake_agent(programs, fake_agents.AlwaysClaims(AGREED))
    cli.environment["PATH"] = f"{programs}:{cli.environment['PATH']}"
    return programs


def test_at_a_terminal_the_person_goes_on_in_the_session(guided: CommandLine) -> None:
    programs = with_claude(guided)
    program = [sys.executable, "-m", "untildone", "run", TASK, "--mode", "supervise"]
    with Terminal(program, guided.workspace, guided.environment) as terminal:
        terminal.shows("Done, and every gate agrees.")
        assert terminal.ends() == 0
    work, look, mine = fake_agents.calls(programs)
    session = next(word.partition("=")[2] for word in work if word.startswith("--session-id="))
    assert "--tools=Read,Grep,Glob" in look
    assert "--fork-session" not in look, "this program keeps no transcript that could be vouched for"
    assert mine == ["--resume", session], "the program itself, for a person"


def test_without_a_terminal_nothing_is_handed_back(guided: CommandLine) -> None:
    programs = with_claude(guided)
    assert guided.run("run", TASK, "--mode", "supervise").code == 0
    assert len(fake_agents.calls(programs)) == 2
