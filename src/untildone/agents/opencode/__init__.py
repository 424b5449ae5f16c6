"""opencode: `opencode run --format json`. It prints no result: a run is over when its last step stopped."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request


class OpenCode:
    name = "opencode"
    program = "opencode"
    install = "npm install -g opencode-ai"
    capabilities = Capabilities(resume=True, fork=True, cost=True, tokens=True)

    @property
    def hook(self) -> None:
        return None

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.opencode.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.opencode.stream import OpenCodeReader

        return OpenCodeReader()

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--session", session_id)


AGENT = OpenCode()
