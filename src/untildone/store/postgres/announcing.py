"""Telling the others which loops changed.

A runner's appends are announced in bundles, by transactions of their own: the server commits those that announce something one after
the other, and dozens of loops would wait for each other's disk.
"""

from __future__ import annotations

import threading
from contextlib import suppress

from untildone.core.errors import UntilDoneError
from untildone.store.postgres.connections import Database
from untildone.store.postgres.listening import CHANNEL

BETWEEN = 0.01
LAST_WORDS_WITHIN = 2.0
_TELL = f"""
    SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', notice) FROM unnest(%s::text[]) AS _(notice)
"""


class Announcing:
    """Begins with the first change."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._untold: dict[str, int] = {}
        self._telling = False
        self._closed = False
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def tell(self, loop_id: str, seq: int) -> None:
        with self._change:
            self._untold[loop_id] = seq
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="announcing", daemon=True)
                self._thread.start()
            self._change.notify_all()

    def flush(self) -> None:
        """Until everything is told; but not for long: whoever waits also looks for himself."""
        with self._change:
            self._change.wait_for(lambda: not (self._untold or self._telling), LAST_WORDS_WITHIN)

    def close(self) -> None:
        self.flush()
        with self._change:
            self._closed = True
            self._change.notify_all()
        if self._thread is not None:
            self._thread.join(LAST_WORDS_WITHIN)

    def _work(self) -> None:
        while (notices := self._next()) is not None:
            # If it fails, the entries are there all the same, and are found without it.
            with suppress(UntilDoneError):
                self._database.rows(_TELL, (notices,))
            with self._change:
                self._telling = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._closed, BETWEEN)

    def _next(self) -> list[str] | None:
        with self._change:
            self._change.wait_for(lambda: self._untold or self._closed)
            if not self._untold:
                return None
            notices = [f"{loop_id} {seq}" for loop_id, seq in self._untold.items()]
            self._untold.clear()
            self._telling = True
            return notices
