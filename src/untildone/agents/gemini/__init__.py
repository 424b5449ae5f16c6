"""Gemini CLI: `gemini -o stream-json`. Its exit code is the HTTP status, modulo 256."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request
    from untildone.core.hook import HookSide


class Gemini:
    name = "gemini"
    program = "gemini"
    install = "npm install -g @google/gemini-cli"
    capabilities = Capabilities(resume=True, tokens=True)

    @property
    def hook(self) -> HookSide:
        from untildone.agents.gemini.hook import HOOK

        return HOOK

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.gemini.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.gemini.stream import GeminiReader

        return GeminiReader()

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--resume", session_id)


AGENT = Gemini()
