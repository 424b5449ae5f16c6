"""What the person asked in a session of Gemini CLI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from untildone.agents._hooks import texts_in
from untildone.agents._transcripts import CompleteTranscript, entry_in
from untildone.core.plugins.transcript import HookReason, PersonText

_BLOCKED = "Agent execution blocked: "
"""How the warning starts that quotes the reply of a hook."""
_WRITTEN_BY_PROGRAM = "<session_context"


class GeminiTranscript(CompleteTranscript):
    def person_line(self, line: bytes) -> Sequence[PersonText | HookReason]:
        entry = entry_in(line, b'"user"', b'"warning"')
        return tuple(item for each in _entries(entry) for item in _items(each))


def _entries(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a line. When a session starts or is resumed, one line contains several."""
    several = entry.get("$set")
    messages = several.get("messages") if isinstance(several, dict) else None
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else [entry]


def _items(entry: dict[str, Any]) -> Iterator[PersonText | HookReason]:
    match entry:
        case {"type": "warning", "content": str(warning)} if warning.startswith(_BLOCKED):
            yield HookReason(warning.removeprefix(_BLOCKED).strip())
        case {"type": "user", "content": content}:
            text = texts_in(content).strip()
            identity = entry.get("id")
            if text and not text.startswith(_WRITTEN_BY_PROGRAM):
                yield PersonText(text, identity if isinstance(identity, str) else None)
