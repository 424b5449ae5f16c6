"""Loops as faces show them. All readers of a loop share one follower, so each entry is read once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

from untildone.core.apply import apply
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.operations.driving import presence
from untildone.operations.showing.timeline import Timeline, extended
from untildone.operations.showing.values import LogLine, LoopView
from untildone.operations.stores import Store

MOST_LOOPS = 32
MOST_LINES = 2000
Describe = Callable[[Entry, Loop], Iterable[LogLine]]
"""Makes the lines of the log for an entry, given the loop after it."""


class LoopViews:
    """A cache of the loops that were shown last."""

    def __init__(self, problem_of: Callable[[str], str], describe: Describe) -> None:
        self._problem_of = problem_of
        self._describe = describe
        self._known: OrderedDict[str, _Follower] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, store: Store, loop_id: str) -> LoopView:
        """The loop as it is now."""
        with self._lock:
            follower = self._known.setdefault(loop_id, _Follower(store, loop_id, self._describe))
            self._known.move_to_end(loop_id)
            while len(self._known) > MOST_LOOPS:
                self._known.popitem(last=False)
        return follower.look(self._problem_of(loop_id))


class _Follower:
    """Reads the journal of one loop as it grows."""

    def __init__(self, store: Store, loop_id: str, describe: Describe) -> None:
        self._store = store
        self._loop_id = loop_id
        self._describe = describe
        self._offset = 0
        self._folded: Loop | None = None
        self._timeline = Timeline()
        self._log: tuple[LogLine, ...] = ()
        self._view: LoopView | None = None
        self._lock = threading.Lock()

    def look(self, problem: str) -> LoopView:
        with self._lock:
            mark = (self._store.signature(self._loop_id), self._is_at_work(), problem)
            if self._view is None or self._view.mark != mark:
                self._view = self._read(mark, problem)
            return self._view

    def _is_at_work(self) -> bool:
        in_session = self._view is not None and self._view.loop.works_in_session
        return presence.is_at_work(self._store, self._loop_id) if in_session else self._store.is_driven(self._loop_id)

    def _read(self, mark: tuple[object, ...], problem: str) -> LoopView:
        loop = self._store.load(self._loop_id)
        while True:
            fresh, offset = self._store.entries_after(self._loop_id, self._offset)
            if offset == self._offset:
                break
            self._offset = offset
            self._timeline = extended(self._timeline, fresh)
            self._log = (*self._log, *self._log_lines(fresh, loop))[-MOST_LINES:]
        driven = loop.status is Status.RUNNING and presence.is_at_work(self._store, self._loop_id)
        has_receipt = self._store.receipt(self._loop_id) is not None
        return LoopView(mark, loop, self._timeline, self._log, driven, problem, has_receipt)

    def _log_lines(self, entries: tuple[Entry, ...], now: Loop) -> list[LogLine]:
        lines: list[LogLine] = []
        for entry in entries:
            try:
                self._folded = apply(self._folded, entry)
            except (ValueError, LookupError, TypeError, AttributeError):
                # The beginning of the journal is damaged: the store knows the loop from its checkpoint.
                self._folded = self._folded or now
            lines.extend(self._describe(entry, self._folded))
        return lines
