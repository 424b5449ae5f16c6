"""A stand-in agent that acts out a script: for demos, tests and trying things out. `testing/scripted_agent.py` is the program."""

from __future__ import annotations

from untildone.core.agent import Capabilities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request


class Scripted:
    name = "scripted"
    program = ""
    install = "it comes with untildone"
    capabilities = Capabilities(resume=True, fork=True, cost=True, tokens=True, system_prompt=True)

    @property
    def hook(self) -> None:
        return None

    def invocation(self, request: Request) -> Invocation:
        from untildone.agents.scripted.command_line import invocation

        return invocation(request)

    def reader(self, request: Request) -> Reader:
        from untildone.agents.scripted.stream import ScriptedReader

        return ScriptedReader()

    def hand_back(self, session_id: str) -> None:
        return None


AGENT = Scripted()
