"""The loop in a wrapped session: what the person asks is looked at whenever the agent stops, and nothing else is."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.hosts.wrapping import PATIENCE, Person
from tests.support.command_line import CommandLine, until
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
AGREES = "[TASK_COMPLETED {word}]"
MORE = "Add a test, please."


@pytest.fixture
def person(tmp_path: Path) -> Person:
    person = Person(CommandLine(tmp_path))
    person.has_agent()
    return person


@contextmanager
def session(person: Person, *words: str) -> Iterator[Terminal]:
    """A session with the supervisor that was set up; it is left in order."""
    with person.wraps(*words) as terminal:
        terminal.shows("session ", PATIENCE)
        yield terminal
        if terminal.code is None:
            terminal.enter("exit")
            assert terminal.ends(PATIENCE) == 0


def supervised(person: Person, *words: str) -> Any:
    return session(person, "--supervisor", "judge", *words)


def journal(person: Person) -> list[dict[str, Any]]:
    (file,) = (person.cli.workspace / ".loop").glob("**/execution.log.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def names(person: Person) -> list[str]:
    return [entry["event"] for entry in journal(person)]


def control(person: Person, *words: str) -> None:
    ended = person.cli.run(*words, patience=PATIENCE)
    assert ended.code == 0, ended.errors


def test_it_is_sent_back_until_the_supervisor_agrees_then_the_person_asks_on(person: Person) -> None:
    person.has_supervisor(MORE, "[TASK_COMPLETED {word}: Well done.]")
    with supervised(person) as terminal:
        terminal.enter("make a parser")
        terminal.shows("(untildone: the supervisor reviews)", PATIENCE)
        terminal.shows(f"sent back: {MORE}", PATIENCE)
        terminal.shows("told: untildone: Done, and every gate agrees. Well done.", PATIENCE)
        terminal.shows("your turn", PATIENCE)
        (loop,) = person.cli.loops
        assert (loop["status"], loop["current_iteration"], loop["mode"]) == ("running", 2, "supervise")
        terminal.enter("now the docs")
        terminal.shows("3 rounds)", PATIENCE)
        terminal.shows("your turn", PATIENCE)
    assert "untildone: Done, and every gate agrees. Well done." in terminal.text.rpartition("your turn")[2]
    (loop,) = person.cli.loops
    assert (loop["outcome"], loop["current_iteration"], loop["max_iterations"]) == ("verified", 3, 21)
    assert person.cli.shown()["asked"] == ["make a parser", "now the docs"]
    first, _, last = person.supervisor_was_asked
    assert "make a parser" in first
    assert "now the docs" in last
    assert MORE not in last, "what the supervisor said is nothing that the person asked"
    (receipt,) = person.cli.workspace.glob(".loop/history/*/receipt.json")
    assert [gate["passed"] for gate in json.loads(receipt.read_text())["gates"]] == [True]
    assert names(person).count("stop_hook_trigger") == 3


def test_checks_alone_can_decide(person: Person) -> None:
    with session(person, "--no-review", "--check", "test -f ok") as terminal:
        terminal.enter("make ok")
        terminal.shows("(untildone: the checks run)", PATIENCE)
        terminal.shows("sent back: ", PATIENCE)
        terminal.shows("test -f ok", PATIENCE)
        (person.cli.workspace / "ok").touch()
        terminal.shows("your turn", PATIENCE)
    assert person.cli.loops[0]["outcome"] == "verified"


def test_a_check_and_a_supervisor_must_both_agree(person: Person) -> None:
    person.has_supervisor(AGREES)
    with supervised(person, "--check", "test -f ok") as terminal:
        terminal.enter("make ok")
        terminal.shows("test -f ok", PATIENCE)
        (person.cli.workspace / "ok").touch()
        terminal.shows("your turn", PATIENCE)
    gates = {gate["gate"]: gate["passed"] for entry in journal(person)[-8:] for gate in entry.get("results", ())}
    assert gates == {"check": True, "review": True}


def test_what_changed_after_the_last_check_is_not_called_verified(person: Person) -> None:
    (person.cli.workspace / "ok").touch()
    with session(person, "--no-review", "--check", "test -f ok") as terminal:
        terminal.enter("make ok")
        terminal.shows("told: untildone: Done, and every gate agrees.", PATIENCE)
        terminal.shows("your turn", PATIENCE)
        (person.cli.workspace / "ok").unlink()
    shown = person.cli.shown()
    assert (shown["outcome"], "changed since it was checked" in shown["reason"]) == ("interrupted", True)


def test_used_up_rounds_let_it_stop_and_more_rounds_go_on_where_it_was(person: Person) -> None:
    person.has_supervisor(MORE, MORE, AGREES)
    with supervised(person, "-r", "1") as terminal:
        terminal.enter("make a parser")
        screen = terminal.shows("your turn", PATIENCE)
        assert f"Still asked for: {MORE} `[r+5]` goes on with five more rounds." in screen
        assert person.cli.loops[0]["outcome"] == "budget"
        terminal.enter("[r+5]")
        added = terminal.shows("your turn", PATIENCE)
        assert "Added 5 rounds. Remaining: 5" in added
        assert f"not for you.\n\n{MORE}" in added, "it is told what is still asked for"
        assert f"sent back: {MORE}" in added
    shown = person.cli.shown()
    assert (shown["outcome"], shown["current_iteration"], shown["max_iterations"]) == ("verified", 3, 6)
    assert shown["asked"] == ["make a parser"]


def test_what_is_asked_after_the_rounds_are_used_up_is_looked_at_once_more(person: Person) -> None:
    person.has_supervisor(MORE, AGREES)
    with supervised(person, "-r", "1") as terminal:
        terminal.enter("make a parser")
        terminal.shows("your turn", PATIENCE)
        terminal.enter("add a test")
        assert "Done, and every gate agrees" in terminal.shows("your turn", PATIENCE)
    assert person.cli.loops[0]["outcome"] == "verified"


def test_round_control_alone_goes_no_further_than_to_the_person(person: Person) -> None:
    person.has_supervisor(AGREES)
    with supervised(person) as terminal:
        terminal.enter("one")
        terminal.shows("your turn", PATIENCE)
        terminal.enter("[r=7]")
        terminal.shows("held: untildone: Set remaining rounds to: 7", PATIENCE)
        terminal.enter("[r+2] two")
        screen = terminal.shows("your turn", PATIENCE)
        assert "Added 2 rounds. Remaining: 9" in screen
        assert "is meant for untildone" in screen
    assert person.cli.shown()["asked"] == ["one", "two"]


def test_a_stop_from_outside_lets_it_stop_freely_from_then_on(person: Person) -> None:
    person.has_supervisor(AGREES)
    with supervised(person) as terminal:
        terminal.enter("one")
        terminal.shows("your turn", PATIENCE)
        control(person, "stop", "last")
        terminal.enter("two")
        terminal.shows("told: untildone: Stopped by a person.", PATIENCE)
        terminal.shows("your turn", PATIENCE)
        terminal.enter("three")
        assert "untildone: S" not in terminal.shows("your turn", PATIENCE)
    assert len(person.supervisor_was_asked) == 1
    assert [loop["outcome"] for loop in person.cli.loops] == ["stopped"]


def test_a_pause_from_outside_holds_until_the_person_goes_on(person: Person) -> None:
    person.has_supervisor(AGREES)
    with supervised(person) as terminal:
        terminal.enter("one")
        terminal.shows("your turn", PATIENCE)
        control(person, "pause", "last")
        terminal.enter("two")
        terminal.shows("`until-done` goes on in this session.", PATIENCE)
        terminal.shows("your turn", PATIENCE)
        assert len(person.supervisor_was_asked) == 1
        terminal.enter("until-done")
        terminal.shows("goes on, and has nothing left to do.", PATIENCE)
        terminal.enter("three")
        terminal.shows("your turn", PATIENCE)
        assert len(person.supervisor_was_asked) == 2


def test_what_is_said_from_another_terminal_reaches_it_with_the_next_prompt(person: Person) -> None:
    person.has_supervisor(AGREES)
    with supervised(person) as terminal:
        terminal.enter("one")
        terminal.shows("your turn", PATIENCE)
        control(person, "say", "last", "mind the gap")
        terminal.enter("two")
        screen = terminal.shows("your turn", PATIENCE)
        assert "The person said this from another terminal:\nmind the gap" in screen
    assert person.cli.shown()["asked"] == ["one", "mind the gap", "two"]


def test_a_loop_in_a_session_is_not_taken_out_of_it(person: Person) -> None:
    person.has_supervisor(AGREES)
    with supervised(person) as terminal:
        terminal.enter("one")
        terminal.shows("your turn", PATIENCE)
        refused = person.cli.run("resume", "last", patience=PATIENCE)
        assert (refused.code, "is at work in the session" in refused.errors) == (2, True)
        assert "in a session of the agent" in person.cli.run("list").output


def test_a_session_that_is_left_in_the_middle_goes_on_in_the_same_loop(person: Person) -> None:
    person.has_supervisor(AGREES)
    gate = person.cli.workspace / "go"
    with session(person, "--supervisor", "judge", "--check", f"while ! test -f {gate}; do sleep 0.1; done") as terminal:
        terminal.enter("one")
        terminal.shows("Answer 1.", PATIENCE)
        until(lambda: "stop_hook_trigger" in names(person), PATIENCE)
        session_id = terminal.text.split()[1]
        terminal.type("\x03")
        assert terminal.ends(PATIENCE) in (-2, 130)
    assert "resume" in terminal.text.rpartition("untildone: ")[2]
    assert person.cli.loops[0]["outcome"] == "interrupted"
    gate.touch()
    with session(person, "--supervisor", "judge", "claude", f"--resume={session_id}") as terminal:
        terminal.enter("two")
        terminal.shows("your turn", PATIENCE)
    (loop,) = person.cli.loops
    assert (loop["outcome"], loop["current_iteration"]) == ("verified", 2)
    assert person.cli.shown()["asked"] == ["one", "two"]


def test_the_persons_own_settings_of_the_agent_hold_as_well(person: Person) -> None:
    person.has_supervisor(AGREES)
    own = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo '{}'; touch own-hook"}]}]}}
    (person.cli.workspace / "own.json").write_text(json.dumps(own))
    with supervised(person, "claude", "--settings", "own.json") as terminal:
        terminal.enter("one")
        assert "every gate agrees" in terminal.shows("your turn", PATIENCE)
    assert (person.cli.workspace / "own-hook").exists()


def test_a_supervisor_that_fails_is_never_agreement(person: Person) -> None:
    person.has_supervisor(AGREES)
    (person.programs / "judge").write_text("#!/bin/sh\nexit 3\n")
    with supervised(person) as terminal:
        terminal.enter("one")
        assert "every gate agrees" not in terminal.shows("your turn", PATIENCE)
    assert person.cli.loops[0]["outcome"] == "failed"


def test_an_agent_that_goes_on_by_itself_is_looked_at_too(person: Person) -> None:
    """As when a task in the background ends: nobody asked, and there is something new to look at."""
    person.has_supervisor(AGREES)
    with supervised(person) as terminal:
        terminal.enter("one")
        terminal.shows("your turn", PATIENCE)
        session_id = terminal.text.split()[1]
        assert hook(person, "Stop", session_id, last_assistant_message="Answer 1.") == {}, "the same stop, told twice"
        answer = hook(person, "Stop", session_id, last_assistant_message="The build has ended.")
        assert "every gate agrees" in answer["systemMessage"]
    assert len(person.supervisor_was_asked) == 2


def test_feedback_that_comes_back_as_a_prompt_is_nothing_that_the_person_asked(person: Person) -> None:
    """Gemini CLI tells its hook so."""
    person.has_supervisor(MORE, AGREES)
    with supervised(person):
        assert hook(person, "UserPromptSubmit", "other", prompt="one") == {}
        assert hook(person, "Stop", "other", last_assistant_message="Done.")["reason"].startswith(MORE)
        assert hook(person, "UserPromptSubmit", "other", prompt=f"{MORE}\n") == {}
        assert "systemMessage" in hook(person, "Stop", "other", last_assistant_message="Now it is.")
    shown = person.cli.shown()
    assert (shown["asked"], shown["current_iteration"], shown["outcome"]) == (["one"], 2, "verified")


def test_what_was_asked_in_the_session_before_it_was_wrapped_is_looked_at_too(person: Person) -> None:
    person.has_supervisor(MORE, AGREES)
    record = person.cli.home / "record.jsonl"
    said = ("make a parser", "Stop hook feedback:\nx", "[r+2] go on")
    record.write_text("".join(json.dumps({"type": "user", "message": {"content": text}}) + "\n" for text in said))
    with supervised(person):
        hook(person, "UserPromptSubmit", "other", prompt="[r+2] go on")
        payload = {"last_assistant_message": "Done.", "transcript_path": str(record)}
        assert hook(person, "Stop", "other", **payload)["reason"].startswith(MORE)
        assert "systemMessage" in hook(person, "Stop", "other", **{**payload, "last_assistant_message": "Now it is."})
    for asked in person.supervisor_was_asked:
        assert "What the person asked:\ngo on\n\nIn the agent's own record of its session" in asked
        assert "takes nothing of it back:\n\nmake a parser\n\nThe agent's last message:" in asked
    assert names(person).count("session_read") == 1
    assert person.cli.shown()["asked"] == ["go on"]


def hook(person: Person, event: str, session_id: str, **fields: str) -> dict[str, Any]:
    """The hook of the run that is under way, as the agent would ask it."""
    (folder,) = person.folders_of_runs
    command = json.loads((folder / "settings.json").read_text())["hooks"][event][0]["hooks"][0]["command"]
    payload = {"session_id": session_id, "cwd": str(person.cli.workspace), "hook_event_name": event, **fields}
    ended = subprocess.run(
        command,
        shell=True,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        env=person.environment,
        timeout=PATIENCE,
    )
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer
