"""ralph-loop: the agent signals DONE in a file, and is asked again until it has done so three times."""

from __future__ import annotations

import subprocess

from proof.compare.installing import programs
from proof.compare.pinned import RALPH_LOOP
from proof.compare.sandbox import Sandbox
from proof.compare.tool import PROMPT, Tool

PROGRAM = str(programs(RALPH_LOOP) / "ralph")


def initialise(sandbox: Sandbox) -> None:
    (sandbox.workspace / "PROMPT.md").write_text(PROMPT)
    subprocess.run(
        [PROGRAM, "init"],
        cwd=sandbox.workspace,
        env=sandbox.environment(),
        check=True,
        capture_output=True,
        timeout=120,
    )


def start(cap: int) -> list[str]:
    return [PROGRAM, "run", "--max", str(cap), "--agents", "claude"]


TOOL = Tool(
    name=RALPH_LOOP.name,
    folder=programs(RALPH_LOOP),
    prepare=initialise,
    start=start,
    resume=(PROGRAM, "run", "--continue"),
    version=(PROGRAM, "--version"),
    package=RALPH_LOOP,
    notes=(
        "`ralph init`, the check as a success criterion in PROMPT.md, `ralph run --max CAP`; after a crash `ralph run --continue`.",
        "it verifies by asking the agent: done is DONE three times in a row with no file changed since. No check can be set.",
    ),
)
