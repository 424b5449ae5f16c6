"""Locks of runners: session-level advisory locks on one connection. The server releases them when the process dies."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from untildone.core.errors import UntilDoneError
from untildone.core.values.value import dataclass
from untildone.store.postgres.connections import TRY_AGAIN, Database
from untildone.store.postgres.schema import LOCKS

if TYPE_CHECKING:
    from untildone.store.postgres.connections import Connection

_TRIES, _BETWEEN_TRIES = 20, 0.01
# The keys of all locks that are held by any process.
HELD = f"""
    SELECT objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid::bigint = {LOCKS} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """An advisory lock. A shared one excludes only exclusive ones."""

    key: int
    shared: bool = False

    @property
    def suffix(self) -> str:
        """The end of the names of the Postgres functions for this kind of lock."""
        return "_shared" if self.shared else ""


class Locks:
    """The locks that this process holds, on one connection."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._held: Counter[Lock] = Counter()
        self._using = threading.RLock()

    def take(self, lock: Lock) -> bool:
        """Take a lock. Returns whether it is held now. Retries briefly, because a control may hold it for a moment."""
        for _ in range(_TRIES):
            if self._try(lock):
                return True
            time.sleep(_BETWEEN_TRIES)
        return False

    def release(self, lock: Lock) -> None:
        """Release a lock that `take` returned True for."""
        import psycopg

        with self._using:
            self._held -= Counter([lock])
            if self._connection is not None:
                # A lost connection has released it already.
                with suppress(psycopg.Error):
                    self._ask(self._connection, f"pg_advisory_unlock{lock.suffix}", lock.key)

    def renew(self) -> None:
        """Take the locks again that were lost with the connection, unless another process has taken them since."""
        import psycopg

        with self._using, suppress(UntilDoneError, psycopg.Error):
            if self._held:
                self._use(lambda connection: connection.execute("SELECT 1"))

    def is_held(self, key: int) -> bool:
        """Whether any process holds a lock with this key."""
        return any(held == key % (1 << 32) for (held,) in self._database.rows(HELD))

    def close(self) -> None:
        with self._using:
            self._held.clear()
            if self._connection is not None:
                self._connection.close()

    def _try(self, lock: Lock) -> bool:
        """Try once. Checks our own locks first, because the server lets a session take a lock twice."""
        with self._using:
            if any(held.key == lock.key and not (held.shared and lock.shared) for held in self._held):
                return False
            ours = self._use(lambda connection: self._ask(connection, f"pg_try_advisory_lock{lock.suffix}", lock.key))
            if ours:
                self._held[lock] += 1
            return ours

    def _ask(self, connection: Connection, function: str, key: int) -> bool:
        row = connection.execute(f"SELECT {function}(%s, %s)".encode(), (LOCKS, key)).fetchone()
        return bool(row and row[0])

    def _use(self, work: Callable[[Connection], object]) -> bool:
        import psycopg

        deadline = time.monotonic() + self._database.patience
        while True:
            try:
                return bool(work(self._connected()))
            except psycopg.Error:
                self._connection = None
                if time.monotonic() > deadline:
                    raise
            time.sleep(TRY_AGAIN)

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = self._database.connect()
            for lock in self._held:
                self._ask(self._connection, f"pg_try_advisory_lock{lock.suffix}", lock.key)
        return self._connection
