"""The `Agent` protocol: how a program that works on a prompt is called, and how its output is read. Pure: it starts no process.

The stop hook imports this file, so it imports nothing that takes time.
"""

from __future__ import annotations

from untildone.core.hints import Protocol
from untildone.core.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.agent_io import Invocation, Reader, Request
    from untildone.core.hook import HookSide


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent program can do. Modes and the engine decide by these, never by the agent's name."""

    resume: bool = False
    fork: bool = False
    cost: bool = False
    """Its output says how many dollars a run cost."""
    tokens: bool = False
    """Its output says how many tokens a run used."""
    system_prompt: bool = False


class Agent(Protocol):
    """A program that works on a prompt."""

    name: str
    program: str
    """The executable that is looked up on PATH; empty if the request names it."""
    install: str
    """How to install it, in one line."""
    capabilities: Capabilities

    @property
    def hook(self) -> HookSide | None:
        """How the program calls a stop hook; None: it has no such hook, so it cannot be wrapped either."""
        ...

    def invocation(self, request: Request) -> Invocation:
        """The command line for a request."""
        ...

    def reader(self, request: Request) -> Reader:
        """A reader for the output of one run."""
        ...

    def hand_back(self, session_id: str) -> tuple[str, ...] | None:
        """The command that opens a session for a person at a terminal; None: there is none."""
        ...
