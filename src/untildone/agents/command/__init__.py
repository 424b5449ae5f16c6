"""Any program: the prompt on standard input, the answer on standard output. It has no sessions."""

from __future__ import annotations

from untildone.core.plugins.agent import Capabilities, Login, Versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from untildone.core.plugins.agent import Needs, SettingsFile
    from untildone.core.plugins.agent_io import Invocation, Reader, Request


class Command:
    name = "command"
    program = ""
    install = 'name the program with --command "PROGRAM ARGS"'
    versions = Versions()
    login = Login()
    capabilities = Capabilities()
    steering_files: tuple[str, ...] = ()

    @property
    def hook(self) -> None:
        return None

    @property
    def mcp(self) -> None:
        return None

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.command.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.command.command_line import split
        from untildone.agents.command.stream import CommandReader

        return CommandReader(split(request.command)[0])

    def record(self, session_id: str, environment: Mapping[str, str], args: tuple[str, ...]) -> None:
        return None

    def settings_files(self, environment: Mapping[str, str]) -> tuple[SettingsFile, ...]:
        return ()

    def needs(self, environment: Mapping[str, str], args: tuple[str, ...]) -> Needs:
        from untildone.core.plugins.agent import Needs

        return Needs()

    def hand_back(self, session_id: str) -> None:
        return None


AGENT = Command()
