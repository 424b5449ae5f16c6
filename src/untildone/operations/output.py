"""The output of agents as events, and the names of agents and modes."""

from __future__ import annotations

from untildone import agents, modes
from untildone.core.loop import Loop, session_key
from untildone.core.model import AgentChoice, Role
from untildone.core.plugins.agent_io import Reader, Request
from untildone.core.plugins.mode import Mode


def reader(choice: AgentChoice) -> Reader:
    """Reads the output of one turn of an agent."""
    return agents.of(choice).reader(Request(prompt="", command=choice.command))


def session_command(loop: Loop) -> tuple[str, ...] | None:
    """The command that opens the worker's last session for a person; None if the agent has no such command."""
    worker = loop.agent_for(Role.WORKER)
    session = loop.sessions.get(session_key(Role.WORKER, worker.profile))
    return agents.of(worker).hand_back(session.session_id) if session else None


def mode(name: str) -> Mode:
    """The mode of a loop, by its name: see `modes.of`."""
    return modes.of(name)


def agent_names() -> tuple[str, ...]:
    """The names of all agents, those of plugins included."""
    return agents.names()


def mode_names() -> tuple[str, ...]:
    """The names of all modes, those of plugins included."""
    return modes.names()


def usual_rounds(mode: str) -> int | None:
    """The limit of rounds that a mode has if none is set."""
    return modes.find(mode).default_iterations
