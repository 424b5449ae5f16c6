"""What an agent tells its hook, in one form for all agents: somebody wants to stop, or said something."""

from __future__ import annotations

from untildone.core.hook import OTHER, PROMPT, STOP, HookEvent
from untildone.core.plain_json import read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

AGENTS = ("claude", "codex", "gemini", "copilot")
_KINDS = {"Stop": STOP, "AfterAgent": STOP, "UserPromptSubmit": PROMPT, "BeforeAgent": PROMPT}
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def read(content: bytes, told: tuple[str, str], environment: Mapping[str, str], at: float) -> HookEvent:
    """`told` is the agent and the kind of event that the hook was installed for; what the event says itself goes first."""
    fields = read_object(content)
    name = _text(fields, "hook_event_name")
    places = (*(environment.get(variable, "") for variable in _PROJECT_VARIABLES), _text(fields, "cwd"))
    return HookEvent(
        agent=told[0] if told[0] in AGENTS else _agent(fields, name),
        kind=_KINDS.get(name, OTHER) if name else told[1],
        session_id=_text(fields, "session_id", "sessionId"),
        at=at,
        folders=tuple(place for place in places if place),
        stop_hook_active=fields.get("stop_hook_active") is True,
        message=_message(fields),
        message_is_cumulative=isinstance(fields.get("prompt_response"), str),
        transcript=_text(fields, "transcript_path", "transcriptPath"),
        transcript_marker=_stamp(fields.get("timestamp")),
        prompt=_text(fields, "prompt"),
    )


def _agent(fields: Mapping[str, Any], name: str) -> str:
    if name in ("AfterAgent", "BeforeAgent"):
        return "gemini"
    if "sessionId" in fields or "stop_reason" in fields:
        return "copilot"
    return "codex" if "turn_id" in fields else "claude"


def _message(fields: Mapping[str, Any]) -> str | None:
    told = [fields.get(name) for name in ("last_assistant_message", "prompt_response")]
    return next((message for message in told if isinstance(message, str)), None)


def _stamp(told: object) -> str:
    return f'"timestamp":{told}' if isinstance(told, int) and not isinstance(told, bool) else ""


def _text(fields: Mapping[str, Any], *names: str) -> str:
    """The first of these fields that is a text; a text of the wrong kind is none."""
    found = (fields.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and "\0" not in value), "")
