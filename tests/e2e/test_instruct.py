"""instruct from the command line: with a person at a terminal, and without one."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from tests.support.command_line import CommandLine, until
from tests.support.terminal import Terminal

from untildone.core.answers.blocked import HOW_TO_SAY

LEADS: dict[str, Any] = {"match_system": "You are the instructor"}
TASK = "Implement the login feature"


def turns(*instructions: str, work: float = 0.0) -> list[dict[str, Any]]:
    """The instructor says these one after the other; the worker does what it is told, taking its time."""
    worker = {"sleep": work, "append": {"work.txt": "step {call}\n"}, "say": "Did step {call}.", "repeat": "forever"}
    return [*({**LEADS, "say": text} for text in instructions), worker]


DONE = "[TASK_COMPLETED]"


def at_terminal(cli: CommandLine, script: list[dict[str, Any]], *arguments: str, task: str = TASK) -> Terminal:
    flags = cli.script(*script)
    program = [sys.executable, "-m", "untildone", "run", task, "--mode", "instruct", *arguments, *flags]
    return Terminal(program, cli.workspace, cli.environment)


def prompts(cli: CommandLine, role: str) -> list[str]:
    """What a role was asked, without the sentence about being blocked that each prompt ends in."""
    journals = (cli.workspace / ".loop").rglob("execution.log.jsonl")
    entries = [json.loads(line) for journal in journals for line in journal.read_text().splitlines()]
    asked = [entry for entry in entries if entry["event"] in ("iteration_start", "consultation_start")]
    return [entry["prompt"].removesuffix(f"\n\n{HOW_TO_SAY}") for entry in asked if entry["role"] == role]


def test_without_a_terminal_it_is_done_when_the_instructor_says_so(cli: CommandLine) -> None:
    ended = cli.run("run", TASK, "--mode", "instruct", "--json", *cli.script(*turns("Write it.", "Test it.", DONE)))
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["iterations"]) == (0, "claimed", 2)
    assert prompts(cli, "worker") == ["Write it.", "Test it."]
    assert prompts(cli, "instructor")[1] == "The worker's answer:\nDid step 1."
    assert cli.shown()["max_iterations"] == 20


def test_instructor_and_worker_may_be_different_agents(cli: CommandLine) -> None:
    script = cli.workspace.parent / "architect.json"
    script.write_text(json.dumps([{"say": "Write it."}, {"say": DONE}]))
    (cli.workspace / "untildone.toml").write_text(
        f'[profiles.architect]\nagent = "scripted"\nargs = ["--script", "{script}"]\n'
    )
    worker = cli.script({"say": "I wrote it.", "repeat": "forever"})
    ended = cli.run("run", TASK, "--mode", "instruct", "--instructor", "architect", *worker)
    assert ended.code == 0, ended.errors
    assert prompts(cli, "worker") == ["Write it."]
    assert set(cli.shown()["sessions"]) == {"instructor:architect", "worker:scripted"}


def test_used_up_rounds_pause_it_and_a_message_goes_on(cli: CommandLine) -> None:
    script = turns("One.", "Two.", "Three.", DONE)
    ended = cli.run("run", TASK, "--mode", "instruct", "-r", "1", *cli.script(*script))
    assert ended.code == 3
    assert "No remaining rounds. Stopping." in ended.errors
    heard = cli.run("say", "last", "[r+5] Continue the task")
    assert heard.output.splitlines()[0] == "Added 5 rounds. Remaining: 5"
    assert cli.run("wait", "last", "--timeout", "20").code == 0
    assert prompts(cli, "worker") == ["One.", "Three."]
    assert prompts(cli, "instructor")[2].endswith("The person says:\nContinue the task")


# the examples of the design, at a terminal


def test_rounds_are_added_at_the_start_of_the_task(cli: CommandLine) -> None:
    with at_terminal(cli, turns("Write it.", DONE), "-r", "5", task=f"[r+3] {TASK}") as terminal:
        terminal.shows("Added 3 rounds. Remaining: 8")
        terminal.shows("╭─ Round 1 (8 left) ─╮")
        terminal.shows("What next?")
        terminal.enter("exit")
        assert terminal.ends() == 0
    assert prompts(cli, "instructor")[0] == f"The person's instruction:\n{TASK}"


def test_rounds_are_set_and_added_at_the_prompt(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", "Two.", DONE, "Three.", DONE), "-r", "4") as terminal:
        terminal.shows("What next?")
        terminal.enter("")
        terminal.enter("[r+10]")
        terminal.shows("Added 10 rounds. Remaining: 12")
        terminal.shows("No instruction provided after parsing round controls")
        terminal.enter("[r=15] Start new complex refactoring task")
        terminal.shows("Set remaining rounds to: 15")
        terminal.shows("╭─ Round 3 (15 left) ─╮")
        terminal.shows("What next?")
        terminal.shows(">")
        terminal.type("\x04")
        assert terminal.ends() == 0
    assert prompts(cli, "instructor")[3] == "The person says:\nStart new complex refactoring task"
    assert prompts(cli, "worker") == ["One.", "Two.", "Three."]


def test_used_up_rounds_are_asked_for(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", "Two.", "Three.", "Four.", "Five.", "Six.", DONE), "-r", "4") as terminal:
        terminal.shows("╭─ Round 5 (0 left) ─╮")
        terminal.shows("No remaining rounds. Stopping.")
        terminal.shows("Use [r+n] to add more rounds or [r=n] to set remaining rounds")
        terminal.enter("[r+5] Continue the task")
        terminal.shows("Added 5 rounds. Remaining: 5")
        terminal.shows("╭─ Round 5 (5 left) ─╮")
        terminal.shows("What next?")
        terminal.enter("quit")
        assert terminal.ends() == 0
        assert "loop-" in terminal.text
    assert prompts(cli, "worker") == ["One.", "Two.", "Three.", "Four.", "Six."]


def test_leaving_where_rounds_are_used_up_is_the_budget(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", "Two."), "-r", "1") as terminal:
        terminal.shows("No remaining rounds. Stopping.")
        terminal.enter("exit")
        assert terminal.ends() == 3
    assert cli.shown()["outcome"] == "budget"


def test_a_control_elsewhere_is_text_and_a_hint_says_so(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", DONE, "Two.", DONE)) as terminal:
        terminal.shows("╭─ Round 1 ─╮")
        terminal.shows("What next?")
        terminal.enter("Implement [r+5] the feature")
        terminal.shows("belong at the start of the message")
        terminal.shows("What next?")
        terminal.enter("exit")
        assert terminal.ends() == 0
    assert prompts(cli, "instructor")[2] == "The person says:\nImplement [r+5] the feature"


# taking the word


@pytest.mark.parametrize("key", ["\x03", "\x1b"], ids=["ctrl-c", "escape"])
def test_a_key_interrupts_the_turn_and_gives_the_word(cli: CommandLine, key: str) -> None:
    script = [{**LEADS, "say": "Take your time."}, {**LEADS, "say": "Then this."}, {**LEADS, "say": DONE}]
    script += [{"match": "Take", "append": {"begun": "x"}, "hang": True}, {"match": "Then", "say": "Did it."}]
    with at_terminal(cli, script) as terminal:
        until(lambda: (cli.workspace / "begun").exists())
        terminal.type(key)
        terminal.shows("Interrupted. What next?")
        terminal.enter("Do something else")
        terminal.shows("What next?")
        terminal.enter("exit")
        assert terminal.ends() == 0
        assert terminal.is_cooked
    assert prompts(cli, "worker") == ["Take your time.", "Then this."]
    assert prompts(cli, "instructor")[1].endswith("The person says:\nDo something else")


def test_a_second_ctrl_c_leaves_with_everything_saved(cli: CommandLine) -> None:
    script = [{**LEADS, "say": "Take your time."}, {**LEADS, "say": DONE}, {"append": {"begun": "x"}, "hang": True}]
    with at_terminal(cli, script) as terminal:
        until(lambda: (cli.workspace / "begun").exists())
        terminal.type("\x03")
        terminal.shows("Interrupted. What next?")
        terminal.shows(">")
        terminal.type("\x03")
        assert terminal.ends() == 130
        assert terminal.is_cooked
        assert "Traceback" not in terminal.text
    shown = cli.shown()
    assert (shown["status"], shown["outcome"]) == ("paused", "interrupted")
    resumed = cli.run("resume", "last")
    assert resumed.code == 0, "without a terminal it goes on where it was"
    assert "stopped before it had finished" in prompts(cli, "instructor")[1]


def test_what_is_typed_while_the_agent_works_waits_at_the_prompt(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", DONE, "Two.", DONE, work=1.0)) as terminal:
        terminal.shows("── worker")
        terminal.type("and then more")
        terminal.shows("What next?")
        terminal.shows("> and then more")
        terminal.enter(" of it")
        terminal.shows("What next?")
        terminal.enter("exit")
        assert terminal.ends() == 0
    assert prompts(cli, "instructor")[2] == "The person says:\nand then more of it"


def test_the_prompt_hears_another_terminal(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", DONE, "Two.", DONE)) as terminal:
        terminal.shows("What next?")
        assert cli.run("say", "last", "From elsewhere").code == 0
        terminal.shows("From elsewhere")
        terminal.shows("What next?")
        assert cli.run("stop", "last").code == 0
        assert terminal.ends() == 5
        assert terminal.is_cooked
    assert prompts(cli, "instructor")[2] == "The person says:\nFrom elsewhere"


def test_auto_asks_nobody(cli: CommandLine) -> None:
    with at_terminal(cli, turns("One.", DONE), "--auto") as terminal:
        assert terminal.ends() == 0
    assert prompts(cli, "worker") == ["One."]
