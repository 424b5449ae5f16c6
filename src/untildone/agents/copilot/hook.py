"""GitHub Copilot CLI's hooks: `agentStop` and `userPromptSubmitted`."""

from __future__ import annotations

from untildone.agents._hooks import CommonHook, text_of, texts_in
from untildone.core.plugins.hook import PROMPT, STOP, AgentText, Boundary, HookEvent
from untildone.core.values.plain_json import read_object
from untildone.core.values.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from untildone.core.plugins.hook import HookCall
    from untildone.core.plugins.hook_setup import HookSetup
    from untildone.core.plugins.transcript import Transcript


class CopilotHook(CommonHook):
    typed = "until-done"
    events: Mapping[str, str] = {"agentStop": STOP, "userPromptSubmitted": PROMPT}

    def read(self, fields: Mapping[str, Any], call: HookCall) -> HookEvent:
        return replace(
            super().read(fields, call),
            session_id=text_of(fields, "session_id", "sessionId"),
            transcript=text_of(fields, "transcript_path", "transcriptPath"),
            transcript_marker=_marker(fields.get("timestamp")),
        )

    def context(self, text: str) -> dict[str, Any]:
        return {"additionalContext": text}

    def agent_line(self, line: bytes) -> AgentText | Boundary | None:
        entry = _entry(line)
        if entry.get("type") == "user.message":
            return Boundary()
        data = entry.get("data")
        if entry.get("type") != "assistant.message" or not isinstance(data, dict):
            return None
        text = texts_in(data.get("content"))
        return AgentText(text, data.get("id")) if text else None

    @property
    def transcript(self) -> Transcript:
        from untildone.agents.copilot.transcript import CopilotTranscript

        return CopilotTranscript()

    @property
    def setup(self) -> HookSetup:
        from untildone.agents.copilot.setup import CopilotSetup

        return CopilotSetup()


def _marker(timestamp: object) -> str:
    """The text that marks this stop in the transcript, which the program writes a moment after it calls the hook."""
    return f'"timestamp":{timestamp}' if isinstance(timestamp, int) and not isinstance(timestamp, bool) else ""


def _entry(line: bytes) -> dict[str, Any]:
    if b'"assistant.message"' not in line and b'"user.message"' not in line:
        return {}
    try:
        return read_object(line)
    except (ValueError, RecursionError):
        return {}


HOOK = CopilotHook()
