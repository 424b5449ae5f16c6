"""The stop hook, run as agents run it: an isolated program that gets a stop or a prompt and answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine

from untildone import agents
from untildone.hosts.hook import program
from untildone.hosts.hook.prompts import SlashCommand, parse
from untildone.hosts.hook.transcripts import MOST_READ, TAIL, last_message

PROMISE = "<promise>COMPLETE</promise>"
CLAIM = f"Done.\n{PROMISE}"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Session:
    """An agent's session, as far as a hook can see it."""

    cli: CommandLine
    session_id: str = "11111111-2222-4333-8444-555555555555"
    agent: str = "claude"
    variables: Json = field(default_factory=dict)

    def hear(self, kind: str, seconds: float = 60, **fields: Any) -> Json:
        """What the hook answers to an event."""
        command = [sys.executable, "-I", "-S", program.__file__, self.agent, kind, str(seconds)]
        payload = {"session_id": self.session_id, "cwd": str(self.cli.workspace), **fields}
        ended = subprocess.run(
            command,
            input=json.dumps(payload).encode(),
            cwd="/",
            env={**self.cli.environment, **self.variables},
            capture_output=True,
            timeout=60,
        )
        assert ended.returncode == 0, ended.stderr
        answer: Json = json.loads(ended.stdout)
        return answer

    def say(self, prompt: str) -> Json:
        return self.hear("prompt", hook_event_name="UserPromptSubmit", prompt=prompt)

    def stop(self, message: str | None = "Not done.", seconds: float = 60, **fields: Any) -> Json:
        payload = {} if message is None else {"last_assistant_message": message}
        return self.hear("stop", seconds, hook_event_name="Stop", stop_hook_active=False, **payload, **fields)


@pytest.fixture
def session(cli: CommandLine) -> Session:
    return Session(cli)


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


def journal(cli: CommandLine) -> list[Json]:
    (file,) = (cli.workspace / ".loop").glob("**/execution.log.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def names(cli: CommandLine) -> list[str]:
    return [entry["event"] for entry in journal(cli)]


def test_without_a_loop_the_agent_stops_freely(session: Session) -> None:
    assert session.stop() == {}
    assert session.say("hello") == {}
    assert not (session.cli.workspace / ".loop").exists()


def test_a_prompt_begins_a_loop_and_says_how_to_claim(session: Session) -> None:
    answer = session.say('/until-done "make it; $(touch pwned)" --max-iterations 7 --check "test -f ok"')
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert "make it; $(touch pwned)" in context
    assert PROMISE in context
    assert "round 1/7" in answer["systemMessage"]
    shown = session.cli.shown()
    assert (shown["status"], shown["current_iteration"], shown["max_iterations"]) == ("running", 1, 7)
    assert shown["settings"]["checks"] == ["test -f ok"]
    assert not (session.cli.workspace / "pwned").exists()


def test_a_claim_is_held_until_the_check_passes(session: Session) -> None:
    session.say('/until-done "make it" --check "test -f ok"')
    not_yet = session.stop(CLAIM)
    assert not_yet["decision"] == "block"
    assert "test -f ok" in not_yet["reason"]
    assert "[System: This is iteration 2 of 5." in not_yet["reason"]
    (session.cli.workspace / "ok").touch()
    assert "every gate agrees" in session.stop(CLAIM)["systemMessage"]
    assert session.cli.loops[0]["outcome"] == "verified"
    assert names(session.cli).count("stop_hook_trigger") == 2
    assert names(session.cli).count("prompt_reinjected") == 1
    assert names(session.cli).count("task_complete") == 1
    (receipt,) = session.cli.workspace.glob(".loop/history/*/receipt.json")
    assert [gate["passed"] for gate in json.loads(receipt.read_text())["gates"]] == [True]
    assert session.stop(CLAIM) == {}, "a loop that has ended holds nobody"


def test_what_was_checked_at_an_earlier_stop_is_checked_again_if_it_changed(session: Session) -> None:
    """The supervisor is at its limit, so the agent may stop meanwhile."""
    place, script = session.cli.workspace, session.cli.home / "judge.json"
    script.write_text(json.dumps([{"fail": {"kind": "limit", "message": "usage limit", "reset_in": 3000}}]))
    (place / "SUPERVISOR.md").write_text("Look at the edges.")
    (place / "untildone.toml").write_text(
        f'review = true\nsupervisor = "judge"\n[profiles.judge]\nagent = "scripted"\nargs = ["--script", "{script}"]\n'
    )
    (place / "ok").touch()
    session.say('/until-done "make it" --check "test -f ok"')
    assert "its next stop goes on with the loop" in session.stop(CLAIM)["systemMessage"]
    assert "its next stop goes on with the loop" in session.stop(CLAIM)["systemMessage"]
    assert names(session.cli).count("gate_start") == 1, "what did not change is not checked again"
    (place / "ok").unlink()
    again = session.stop(CLAIM)
    assert again["decision"] == "block"
    assert "test -f ok" in again["reason"]


def test_the_budget_is_exact_and_can_be_raised_in_the_session(session: Session) -> None:
    session.say("/until-done make it --max-iterations 3")
    held = [session.stop(f"try {number}").get("decision") for number in range(4)]
    assert held == ["block", "block", None, None]
    assert session.cli.loops[0]["outcome"] == "budget"
    assert "round 4/5" in session.say("/until-done [r+2]")["systemMessage"]
    assert [session.stop(f"again {number}").get("decision") for number in range(3)] == ["block", None, None]
    assert session.cli.shown()["current_iteration"] == 5


def test_round_control_and_words_are_for_the_paused_loop_of_the_session(session: Session) -> None:
    session.say('/until-done make it --max-iterations 1 --check "test -f ok"')
    session.stop("Not yet.")
    answer = session.say("/until-done [r+2] and mind the docs")
    assert "goes on, round 2/3" in answer["systemMessage"]
    assert "and mind the docs" in answer["hookSpecificOutput"]["additionalContext"]
    assert [loop["title"] for loop in session.cli.loops] == ["make it"]


def test_the_budget_used_up_is_a_warning(session: Session) -> None:
    session.say("/until-done make it --max-iterations 1")
    assert "The budget is used up; the job is not done." in session.stop()["systemMessage"]
    assert session.stop() == {}, "it is said once"


def test_another_session_is_never_held(session: Session) -> None:
    session.say("/until-done make it")
    other = Session(session.cli, "another")
    assert other.stop() == {}
    assert session.stop()["decision"] == "block"


def test_two_sessions_have_a_loop_each(session: Session) -> None:
    other = Session(session.cli, "another")
    session.say("/until-done one thing --max-iterations 2")
    other.say("/until-done another thing --max-iterations 2")
    assert "one thing" in session.stop()["reason"]
    assert "another thing" in other.stop()["reason"]
    assert {loop["title"] for loop in session.cli.loops} == {"one thing", "another thing"}


def test_two_hooks_that_hear_the_same_begin_one_loop(session: Session) -> None:
    payload = json.dumps(
        {
            "session_id": "s",
            "cwd": str(session.cli.workspace),
            "hook_event_name": "UserPromptSubmit",
            "prompt": "/until-done x",
        }
    )
    command = [sys.executable, "-I", "-S", program.__file__, "claude", "prompt", "60"]
    pipes: Json = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": session.cli.environment}
    hooks = [subprocess.Popen(command, **pipes) for _ in range(2)]
    answers = [json.loads(hook.communicate(payload, timeout=60)[0]) for hook in hooks]
    assert sum("hookSpecificOutput" in answer for answer in answers) == 1
    assert len(session.cli.loops) == 1


def test_a_stop_that_was_answered_is_not_counted_again(session: Session) -> None:
    """Where the hook is installed twice, both get the same stop: the later one finds a turn that began after it."""
    session.say("/until-done x --max-iterations 5")
    command = [sys.executable, "-I", "-S", program.__file__, "claude", "stop", "60"]
    pipes: Json = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": session.cli.environment}
    late = subprocess.Popen(command, **pipes)
    assert late.stdin is not None
    late.stdin.write(" " * 1_000_000)  # more than a pipe holds: once this is through, the hook has started and reads
    assert session.stop()["decision"] == "block"
    payload = {"session_id": session.session_id, "cwd": str(session.cli.workspace), "hook_event_name": "Stop"}
    assert late.communicate(json.dumps(payload), timeout=60)[0].strip() == "{}"
    assert session.cli.shown()["current_iteration"] == 2


def test_an_agent_that_untildone_drives_is_left_alone(session: Session) -> None:
    session.say("/until-done x")
    driven = Session(session.cli, variables={"UNTILDONE_LOOP_ID": "loop-1"})
    assert driven.stop() == {}


def test_cancel_and_status_are_answered_at_once(session: Session) -> None:
    session.say("/until-done x")
    assert "round 1/5" in session.say("/until-done-status")["reason"]
    assert "stopped" in session.say("/until-done-cancel")["reason"]
    assert session.stop() == {}
    assert session.cli.loops[0]["outcome"] == "stopped"
    assert "no loop" in session.say("/until-done-cancel")["reason"]


def test_wrong_flags_go_no_further_than_to_the_person(session: Session) -> None:
    answer = session.say("/until-done x --max-iterations many")
    assert answer["decision"] == "block"
    assert "'many' is not a number of rounds" in answer["reason"]


def test_control_from_a_terminal_works_as_on_any_loop(cli: CommandLine) -> None:
    with subprocess.Popen(["sleep", "60"]) as agent:
        try:
            control_from_a_terminal(Session(cli, variables={"CLAUDE_PID": str(agent.pid)}))
        finally:
            agent.kill()


def control_from_a_terminal(session: Session) -> None:
    session.say("/until-done x --max-iterations 9")
    cli = session.cli
    assert cli.run("say", "last", "mind the gap").code == 0
    assert "mind the gap" in session.stop()["reason"]
    assert cli.run("budget", "last", "--iterations", "+1").code == 0
    assert "iteration 3 of 10" in session.stop("two")["reason"]
    refused = cli.run("resume", "last")
    assert (refused.code, "at work in the session" in refused.errors) == (2, True)
    assert cli.run("pause", "last").code == 0
    assert cli.shown()["status"] == "running", "a pause acts after the round"
    assert "Paused" in session.stop("three")["systemMessage"]
    assert cli.shown()["status"] == "paused"
    assert session.stop("four") == {}
    assert "round 4/10" in session.say("/until-done")["systemMessage"]
    assert cli.run("stop", "last", "--now").code == 0
    assert "Stopped by a person." in session.stop("five")["systemMessage"]
    assert session.stop("six") == {}


@pytest.mark.slow
def test_a_check_that_does_not_finish_in_time_fails_with_that_reason(session: Session) -> None:
    session.say('/until-done x --check "sleep 60"')
    began = time.monotonic()
    answer = session.stop(CLAIM, seconds=10)
    assert time.monotonic() - began < 20
    assert "did not finish within the" in answer["reason"]


def test_the_last_message_is_read_from_the_tail_of_the_transcript(session: Session, tmp_path: Path) -> None:
    session.say("/until-done x")
    transcript = tmp_path / "t.jsonl"
    with transcript.open("w") as file:
        for _ in range(20_000):
            file.write(json.dumps({"type": "user", "message": {"content": "y" * 400}}) + "\n")
        file.write(json.dumps(_assistant("Working on it.", "m1")) + "\n" + json.dumps(_assistant(CLAIM, "m2")) + "\n")
    assert "says it is done" in session.stop(None, transcript_path=str(transcript))["systemMessage"]


def _assistant(text: str, message_id: str) -> Json:
    return {"type": "assistant", "message": {"id": message_id, "content": [{"type": "text", "text": text}]}}


TRANSCRIPTS: dict[str, tuple[list[object], str]] = {
    "nothing": ([], ""),
    "last of two": ([_assistant("one", "a"), _assistant("two", "b")], "two"),
    "blocks of one message": ([_assistant("one", "a"), _assistant("two", "a")], "one\ntwo"),
    "before a prompt": ([_assistant("one", "a"), {"type": "user", "message": {"content": "go on"}}], ""),
    "a subagent's": ([_assistant("one", "a"), {**_assistant("two", "b"), "isSidechain": True}], "one"),
    "copilot": ([{"type": "assistant.message", "data": {"content": "hi"}}, {"type": "assistant.turn_end"}], "hi"),
    "rubbish": ([_assistant("one", "a"), "assistant", ["assistant"], {"type": "assistant", "message": 3}], "one"),
    "longer than what is read first": ([_assistant("x" * TAIL, "a")], "x" * TAIL),
    "two long blocks": (
        [_assistant("x" * TAIL, "a"), _assistant("y" * 3 * TAIL, "a")],
        f"{'x' * TAIL}\n{'y' * 3 * TAIL}",
    ),
    "before much that nobody said": ([_assistant("one", "a"), *[{"type": "mode", "mode": "z" * 999}] * 999], "one"),
    "longer than all that is read": ([_assistant("x" * MOST_READ, "a")], ""),
}


@pytest.mark.parametrize("case", TRANSCRIPTS)
def test_transcripts(case: str, tmp_path: Path) -> None:
    lines, expected = TRANSCRIPTS[case]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    agent = "copilot" if case == "copilot" else "claude"
    assert last_message(agents.hook_of(agent), str(path)) == expected


@pytest.mark.parametrize("off", range(-3, 4))
def test_a_message_is_whole_wherever_a_part_begins(off: int, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    last = json.dumps(_assistant("two", "b")) + "\n"
    filler = json.dumps({"mode": "x" * (TAIL - len(last) - len(json.dumps({"mode": ""})) - 1 + off)}) + "\n"
    first = json.dumps(_assistant("one", "b")) + "\n"
    path.write_text(first + filler + last)
    assert last_message(agents.hook_of("claude"), str(path)) == "one\ntwo"


def test_no_transcript_and_no_file() -> None:
    assert {last_message(agents.hook_of("claude"), path) for path in ("/no/such/file", "/", "")} == {""}


PROMPTS = {
    "/until-done fix it": SlashCommand("start", "fix it"),
    "/untildone:until-done fix it": SlashCommand("start", "fix it"),
    "until-done fix it": SlashCommand("start", "fix it"),
    '/until-done "fix it" --max-iterations 3': SlashCommand("start", "fix it", ("--max-iterations", "3")),
    "/until-done fix it, don't break --check 'a b'": SlashCommand("start", "fix it, don't break", ("--check", "a b")),
    "/until-done --check=true 'fix it'": SlashCommand("start", "fix it", ("--check=true",)),
    "/until-done the flag --verbose must work": SlashCommand("start", "the flag --verbose must work"),
    "/until-done two\nlines\n  indented": SlashCommand("start", "two\nlines\n  indented"),
    '/until-done "a" and "b"': SlashCommand("start", '"a" and "b"'),
    "/until-done": SlashCommand("start"),
    "/until-done-status": SlashCommand("status"),
    "/until-done-cancel  ": SlashCommand("cancel"),
    "/until-done-later": None,
    "what does /until-done do?": None,
    "": None,
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_prompts_are_taken_apart(prompt: str) -> None:
    assert parse(prompt) == PROMPTS[prompt]


def test_gemini_is_answered_in_its_own_form(cli: CommandLine) -> None:
    gemini = Session(cli, agent="gemini")
    answer = gemini.hear("prompt", hook_event_name="BeforeAgent", prompt="/until-done x --max-iterations 3")
    assert answer["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    stop: Json = {"hook_event_name": "AfterAgent", "prompt": "x"}
    assert gemini.hear("stop", prompt_response="a1 ", stop_hook_active=False, **stop)["decision"] == "deny"
    gemini.hear("stop", prompt_response="a1 \na2 ", stop_hook_active=True, **stop)
    answers = [entry["answer"]["text"] for entry in journal(cli) if entry["event"] == "iteration_complete"]
    assert [text.strip() for text in answers] == ["a1", "a2"], "each answer is only what is new"


def test_copilot_is_answered_in_its_own_form(cli: CommandLine, tmp_path: Path) -> None:
    transcript = tmp_path / "events.jsonl"
    transcript.write_text(json.dumps({"type": "assistant.message", "data": {"content": CLAIM}}) + "\n")
    copilot = Session(cli, agent="copilot")
    payload: Json = {"sessionId": copilot.session_id, "session_id": None}
    assert (
        "untildone"
        in copilot.hear("prompt", prompt="/until-done x --check 'test -f ok'", **payload)["additionalContext"]
    )
    stop: Json = {"transcriptPath": str(transcript), "stopReason": "end_turn", "stop_hook_active": False, **payload}
    assert copilot.hear("stop", **stop)["decision"] == "block"
    (cli.workspace / "ok").touch()
    assert "every gate agrees" in copilot.hear("stop", **stop)["systemMessage"]


def test_copilot_writes_its_transcript_behind_the_stop(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    message = {"type": "assistant.message", "data": {"content": "I am done."}}
    stop = {"type": "hook.start", "data": {"hookType": "agentStop", "input": {"timestamp": 1794782664007}}}

    def write_behind() -> None:
        for entry in (message, stop):
            with path.open("a") as file:
                file.write(json.dumps(entry, separators=(",", ":")) + "\n")

    late = threading.Timer(0.3, write_behind)
    late.start()
    assert last_message(agents.hook_of("copilot"), str(path), '"timestamp":1794782664007') == "I am done."
    late.join()


def test_phases_go_on_from_the_live_file(session: Session) -> None:
    session.say("/until-done build it --deep --max-iterations 9")
    live = session.cli.workspace / ".claude" / "ralph-delta.local.md"
    assert "Status: IN_PROGRESS" in live.read_text()
    answer = session.stop('Looked.\n{"phase_done": true, "summary": "Looked at it."}')
    assert "## Pending work" in answer["reason"]
    assert "[WHAT TO DO NOW]" in answer["reason"]
    assert "- Completed Phases: [1]" in live.read_text()


def test_secrets_do_not_reach_the_journal(cli: CommandLine) -> None:
    session = Session(cli, variables={"MY_API_KEY": "hunter2-hunter2"})
    session.say("/until-done x")
    session.stop("the key is hunter2-hunter2")
    (file,) = (cli.workspace / ".loop").glob("*/execution.log.jsonl")
    assert "hunter2" not in file.read_text()


def test_a_loop_that_somebody_drives_lets_go_and_says_so(session: Session) -> None:

    session.say("/until-done x")
    store = session.cli.store()
    with store.lease(store.find("last")):
        answer = session.stop()
    assert "already being driven" in answer["systemMessage"]
    assert "decision" not in answer


def test_hook_needs_nothing_but_its_file(tmp_path: Path) -> None:
    """Another working folder, an empty environment, a link to the interpreter."""
    command = [os.path.realpath(sys.executable), "-I", "-S", program.__file__, "claude", "stop"]
    ended = subprocess.run(command, input=b'{"session_id": "s"}', cwd=tmp_path, env={}, capture_output=True, timeout=30)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"{}\n", b"")


NEEDS = "Which database may I use?"


@pytest.mark.parametrize("mode", ["ralph", "phases"])
def test_an_agent_in_a_session_is_told_how_to_be_blocked_and_is_answered_there(session: Session, mode: str) -> None:
    begun = session.say(f'/until-done "connect it" --mode {mode}')
    assert "<blocked>what you need</blocked>" in begun["hookSpecificOutput"]["additionalContext"]
    sent_back = session.stop("I cannot.")
    assert sent_back["decision"] == "block"
    assert "<blocked>what you need</blocked>" in sent_back["reason"]
    blocked = session.stop(f"I cannot.\n<blocked>{NEEDS}</blocked>")
    assert NEEDS in blocked["systemMessage"]
    assert "until-done" in blocked["systemMessage"]
    shown = session.cli.shown()
    assert (shown["outcome"], shown["reason"], shown["current_iteration"]) == ("blocked", NEEDS, 2)
    assert NEEDS in session.cli.run("list").output
    answered = session.say("/until-done Use staging.")
    assert "Use staging." in answered["hookSpecificOutput"]["additionalContext"]
    again = session.cli.shown()
    assert (again["loop_id"], again["status"], again["current_iteration"]) == (shown["loop_id"], "running", 3)
