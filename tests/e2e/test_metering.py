"""Dollars and tokens are counted message by message: a turn ends at the limit, and the sums are those of the model's API."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.e2e.real_agents import Desk, claims, open_desk, shell
from tests.e2e.real_agents import until as eventually
from tests.support.command_line import CommandLine, finish, until

from untildone.testing.modelapi import Step, Usage

MESSAGE = Usage(input_tokens=1000, output_tokens=57)


def test_a_turn_ends_at_the_limit_and_not_after_it(cli: CommandLine) -> None:
    steps = [{"usage": {"tokens": 400 * n}, "sleep": 0.4, "append": {"steps.txt": "x"}} for n in range(1, 9)]
    script = cli.script([*steps, {"say": "more is to be done"}])
    ended = cli.run("run", "--json", "--max-tokens", "1000", *script[:2], "Work", *script[2:])
    assert (ended.code, ended.records[-1]["outcome"]) == (3, "budget"), ended.errors
    assert ended.records[-1]["spend"]["tokens"] == 1200
    (cut,) = (record for record in ended.records if record["event"] == "iteration_interrupted")
    assert (cut["reason"], cut["usage"]["tokens"]) == ("budget", 1200)
    assert (cli.workspace / "steps.txt").read_text().count("x") < 5


def test_a_limit_that_is_raised_while_the_turn_runs_holds(cli: CommandLine) -> None:
    script = cli.script([{"usage": {"tokens": 600}, "sleep": 2}, {"usage": {"tokens": 1200}, "claim": True}])
    running = cli.start("run", "--json", "--max-tokens", "1000", *script[:2], "Work", *script[2:])
    until(lambda: any(loop["status"] == "running" for loop in cli.loops))
    assert cli.run("budget", "last", "--tokens", "=5000").code == 0
    ended = finish(running)
    assert (ended.code, ended.records[-1]["outcome"], ended.records[-1]["spend"]["tokens"]) == (0, "claimed", 1200)


@pytest.mark.real_agent
@pytest.mark.timeout(420)
@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_an_agent_that_tells_of_each_message_overshoots_by_one_at_most(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        work = Step(tools=(shell(agent, "sleep 0.5; echo x >> steps.txt"),), usage=MESSAGE)
        desk.api.load([*(work for _ in range(8)), claims()])
        limit = 3 * MESSAGE.total_tokens - 100
        ran = desk.run("Work", "--max-tokens", str(limit), "-r", "2")
        assert (ran.code, ran.end["outcome"]) == (3, "budget"), ran.errors
        spent = ran.end["spend"]["tokens"]
        # A message that the program began in the moment in which it was ended, it could not tell.
        assert desk.api.usage_served.total_tokens - spent in (0, MESSAGE.total_tokens)
        assert limit <= spent <= limit + MESSAGE.total_tokens
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
        working = desk.begin("Work", "-r", "1")
        eventually(begun.exists, "the tool of the agent")
        # A tool that has just begun may not be in the session yet.
        time.sleep(0.5)
        assert desk.command("budget", "last", "--iteration-timeout", "=0.1").code == 0
        ran = desk.finish(working)
        assert (ran.code, [cut["reason"] for cut in ran.of("iteration_interrupted")]) == (3, ["timeout"]), ran.errors
        if agent == "claude":
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
@pytest.mark.parametrize("agent", ["claude", "opencode"])
def test_dollars_overshoot_by_one_message_at_most(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        prices_of_opencode(desk, {"input": 4, "output": 20})
        work = Step(tools=(shell(agent, "sleep 0.5; echo x >> steps.txt"),), usage=MESSAGE)
        desk.api.load([*(work for _ in range(8)), claims()])
        message = (4 * MESSAGE.input_tokens + 20 * MESSAGE.output_tokens) / 1e6
        ran = desk.run("Work", "--max-cost", f"{2.5 * message:.6f}", "-r", "1")
        assert (ran.code, ran.end["outcome"]) == (3, "budget"), ran.errors
        told = ran.end["spend"]["tokens"] / MESSAGE.total_tokens
        assert told in (2, 3), told
        assert desk.api.usage_served.total_tokens / MESSAGE.total_tokens - told in (0, 1)
        assert told * message == pytest.approx(ran.end["spend"]["cost_usd"])


def prices_of_opencode(desk: Desk, prices: Mapping[str, float]) -> None:
    """Let opencode price the scripted model as Claude Code prices its own. Others have no such file."""
    file = desk.home / ".config" / "opencode" / "opencode.json"
    if file.exists():
        config = json.loads(file.read_text())
        for model in config["provider"]["scripted"]["models"].values():
            model["cost"] = prices
        file.write_text(json.dumps(config))


@pytest.mark.real_agent
@pytest.mark.timeout(420)
@pytest.mark.parametrize("agent", ["codex", "gemini"])
def test_an_agent_that_tells_only_at_the_end_stops_after_the_turn(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        work = Step(tools=(shell(agent, "echo x >> steps.txt"),), usage=MESSAGE)
        desk.api.load([*(work for _ in range(4)), Step(text="more is to be done", usage=MESSAGE)])
        ran = desk.run("Work", "--max-tokens", "1000", "-r", "3")
        assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (3, "budget", 1), ran.errors
        assert ran.end["spend"]["tokens"] == desk.api.usage_served.total_tokens


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
