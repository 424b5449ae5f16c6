"""A cache of loop states for long-lived processes, which then read only the new entries."""

from __future__ import annotations

import threading
from collections import OrderedDict

from untildone.store.checkpoint import Checkpoint

MOST_LOOPS = 2000


class Memory:
    """The newest known states by loop id, at most `most` of them: the least recently used is dropped first."""

    def __init__(self, most: int = MOST_LOOPS) -> None:
        self._most = most
        self._known: OrderedDict[str, Checkpoint] = OrderedDict()
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
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def names(self) -> tuple[str, ...]:
        """The cached loop ids, least recently used first."""
        with self._lock:
            return tuple(self._known)

    def forget(self, loop_id: str) -> None:
        with self._lock:
            self._known.pop(loop_id, None)
