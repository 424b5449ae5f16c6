"""Codex: `codex exec --json`, its `resume` and its `fork`."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request
    from untildone.core.hook import HookSide


class Codex:
    name = "codex"
    program = "codex"
    install = "npm install -g @openai/codex"
    capabilities = Capabilities(resume=True, fork=True, tokens=True, system_prompt=True)

    @property
    def hook(self) -> HookSide:
        from untildone.agents.codex.hook import HOOK

        return HOOK

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.codex.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.codex.stream import CodexReader

        return CodexReader()

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "resume", session_id)


AGENT = Codex()
