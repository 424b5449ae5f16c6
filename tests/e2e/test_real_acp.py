"""covers: real agent programs over the Agent Client Protocol in whole loops, against a scripted model API on loopback."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.e2e.real_agents import (
    ACP_AGENTS,
    GONE_WITHIN,
    Desk,
    at_its_limit,
    claims,
    open_desk,
    shell,
    until,
    writes,
)

from untildone.core.values.codec import epoch
from untildone.testing.modelapi import Fault, Step, Usage

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(420)]
RESUME = ("acp:codex", "acp:copilot", "acp:opencode")
TELL_TOKENS = ("acp:codex", "acp:copilot", "acp:gemini")
TELL_COST = ("acp:gemini",)
"""By the table of prices."""


@pytest.fixture(params=ACP_AGENTS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    with open_desk(request.param, tmp_path) as opened:
        yield opened


def test_claims_too_early_is_told_so_and_is_verified(desk: Desk) -> None:
    draft, final = desk.workspace / "draft.txt", desk.workspace / "final.txt"
    odd = Usage(input_tokens=1234, output_tokens=57)
    desk.api.load(
        [
            Step(tools=(writes(desk.agent, draft, "a draft"),), usage=odd),
            Step(text="There is a draft; more is to be done.", usage=odd),
            claims("All is there."),
            Step(tools=(shell(desk.agent, "echo the final text > final.txt"),)),
            claims("Now it is there."),
        ]
    )

    ran = desk.run("Write final.txt", "--check", "echo looking for it; cat final.txt")

    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "verified", 3), ran.errors
    assert (draft.read_text().strip(), final.read_text().strip()) == ("a draft", "the final text")
    sessions = [end["answer"]["session_id"] for end in ran.of("iteration_complete")]
    # Rounds 1 and 2 have one process; the claim of round 2 went to the gates, and round 3 has another.
    assert len(set(sessions)) == (1 if desk.agent in RESUME else 2)
    assert [start["session"] for start in ran.of("iteration_start")][1] == "resume"
    assert "There is a draft; more is to be done." in json.dumps(desk.api.turns[2].body)
    last = desk.api.turns[-1]
    assert "cat final.txt" in last.user_text
    assert "looking for it" in last.user_text
    assert ("There is a draft; more is to be done." in json.dumps(last.body)) is (desk.agent in RESUME)
    spent = ran.end["spend"]
    assert spent["tokens"] == (desk.api.usage_served.total_tokens if desk.agent in TELL_TOKENS else 0)
    assert (spent["cost_usd"] > 0) is (desk.agent in TELL_COST)
    shown = desk.start("log", "last", "--output", "3").communicate(timeout=60)[0]
    assert "execute" in shown
    assert "Now it is there." in shown


def test_goes_on_after_the_runner_was_killed_and_nothing_is_left(desk: Desk) -> None:
    desk.api.load([Step(text="A first step."), Step(fault=Fault.HANG, seconds=300)])
    runner = desk.begin("Do it", "-r", "3")
    until(lambda: len(desk.api.turns) == 2, "the second iteration's request")
    assert desk.processes()
    runner.kill()
    until(lambda: not desk.processes(), "the agent to end", GONE_WITHIN)
    runner.communicate()

    desk.api.load([claims()])
    ran = desk.command("resume", "last", "--json")

    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "claimed", 3), ran.errors
    assert ("A first step." in json.dumps(desk.api.turns[-1].body)) is (desk.agent in RESUME)


def test_a_killed_agent_is_asked_again(desk: Desk) -> None:
    desk.api.load([Step(text="A first step."), Step(fault=Fault.HANG, seconds=300), claims()])
    runner = desk.begin("Do it", "-r", "2")
    until(lambda: len(desk.api.turns) == 2, "the second iteration's request")
    for pid in desk.processes():
        if pid != runner.pid:
            # One of them may end with another.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    ran = desk.finish(runner)
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "claimed", 2), ran.errors
    (again,) = desk.happened("iteration_retry")
    assert again["failure"]["kind"] == "crashed"
    assert not desk.processes()


def test_pause_now_ends_the_turn_and_resume_goes_on(desk: Desk) -> None:
    desk.api.load([Step(text="A first step."), Step(fault=Fault.HANG, seconds=300)])
    runner = desk.begin("Do it", "-r", "3")
    until(lambda: len(desk.api.turns) == 2, "the second iteration's request")
    paused = desk.command("pause", "--now", "last", "--json")
    assert paused.code == 0, paused.errors
    ran = desk.finish(runner)
    assert ran.end["outcome"] == "paused", ran.errors
    until(lambda: not desk.processes(), "the agent to end", GONE_WITHIN)

    desk.api.load([claims()])
    more = desk.command("resume", "last", "--json")
    assert (more.code, more.end["outcome"]) == (0, "claimed"), more.errors


def test_waits_for_a_limit_and_takes_no_iteration_for_it(desk: Desk) -> None:
    limited, told = at_its_limit(desk.agent, 4), {"message": "Rate limit reached. Please try again in 4s."}
    desk.api.load([replace(limited, error={**limited.error, **told}), claims()])
    ran = desk.run("Do it", "-r", "1")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (0, "claimed", 1), ran.errors
    (limit,) = ran.of("limit_reached")
    assert (limit["profile"], limit["level"]) == (desk.agent, "WARN")
    assert desk.api.turns[-1].time >= epoch(limit["until"])
    assert epoch(limit["until"]) < time.time()


def test_a_key_that_is_refused_blocks_with_one_sentence_and_a_hint(desk: Desk) -> None:
    refused = Step(
        status=401, headers={"x-should-retry": "false"}, error={"message": "Invalid API key."}, repeat="forever"
    )
    desk.api.load([refused])
    ran = desk.run("Do it")
    assert (ran.code, ran.end["outcome"], ran.end["iterations"]) == (8, "blocked", 1), ran.errors
    assert f"hint: log in with {desk.agent} itself" in ran.errors
    (again,) = desk.happened("iteration_retry")
    assert again["failure"]["kind"] == "auth"


@pytest.mark.parametrize("permissions", ["edit", "read"])
def test_what_is_not_permitted_is_not_done(desk: Desk, permissions: str) -> None:
    written, ran_file = desk.workspace / "written.txt", desk.workspace / "ran.txt"
    desk.api.load(
        [
            Step(tools=(writes(desk.agent, written, "text"),)),
            Step(tools=(shell(desk.agent, "echo ran > ran.txt"),)),
            claims(),
        ]
    )
    ran = desk.run("Do it", "-r", "1", "--permissions", permissions)
    assert ran.code == 0, ran.errors
    # Codex writes by its shell alone, in a sandbox of its own that does not work with a home below /tmp.
    assert written.exists() is (permissions == "edit" and desk.agent != "acp:codex")
    assert not ran_file.exists()


def test_works_in_its_box(desk: Desk) -> None:
    desk.api.load([Step(tools=(shell(desk.agent, "echo boxed > boxed.txt"),)), claims()])
    ran = desk.run("Do it", "--sandbox", "on", "--check", "cat boxed.txt")
    assert (ran.code, ran.end["outcome"]) == (0, "verified"), ran.errors
