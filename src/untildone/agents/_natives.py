"""The adapter of a program that also speaks a protocol, for the agent that drives it by that protocol."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Agent


def native(name: str, program: str) -> Agent | None:
    """The agent called `name`. If `program` is one of its forks (kilo of opencode), the fork's own adapter. None if `name` is empty."""
    from untildone import agents

    if not name:
        return None
    agent = agents.find(name)
    forks: Mapping[str, Agent] = getattr(agent, "forks", {})
    return forks.get(program, agent)
