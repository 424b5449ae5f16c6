"""Real agent programs at the edges: a killed launcher, a subscriber's limit, a goal in a session that is forked."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.e2e.real_agents import Desk, claims, open_desk, shell, until

from untildone import agents
from untildone.core.model import SessionUse
from untildone.core.plugins.agent_io import Request
from untildone.core.values.codec import epoch
from untildone.testing.modelapi import Step, environment, subscription_limit

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(400)]


def oldest(desk: Desk) -> int:
    """The first process of the agent: its launcher, where it has one."""
    ages: dict[int, float] = {}
    for pid in desk.processes():
        with suppress(psutil.NoSuchProcess):
            ages[pid] = psutil.Process(pid).create_time()
    return min(ages, key=lambda pid: ages[pid])


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot"])
def test_after_a_kill_of_the_launcher_nothing_works_beside_the_next_attempt(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        started, late = desk.workspace / "started", desk.workspace / "late.txt"
        work = shell(agent, f"touch {started}; for i in $(seq 60); do sleep 0.5; done; echo late > {late}")
        desk.api.load([Step(tools=(work,)), claims("Done."), claims("Done.")])
        process = desk.begin("Do it", "-r", "4")
        until(started.exists, "the tool to run")
        os.kill(oldest(desk), signal.SIGKILL)
        ran = desk.finish(process)
        assert ran.end["outcome"] == "claimed", ran.errors
        # A program that was killed at work may refuse to go on with its session once.
        assert len(ran.of("iteration_retry")) in (1, 2)
        assert desk.processes() == []
        assert not late.exists()


def test_a_subscriber_waits_until_the_exact_time(tmp_path: Path) -> None:
    with open_desk("claude", tmp_path) as desk:
        own = environment("claude", desk.api.url, desk.home, path=desk.env["PATH"], retries=0, subscriber=True)
        ours = {name: value for name, value in desk.env.items() if name.startswith(("UNTILDONE_", "PYTHONPATH"))}
        subscribed = Desk("claude", desk.api, desk.folder, {**own, **ours})
        until_when = int(time.time()) + 25
        desk.api.load([subscription_limit(until_when), claims("Done.")])
        ran = subscribed.run("Do it")
        assert ran.end["outcome"] == "claimed", ran.errors
        (limit,) = ran.of("limit_reached")
        assert epoch(limit["until"]) == until_when
        assert "5-hour limit" in limit["message"]


def asked(desk: Desk, argv: Sequence[str], env: Mapping[str, str], given: bytes = b"") -> int:
    """Run the program; return how many requests it makes."""
    before = len(desk.api.turns)
    subprocess.run(argv, cwd=desk.workspace, env={**desk.env, **env}, input=given, capture_output=True, timeout=200)
    return len(desk.api.turns) - before


@pytest.mark.parametrize(("as_supervisor", "sent_back"), [(True, False), (False, True)])
def test_a_supervisors_copy_has_no_goal_of_the_session(as_supervisor: bool, sent_back: bool, tmp_path: Path) -> None:
    """A goal is a stop hook that lives in the session: without care, the copy is sent back to work by it."""
    with open_desk("claude", tmp_path) as desk:
        desk.api.load([Step(text='{"ok": false, "reason": "not yet"}', repeat="forever")])
        session = str(uuid.uuid4())
        asked(desk, ("claude", "-p", "--max-turns=2", f"--session-id={session}", "/goal the parser is written"), {})
        request = Request("Is it done?", session=SessionUse.FORK, session_id=session, reviews=as_supervisor)
        invocation = agents.find("claude").invocation(request)
        requests = asked(desk, invocation.argv, invocation.env, invocation.stdin or b"")
        assert (requests > 1) is sent_back
