"""A stand-in agent that acts out a script: for demos, tests and trying things out. `testing/scripted_agent.py` is the program."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request
    from untildone.core.plugins.transcript import SessionRecord


class Scripted:
    name = "scripted"
    program = ""
    install = "it comes with untildone"
    versions = Versions()
    login = Login()
    capabilities = Capabilities(resume=True, fork=True, cost=True, tokens=True, system_prompt=True, read_only=True)
    steering_files: tuple[str, ...] = ()

    @property
    def hook(self) -> None:
        return None

    @property
    def mcp(self) -> None:
        return None

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.scripted.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.scripted.stream import ScriptedReader

        return ScriptedReader()

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> SessionRecord:
        from untildone.agents.scripted.transcript import record

        return record(session_id, environment, args)

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        return ()

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.agents.scripted.command_line import needs

        return needs(environment, args)

    def hand_back(self, session_id: str) -> None:
        return None


AGENT = Scripted()
