"""Watching a loop go, for programs: each journal entry as a line of JSON on standard output, as it happens."""

from __future__ import annotations

from untildone.core.agent_io import AgentEvent
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.faces.cli.streams import Output
from untildone.faces.cli.views.watching import PlainView
from untildone.operations import look
from untildone.operations.stores import Journals


class JsonLines:
    """Reads the journal along, so that what others write is told as well, and in its order."""

    def __init__(self, store: Journals, loop_id: str, data: Output, *, from_start: bool) -> None:
        self._loop_id = loop_id
        self._data = data
        self._journal = store.open(loop_id)
        if from_start:
            self._tell(tuple(self._journal.entries()))

    def catch_up(self) -> None:
        if not self._data.gone:
            self._tell(self._journal.catch_up())

    def close(self) -> None:
        self.catch_up()
        self._journal.close()

    def _tell(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            self._data.json(look.entry_json(entry, self._loop_id))


class RecordingView:
    """An observer that shows a view what happens, and programs the journal."""

    def __init__(self, view: PlainView, lines: JsonLines) -> None:
        self._view = view
        self._lines = lines

    def entry(self, entry: Entry, loop: Loop) -> None:
        self._lines.catch_up()
        self._view.entry(entry, loop)

    def agent(self, event: AgentEvent, loop: Loop) -> None:
        self._view.agent(event, loop)

    def gate(self, command: str, result: GateResult | None) -> None:
        self._view.gate(command, result)

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        self._view.waiting(until, reason, loop)
