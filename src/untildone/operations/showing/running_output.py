"""What the agent of a running turn prints, as it prints it."""

from __future__ import annotations

from untildone.core.events import TurnStarted
from untildone.core.loop import Loop, output_name
from untildone.core.plugins.agent_io import AgentEvent, Reader
from untildone.operations.output import reader
from untildone.operations.stores import Records, Spool
from untildone.system.program.lines import LineFramer

AT_ONCE = 1 << 20


class RunningOutput:
    """Follows the output of the running turn of a loop."""

    def __init__(self, store: Records, loop_id: str) -> None:
        self._store = store
        self._loop_id = loop_id
        self._name = ""
        self._reader: Reader | None = None
        self._spool: Spool | None = None
        self._read = 0
        self._lines: list[bytes] = []
        self._framer = LineFramer(self._lines.append)

    def turn(self, event: TurnStarted, loop: Loop) -> None:
        """Switch to the output of a new turn."""
        name = output_name(event.role, event.iteration)
        self._reader = reader(loop.settings.agent_of(event.role, event.profile))
        if name != self._name:
            self._name, self._read = name, 0
            self._framer = LineFramer(self._lines.append)
            self._spool = self._store.spool(self._loop_id, name)

    def skip(self) -> None:
        """Leave out what was printed so far."""
        self._read = (self._spool.size() or 0) if self._spool is not None else 0

    def fresh(self) -> tuple[AgentEvent, ...] | None:
        """What was printed since the last call, at most a megabyte; None: nothing was."""
        if self._spool is None or not (content := self._spool.read(self._read, AT_ONCE)):
            return None
        self._read += len(content)
        self._framer.feed(content)
        lines = self._lines.copy()
        self._lines.clear()
        return tuple(event for line in lines for event in (self._reader.feed(line) if self._reader else ()))
