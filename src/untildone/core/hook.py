"""One call of the stop hook: what the agent reports, and what the hook answers. The same for all agents."""

from __future__ import annotations

from untildone.core.value import dataclass

STOP, PROMPT, OTHER = "stop", "prompt", "other"
"""Kinds of hook events: the agent wants to stop, a person submitted a prompt, anything else."""


@dataclass(frozen=True, slots=True)
class HookEvent:
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
    """The text by which this stop is found in the transcript, if the agent writes that later than it calls the hook."""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the hook answers. An empty one lets the agent do what it wanted to do."""

    block_reason: str = ""
    """If set, the agent may not stop, or the prompt is not submitted. The agent gets this text instead."""
    user_message: str = ""
    """A line for the person."""
    extra_context: str = ""
    """Text that the agent gets beside the prompt."""


ALLOW = Reply()
