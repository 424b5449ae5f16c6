"""An agent whose program has another name or lies in another place: another version, a wrapper, a fork."""

from __future__ import annotations

import os

from untildone.core.errors import UsageError
from untildone.core.plugins.agent import Versions
from untildone.core.values.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Agent, Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.hook import HookSide
    from untildone.core.plugins.mcp_setup import McpSetup
    from untildone.core.plugins.transcript import SessionRecord


class OtherProgram:
    """The agent, with `program` in the place of its own. Login, settings and folders are those of the agent."""

    def __init__(self, agent: Agent, program: str) -> None:
        """UsageError if the agent has no program of its own, but one that the settings name."""
        if not agent.program:
            raise UsageError(
                f"The agent '{agent.name}' has no program that `program` could replace.", "name it in `command`"
            )
        self._agent, self.program = agent, program
        self.name, self.login, self.capabilities = agent.name, agent.login, agent.capabilities
        self.steering_files = agent.steering_files
        is_same = os.path.basename(program) == agent.program
        self.install = agent.install if is_same else f"install {program}, or correct `program` in its profile"
        # A program of another name counts its versions in its own way.
        self.versions = agent.versions if is_same else Versions()

    @property
    def hook(self) -> HookSide | None:
        return self._agent.hook

    @property
    def mcp(self) -> McpSetup | None:
        return self._agent.mcp

    def invocation(self, request: Request) -> Invocation:
        invocation = self._agent.invocation(request)
        return replace(invocation, argv=(self.program, *invocation.argv[1:]))

    def reader(self, request: Request) -> Reader:
        return self._agent.reader(request)

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> SessionRecord | None:
        return self._agent.record(session_id, environment, args)

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        return self._agent.settings_files(environment)

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        return self._agent.needs(environment, args)

    def hand_back(self, session_id: str) -> tuple[str, ...] | None:
        words = self._agent.hand_back(session_id)
        return (self.program, *words[1:]) if words else None


def with_program(agent: Agent, program: str) -> Agent:
    """The agent with another program: one of its known forks, or any other."""
    forks: Mapping[str, Agent] = getattr(agent, "forks", {})
    known = forks.get(os.path.basename(program), agent)
    return known if known.program == program else OtherProgram(known, program)
