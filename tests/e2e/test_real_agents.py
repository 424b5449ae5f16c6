"""The five real agent programs in whole loops, through the command line, against a scripted model API on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.real_agents import (
    AGENTS,
    GONE_WITHIN,
    Desk,
    at_its_limit,
    broken,
    claims,
    open_desk,
    running,
    shell,
    until,
    writes,
)
from untildone.testing.modelapi import Fault, Step, Usage

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(180)]
TELL_TOKENS = ("claude", "codex", "gemini", "opencode")
TELL_COST = ("claude",)


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
    assert desk.api.turns[-1].time >= limit["until"]
    assert limit["until"] < time.time()
    assert "waiting until" in ran.errors


def test_a_key_that_is_refused_ends_in_one_sentence_with_a_hint(desk: Desk) -> None:
    desk.api.load([Step(status=401, headers={"x-should-retry": "false"}, repeat="forever")])
    ran = desk.run("Do it")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (6, "failed", 1)
    assert "401" in ran.errors
    assert f"hint: log in with {desk.agent} itself" in ran.errors
    assert "Traceback" not in ran.errors
    assert desk.happened("iteration_retry") == []


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
    assert running(token)
    stopped = desk.command("stop", "last", "--now")
    until(lambda: not desk.processes() and not running(token), "the whole tree to end", GONE_WITHIN)
    ran = desk.finish(runner)
    assert stopped.code == 0
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (5, "stopped", 1)
