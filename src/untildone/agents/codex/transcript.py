"""What the person asked in a session of Codex. The transcript of a forked session names its origin."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from typing import Any

from untildone.agents._hooks import texts_in
from untildone.agents._transcripts import entry_in
from untildone.core.plugins.transcript import Origin, PersonText

_WRITTEN_BY_PROGRAM = re.compile(r"<(?:hook_prompt|environment_context|user_instructions|turn_aborted)")
_SESSION_ID = re.compile(r"[\w-]{1,128}")


class CodexTranscript:
    def person_line(self, line: bytes) -> Sequence[PersonText]:
        entry = entry_in(line, b'"UserMessage"', b'"user_message"')
        text = _typed(entry).strip()
        number = entry.get("ordinal")
        ordinal = number if isinstance(number, int) else None
        return (PersonText(text, ordinal=ordinal),) if text and not _WRITTEN_BY_PROGRAM.match(text) else ()

    def origin(self, path: str, first_line: bytes) -> Origin | None:
        match entry_in(first_line, b'"forked_from_id"'):
            case {"payload": {"forked_from_id": str(session), "forked_from_ordinal_exclusive": int(before)}}:
                return Origin(_files(path, session), before) if _SESSION_ID.fullmatch(session) else None
            case _:
                return None


def _typed(entry: dict[str, Any]) -> str:
    match entry:
        case {"type": "event_msg", "payload": {"item": {"type": "UserMessage", "content": content}}}:
            return texts_in(content)
        case {"type": "event_msg", "payload": {"type": "user_message", "message": str(message)}}:
            return message
        case _:
            return ""


def _files(path: str, session: str) -> str:
    """A glob pattern for the transcript of a session. Transcripts are in folders by year, month and day."""
    top = os.path.join(os.path.dirname(path), *[os.pardir] * 3)
    return os.path.join(glob.escape(top), "*", "*", "*", f"rollout-*-{session}.jsonl")
