"""Claude Code: `claude -p` with its stream of JSON lines."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request
    from untildone.core.hook import HookSide


class Claude:
    name = "claude"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"
    capabilities = Capabilities(resume=True, fork=True, cost=True, tokens=True, system_prompt=True)

    @property
    def hook(self) -> HookSide:
        from untildone.agents.claude.hook import HOOK

        return HOOK

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.claude.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.claude.stream import ClaudeReader

        return ClaudeReader()

    def hand_back(self, session_id: str) -> tuple[str, ...]:
        return (self.program, "--resume", session_id)


AGENT = Claude()
