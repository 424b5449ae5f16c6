"""The adapter of a program that also speaks a protocol, for the agent that drives it by that protocol."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Agent


def native(name: str, program: str) -> Agent | None:
    """The agent of that name, or its fork `program`, which keeps login, settings and sessions in the same places; None for no name."""
    from untildone import agents

    if not name:
        return None
    agent = agents.find(name)
    forks: Mapping[str, Agent] = getattr(agent, "forks", {})
    return forks.get(program, agent)
