"""Real agent programs as clients of `untildone mcp`: each starts a loop, waits for it and reads its outcome."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.real_agents import AGENTS, PATIENCE, Desk, open_desk, shell

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
