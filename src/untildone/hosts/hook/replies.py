"""What the hook answers, in the form that each agent understands."""

from __future__ import annotations

from untildone.core.hook import Reply
from untildone.core.plain_json import written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLOCKS = {"gemini": "deny"}
_PROMPT_EVENTS = {"gemini": "BeforeAgent"}


def as_json(reply: Reply, agent: str) -> str:
    fields: dict[str, Any] = {}
    if reply.block_reason:
        fields |= {"decision": _BLOCKS.get(agent, "block"), "reason": reply.block_reason}
    if reply.user_message:
        fields["systemMessage"] = reply.user_message
    if reply.extra_context:
        context = {
            "hookEventName": _PROMPT_EVENTS.get(agent, "UserPromptSubmit"),
            "additionalContext": reply.extra_context,
        }
        fields |= {"additionalContext": reply.extra_context} if agent == "copilot" else {"hookSpecificOutput": context}
    return written(fields)
