"""The limit of wrong tries at tokens and login codes, for each client and for all together.

While a client is over its limit, nothing that it offers is looked at, or guessing would go on; but a token that it used before the limit
was reached stays good, so that a guesser does not lock out the programs that run beside it.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

BURST, EVERY = 20, 3.0
"""Wrong tries that a client has, and the seconds after which it gets one back."""
BURST_OF_ALL, EVERY_OF_ALL = 200, 0.3
MOST_CLIENTS, MOST_KNOWN = 10_000, 1000


@dataclass(slots=True)
class _Bucket:
    burst: int
    every: float
    used: float = 0.0
    at: float = 0.0

    def level(self, now: float) -> float:
        """Wrong tries that count now."""
        return max(0.0, self.used - (now - self.at) / self.every)

    def take(self, now: float) -> None:
        self.used, self.at = min(float(self.burst), self.level(now) + 1), now

    def wait(self, now: float) -> float:
        """Seconds until there is a try again; 0: now."""
        return max(0.0, (self.level(now) - (self.burst - 1)) * self.every)


class Tries:
    """Counts wrong tries. Thread-safe and bounded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = _Bucket(BURST_OF_ALL, EVERY_OF_ALL)
        self._clients: OrderedDict[str, _Bucket] = OrderedDict()
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, client: str) -> int:
        """Whole seconds that the client must wait before its next try; 0: none."""
        with self._lock:
            now, own = self._clock(), self._clients.get(client)
            return math.ceil(max(self._all.wait(now), own.wait(now) if own else 0.0))

    def failed(self, client: str) -> None:
        """Count a wrong try."""
        with self._lock:
            now = self._clock()
            bucket = self._clients.pop(client, None) or _Bucket(BURST, EVERY)
            bucket.take(now)
            self._all.take(now)
            self._clients[client] = bucket
            if len(self._clients) > MOST_CLIENTS:
                self._clients.popitem(last=False)

    def succeeded(self, client: str, digest: str) -> None:
        """Remember the digest of a right token."""
        with self._lock:
            self._known[client, digest] = None
            self._known.move_to_end((client, digest))
            if len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)

    def knows(self, client: str, digest: str) -> bool:
        """Whether the client has used this token before."""
        with self._lock:
            return (client, digest) in self._known
