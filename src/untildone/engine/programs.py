"""The agent programs on this machine: where they are, and which version."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

from untildone import agents
from untildone.core.model import AgentChoice

PATIENCE = 10.0


def find(program: str, environment: Mapping[str, str]) -> str | None:
    return shutil.which(program, path=environment.get("PATH"))


def version(choice: AgentChoice) -> str:
    """What the program says of its version; empty if it does not."""
    agent = agents.find(choice.agent)
    return version_of(agent.program) if agent.program and choice.command is None else ""


def version_of(program: str) -> str:
    """Ask a program for its version, with patience."""
    try:
        told = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+(?:\.\d+)+(?:[-+.]\w+)*", told.stdout or told.stderr)
    return found[0] if found else ""
