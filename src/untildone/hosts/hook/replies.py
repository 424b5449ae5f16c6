"""What the hook answers, in the form that each agent understands."""

from __future__ import annotations

from untildone.core.value import dataclass
from untildone.hosts.hook.plain_json import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLOCKS = {"gemini": "deny"}
_PROMPT_EVENTS = {"gemini": "BeforeAgent"}


@dataclass(frozen=True, slots=True)
class Reply:
    """Nothing of it set: the agent does what it wanted to do."""

    holds: str = ""
    """The agent may not stop, or the prompt goes no further; and what is said instead."""
    tells: str = ""
    """A word to the person."""
    adds: str = ""
    """What the agent is told beside the prompt."""


SILENCE = Reply()


def as_json(reply: Reply, agent: str) -> str:
    fields: dict[str, Any] = {}
    if reply.holds:
        fields |= {"decision": _BLOCKS.get(agent, "block"), "reason": reply.holds}
    if reply.tells:
        fields["systemMessage"] = reply.tells
    if reply.adds:
        context = {"hookEventName": _PROMPT_EVENTS.get(agent, "UserPromptSubmit"), "additionalContext": reply.adds}
        fields |= {"additionalContext": reply.adds} if agent == "copilot" else {"hookSpecificOutput": context}
    return written(fields)
