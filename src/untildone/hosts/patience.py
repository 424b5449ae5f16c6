"""A loop that has to wait for long, at a usage limit, leaves its slot to another meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable

from untildone.core.loop import Loop
from untildone.engine.engine import Engine, NobodyWatches

LONG_WAIT = 5.0
"""In seconds."""


class Patience(NobodyWatches):
    """Gives the slot away when the loop has to wait for long, and tells until when."""

    def __init__(self, engine: Engine, wait: Callable[[float], None]) -> None:
        self._engine = engine
        self._wait = wait

    def waiting(self, until: float, reason: str, loop: Loop) -> None:
        if until - time.time() > LONG_WAIT:
            self._wait(until)
            self._engine.hand_over()
