"""What a long-lived process remembers of loops, so that it reads only what was written since."""

from __future__ import annotations

import threading
from collections import OrderedDict

from untildone.store.checkpoint import Checkpoint

MOST_LOOPS = 2000


class Memory:
    """The newest known state of loops, by id; of many, those that were asked for last."""

    def __init__(self, most: int = MOST_LOOPS) -> None:
        self._most = most
        self._known: OrderedDict[str, Checkpoint] = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, loop_id: str) -> Checkpoint | None:
        with self._lock:
            return self._known.get(loop_id)

    def keep(self, loop_id: str, known: Checkpoint) -> None:
        with self._lock:
            self._known[loop_id] = known
            self._known.move_to_end(loop_id)
            while len(self._known) > self._most:
                self._known.popitem(last=False)

    def names(self) -> tuple[str, ...]:
        """Of those that are remembered, the one asked for last is last."""
        with self._lock:
            return tuple(self._known)

    def forget(self, loop_id: str) -> None:
        with self._lock:
            self._known.pop(loop_id, None)
