"""The five real agent programs in whole loops, through the command line, against a scripted model API on loopback."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.e2e.real_agents import (
    AGENTS,
    GONE_WITHIN,
    Desk,
    at_its_limit,
    bin_folder,
    broken,
    claims,
    open_desk,
    running,
    shell,
    until,
    writes,
)

from untildone.core.values.codec import epoch
from untildone.testing.modelapi import Fault, Step, Usage

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(420)]
TELL_TOKENS = ("claude", "codex", "copilot", "gemini", "opencode")
TELL_COST = ("claude", "gemini")
"""The latter by the table of prices."""


@pytest.fixture(params=AGENTS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(request.param, tmp_path) as opened:
        yield opened


def test_claims_too_early_is_told_so_and_is_verified_in_the_same_session(desk: Desk) -> None:
    draft, final = desk.workspace / "draft.txt", desk.workspace / "final.txt"
    odd = Usage(input_tokens=1234, output_tokens=57)
    desk.api.load(
        [
            Step(tools=(writes(desk.agent, draft, "a draft"),), usage=odd),
            Step(text="There is a draft; more is to be done.", usage=odd),
            claims("All is there."),
            Step(tools=(writes(desk.agent, final, "the final text"),)),
            claims("Now it is there."),
        ]
    )

    ran = desk.run("Write final.txt", "--check", "echo looking for it; cat final.txt")

    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "verified", 3), ran.errors
    assert draft.read_text().strip() == "a draft"
    assert final.read_text().strip() == "the final text"
    (opened,) = ran.of("session_opened")
    starts = ran.of("iteration_start")
    assert [start["session"] for start in starts] == ["new", "resume", "resume"]
    assert [start["session_id"] for start in starts[1:]] == [opened["session_id"]] * 2
    assert [end["answer"]["session_id"] for end in ran.of("iteration_complete")] == [opened["session_id"]] * 3
    last = desk.api.turns[-1]
    assert "cat final.txt" in last.user_text
    assert "looking for it" in last.user_text
    assert "There is a draft; more is to be done." in json.dumps(last.body)
    spent = ran.end["spend"]
    assert spent["tokens"] == (desk.api.usage_served.total_tokens if desk.agent in TELL_TOKENS else 0)
    assert (spent["cost_usd"] > 0) is (desk.agent in TELL_COST)


def test_goes_on_in_its_session_after_the_runner_was_killed(desk: Desk) -> None:
    desk.api.load([Step(text="A first step."), Step(fault=Fault.HANG, seconds=300)])
    runner = desk.begin("Do it", "-r", "3")
    until(lambda: len(desk.api.turns) == 2, "the second iteration's request")
    assert desk.processes()
    served = desk.api.usage_served.total_tokens
    runner.kill()
    until(lambda: not desk.processes(), "the agent to end", GONE_WITHIN)
    runner.communicate()

    desk.api.load([claims()])
    ran = desk.command("resume", "last", "--json")

    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "claimed", 3), ran.errors
    (opened,) = desk.happened("session_opened")
    starts = desk.happened("iteration_start")
    assert [(start["iteration"], start["attempt"]) for start in starts] == [(1, 1), (2, 1), (3, 1)]
    assert [start["session_id"] for start in starts[1:]] == [opened["session_id"]] * 2
    assert "A first step." in json.dumps(desk.api.turns[-1].body)
    if desk.agent in TELL_TOKENS:
        assert ran.end["spend"]["tokens"] == served + desk.api.usage_served.total_tokens


def test_waits_for_a_limit_and_takes_no_iteration_for_it(desk: Desk) -> None:
    desk.api.load([at_its_limit(desk.agent, 4), claims()])
    ran = desk.run("Do it", "-r", "1")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "claimed", 1), ran.errors
    (limit,) = ran.of("limit_reached")
    assert (limit["profile"], limit["level"]) == (desk.agent, "WARN")
    turns = ran.of("iteration_complete")
    assert turns[0]["answer"]["failure"]["kind"] == "limit"
    assert {turn["iteration"] for turn in turns} == {1}
    assert desk.api.turns[-1].time >= epoch(limit["until"])
    assert epoch(limit["until"]) < time.time()
    assert "waiting until" in ran.errors


def test_a_key_that_is_refused_blocks_with_one_sentence_and_a_hint(desk: Desk) -> None:
    desk.api.load([Step(status=401, headers={"x-should-retry": "false"}, repeat="forever")])
    ran = desk.run("Do it")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (8, "blocked", 1)
    assert "401" in ran.errors
    assert f"hint: log in with {desk.agent} itself" in ran.errors
    assert "Traceback" not in ran.errors
    (again,) = desk.happened("iteration_retry")
    assert again["failure"]["kind"] == "auth", "the round is kept for the time after the login"


@pytest.mark.parametrize("verb", ["resume", "retry"])
def test_a_login_that_expires_blocks_and_after_a_new_one_the_same_session_goes_on(desk: Desk, verb: str) -> None:
    expired = Step(status=401, headers={"x-should-retry": "false"}, repeat="forever")
    desk.api.load([Step(text="A first step."), expired])
    ran = desk.run("Do it", "-r", "3")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (8, "blocked", 2), ran.errors
    assert f"hint: log in with {desk.agent} itself" in ran.errors

    desk.api.load([claims()])
    more = desk.command(verb, "last", "--json")

    assert (more.code, more.end["outcome"], more.end["iterations"]) == (0, "claimed", 2), more.errors
    (opened,) = desk.happened("session_opened")
    starts = desk.happened("iteration_start")
    assert [start["iteration"] for start in starts] == [1, 2, 2]
    assert [start["session_id"] for start in starts[1:]] == [opened["session_id"]] * 2
    assert "A first step." in json.dumps(desk.api.turns[-1].body)


def test_a_broken_stream_is_tried_again_inside_the_iteration(desk: Desk) -> None:
    desk.api.load([broken(desk.agent)])
    runner = desk.begin("Do it", UNTILDONE_RETRY_DELAY="1")
    until(lambda: desk.happened("iteration_retry"), "a retry")
    desk.api.load([claims()])
    ran = desk.finish(runner)
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "claimed", 1), ran.errors
    assert {retry["iteration"] for retry in ran.of("iteration_retry")} == {1}


def test_stop_now_leaves_nothing_of_the_whole_tree(desk: Desk) -> None:
    token = f"300.{time.time_ns()}"
    desk.api.load([Step(tools=(shell(desk.agent, f"touch started; sleep {token}"),)), claims()])
    runner = desk.begin("Do it")
    until((desk.workspace / "started").exists, "the agent's tool")
    until(lambda: running(token), "its sleep")
    stopped = desk.command("stop", "last", "--now")
    until(lambda: not desk.processes() and not running(token), "the whole tree to end", GONE_WITHIN)
    ran = desk.finish(runner)
    assert stopped.code == 0
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (5, "stopped", 1)


def test_an_endless_loop_of_the_program_ends_at_the_iteration_timeout(tmp_path: Path) -> None:
    with open_desk("opencode", tmp_path) as desk:
        desk.api.load([Step(fault=Fault.GARBAGE, repeat="forever")])
        ran = desk.run("Do it", "-r", "1", "--iteration-timeout", "12")
        assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (3, "budget", 1), ran.errors
        assert [event["reason"] for event in ran.of("iteration_interrupted")] == ["timeout"]
        assert not desk.processes()


def test_leave_to_look_only_changes_nothing(desk: Desk) -> None:
    written, touched = desk.workspace / "written.txt", desk.workspace / "touched.txt"
    tools = (writes(desk.agent, written, "x"), shell(desk.agent, f"touch '{touched}'"))
    desk.api.load([*(Step(tools=(tool,)) for tool in tools), claims()])
    ran = desk.run("Do it", "--permissions", "read", "-r", "1")
    assert ran.code == 0, ran.errors
    assert [file.name for file in desk.workspace.iterdir()] == [".loop"]


@pytest.mark.parametrize("agent", ["claude", "copilot", "gemini"])
def test_leave_to_edit_is_none_for_the_shell(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        written, touched = desk.workspace / "written.txt", desk.workspace / "touched.txt"
        tools = (writes(agent, written, "x"), shell(agent, f"bash -c 'echo > {touched}'"))
        desk.api.load([*(Step(tools=(tool,)) for tool in tools), claims()])
        ran = desk.run("Do it", "--permissions", "edit", "-r", "1")
        assert ran.code == 0, ran.errors
        assert (written.exists(), touched.exists()) == (True, False)


# Where a program keeps its conversations.
CONVERSATIONS = {"claude": ".claude/projects", "codex": ".codex/sessions", "opencode": ".local/share/opencode"}


@pytest.mark.parametrize("agent", CONVERSATIONS)
def test_a_supervisor_knows_the_work_and_leaves_the_conversation_as_it_was(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        (desk.workspace / "SUPERVISOR.md").write_text("Be strict about spelling.\n")
        keep = f"rm -rf '{tmp_path}/before' && cp -r '{desk.home / CONVERSATIONS[agent]}' '{tmp_path}/before'"
        asked = "What the person asked"
        desk.api.load(
            [
                Step(text="Not quite: mend the spelling.", match=asked),
                Step(text="[TASK_COMPLETED {word}]", match=asked),
                Step(text="I wrote it."),
                Step(text="The spelling is mended."),
            ]
        )

        seen = ("--allow-read", str(desk.home / CONVERSATIONS[agent]), "--allow-write", str(tmp_path))
        (desk.home / CONVERSATIONS[agent]).mkdir(parents=True, exist_ok=True)
        ran = desk.run("Write a poem", "--mode", "supervise", "--check", keep, *seen)

        assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "verified", 2), ran.errors
        _, first_copy, again, second_copy = desk.api.turns
        assert [asked in turn.user_text for turn in desk.api.turns] == [False, True, False, True]
        assert "Be strict about spelling." in json.dumps(second_copy.body)
        assert "I wrote it." in json.dumps(first_copy.body)
        assert "Not quite: mend the spelling." in again.user_text
        assert asked not in json.dumps(again.body)
        (own,) = {event["session_id"] for event in ran.of("session_opened") if event["role"] == "worker"}
        uses = [event["session"] for event in ran.of("consultation_start")]
        assert uses == ["new" if agent == "opencode" else "fork"] * 2, "nobody can vouch for opencode's transcript"
        copies = {event["answer"]["session_id"] for event in ran.of("consultation_complete")}
        assert len(copies) == 2
        assert own not in copies
        assert conversation(agent, desk.home / CONVERSATIONS[agent], own) == conversation(
            agent, tmp_path / "before", own
        )
        assert ran.end["spend"]["tokens"] == desk.api.usage_served.total_tokens


def conversation(agent: str, folder: Path, session: str) -> object:
    """All that the program has kept of a session."""
    if agent != "opencode":
        (file,) = folder.rglob(f"*{session}.jsonl")
        return file.read_text()
    with closing(sqlite3.connect(folder / "opencode.db")) as database:
        kept = database.execute("select * from message where session_id = ? order by id", (session,)).fetchall()
    assert kept
    return kept


NASTY = """--version -p "double" 'single' $(touch made-by-a-shell) `touch made-by-a-shell` %s {x} \\n $HOME; false
a second line: somebody@example.org @missing.txt /etc <tag> & | > made-by-a-shell
\ttab, “quotes”, ünïcödé 🎉
"""


def test_a_prompt_arrives_whole_whatever_it_holds(desk: Desk) -> None:
    task = NASTY + ("x" * 78 + "\n") * 1900 + "and that is the end of it"
    (desk.folder / "task.txt").write_text(task)
    # Now and then Gemini CLI ends before it has printed all of a prompt that it repeats; then it is asked once more in the same round.
    desk.api.load([Step(text="There is more to do."), replace(claims(), repeat="forever")])
    flags = ("--json", "--agent", desk.agent, "--file", str(desk.folder / "task.txt"))
    ran = desk.command("run", *flags)
    assert (ran.code, ran.end["iterations"] in (1, 2)) == (0, True), ran.errors
    asked = [task in turn.user_text for turn in desk.api.turns]
    assert asked == [True] * max(2, len(asked))
    assert [file.name for file in desk.workspace.iterdir()] == [".loop"]


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "gemini"])
def test_a_prompt_is_no_command_of_the_program(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        desk.api.load([claims()])
        ran = desk.run("/clear the air")
        assert (ran.code, ran.end["iterations"]) == (0, 1), ran.errors
        assert desk.api.turns[0].user_text.strip().startswith("/clear the air")


MODELS = {"gemini": "gemini-2.5-pro", "opencode": "scripted/another-model"}
EXTRA = {
    "claude": ("--append-system-prompt=remember the milk",),
    "codex": ("--config=developer_instructions='remember the milk'",),
    "copilot": ("--available-tools=bash",),
    "gemini": ("--include-directories={home}",),
    "opencode": ("--agent=plan",),
}


def shows_extra_arguments(desk: Desk) -> bool:
    sent = desk.api.turns[0].body
    match desk.agent:
        case "copilot":
            return [tool["function"]["name"] for tool in sent["tools"]] == ["bash"]
        case "gemini":
            return str(desk.home) in json.dumps(sent)
        case "opencode":
            return "plan mode" in json.dumps(sent).lower()
        case _:
            return "remember the milk" in json.dumps(sent)


def test_a_profile_brings_model_arguments_and_environment_and_keeps_its_secret(desk: Desk) -> None:
    secret = "sk-" + "s3cr3t" * 6
    allow_another_model(desk)
    arguments = [argument.format(home=desk.home) for argument in EXTRA[desk.agent]]
    config = desk.home / ".config" / "untildone" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"""
        [profiles.mine]
        agent = "{desk.agent}"
        model = "{MODELS.get(desk.agent, "another-model")}"
        args = {json.dumps(arguments)}
        env = {{ SERVICE_PASSWORD = "{secret}" }}
        """
    )
    tell = f"printf '%s' \"$SERVICE_PASSWORD\" > '{desk.folder}/told'; echo \"it is $SERVICE_PASSWORD\""
    steps = [claims(f"It is {secret}.")]
    desk.api.load([Step(tools=(shell(desk.agent, tell),)), *steps] if desk.agent != "opencode" else steps)

    ran = desk.command("run", "Tell it", "--agent", "mine", "--json", "--allow-write", str(desk.folder))

    assert (ran.code, ran.end["outcome"]) == (0, "claimed"), ran.errors
    sent = desk.api.turns[0]
    assert MODELS.get(desk.agent, "another-model").rpartition("/")[2] in (sent.body.get("model") or sent.path)
    assert shows_extra_arguments(desk)
    if desk.agent != "opencode":
        assert (desk.folder / "told").read_text() == secret
    kept = [file for file in (desk.workspace / ".loop").rglob("*") if file.is_file()]
    assert kept
    assert [file for file in kept if secret.encode() in file.read_bytes()] == []
    assert secret not in ran.errors
    assert secret not in json.dumps(ran.events)


def allow_another_model(desk: Desk) -> None:
    """opencode knows only the models that its configuration names."""
    if desk.agent == "opencode":
        file = desk.home / ".config" / "opencode" / "opencode.json"
        file.write_text(file.read_text().replace('"scripted-model": {', '"another-model": {}, "scripted-model": {'))


def test_flags_after_the_dashes_reach_the_program(tmp_path: Path) -> None:
    with open_desk("claude", tmp_path) as desk:
        desk.api.load([claims()])
        ran = desk.run("Do it", "--model", "another-model", "--", *EXTRA["claude"])
        assert ran.code == 0, ran.errors
        assert desk.api.turns[0].body["model"] == "another-model"
        assert shows_extra_arguments(desk)


def test_agents_lists_the_program_and_check_asks_it_for_a_word(desk: Desk) -> None:
    listed = {line["name"]: line for line in desk.command("agents", "--json").events}
    version = bin_folder(desk.agent).parents[1].name.removeprefix(f"{desk.agent}-")
    assert (listed[desk.agent]["found"], listed[desk.agent]["version"]) == (True, version)
    assert [name for name in AGENTS if listed[name]["found"]] == [desk.agent]

    desk.api.load([Step(text="OK")])
    (told,) = desk.command("agents", "check", desk.agent, "--json").events
    assert (told["ok"], told["text"]) == (True, "OK"), told
    assert desk.api.turns[0].user_text.strip().strip('"') == "Say OK."
    assert list(desk.workspace.iterdir()) == []


def test_agents_check_tells_why_a_program_does_not_work(tmp_path: Path) -> None:
    with open_desk("claude", tmp_path) as desk:
        desk.api.load([Step(status=401, repeat="forever")])
        ran = desk.command("agents", "check", "claude")
        assert ran.code == 6
        assert "claude does not work (auth)" in ran.errors
        assert "hint: log in with claude itself" in ran.errors
