"""Any program: the prompt on standard input, the answer on standard output. It has no sessions."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request


class Command:
    name = "command"
    program = ""
    install = 'name the program with --command "PROGRAM ARGS"'
    capabilities = Capabilities()

    @property
    def hook(self) -> None:
        return None

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.command.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.command.command_line import split
        from untildone.agents.command.stream import CommandReader

        return CommandReader(split(request.command)[0])

    def hand_back(self, session_id: str) -> None:
        return None


AGENT = Command()
