"""A cache of loop states for long-lived processes, which then read only the new entries."""

from __future__ import annotations

import threading
from collections import OrderedDict

from untildone.core.loop import Loop
from untildone.store.checkpoint import Checkpoint

MOST_LOOPS = 256
"""More than are driven and looked at at once; a state takes some kilobytes, and is read again in less than a millisecond."""


class Memory:
    """The newest known states by loop id, at most `most` of them: the least recently used is dropped first."""

    def __init__(self, most: int = MOST_LOOPS) -> None:
        self._most = most
        self._known: OrderedDict[str, Checkpoint] = OrderedDict()
        self._stamps: dict[str, object] = {}
        """The stamps of files of which the cached state is known to be the whole content."""
        self._lock = threading.Lock()

    def recall(self, loop_id: str) -> Checkpoint | None:
        """The cached state of a loop; None if there is none."""
        with self._lock:
            return self._known.get(loop_id)

    def keep(self, loop_id: str, known: Checkpoint) -> None:
        """Cache the state of a loop."""
        with self._lock:
            self._known[loop_id] = known
            self._known.move_to_end(loop_id)
            self._stamps.pop(loop_id, None)
            while len(self._known) > self._most:
                self._stamps.pop(self._known.popitem(last=False)[0], None)

    def keep_stamp(self, loop_id: str, loop: Loop, stamp: object) -> None:
        """Note the stamp of the files that this loop was read from."""
        with self._lock:
            known = self._known.get(loop_id)
            if known is not None and known.loop is loop:
                self._stamps[loop_id] = stamp

    def unchanged(self, loop_id: str, stamp: object) -> Loop | None:
        """The loop as it was read from files with the same stamp; None if it was not."""
        with self._lock:
            return self._known[loop_id].loop if stamp is not None and self._stamps.get(loop_id) == stamp else None

    def names(self) -> tuple[str, ...]:
        """The cached loop ids, least recently used first."""
        with self._lock:
            return tuple(self._known)

    def forget(self, loop_id: str) -> None:
        with self._lock:
            self._known.pop(loop_id, None)
            self._stamps.pop(loop_id, None)
