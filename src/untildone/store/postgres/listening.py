"""Listens for notices of changed loops on one connection per process, so that waiting code need not poll often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from untildone.core.errors import UntilDoneError
from untildone.store.postgres.connections import Database

if TYPE_CHECKING:
    from untildone.store.postgres.connections import Connection

CHANNEL = "untildone"
POLL_EVERY, POLL_WHILE_DEAF = 1.0, 0.1
"""Seconds between two polls while notices arrive, and while no connection can listen."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 2.0
"""Seconds between two attempts to listen. They grow, because each attempt is a login."""
_LOOK_UP = 0.5
"""Seconds after which the thread looks whether it has to end."""


class Listening:
    """Listens in a thread, which starts with the first question. `on_return` is called after every successful connection."""

    def __init__(self, database: Database, on_return: Callable[[], None] = lambda: None) -> None:
        self._database = database
        self._on_return = on_return
        self._newest: dict[str, int] = {}
        self._since: float | None = None
        """Since when every notice has been received; None while not listening."""
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = threading.Event()

    def heard(self, loop_id: str, seq: int) -> None:
        """Note that the loop has an entry with this number."""
        if seq > self._newest.get(loop_id, 0):
            self._newest[loop_id] = seq

    def forget(self, loop_id: str) -> None:
        self._newest.pop(loop_id, None)

    def newest(self, loop_id: str) -> int:
        """The number of the last entry that is known of; 0 if none is."""
        return self._newest.get(loop_id, 0)

    def may_be_news(self, loop_id: str, seq: int, looked_at: float) -> bool:
        """Whether there may be entries after `seq`, which was the last one at `looked_at`."""
        return self.newest(loop_id) > seq or self.is_stale(looked_at)

    def is_stale(self, looked_at: float) -> bool:
        """Whether the state as of `looked_at` may be out of date even though no notice arrived."""
        self._ensure()
        since, age = self._since, time.monotonic() - looked_at
        if since is None:
            return age >= POLL_WHILE_DEAF
        return looked_at < since or age >= POLL_EVERY

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join(5 * _LOOK_UP)

    def _ensure(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._work, name="listening", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        import psycopg

        pause = _FIRST_PAUSE
        while not self._closed.is_set():
            try:
                with self._database.connect() as connection:
                    self._listen(connection)
            except (UntilDoneError, psycopg.Error):
                # Callers poll meanwhile; try again.
                pause = _FIRST_PAUSE if self._since is not None else min(_LONGEST_PAUSE, 2 * pause)
            self._since = None
            self._closed.wait(pause)

    def _listen(self, connection: Connection) -> None:
        connection.execute(f"LISTEN {CHANNEL}".encode())
        self._since = time.monotonic()
        self._on_return()
        while not self._closed.is_set():
            for notice in connection.notifies(timeout=_LOOK_UP):
                loop_id, _, seq = notice.payload.partition(" ")
                self.heard(loop_id, int(seq))
