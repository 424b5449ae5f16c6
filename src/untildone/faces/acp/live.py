"""Follows a running loop for an editor: its journal, and what its agents print."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from untildone.core.events import Entry, TurnStarted
from untildone.faces.acp.updates import Update, Updates
from untildone.operations import look, stores
from untildone.operations.showing.running_output import RunningOutput


class LiveUpdates:
    """The updates of one loop, as they come. Entries up to `known` are those that the editor has."""

    def __init__(self, folder: Path, loop_id: str, known: int) -> None:
        self._store = stores.open_store(folder)
        self._journal = self._store.open(loop_id)
        self._output = RunningOutput(self._store, loop_id)
        self._updates = Updates(after=known)
        self._known = known
        self._first: tuple[Entry, ...] | None = tuple(self._journal.entries())

    def close(self) -> None:
        self._journal.close()

    @property
    def is_over(self) -> bool:
        """Whether the loop rests, and its entries were read."""
        return self._first is None and look.rests(self._store, self._journal.loop)

    def fresh(self) -> Iterator[tuple[Update, ...]]:
        """What is new since the last call, some at a time: an agent may print more than fits into memory."""
        entries = (*(self._first or ()), *self._journal.catch_up())
        self._first = None
        # Output that led to an entry was printed before the entry was written.
        yield from self._printed()
        for entry in entries:
            yield from self._of(entry)

    def _of(self, entry: Entry) -> Iterator[tuple[Update, ...]]:
        if isinstance(entry.event, TurnStarted):
            yield from self._printed()
        yield self._updates.of(entry)
        loop = self._updates.loop
        if isinstance(entry.event, TurnStarted) and loop is not None:
            self._output.turn(entry.event, loop)
            if entry.seq <= self._known:
                self._output.skip()
            else:
                yield from self._printed()

    def _printed(self) -> Iterator[tuple[Update, ...]]:
        while (events := self._output.fresh()) is not None:
            yield tuple(update for event in events for update in self._updates.of_agent(event))
