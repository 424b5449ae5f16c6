"""The adapter of a program that also speaks a protocol, for the agent that drives it by that protocol."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.plugins.agent import Agent


def native(name: str) -> Agent | None:
    """The agent of that name, whose program keeps its login, settings and sessions in the same places; None for an empty name."""
    from untildone import agents

    return agents.find(name) if name else None
