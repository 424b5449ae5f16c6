"""GitHub Copilot CLI, with JSON lines. The caller chooses the session's id, so that it survives a killed run."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request
    from untildone.core.hook import HookSide


class Copilot:
    name = "copilot"
    program = "copilot"
    install = "npm install -g @github/copilot"
    capabilities = Capabilities(resume=True)

    @property
    def hook(self) -> HookSide:
        from untildone.agents.copilot.hook import HOOK

        return HOOK

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.copilot.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents._lines import session_to_use
        from untildone.agents.copilot.stream import CopilotReader

        return CopilotReader(session_to_use(request)[1] or None)

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--resume", session_id)


AGENT = Copilot()
