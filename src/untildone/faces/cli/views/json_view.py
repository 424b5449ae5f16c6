"""The view for programs: each journal entry as a line of JSON on standard output, as soon as it is written."""

from __future__ import annotations

from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import GateResult
from untildone.core.plugins.agent_io import AgentEvent
from untildone.faces.cli.streams import Output
from untildone.faces.cli.views.plain_view import PlainView
from untildone.operations import look
from untildone.operations.stores import Journals


class JsonLines:
    """Follows the journal, so that entries of other processes are written too, and in order."""

    def __init__(self, store: Journals, loop_id: str, data: Output, *, from_start: bool) -> None:
        self._loop_id = loop_id
        self._data = data
        self._journal = store.open(loop_id)
        if from_start:
            self._write(tuple(self._journal.entries()))

    def catch_up(self) -> None:
        if not self._data.gone:
            self._write(self._journal.catch_up())

    def close(self) -> None:
        self.catch_up()
        self._journal.close()

    def _write(self, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            self._data.json(look.entry_json(entry, self._loop_id))


class JsonView:
    """An observer that passes everything to a view, and writes new journal entries as JSON."""

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

    def trying(self, proof: str, number: int, total: int, about: str) -> None:
        self._view.trying(proof, number, total, about)

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        self._view.waiting(until, reason, loop)
