"""untildone itself, as it is in this checkout."""

from __future__ import annotations

import sys
from pathlib import Path

from proof.compare.sandbox import CHECK, TASK, Sandbox
from proof.compare.tool import Tool

FOLDER = Path(sys.executable).parent
PROGRAM = str(FOLDER / "untildone")


def set_check(sandbox: Sandbox) -> None:
    """In the project's settings, where a team would have it; the command line would do as well."""
    if sandbox.check:
        (sandbox.workspace / "untildone.toml").write_text(f'checks = ["{sandbox.check}"]\n')


def start(cap: int) -> list[str]:
    return [PROGRAM, "run", TASK, "--agent", "claude", "-r", str(cap)]


TOOL = Tool(
    name="untildone",
    folder=FOLDER,
    prepare=set_check,
    start=start,
    resume=(PROGRAM, "resume"),
    version=(PROGRAM, "--version"),
    has_check=True,
    notes=(
        f"`untildone run TASK --agent claude -r CAP` with the check `{CHECK}` in untildone.toml; then `untildone resume`.",
        "Its sandbox is off, because the fake agent notes its calls and process ids outside of the workspace.",
    ),
)
