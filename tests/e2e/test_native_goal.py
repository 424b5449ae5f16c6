"""covers: `--native-goal`: the agent's own goal loop inside a turn, with gates, rounds and budget of untildone around it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.real_agents import Desk, open_desk, shell

from untildone.testing.modelapi import Step, ToolCall, Usage

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(420)]
ODD = Usage(input_tokens=1234, output_tokens=57)


def judged(*, reached: bool) -> Step:
    """What the model that judges Claude Code's goal says."""
    return Step(text=json.dumps({"ok": reached, "reason": "by the looks of it"}))


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Desk]:
    with open_desk("claude", tmp_path) as opened:
        yield opened


def test_a_goal_that_its_judge_believes_is_refused_by_the_check_and_the_loop_goes_on(claude: Desk) -> None:
    claude.api.load(
        [
            Step(text="It is done."),
            judged(reached=False),
            Step(text="Really done.", usage=ODD),
            judged(reached=True),
            Step(tools=(shell("claude", "echo the text > final.txt"),)),
            Step(text="Now it is there."),
            judged(reached=True),
        ]
    )

    ran = claude.run("Write final.txt", "--native-goal", "--check", "cat final.txt", "-r", "5")

    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "verified", 2), ran.errors
    assert len(claude.api.turns) == 7
    assert ran.end["spend"]["tokens"] == claude.api.usage_served.total_tokens
    answers = [end["answer"] for end in ran.of("iteration_complete")]
    assert [answer["text"] for answer in answers] == ["Really done.", "Now it is there."]
    assert len({answer["session_id"] for answer in answers}) == 1


@pytest.mark.parametrize("judge", [Step(text="what?"), Step(status=500, repeat="forever")], ids=["nonsense", "error"])
def test_a_judge_that_fails_ends_the_goal_and_proves_nothing(claude: Desk, judge: Step) -> None:
    claude.api.load([Step(text="It is done."), judge])
    ran = claude.run("Write final.txt", "--native-goal", "--check", "cat final.txt", "-r", "1")
    assert (ran.end["outcome"], ran.end["iterations"]) == ("budget", 1), ran.errors
    assert "gate: cat final.txt: failed" in ran.errors


def test_the_ninth_refusal_of_its_judge_ends_the_goal_and_the_budget_counts_every_request(claude: Desk) -> None:
    steps = [step for place in range(12) for step in (Step(text=f"Not done {place}."), judged(reached=False))]
    claude.api.load(steps)
    ran = claude.run("Write final.txt", "--native-goal", "--check", "cat final.txt", "-r", "1")
    assert (ran.end["outcome"], len(claude.api.turns)) == ("budget", 18), ran.errors
    assert ran.end["spend"]["tokens"] == claude.api.usage_served.total_tokens


def test_the_limit_of_dollars_ends_a_goal_and_is_exact(claude: Desk) -> None:
    steps = [step for _ in range(12) for step in (Step(text="Not done.", usage=ODD), judged(reached=False))]
    claude.api.load(steps)
    ran = claude.run("Do it", "--native-goal", "--check", "false", "-r", "5", "--max-cost", "0.02")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (3, "budget", 1), ran.errors
    assert ran.end["spend"]["tokens"] == claude.api.usage_served.total_tokens
    assert ran.end["spend"]["cost_usd"] >= 0.02
    assert not ran.of("gate_result")


REACHED = Step(tools=(ToolCall("update_goal", {"status": "complete"}),))
"""The worker of Codex says by itself that its goal is reached."""


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Desk]:
    with open_desk("codex", tmp_path) as opened:
        yield opened


def test_a_goal_that_codex_calls_complete_is_refused_by_the_check_and_the_loop_goes_on(codex: Desk) -> None:
    codex.api.load(
        [
            Step(text="A step."),
            Step(text="Another one.", usage=ODD),
            REACHED,
            Step(text="All is done."),
            Step(tools=(shell("codex", "echo the text > final.txt"),)),
            REACHED,
            Step(text="Now it is there."),
        ]
    )

    ran = codex.run("Write final.txt", "--native-goal", "--check", "cat final.txt", "-r", "5")

    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "verified", 2), ran.errors
    assert ran.end["spend"]["tokens"] == codex.api.usage_served.total_tokens
    answers = [end["answer"] for end in ran.of("iteration_complete")]
    assert [answer["text"] for answer in answers] == ["All is done.", "Now it is there."]
    assert len({answer["session_id"] for answer in answers}) == 1


def test_the_limit_of_tokens_ends_a_goal_of_codex_and_counts_every_request(codex: Desk) -> None:
    codex.api.load([Step(text="Not yet.", repeat="forever")])
    ran = codex.run("Do it", "--native-goal", "--check", "false", "-r", "5", "--max-tokens", "500")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (3, "budget", 1), ran.errors
    assert 500 <= ran.end["spend"]["tokens"] <= codex.api.usage_served.total_tokens
    assert not codex.processes()


def test_the_limit_of_dollars_ends_a_goal_of_codex(codex: Desk) -> None:
    (codex.workspace / "untildone.toml").write_text('[prices]\nscripted-model = "10 100"\ndate = "2026-11-01"\n')
    codex.api.load([Step(text="Not yet.", usage=ODD, repeat="forever")])
    message = (1234 * 10 + 57 * 100) / 1e6
    ran = codex.run("Do it", "--native-goal", "--check", "false", "-r", "5", "--max-cost", f"{2.5 * message:.6f}")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (3, "budget", 1), ran.errors
    assert ran.end["spend"]["cost_usd"] == pytest.approx(3 * message)
    assert codex.api.usage_served.total_tokens - ran.end["spend"]["tokens"] in (0, ODD.total_tokens)
    assert codex.happened("iteration_interrupted")[0]["priced"] == "2026-11-01"
