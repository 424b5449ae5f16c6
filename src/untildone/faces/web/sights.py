"""One loop as it is now, for as many pages as look at it: what was read once is only added to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from untildone.core.apply import apply
from untildone.core.events import Entry
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.faces.cli.views import telling
from untildone.faces.web.desk import LogLine, Sight
from untildone.faces.web.timeline import Timeline, extended
from untildone.operations import verbs
from untildone.store import Store

MOST_LOOPS = 32
MOST_LINES = 2000


class Sights:
    """The loops that were looked at last."""

    def __init__(self, problem_of: Callable[[str], str]) -> None:
        self._problem_of = problem_of
        self._known: OrderedDict[str, _Follower] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, store: Store, loop_id: str) -> Sight:
        with self._lock:
            follower = self._known.setdefault(loop_id, _Follower(store, loop_id))
            self._known.move_to_end(loop_id)
            while len(self._known) > MOST_LOOPS:
                self._known.popitem(last=False)
        return follower.look(self._problem_of(loop_id))


class _Follower:
    def __init__(self, store: Store, loop_id: str) -> None:
        self._store = store
        self._loop_id = loop_id
        self._offset = 0
        self._folded: Loop | None = None
        self._timeline = Timeline()
        self._log: tuple[LogLine, ...] = ()
        self._sight: Sight | None = None
        self._lock = threading.Lock()

    def look(self, problem: str) -> Sight:
        with self._lock:
            mark = (self._store.signature(self._loop_id), self._is_at_work(), problem)
            if self._sight is None or self._sight.mark != mark:
                self._sight = self._read(mark, problem)
            return self._sight

    def _is_at_work(self) -> bool:
        in_session = self._sight is not None and self._sight.loop.works_in_session
        return verbs.is_at_work(self._store, self._loop_id) if in_session else self._store.is_driven(self._loop_id)

    def _read(self, mark: tuple[object, ...], problem: str) -> Sight:
        loop = self._store.load(self._loop_id)
        while True:
            fresh, offset = self._store.entries_after(self._loop_id, self._offset)
            if offset == self._offset:
                break
            self._offset = offset
            self._timeline = extended(self._timeline, fresh)
            self._log = (*self._log, *self._told(fresh, loop))[-MOST_LINES:]
        driven = loop.status is Status.RUNNING and verbs.is_at_work(self._store, self._loop_id)
        has_receipt = self._store.receipt(self._loop_id) is not None
        return Sight(mark, loop, self._timeline, self._log, driven, problem, has_receipt)

    def _told(self, entries: tuple[Entry, ...], now: Loop) -> list[LogLine]:
        lines = []
        for entry in entries:
            try:
                self._folded = apply(self._folded, entry)
            except (ValueError, LookupError, TypeError, AttributeError):
                # The beginning of the journal is damaged: the store knows the loop from its checkpoint.
                self._folded = self._folded or now
            for line in telling.of_entry(entry, self._folded, live=False):
                lines.append(LogLine(entry.at, line.text, line.kind.value))
        return lines
