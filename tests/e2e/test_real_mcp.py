"""Real agent programs as clients of `untildone mcp`: each starts a loop, waits for it and reads its outcome."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.e2e.real_agents import AGENTS, PATIENCE, Desk, open_desk, shell
from tests.support.command_line import until

from untildone.testing.modelapi import Step, ToolCall

pytestmark = [pytest.mark.real_agent, pytest.mark.timeout(420)]
ASKS = {
    "claude": ("claude", "-p", "Go", "--allowedTools", "mcp__untildone,Bash"),
    "codex": ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "Go"),
    "copilot": ("copilot", "-p", "Go", "--allow-all-tools"),
    "gemini": ("gemini", "-p", "Go", "--yolo", "--skip-trust"),
    "opencode": ("opencode", "run", "Go"),
}
TOOLS: dict[str, Callable[..., ToolCall]] = {
    "claude": lambda tool, given: ToolCall(f"mcp__untildone__{tool}", given),
    "codex": lambda tool, given: ToolCall(tool, given, namespace="mcp__untildone"),
    "copilot": lambda tool, given: ToolCall(f"untildone-{tool}", given),
    "gemini": lambda tool, given: ToolCall(f"mcp_untildone_{tool}", given),
    "opencode": lambda tool, given: ToolCall(f"untildone_{tool}", given),
}
LOADS = {"claude": ToolCall("ToolSearch", {"query": "select:mcp__untildone__start,mcp__untildone__wait"})}
"""Claude Code shows the tools of servers to its model only when it searches for them."""


def ask(desk: Desk, *steps: Step) -> None:
    """Run the program with these answers of its model."""
    desk.api.load(list(steps))
    subprocess.run(
        ASKS[desk.agent],
        env=dict(desk.env),
        cwd=desk.workspace,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )


def loops(desk: Desk) -> list[dict[str, Any]]:
    output, _ = desk.start("list", "--json", "--all").communicate(timeout=PATIENCE)
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("agent", AGENTS)
def test_it_hands_a_job_over_and_reads_the_outcome(agent: str, tmp_path: Path) -> None:
    with open_desk(agent, tmp_path) as desk:
        worker = desk.folder / "worker.sh"
        worker.write_text("#!/bin/sh\ntouch work.txt\necho '<promise>COMPLETE</promise>'\n")
        worker.chmod(0o755)
        (desk.workspace / "untildone.toml").write_text(
            f'agent = "command"\ncommand = "{worker}"\nchecks = ["test -e work.txt"]\n'
        )
        assert desk.command("mcp", "install", agent).code == 0
        tool, loads = TOOLS[agent], [LOADS[agent]] if agent in LOADS else []
        # Some programs ask their model before their servers have answered.
        for seconds in (3, 12, 40):
            ask(
                desk,
                Step(tools=(shell(agent, f"sleep {seconds}"),)),
                *(Step(tools=(load,)) for load in loads),
                Step(tools=(tool("start", {"task": "Write work.txt"}),)),
                Step(tools=(tool("wait", {"loop": "last", "seconds": 60}),)),
                Step(text="It is verified."),
            )
            if found := loops(desk):
                break
        (loop,) = found
        last = json.dumps(desk.api.turns[-1].body)
        assert loop["outcome"] == "verified"
        assert loop["loop_id"] in last
        assert "verified" in last
        assert desk.command("mcp", "uninstall", agent).code == 0


TOKEN = "a-token-of-the-tests-0123456789"
UNTIL_LISTED = 3
"""Requests of a program until it knows the tools: it says hello, that it is ready, and asks for the list."""


def asked_so_often(port: int) -> int:
    """How many requests to /mcp the server has answered."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    metrics = httpx.get(f"http://127.0.0.1:{port}/api/v1/metrics", headers=headers, timeout=30, trust_env=False).text
    found = re.search(r'request_seconds_count{method="POST",route="/mcp"} (\d+)', metrics)
    return int(found[1]) if found else 0


@contextmanager
def served(desk: Desk, port: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server for the loops of the desk, and its port. It ends by a kill, as in a crash."""
    process = desk.start("serve", "--no-dashboard", "--json", "--quiet", "--port", str(port))
    try:
        assert process.stdout is not None
        yield process, urlsplit(json.loads(process.stdout.readline())["url"]).port or 0
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_over_http_a_handle_answers_after_the_server_was_killed(agent: str, tmp_path: Path) -> None:
    """Between two calls of the same session, the server is killed and started again."""
    with open_desk(agent, tmp_path) as opened:
        desk = replace(opened, env={**opened.env, "UNTILDONE_TOKEN": TOKEN})
        # The box of the worker shows these.
        listed, killed, back = (desk.workspace / name for name in ("listed", "killed", "back"))
        worker = desk.folder / "worker.sh"
        worker.write_text(
            f"#!/bin/sh\nwhile test ! -e '{back}'; do sleep 0.1; done\ntouch work.txt\necho '<promise>COMPLETE</promise>'\n"
        )
        worker.chmod(0o755)
        (desk.workspace / "untildone.toml").write_text(
            f'agent = "command"\ncommand = "{worker}"\nchecks = ["test -e work.txt"]\n'
        )
        tool, loads = TOOLS[agent], [LOADS[agent]] if agent in LOADS else []
        desk.api.load(
            [
                Step(tools=(shell(agent, f"while test ! -e '{listed}'; do sleep 0.1; done; sleep 1"),)),
                *(Step(tools=(load,)) for load in loads),
                Step(tools=(tool("start", {"task": "Write work.txt"}),)),
                Step(tools=(tool("wait", {"loop": "last", "seconds": 0.5}),)),
                Step(tools=(shell(agent, f"touch '{killed}'; while test ! -e '{back}'; do sleep 0.1; done"),)),
                # The first call may find that its connection is gone; the program connects again then.
                *(Step(tools=(tool("wait", {"loop": "last", "seconds": 50}),)) for _ in range(2)),
                Step(text="It is verified."),
            ]
        )
        with served(desk, 0) as (_, port):
            assert desk.command("mcp", "install", agent, "--url", f"http://127.0.0.1:{port}/mcp").code == 0
            asked = subprocess.Popen(
                ASKS[agent],
                env=dict(desk.env),
                cwd=desk.workspace,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            until(lambda: asked_so_often(port) >= UNTIL_LISTED, PATIENCE)
            listed.touch()
            until(killed.exists, PATIENCE)
        with served(desk, port):
            back.touch()
            asked.wait(PATIENCE)
            (loop,) = loops(desk)
        last = json.dumps(desk.api.turns[-1].body)
        assert loop["outcome"] == "verified"
        assert loop["loop_id"] in last
        assert "verified" in last


def started_over_http(agent: str, folder: Path) -> list[str]:
    """The titles of the loops that a program started at the address of a server, by the entry that untildone wrote."""
    folder.mkdir()
    with open_desk(agent, folder) as opened:
        desk = replace(opened, env={**opened.env, "UNTILDONE_TOKEN": TOKEN})
        listed = desk.workspace / "listed"
        (desk.workspace / "untildone.toml").write_text('agent = "command"\ncommand = "echo no"\nmax_iterations = 1\n')
        desk.api.load(
            [
                Step(tools=(shell(agent, f"while test ! -e '{listed}'; do sleep 0.1; done; sleep 1"),)),
                Step(tools=(TOOLS[agent]("start", {"task": f"From {agent}"}),)),
                Step(text="It is started."),
            ]
        )
        with served(desk, 0) as (_, port):
            assert desk.command("mcp", "install", agent, "--url", f"http://127.0.0.1:{port}/mcp").code == 0
            with subprocess.Popen(
                ASKS[agent],
                env=dict(desk.env),
                cwd=desk.workspace,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as asked:
                until(lambda: asked_so_often(port) >= UNTIL_LISTED, PATIENCE)
                listed.touch()
                asked.wait(PATIENCE)
            return [loop["title"] for loop in loops(desk)]


@pytest.mark.slow
def test_the_other_programs_start_loops_over_http_too(tmp_path: Path) -> None:
    others = ("copilot", "gemini", "opencode")
    with ThreadPoolExecutor() as pool:
        found = dict(
            zip(others, pool.map(lambda agent: started_over_http(agent, tmp_path / agent), others), strict=True)
        )
    assert found == {agent: [f"From {agent}"] for agent in others}
