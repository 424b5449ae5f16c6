"""Dollars and tokens are counted message by message: a turn ends at the limit, and the sums are those of the model's API."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.real_agents import claims, open_desk, shell
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
        served = desk.api.usage_served.total_tokens
        assert ran.end["spend"]["tokens"] == served
        assert limit <= served <= limit + MESSAGE.total_tokens
        desk.api.load([claims()])
        assert desk.command("budget", "last", "--tokens", "=100000").code == 0
        more = desk.command("resume", "last", "--json")
        assert (more.code, more.end["outcome"]) == (0, "claimed"), more.errors
        assert more.end["spend"]["tokens"] == served + desk.api.usage_served.total_tokens


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
