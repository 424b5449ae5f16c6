"""ralphify: runs a folder with a RALPH.md for a number of iterations."""

from __future__ import annotations

from proof.compare.installing import programs
from proof.compare.pinned import RALPHIFY
from proof.compare.sandbox import Sandbox
from proof.compare.tool import PROMPT, Tool

PROGRAM = str(programs(RALPHIFY) / "ralph")


def write_job(sandbox: Sandbox) -> None:
    """Write RALPH.md. Its commands run before each iteration, and their output goes into the prompt."""
    commands = f"commands:\n  - name: check\n    run: {sandbox.check}\n" if sandbox.check else ""
    shown = "\nThe check says: {{ commands.check }}\n" if sandbox.check else ""
    job = sandbox.workspace / "job"
    job.mkdir()
    (job / "RALPH.md").write_text(
        f"---\nagent: claude -p --dangerously-skip-permissions\n{commands}---\n\n{PROMPT}{shown}"
    )


def start(cap: int) -> list[str]:
    return [PROGRAM, "run", "job", "-n", str(cap)]


TOOL = Tool(
    name=RALPHIFY.name,
    folder=programs(RALPHIFY),
    prepare=write_job,
    start=start,
    version=(PROGRAM, "--version"),
    package=RALPHIFY,
    reads_claims=False,
    notes=(
        "`ralph run job -n CAP`, the check among `commands` in RALPH.md. There is no command to resume: the same again.",
        "it cannot end on a claim: it reads none, and runs until `-n` or Ctrl-C. What the check prints goes into the prompt.",
    ),
)
