"""Claude Code's hooks: `Stop` and `UserPromptSubmit`."""

from __future__ import annotations

from untildone.agents._hooks import CommonHook, texts_in
from untildone.core.plugins.hook import AgentText, Boundary
from untildone.core.values.plain_json import read_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from untildone.core.plugins.hook_setup import HookSetup
    from untildone.core.plugins.transcript import Transcript


class ClaudeHook(CommonHook):
    project_variable = "CLAUDE_PROJECT_DIR"
    pid_variable = "CLAUDE_PID"
    session_variable = "CLAUDE_CODE_SESSION_ID"
    session_variables: tuple[str, ...] = (
        "CLAUDECODE",
        "CLAUDE_PID",
        "CLAUDE_EFFORT",
        "CLAUDE_ENV_FILE",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_PLUGIN_DATA",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_SESSION_ATTENDED",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_MESSAGING_TOKEN",
        "CLAUDE_CODE_MESSAGING_SOCKET",
    )

    def agent_line(self, line: bytes) -> AgentText | Boundary | None:
        entry = _entry(line)
        kind = entry.get("type")
        if kind == "user" and entry.get("isMeta") is not True:
            return Boundary()
        if kind != "assistant" or entry.get("isSidechain") is True:
            return None
        message = entry.get("message")
        message = message if isinstance(message, dict) else {}
        text = texts_in(message.get("content"))
        return AgentText(text, message.get("id")) if text else None

    @property
    def transcript(self) -> Transcript:
        from untildone.agents.claude.transcript import ClaudeTranscript

        return ClaudeTranscript()

    @property
    def setup(self) -> HookSetup:
        from untildone.agents.claude.setup import ClaudeSetup

        return ClaudeSetup()


def _entry(line: bytes) -> dict[str, Any]:
    if b'"assistant' not in line and b'"user' not in line:
        return {}
    try:
        return read_object(line)
    except (ValueError, RecursionError):
        return {}


HOOK = ClaudeHook()
