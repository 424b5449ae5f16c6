"""ralph-tui: works through the stories of a prd.json. Run headless, and once more in its own sandbox."""

from __future__ import annotations

import json
from dataclasses import replace

from proof.compare.installing import programs
from proof.compare.pinned import RALPH_TUI
from proof.compare.sandbox import CHECK, TASK, Sandbox
from proof.compare.tool import Tool

PROGRAM = str(programs(RALPH_TUI) / "ralph-tui")


def write_story(sandbox: Sandbox) -> None:
    story = {
        "id": "US-001",
        "title": "Write result.txt",
        "description": TASK,
        "acceptanceCriteria": [f"`{CHECK}` passes"],
        "priority": 1,
        "passes": False,
        "dependsOn": [],
    }
    prd = {"name": "Compare", "branchName": "ralph/compare", "description": TASK, "userStories": [story]}
    (sandbox.workspace / "prd.json").write_text(json.dumps(prd, indent=2))


def start(cap: int) -> list[str]:
    how = ["--headless", "--no-setup", "--no-notify", "--delay", "0"]
    return [PROGRAM, "run", "--prd", "prd.json", "--agent", "claude", "--iterations", str(cap), *how]


def write_story_and_sandbox(sandbox: Sandbox) -> None:
    """Allow the fake agent to write its log, which is outside the workspace."""
    write_story(sandbox)
    (sandbox.workspace / ".ralph-tui").mkdir()
    (sandbox.workspace / ".ralph-tui" / "config.toml").write_text(
        f'[sandbox]\nenabled = true\nmode = "bwrap"\nallowPaths = ["{sandbox.programs}"]\n'
    )


TOOL = Tool(
    name=RALPH_TUI.name,
    folder=programs(RALPH_TUI),
    prepare=write_story,
    start=start,
    resume=(PROGRAM, "resume", "--headless"),
    version=(PROGRAM, "--version"),
    package=RALPH_TUI,
    notes=(
        "`ralph-tui run --prd prd.json --headless --delay 0 --iterations CAP`; after a crash `ralph-tui resume --headless`.",
        "the check is an acceptance criterion, which goes into the prompt; it runs none. `--verify` tests the agent, not the work.",
    ),
)
SANDBOXED = replace(
    TOOL,
    name=f"{RALPH_TUI.name}, sandboxed",
    prepare=write_story_and_sandbox,
    needs=("bwrap", "--die-with-parent", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/", "/", "true"),
    notes=("the same with its `sandbox` on: it wraps the agent in bubblewrap with --die-with-parent.",),
)
