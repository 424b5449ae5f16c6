"""The agent programs on this machine: their paths and versions."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

from untildone import agents
from untildone.core.model import AgentChoice

PATIENCE = 10.0


def find(program: str, environment: Mapping[str, str]) -> str | None:
    """The path of a program on PATH; None: it is not there."""
    return shutil.which(program, path=environment.get("PATH"))


def version(choice: AgentChoice) -> str:
    """The version that the agent's program reports; empty if it reports none."""
    agent = agents.find(choice.agent)
    return version_of(agent.program) if agent.program and choice.command is None else ""


def version_of(program: str) -> str:
    """The version in the output of `PROGRAM --version`; empty if there is none within PATIENCE seconds."""
    try:
        ended = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    number = re.search(r"\d+(?:\.\d+)+(?:[-+.]\w+)*", ended.stdout or ended.stderr)
    return number[0] if number else ""
