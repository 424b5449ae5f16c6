"""What the person asked in a session of Claude Code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from untildone.agents._hooks import texts_in
from untildone.agents._transcripts import CompleteTranscript, entry_in
from untildone.core.plugins.transcript import PersonText

_TOOL_RESULT = b'"toolUseResult":'
_NOT_TYPED = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "toolUseResult")
"""Fields of a line that the person did not type: from a hook, a command, a subagent or a summary."""
_WRITTEN_BY_PROGRAM = re.compile(
    r"<(?:local-command|command-|bash-|system-reminder|task-notification|user-prompt-submit-hook)"
    r"|\[Request interrupted by user|Stop hook feedback:|Caveat: The messages below were generated"
    r"|This session is being continued from a previous conversation"
)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


class ClaudeTranscript(CompleteTranscript):
    def person_line(self, line: bytes) -> Sequence[PersonText]:
        entry = {} if _TOOL_RESULT in line else entry_in(line, b'"user"', b'"queued_command"')
        text = _REMINDER.sub("", _typed(entry)).strip()
        return (PersonText(text),) if text and not _WRITTEN_BY_PROGRAM.match(text) else ()


def _typed(entry: dict[str, Any]) -> str:
    match entry:
        case {"type": "user", "message": {"content": content}} if not _is_written_by_program(entry):
            return texts_in(content)
        case {"attachment": {"type": "queued_command", "prompt": content, "origin": {"kind": "human"}}}:
            return texts_in(content)
        case _:
            return ""


def _is_written_by_program(entry: dict[str, Any]) -> bool:
    origin = entry.get("origin")
    elsewhere = isinstance(origin, dict) and origin.get("kind", "human") != "human"
    return elsewhere or any(entry.get(name) for name in _NOT_TYPED)
