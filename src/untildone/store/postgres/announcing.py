"""Notifies other processes of changed loops.

Appends of runners are announced in batches, in separate transactions: the server serializes the commits of transactions that
notify, so dozens of loops would wait for each other's disk writes.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from untildone.core.errors import UntilDoneError
from untildone.store.postgres.connections import Database
from untildone.store.postgres.listening import CHANNEL

BETWEEN = 0.01
"""Seconds between two batches."""
FLUSH_WITHIN = 2.0
_NOTIFY = f"""
    SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', notice) FROM unnest(%s::text[]) AS _(notice)
"""


class Announcing:
    """Sends notices from a thread, which starts with the first change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unsent: dict[str, int] = {}
        self._sending = False
        self._closed = False
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def announce(self, loop_id: str, seq: int) -> None:
        """Send a notice soon that the loop has an entry with this number."""
        with self._change:
            self._unsent[loop_id] = seq
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="announcing", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def flush(self) -> None:
        """Wait until all notices are sent, for a limited time: listeners also poll."""
        with self._change:
            self._change.wait_for(lambda: not (self._unsent or self._sending), FLUSH_WITHIN)

    def close(self) -> None:
        self.flush()
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(FLUSH_WITHIN)

    def _work(self) -> None:
        while (notices := self._next()) is not None:
            # A lost notice is no problem, because listeners also poll.
            with suppress(UntilDoneError):
                self._database.rows(_NOTIFY, (notices,))
            with self._change:
                self._sending = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._closed, BETWEEN)

    def _next(self) -> list[str] | None:
        with self._change:
            self._change.wait_for(lambda: self._unsent or self._closed)
            if not self._unsent:
                return None
            notices = [f"{loop_id} {seq}" for loop_id, seq in self._unsent.items()]
            self._unsent.clear()
            self._sending = True
            return notices
