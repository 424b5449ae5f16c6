"""The form in which most agents call their hooks. An agent's own hook overrides what it does differently."""

from __future__ import annotations

from untildone.core.plugins.hook import OTHER, PROMPT, STOP, AgentText, Boundary, HookEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from untildone.core.plugins.hook import HookCall, Reply


class CommonHook:
    """A `HookSide` in the form that most agents share."""

    events: Mapping[str, str] = {"Stop": STOP, "UserPromptSubmit": PROMPT}
    session_variables: tuple[str, ...] = ()
    session_variable = ""
    pid_variable = ""
    typed = "/until-done"
    project_variable = ""
    """Holds the project's folder."""
    block_decision = "block"
    prompt_event = "UserPromptSubmit"

    def own_words(self, message: str) -> str:
        return message

    def read(self, fields: Mapping[str, Any], call: HookCall) -> HookEvent:
        name = text_of(fields, "hook_event_name")
        folders = (call.environment.get(self.project_variable, ""), text_of(fields, "cwd"))
        return HookEvent(
            agent=call.agent,
            kind=self.events.get(name, OTHER) if name else call.kind,
            session_id=text_of(fields, "session_id"),
            at=call.at,
            folders=tuple(folder for folder in folders if folder),
            stop_hook_active=fields.get("stop_hook_active") is True,
            message=message_of(fields, "last_assistant_message"),
            transcript=text_of(fields, "transcript_path"),
            prompt=text_of(fields, "prompt"),
        )

    def reply(self, reply: Reply) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if reply.block_reason:
            fields |= {"decision": self.block_decision, "reason": reply.block_reason}
        if reply.user_message:
            fields["systemMessage"] = reply.user_message
        if reply.extra_context:
            fields |= self.context(reply.extra_context)
        return fields

    def context(self, text: str) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": self.prompt_event, "additionalContext": text}}

    def agent_line(self, line: bytes) -> AgentText | Boundary | None:
        """None: the event itself contains the agent's last message."""
        return None


def text_of(fields: Mapping[str, Any], *names: str) -> str:
    """The first of the named fields that is a string without NUL; empty if none is."""
    values = (fields.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and "\0" not in value), "")


def message_of(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def texts_in(content: object) -> str:
    """A string, or the text blocks of a list. Other blocks, such as images, are skipped."""
    if isinstance(content, str):
        return content
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if block.get("type", "text") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
