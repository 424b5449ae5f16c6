"""What an agent tells its hook, in one form for all agents: somebody wants to stop, or said something."""

from __future__ import annotations

from untildone.core.value import dataclass
from untildone.hosts.hook.plain_json import read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

AGENTS = ("claude", "codex", "gemini", "copilot")
STOP, PROMPT, OTHER = "stop", "prompt", "other"
_KINDS = {"Stop": STOP, "AfterAgent": STOP, "UserPromptSubmit": PROMPT, "BeforeAgent": PROMPT}
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")


@dataclass(frozen=True, slots=True)
class Occasion:
    agent: str
    kind: str
    session_id: str
    at: float
    """When the hook was started."""
    folders: tuple[str, ...] = ()
    """Where the session works: the project's folder and the current one."""
    held_before: bool = False
    """The agent is at work because a hook sent it back."""
    message: str | None = None
    """The agent's last message, if it told."""
    adds_up: bool = False
    """The message holds those before it as well."""
    transcript: str = ""
    stamp: str = ""
    """What marks this stop in the transcript, which may be written later than the hook is started; empty: nothing does."""
    prompt: str = ""


def read(content: bytes, told: tuple[str, str], environment: Mapping[str, str], at: float) -> Occasion:
    """`told` is the agent and the kind of event that the hook was installed for; what the event says itself goes first."""
    fields = read_object(content)
    name = _text(fields, "hook_event_name")
    places = (*(environment.get(variable, "") for variable in _PROJECT_VARIABLES), _text(fields, "cwd"))
    return Occasion(
        agent=told[0] if told[0] in AGENTS else _agent(fields, name),
        kind=_KINDS.get(name, OTHER) if name else told[1],
        session_id=_text(fields, "session_id", "sessionId"),
        at=at,
        folders=tuple(place for place in places if place),
        held_before=fields.get("stop_hook_active") is True,
        message=_message(fields),
        adds_up=isinstance(fields.get("prompt_response"), str),
        transcript=_text(fields, "transcript_path", "transcriptPath"),
        stamp=_stamp(fields.get("timestamp")),
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
