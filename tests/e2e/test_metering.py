"""Dollars and tokens are counted message by message: a turn ends at the limit, and the sums are those of the model's API."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.real_agents import AGENTS, Desk, claims, open_desk, shell
from tests.e2e.real_agents import until as eventually
from tests.support.command_line import CommandLine, finish, until

from untildone.testing.modelapi import Step, Usage

MESSAGE = Usage(input_tokens=1000, output_tokens=57, cache_read_tokens=300)
WAITS = "timeout 60 tail -f /dev/null"
"""Claude Code runs no `sleep` alone."""


def test_a_turn_ends_at_the_limit_and_not_after_it(cli: CommandLine) -> None:
    steps = [{"usage": {"tokens": 400 * n}, "sleep": 0.4, "append": {"steps.txt": "x"}} for n in range(1, 9)]
    script = cli.script([*steps, {"say": "more is to be done"}])
    ended = cli.run("run", "--json", "--max-tokens", "1000", *script[:2], "Work", *script[2:])
    assert (ended.code, ended.records[-1]["outcome"]) == (3, "budget"), ended.errors
    assert ended.records[-1]["spend"]["tokens"] == 1200
    (cut,) = (record for record in ended.records if record["event"] == "iteration_interrupted")
    assert (cut["reason"], cut["usage"]["tokens"]) == ("budget", 1200)
    (warned,) = (record for record in ended.records if record["event"] == "budget_warning")
    assert (warned["limit"], warned["used"]) == ("tokens", 800)
    assert (cli.workspace / "steps.txt").read_text().count("x") < 5


def test_what_a_turn_used_whose_runner_was_killed_is_counted(cli: CommandLine) -> None:
    first = {"usage": {"tokens": 600, "cost_usd": 0.5}, "sleep": 60}
    script = cli.script(first, {"usage": {"tokens": 70}, "claim": True})
    running = cli.start("run", *script[:2], "Work", *script[2:])
    until(lambda: any(entry["event"] == "usage_seen" for entry in cli.run("log", "--json").records))
    running.kill()
    running.communicate(timeout=30)
    ended = cli.run("resume", "last", "--json")
    assert (ended.code, ended.records[-1]["outcome"]) == (0, "claimed"), ended.errors
    spend = ended.records[-1]["spend"]
    assert (spend["tokens"], spend["cost_usd"], ended.records[-1]["iterations"]) == (670, 0.5, 2)
    assert spend["seconds"] > 0.2


RECORDING_GEMINI = """#!/bin/sh
cat > prompt
echo '{"type":"init","session_id":"s","model":"gemini-9"}'
chats="$HOME/.gemini/tmp/work/chats"
mkdir -p "$chats"
for arg in "$@"; do case "$arg" in --session-id=*) id="${arg#--session-id=}"; id="${id%%-*}";; esac; done
for n in 1 2 3 4; do
  tokens='{"input":1000,"output":57,"cached":300,"total":1057}'
  WRITE
done
echo '{"type":"message","role":"assistant","content":"more is to be done"}'
echo '{"type":"result","status":"success","stats":{"total_tokens":4228}}'
"""
"""A program that looks like Gemini CLI. It says at its end what it used."""
WRITES = """echo "{\\"type\\":\\"gemini\\",\\"id\\":\\"m$n\\",\\"tokens\\":$tokens}" >> "$chats/session-now-$id.jsonl"
  [ $n = 2 ] && sleep 60"""


@pytest.mark.parametrize(
    ("write", "spent", "told"),
    [
        pytest.param(WRITES, 2114, False, id="records each message"),
        pytest.param('echo \'{"another":"shape"}\' >> $chats/session-now-$id.jsonl', 4228, True, id="another shape"),
        pytest.param("true", 4228, True, id="records nothing"),
    ],
)
def test_a_program_is_metered_by_what_it_writes_beside_its_output(
    write: str, spent: int, told: bool, cli: CommandLine
) -> None:
    options = with_gemini(cli, RECORDING_GEMINI.replace("WRITE", write))
    ended = cli.run("run", "--agent", "gemini", "--max-tokens", "2000", "-r", "3", "Work", "--json", **options)
    assert (ended.code, ended.records[-1]["outcome"]) == (3, "budget"), ended.errors
    assert (ended.records[-1]["iterations"], ended.records[-1]["spend"]["tokens"]) == (1, spent)
    sentence = "gemini did not report what it uses while it worked: its limits are checked after each turn."
    assert ended.errors.count(sentence) == (1 if told else 0)


@pytest.mark.parametrize(
    ("price", "cost", "told"),
    [
        pytest.param("", 0.0, 1, id="unknown"),
        pytest.param('[prices]\n"gemini-9" = "10 50 1"\n', 4 * (700 * 10 + 57 * 50 + 300) / 1e6, 0, id="known"),
    ],
)
def test_a_model_without_a_price_is_named_and_its_tokens_are_in_the_receipt(
    price: str, cost: float, told: int, cli: CommandLine
) -> None:
    used = '"total_tokens":4228,"input_tokens":4000,"cached":1200'
    stats = f'"stats":{{{used},"models":{{"gemini-9":{{{used}}}}}}}'
    script = RECORDING_GEMINI.replace("WRITE", "true").replace('"stats":{"total_tokens":4228}', stats)
    (cli.workspace / "untildone.toml").write_text(price)
    ended = cli.run(
        "run", "--agent", "gemini", "--max-cost", "5", "-r", "1", "Work", "--json", **with_gemini(cli, script)
    )
    assert (ended.records[-1]["outcome"], ended.records[-1]["spend"]["tokens"]) == ("budget", 4228), ended.errors
    assert ended.records[-1]["spend"]["cost_usd"] == pytest.approx(cost)
    assert ended.errors.count("Price unknown: the model gemini-9 of gemini") == told, ended.errors
    assert cli.shown()["unpriced"] == (4228 if told else 0)


def with_gemini(cli: CommandLine, script: str) -> dict[str, Any]:
    """Options of `CommandLine.run` with which the script is Gemini CLI."""
    program = cli.home / "bin" / "gemini"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    path = f"{program.parent}:{cli.environment['PATH']}"
    return {"env": {**cli.environment, "PATH": path, "GEMINI_API_KEY": "test-key"}}


def test_a_limit_that_is_raised_while_the_turn_runs_holds(cli: CommandLine) -> None:
    script = cli.script([{"usage": {"tokens": 600}, "sleep": 2}, {"usage": {"tokens": 1200}, "claim": True}])
    running = cli.start("run", "--json", "--max-tokens", "1000", *script[:2], "Work", *script[2:])
    until(lambda: any(loop["status"] == "running" for loop in cli.loops))
    assert cli.run("budget", "last", "--tokens", "=5000").code == 0
    ended = finish(running)
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["spend"]["tokens"]) == (0, "claimed", 1200)


@pytest.mark.real_agent
@pytest.mark.timeout(420)
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_that_tells_of_each_message_overshoots_by_one_at_most(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        quick, long = (
            Step(tools=(shell(agent, command),), usage=MESSAGE) for command in ("echo x >> steps.txt", WAITS)
        )
        # opencode tells of a message when its tools have ended, and begins the next one at once. Others are ended in the tool.
        third = quick if agent == "opencode" else long
        desk.api.load([quick, quick, third, *(quick for _ in range(4)), claims()])
        limit = 3 * MESSAGE.total_tokens - 100
        ran = desk.run("Work", "--max-tokens", str(limit), "-r", "2")
        assert (ran.code, ran.end["outcome"]) == (3, "budget"), ran.errors
        spent = ran.end["spend"]["tokens"]
        assert spent == 3 * MESSAGE.total_tokens
        more_begun = (0, MESSAGE.total_tokens) if agent == "opencode" else (0,)
        assert desk.api.usage_served.total_tokens - spent in more_begun
        ((cut,), (opened,)) = desk.happened("iteration_interrupted"), desk.happened("session_opened")
        assert (cut["reason"], cut["usage"]["tokens"]) == ("budget", spent)
        desk.api.load([claims()])
        assert desk.command("budget", "last", "--tokens", "=100000").code == 0
        more = desk.command("resume", "last", "--json")
        assert (more.code, more.end["outcome"]) == (0, "claimed"), more.errors
        assert more.end["spend"]["tokens"] == spent + desk.api.usage_served.total_tokens
        assert "cut off, because the budget of this work was used up" in desk.api.turns[0].user_text
        assert desk.happened("session_opened") == [opened]


@pytest.mark.real_agent
@pytest.mark.timeout(420)
@pytest.mark.parametrize("agent", AGENTS)
def test_what_an_agent_used_before_its_runner_was_killed_counts_once(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        quick, long = (
            Step(tools=(shell(agent, command),), usage=MESSAGE) for command in ("echo x >> steps.txt", WAITS)
        )
        desk.api.load([quick, quick, long, claims()])
        working = desk.begin("Work", "--max-tokens", "1000000", "-r", "3")
        # opencode tells of a message when its tools have ended.
        known = (2 if agent == "opencode" else 3) * MESSAGE.total_tokens
        eventually(lambda: [seen for seen in desk.happened("usage_seen") if tokens_of(seen) == known], "the usage")
        working.kill()
        working.communicate(timeout=30)
        desk.api.load([claims()])
        more = desk.command("resume", "last", "--json")
        assert (more.code, more.end["outcome"]) == (0, "claimed"), more.errors
        assert more.end["spend"]["tokens"] == known + desk.api.usage_served.total_tokens


def tokens_of(seen: Mapping[str, Any]) -> int:
    return int(seen["so_far"]["usage"]["tokens"])


@pytest.mark.real_agent
@pytest.mark.timeout(420)
@pytest.mark.parametrize(
    ("agent", "own_note"),
    [
        ("claude", "[Request interrupted by user"),
        ("codex", "<turn_aborted>"),
    ],
)
def test_an_agent_at_a_limit_is_asked_to_finish_and_notes_it_in_its_session(
    agent: str, own_note: str, tmp_path: Path
) -> None:
    with open_desk(agent, tmp_path) as desk:
        begun = desk.workspace / "begun"
        desk.api.load([Step(tools=(shell(agent, f"touch {begun}; sleep 60"),), usage=MESSAGE), claims()])
        # With a limit of tokens, usage is known even if the program does not come to report it at its end.
        working = desk.begin("Work", "-r", "1", "--max-tokens", "1000000")
        eventually(begun.exists, "the tool of the agent")
        # A tool that has just begun may not be in the session yet.
        time.sleep(0.5)
        assert desk.command("budget", "last", "--iteration-timeout", "=0.1").code == 0
        ran = desk.finish(working)
        assert (ran.code, [cut["reason"] for cut in ran.of("iteration_interrupted")]) == (3, ["timeout"]), ran.errors
        assert ran.end["spend"]["tokens"] == desk.api.usage_served.total_tokens
        desk.api.load([claims()])
        assert desk.command("budget", "last", "--iteration-timeout", "none").code == 0
        more = desk.command("resume", "last", "-r", "+1", "--json")
        assert (more.code, more.end["outcome"]) == (0, "claimed"), more.errors
        (asked,) = desk.api.turns
        assert "cut off, because it took longer than a turn may take" in asked.user_text
        assert own_note in json.dumps(asked.body)


@pytest.mark.real_agent
@pytest.mark.timeout(420)
@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_dollars_overshoot_by_one_message_at_most(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        prices_of_opencode(desk, {"input": 4, "output": 20})
        (desk.workspace / "untildone.toml").write_text('[prices]\nscripted-model = "4 20"\ndate = "2026-11-01"\n')
        used = Usage(input_tokens=1000, output_tokens=57)
        quick, long = (Step(tools=(shell(agent, command),), usage=used) for command in ("echo x >> steps.txt", WAITS))
        desk.api.load([quick, quick, quick if agent == "opencode" else long, *(quick for _ in range(4)), claims()])
        message = (4 * used.input_tokens + 20 * used.output_tokens) / 1e6
        ran = desk.run("Work", "--max-cost", f"{2.5 * message:.6f}", "-r", "1")
        assert (ran.code, ran.end["outcome"]) == (3, "budget"), ran.errors
        told = ran.end["spend"]["tokens"] / used.total_tokens
        # Claude Code tells what a message read when it begins, and may be ended before it tells what the message wrote.
        assert 2 <= told <= 3, told
        assert 0 <= desk.api.usage_served.total_tokens / used.total_tokens - told <= 1
        dollars = ran.end["spend"]["cost_usd"]
        assert dollars == pytest.approx(told * message) if told in (2, 3) else 2 * message < dollars < 3 * message
        if agent == "codex":
            (cut,) = desk.happened("iteration_interrupted")
            assert cut["priced"] == "2026-11-01"


def prices_of_opencode(desk: Desk, prices: Mapping[str, float]) -> None:
    """Let opencode price the scripted model as Claude Code prices its own. Others have no such file."""
    file = desk.home / ".config" / "opencode" / "opencode.json"
    if file.exists():
        config = json.loads(file.read_text())
        for model in config["provider"]["scripted"]["models"].values():
            model["cost"] = prices
        file.write_text(json.dumps(config))


def test_another_model_and_then_another_agent_take_over(cli: CommandLine) -> None:
    script = cli.script({"say": "the same", "repeat": "forever"})
    (cli.workspace / "untildone.toml").write_text('[profiles.other]\nagent = "command"\ncommand = "echo other"\n')
    flags = ("--escalate", "strong,other", "--escalate-after", "1", "-r", "3")
    ended = cli.run("run", "--json", *script[:2], *flags, "Work", *script[2:])
    taken = [record for record in ended.records if record["event"] == "escalated"]
    assert [(each["profile"], each["model"]) for each in taken] == [("scripted", "strong"), ("other", None)]
    starts = [record["profile"] for record in ended.records if record["event"] == "iteration_start"]
    assert starts == ["scripted", "scripted", "other"], ended.errors
    assert "no progress: scripted with strong takes over" in ended.errors
    assert cli.run("log", "--output", "3").output == "other\n"
