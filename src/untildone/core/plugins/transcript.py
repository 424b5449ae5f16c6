"""What a person asked in a session, read from the agent's transcript of it."""

from __future__ import annotations

from collections.abc import Sequence

from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class PersonText:
    """A prompt that the person typed."""

    text: str
    message_id: str | None = None
    """The id of the message, for agents that write the same prompt twice."""
    ordinal: int | None = None
    """The number of the line, if the agent numbers them."""


@dataclass(frozen=True, slots=True)
class HookReason:
    """The reply of a stop hook. The agent repeats the text in its transcript, as if the person had typed it."""

    text: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The session that this one was forked from."""

    files: str
    """A glob pattern for its transcript."""
    before: int
    """Only its lines with a smaller ordinal belong to the fork."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Where an agent keeps the transcript of a session, and how it is read."""

    files: str
    """A glob pattern for its file."""
    transcript: Transcript


class Transcript(Protocol):
    """Reads one agent's transcript, line by line. Pure."""

    def person_line(self, line: bytes) -> Sequence[PersonText | HookReason]:
        """The prompts of the person in one line, without additions of the program."""
        ...

    def origin(self, path: str, first_line: bytes) -> Origin | None:
        """Where the earlier part of the session is; None: the transcript is complete."""
        ...
