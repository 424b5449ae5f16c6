"""What the person asked in a session of GitHub Copilot CLI."""

from __future__ import annotations

from collections.abc import Sequence

from untildone.agents._hooks import texts_in
from untildone.agents._transcripts import CompleteTranscript, entry_in
from untildone.core.plugins.transcript import HookReason, PersonText


class CopilotTranscript(CompleteTranscript):
    def person_line(self, line: bytes) -> Sequence[PersonText | HookReason]:
        match entry_in(line, b'"user.message"', b'"hook.end"'):
            case {"type": "hook.end", "data": {"output": {"decision": "block", "reason": str(reason)}}}:
                return (HookReason(reason.strip()),)
            case {"type": "user.message", "data": {"content": content}}:
                text = texts_in(content).strip()
                return (PersonText(text),) if text else ()
            case _:
                return ()
