"""One call of the stop hook: what the agent reports, and what the hook answers. The same for all agents."""

from __future__ import annotations

from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from untildone.core.plugins.hook_setup import HookSetup
    from untildone.core.plugins.transcript import Transcript

STOP, PROMPT, OTHER = "stop", "prompt", "other"
"""Kinds of hook events: the agent wants to stop, a person submitted a prompt, anything else."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """How the hook was started: the agent and the kind of event that it was installed for, and the environment."""

    agent: str
    kind: str
    environment: Mapping[str, str]
    at: float
    """Epoch seconds."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    """An event that an agent reports to its hook."""

    agent: str
    kind: str
    session_id: str
    at: float
    """When the hook was started, in epoch seconds."""
    folders: tuple[str, ...] = ()
    """The project's folder and the session's current one."""
    stop_hook_active: bool = False
    """The agent is at work because a stop hook blocked its last stop."""
    message: str | None = None
    """The agent's last message; None: the event has none, the transcript does."""
    message_is_cumulative: bool = False
    """`message` contains the earlier messages of this turn as well."""
    transcript: str = ""
    """The path of the agent's own record of the session."""
    transcript_marker: str = ""
    """The text that marks this stop in the transcript, for an agent that calls the hook before it writes the transcript."""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the hook answers. An empty reply allows the stop or the prompt."""

    block_reason: str = ""
    """If set, the agent may not stop, or the prompt is not submitted. The agent gets this text instead."""
    user_message: str = ""
    """A line for the person."""
    extra_context: str = ""
    """Text that the agent gets beside the prompt."""


ALLOW = Reply()


@dataclass(frozen=True, slots=True)
class AgentText:
    """Text of the agent in one line of its transcript."""

    text: str
    message_id: object = None
    """Lines with the same id are parts of one message; None: the line is the whole message."""


class Boundary:
    """A line of the transcript that the agent's last message cannot lie before: a prompt, or the result of a tool."""


class HookSide(Protocol):
    """How one agent calls the hook. Pure. What the hook does not need at every stop is behind `transcript` and `setup`."""

    events: Mapping[str, str]
    """The agent's names of the events that the hook is installed for, each with its kind."""
    session_variables: tuple[str, ...]
    """Environment variables that describe the agent's session. Checks and other agents must not inherit them."""
    session_variable: str
    """The one that holds the session id; empty: there is none."""
    pid_variable: str
    """The one that holds the agent's process id; empty: there is none."""
    typed: str
    """What a person types to begin a loop: with a slash, unless the agent's terminal refuses commands that it does not know."""

    def read(self, fields: Mapping[str, Any], call: HookCall) -> HookEvent:
        """The event in the JSON object that the agent wrote to the hook's standard input."""
        ...

    def own_words(self, message: str) -> str:
        """The agent's last message without what the program added to it."""
        ...

    def reply(self, reply: Reply) -> dict[str, Any]:
        """The JSON object for the hook's standard output."""
        ...

    def agent_line(self, line: bytes) -> AgentText | Boundary | None:
        """What one line of the transcript says about the agent's last message; None: nothing."""
        ...

    @property
    def transcript(self) -> Transcript:
        """How the person's prompts are read from the transcript."""
        ...

    @property
    def setup(self) -> HookSetup:
        """Where the hook is installed, and how it is injected into one run."""
        ...
