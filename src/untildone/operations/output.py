"""What an agent prints, as events; and which agents and modes there are."""

from __future__ import annotations

from untildone import agents, modes
from untildone.core.agent_io import Reader, Request
from untildone.core.loop import Loop, session_key
from untildone.core.model import AgentChoice, Role


def reader(choice: AgentChoice) -> Reader:
    """Reads the output of one turn of an agent."""
    return agents.find(choice.agent).reader(Request(prompt="", command=choice.command))


def session_command(loop: Loop) -> tuple[str, ...] | None:
    """The command that opens the worker's last session for a person; None if the agent has no such command."""
    worker = loop.settings.worker
    session = loop.sessions.get(session_key(Role.WORKER, worker.profile))
    return agents.find(worker.agent).hand_back(session.session_id) if session else None


def live_state(loop: Loop) -> str | None:
    """The text of the loop's live state file, if its mode has one."""
    return modes.find(loop.settings.mode).live_state(loop)


def agent_names() -> tuple[str, ...]:
    return agents.names()


def mode_names() -> tuple[str, ...]:
    return modes.names()


def usual_rounds(mode: str) -> int | None:
    """The limit of rounds that a mode has if none is set."""
    return modes.find(mode).default_iterations
