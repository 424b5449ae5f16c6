"""workflow from the command line: by itself to the end, with a person at the menu, and when the agent is of no use."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine, Ended
from tests.support.terminal import Terminal

TASK = "Write a parser"
PAUSES: dict[str, Any] = {"continue": False}
FOREVER: dict[str, Any] = {"repeat": "forever"}


def said(updates: Mapping[str, Any] | None = None, /, **told: Any) -> str:
    return json.dumps({"skillStateUpdates": updates or {}, "continue": True, "message": "Did it.", **told})


def action(name: str, updates: Mapping[str, Any] | None = None, /, **told: Any) -> dict[str, Any]:
    """A turn of the script that fits the prompt of one action."""
    return {"match": f"You are executing {name} for loop", "say": said(updates, **told)}


def tasks(**statuses: str) -> dict[str, Any]:
    return {"develop": {"tasks": [{"id": name, "text": f"Do {name}", "status": statuses[name]} for name in statuses]}}


INIT = action("init", tasks(grammar="pending", errors="pending"), message="Two things to do.")
DEVELOP = {
    **action("develop", tasks(grammar="completed", errors="completed"), message="Wrote the grammar."),
    "write": {"parser.py": "def parse(): ...\n"},
}
VALIDATE = action("validate", {"validate": {"passed": True, "failures": []}}, message="Tried it: it parses.")
COMPLETE = action("complete", message="There is a parser.")
PLAIN_WAY = [INIT, DEVELOP, VALIDATE, COMPLETE]


def run(cli: CommandLine, script: list[dict[str, Any]], *arguments: str) -> Ended:
    return cli.run("run", TASK, "--mode", "workflow", *arguments, "--json", *cli.script(*script))


def journal(cli: CommandLine) -> Iterator[dict[str, Any]]:
    for path in (cli.workspace / ".loop").rglob("execution.log.jsonl"):
        yield from (json.loads(line) for line in path.read_text().splitlines())


def actions(cli: CommandLine) -> list[str]:
    return [entry["label"] for entry in journal(cli) if entry["event"] == "iteration_start"]


def prompts(cli: CommandLine) -> list[str]:
    return [entry["prompt"] for entry in journal(cli) if entry["event"] == "iteration_start"]


def history(cli: CommandLine) -> Path:
    (place,) = (cli.workspace / ".loop" / "history").iterdir()
    return place


# by itself


def test_the_plain_way_with_its_documents_in_the_history(cli: CommandLine) -> None:
    ended = run(cli, PLAIN_WAY, "--auto", "--check", "test -e parser.py")
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (0, "verified", 4)
    assert actions(cli) == ["init", "develop", "validate", "complete"]
    place = history(cli)
    progress = (place / "progress.md").read_text()
    assert "## Round 1: init\n\nTwo things to do.\n\n- [ ] grammar: Do grammar\n" in progress
    assert "## Round 2: develop\n\nWrote the grammar.\n\n- [x] grammar: Do grammar\n" in progress
    assert "## Round 3: validate\n\nTried it: it parses.\n" in (place / "validation.md").read_text()
    assert not (place / "understanding.md").exists()
    assert json.loads((place / "receipt.json").read_text())["outcome"] == "verified"
    assert cli.shown()["skill_state"]["completed_actions"] == ["init", "develop", "validate", "complete"]


def test_what_fails_is_debugged_mended_and_validated_again(cli: CommandLine) -> None:
    cause = {
        "hypotheses": [{"text": "off by one", "status": "confirmed", "evidence": "the last sign is lost"}],
        "confirmed_hypothesis": "off by one",
    }
    wrong = {"validate": {"passed": False, "failures": ["The empty text crashes it."]}}
    script = [
        INIT,
        action("develop", tasks(grammar="completed", errors="failed")),
        action("debug", {"debug": cause, **tasks(errors="completed")}, message="It counted from one."),
        action("validate", wrong),
        action("develop", {"develop": {"tasks": [{"id": "fix-4-1", "status": "completed"}]}}),
        VALIDATE,
        COMPLETE,
    ]
    assert run(cli, script).code == 0
    assert actions(cli) == ["init", "develop", "debug", "validate", "develop", "validate", "complete"]
    understanding = (history(cli) / "understanding.md").read_text()
    assert "It counted from one." in understanding
    assert "- confirmed: off by one (the last sign is lost)" in understanding
    assert "- failed: The empty text crashes it." in (history(cli) / "validation.md").read_text()
    assert "The empty text crashes it." in prompts(cli)[4]


def test_the_prompt_has_its_parts_and_a_projects_own_instructions(cli: CommandLine) -> None:
    own = cli.workspace / ".loop" / "actions"
    own.mkdir(parents=True)
    (own / "develop.md").write_text("Work in pairs.\n")
    (own / "validate.md").write_text(" \n")
    assert run(cli, PLAIN_WAY).code == 0
    init, develop, validate, _ = prompts(cli)
    loop_id = cli.loops[0]["loop_id"]
    for part in (
        f"[LOOP CONTEXT]\nLoop ID: {loop_id}\nState File: .loop/{loop_id}.json\nProgress Dir: .loop/{loop_id}.progress",
        "[CURRENT STATE]\n{",
        "[ACTION INSTRUCTIONS]\nLook at the task",
        f"[TASK]\nYou are executing init for loop: {TASK}",
        "[CONTROL SIGNALS]",
        '[RETURN]\nAnswer with one JSON object, and nothing after it:\n{"skillStateUpdates"',
    ):
        assert part in init
    assert "[ACTION INSTRUCTIONS]\nWork in pairs.\n" in develop
    assert "[ACTION INSTRUCTIONS]\nValidate the work" in validate, "an empty file replaces nothing"


def test_three_useless_answers_in_a_row_end_it(cli: CommandLine) -> None:
    ended = run(cli, [{"say": "I did it, trust me ({call}).", **FOREVER}])
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (6, "failed", 3)
    assert "3 actions in a row failed" in ended.errors
    assert "no JSON object" in ended.errors
    assert cli.shown()["skill_state"]["error_count"] == 3


def test_a_useless_answer_now_and_then_is_counted_and_it_goes_on(cli: CommandLine) -> None:
    script = [INIT, {**DEVELOP, "say": "Did it."}, DEVELOP, {**VALIDATE, "say": "{"}, VALIDATE, COMPLETE]
    assert run(cli, script).code == 0
    assert actions(cli) == ["init", "develop", "develop", "validate", "validate", "complete"]
    assert cli.shown()["skill_state"]["error_count"] == 2


def test_an_agent_that_asks_pauses_with_its_question_and_hears_the_answer(cli: CommandLine) -> None:
    asks = action("develop", message="Which grammar: LL or LR?", **PAUSES)
    ended = run(cli, [INIT, asks, DEVELOP, VALIDATE, COMPLETE])
    assert (ended.code, ended.records[-1]["outcome"]) == (7, "paused")
    assert "Which grammar: LL or LR?" in ended.errors
    assert "goes on in the background" in cli.run("say", "last", "LL, please").errors
    assert cli.run("wait", "last", "--timeout", "60").code == 0
    assert "[MESSAGE FROM THE PERSON]\nLL, please" in prompts(cli)[2]


@pytest.mark.parametrize("question", ["Which grammar: LL or LR?", "I need the name of the grammar.", ""])
def test_however_an_agent_asks_the_way_to_answer_is_named(cli: CommandLine, question: str) -> None:
    asks = action("develop", message=question, **PAUSES)
    ended = cli.run("run", TASK, "--mode", "workflow", *cli.script(INIT, asks))
    loop_id, outcome = ended.output.split()
    assert outcome == "paused"
    for text in (ended.errors, cli.run("show", "last").output):
        assert f"hint: `untildone say {loop_id} " in text
        assert f"`untildone resume {loop_id}` goes on" in text


def test_a_pause_of_the_person_is_no_question(cli: CommandLine) -> None:
    cli.run("run", "x", "-r", "1", "--command", "echo working")
    cli.run("budget", "last", "--iterations", "+1")
    cli.run("pause", "last")
    shown = cli.run("show", "last").output
    assert "hint: `untildone resume" in shown
    assert "untildone say" not in shown


def test_to_resume_without_a_word_is_to_go_on(cli: CommandLine) -> None:
    asks = action("develop", message="Shall I?", **PAUSES)
    assert run(cli, [INIT, asks, DEVELOP, VALIDATE, COMPLETE]).code == 7
    assert cli.run("resume", "last", "--json").code == 0


def test_a_program_that_is_gone_pauses_for_work_by_hand(cli: CommandLine) -> None:
    """It was there when the loop was created, and is not when it is to be run."""
    programs = cli.workspace.parent / "programs"
    programs.mkdir()
    agent = programs / "my-agent"
    agent.write_text(f"#!/bin/sh\ncat > /dev/null\nrm '{agent}'\ncat <<'END'\n{INIT['say']}\nEND\n")
    agent.chmod(0o755)
    ended = cli.run("run", TASK, "--mode", "workflow", "--json", "--command", str(agent))
    assert (ended.code, ended.records[-1]["outcome"]) == (7, "paused")
    assert "my-agent" in ended.errors
    assert "Work by hand, then `untildone resume` goes on." in ended.errors
    answers = f"{DEVELOP['say']}@{VALIDATE['say']}@{COMPLETE['say']}".split("@")
    (programs / "answers").write_text("\n".join(answers) + "\n")
    agent.write_text(f"#!/bin/sh\ncat > /dev/null\nhead -n 1 '{programs}/answers'\nsed -i 1d '{programs}/answers'\n")
    agent.chmod(0o755)
    assert cli.run("resume", "last", "--json").code == 0
    assert actions(cli) == ["init", "develop", "develop", "validate", "complete"]


# with a person at the menu


def at_terminal(cli: CommandLine, script: list[dict[str, Any]], *arguments: str) -> Terminal:
    flags = ("--mode", "workflow", "--interactive", "--plain", *arguments, *cli.script(*script))
    return Terminal([sys.executable, "-m", "untildone", "run", TASK, *flags], cli.workspace, cli.environment)


def menu(terminal: Terminal) -> str:
    """Wait for the menu and its prompt; the state that stands above it."""
    terminal.shows("Tasks: ")
    above = terminal.shows("What next?")
    terminal.shows("[6] exit")
    terminal.shows("Choose (1-6):")
    return above


def test_choices_by_word_and_number_with_the_state_above_them(cli: CommandLine) -> None:
    with at_terminal(cli, PLAIN_WAY) as terminal:
        assert menu(terminal) == "0 of 2 done. Last action: init. Validation: not yet. "
        terminal.enter("develop")
        assert menu(terminal) == "2 of 2 done. Last action: develop. Validation: not yet. "
        terminal.enter("3")
        assert menu(terminal) == "2 of 2 done. Last action: validate. Validation: passed. "
        terminal.enter("STATUS")
        terminal.shows("Rounds: 3 of 10 used. Actions so far: init, develop, validate")
        terminal.shows("[6] exit")
        terminal.shows("Choose (1-6):")
        terminal.enter("complete")
        assert terminal.ends() == 0
    assert actions(cli) == ["init", "develop", "validate", "complete"]
    assert cli.shown()["outcome"] == "claimed"


def test_nonsense_is_asked_for_again(cli: CommandLine) -> None:
    with at_terminal(cli, PLAIN_WAY) as terminal:
        menu(terminal)
        for nonsense in ("dance", "0", "7", "-1", "1 2", "dévelop", "{}", "1.0"):
            terminal.enter(nonsense)
            terminal.shows(f"'{nonsense}' is none of them: choose by word, or by a number from 1 to 6.")
            terminal.shows("Choose (1-6):")
        terminal.enter("6")
        assert terminal.ends() == 7
    assert actions(cli) == ["init"], "nothing was done"


@pytest.mark.parametrize("leaves", ["\x04", "exit\r"])
def test_leaving_the_menu_pauses_and_a_choice_from_elsewhere_goes_on(cli: CommandLine, leaves: str) -> None:
    with at_terminal(cli, PLAIN_WAY) as terminal:
        menu(terminal)
        terminal.type(leaves)
        assert terminal.ends() == 7
    assert cli.shown()["status"] == "paused"
    assert cli.run("say", "last", "1").code == 0
    assert cli.run("resume", "last", "--json").code == 7, "and then nobody is there to choose"
    assert actions(cli) == ["init", "develop"]


def test_rounds_can_be_added_at_the_menu(cli: CommandLine) -> None:
    with at_terminal(cli, PLAIN_WAY, "-r", "2") as terminal:
        menu(terminal)
        terminal.enter("[r+3]")
        terminal.shows("Added 3 rounds. Remaining: 4")
        terminal.shows("Choose (1-6):")
        terminal.enter("[r+1] develop")
        terminal.shows("Added 1 rounds. Remaining: 5")
        menu(terminal)
        terminal.enter("exit")
        terminal.ends()
    assert actions(cli) == ["init", "develop"]
    assert cli.shown()["max_iterations"] == 6


def test_what_the_agent_asks_is_answered_in_words(cli: CommandLine) -> None:
    asks = action("develop", message="Which grammar: LL or LR?", **PAUSES)
    with at_terminal(cli, [INIT, asks, DEVELOP]) as terminal:
        menu(terminal)
        terminal.enter("1")
        terminal.shows("Which grammar: LL or LR?")
        terminal.shows("Answer, or choose: develop, debug, validate, status, complete, exit.")
        terminal.shows(">")
        terminal.enter("LL, please")
        menu(terminal)
        terminal.enter("exit")
        terminal.ends()
    assert actions(cli) == ["init", "develop", "develop"]
    assert "[MESSAGE FROM THE PERSON]\nLL, please" in prompts(cli)[2]


def test_without_a_terminal_the_menu_pauses_it(cli: CommandLine) -> None:
    ended = run(cli, PLAIN_WAY, "--interactive")
    assert (ended.code, ended.records[-1]["outcome"]) == (7, "paused")
    assert actions(cli) == ["init"]
