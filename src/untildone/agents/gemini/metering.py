"""What a run of gemini has used so far, from its recording of the chat. Its output reports it at the end."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.agents._lines import Object, text_field, tokens_field
from untildone.agents._setups import own_folder, session_files
from untildone.agents._tally import Tally, count_of
from untildone.agents._transcripts import entry_in
from untildone.core.prices import TokenCount

_SHORT_ID = 8
"""How many characters of a session's id are in the name of its file."""
_CHATS = "tmp/*/chats"


def files(environment: Mapping[str, str], session_id: str) -> tuple[str, ...]:
    """The recordings of a session, and those of the agents that it starts."""
    own_home = environment.get("GEMINI_CLI_HOME")
    home = own_folder({**environment, "HOME": own_home} if own_home else environment, "", ".gemini")
    of_agents = session_files(home, _CHATS, session_id)
    recordings = session_files(home, _CHATS, f"session-*-{session_id[:_SHORT_ID]}.jsonl")
    return (recordings, f"{of_agents}/*.jsonl") if of_agents else ()


def take(line: bytes, tally: Tally) -> bool:
    """Take a line of a recording, which repeats a message when its tools have ended. Returns whether the usage has grown."""
    entry = entry_in(line, b'"tokens"')
    if text_field(entry, "type") != "gemini":
        return False
    return tally.take(text_field(entry, "id"), text_field(entry, "model"), _count(entry))


def _count(entry: Object) -> TokenCount:
    """The tokens of one message. Tokens that are neither input nor visible output are thoughts, and count as output."""
    read, total = (tokens_field(entry, "tokens", kind) or 0 for kind in ("input", "total"))
    return count_of(read, max(0, total - read), tokens_field(entry, "tokens", "cached"))
