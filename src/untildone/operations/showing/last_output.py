"""The last line that the agent of a running loop printed."""

from __future__ import annotations

from untildone.core.errors import UntilDoneError
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice
from untildone.operations.loop_table import Row
from untildone.operations.showing.output_window import Block, Output
from untildone.operations.stores import Store

MOST_KNOWN = 500
LONGEST = 300


class LastOutput:
    """Remembers the last line of each output: it is read again only if the output has grown."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, str]] = {}

    def of_row(self, store: Store, row: Row) -> str:
        """The last line of the output that grows now; empty: there is none."""
        name = row.doing.output if row.doing is not None else ""
        if not name:
            return ""
        try:
            return self._line(store, row, name)
        except (UntilDoneError, OSError):
            return ""

    def _line(self, store: Store, row: Row, name: str) -> str:
        spool, key = store.spool(row.loop_id, name), (row.loop_id, name)
        size, (known, line) = spool.size() or 0, self._known.get(key, (0, ""))
        if size == known:
            return line
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        line = last_line(Output(spool, _choice(store.load(row.loop_id))).end())
        self._known[key] = (size, line)
        return line


def _choice(loop: Loop) -> AgentChoice:
    """The agent that prints."""
    return loop.settings.agent_of(loop.turn.role, loop.turn.profile) if loop.turn else loop.settings.worker


def last_line(blocks: tuple[Block, ...]) -> str:
    """The last line that says something: words of the agent, or its last tool call."""
    for block in reversed(blocks):
        if block.calls:
            call = block.calls[-1]
            return f"{call.tool} {call.summary}".strip()[:LONGEST]
        lines = [line.strip() for line in block.text.splitlines() if line.strip()]
        if lines:
            return lines[-1][:LONGEST]
    return ""
