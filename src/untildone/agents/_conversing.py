"""What conversations over JSON lines share: the lines that are read, and those that wait to be written."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

from untildone.agents._lines import Object, ObjectLines
from untildone.core.plugins.agent_io import AgentEvent, Conversation, Notice


class JsonConversation(Conversation):
    """A conversation in which each line is a JSON object."""

    def __init__(self, program: str, first: bytes) -> None:
        self._lines = ObjectLines(program)
        self._out = [first]

    def outgoing(self) -> bytes:
        written = b"".join(self._out)
        self._out.clear()
        return written

    def feed(self, line: bytes) -> tuple[AgentEvent, ...]:
        read = self._lines.read(line)
        if read is None:
            return ()
        return (read,) if isinstance(read, Notice) else tuple(self._take(read))

    @abstractmethod
    def _take(self, fields: Object) -> Iterator[AgentEvent]:
        """Take a message of the program."""
