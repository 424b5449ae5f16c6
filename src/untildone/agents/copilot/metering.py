"""What a run of copilot has used so far, from the events of its session. Its report at the end has the totals of the session."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._lines import Object, object_field, text_field, tokens_field
from untildone.agents._setups import own_folder, session_files
from untildone.agents._tally import Tally, count_of
from untildone.agents._transcripts import entry_in
from untildone.core.prices import TokenCount

_KIND = "session.usage_record"


def files(environment: Mapping[str, str], session_id: str) -> tuple[str, ...]:
    """The events of a session."""
    home = own_folder(environment, "COPILOT_HOME", ".copilot")
    folder = session_files(home, "session-state", session_id)
    return (f"{folder}/events.jsonl",) if folder else ()


def take(line: bytes, tally: Tally) -> bool:
    """Add a record of usage to the tally; other events are ignored. Returns whether the usage grew."""
    entry = entry_in(line, f'"{_KIND}"'.encode())
    if text_field(entry, "type") != _KIND:
        return False
    usage = object_field(entry, "data", "usage")
    return tally.take(text_field(entry, "id"), text_field(usage, "model"), count(usage))


def count(usage: Object) -> TokenCount:
    """The tokens of a message, or of all messages of a model."""
    kinds = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return count_of(*(tokens_field(usage, kind) for kind in kinds))
