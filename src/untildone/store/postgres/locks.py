"""Who drives what: session-level advisory locks, all on one connection. The server releases them when the process dies."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from untildone.core.errors import UntilDoneError
from untildone.core.value import dataclass
from untildone.store.postgres.connections import TRY_AGAIN, Database
from untildone.store.postgres.schema import LOCKS

if TYPE_CHECKING:
    from untildone.store.postgres.connections import Connection

_TRIES, _BETWEEN_TRIES = 20, 0.01
# What is held by whom can be looked up without trying to take it.
HELD = f"""
    SELECT objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid::bigint = {LOCKS} AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@dataclass(frozen=True, slots=True)
class Lock:
    """One with `shared` is in the way of those without only."""

    key: int
    shared: bool = False

    @property
    def ending(self) -> str:
        return "_shared" if self.shared else ""


class Locks:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._held: Counter[Lock] = Counter()
        self._using = threading.RLock()

    def take(self, lock: Lock) -> bool:
        """Whether it is ours now. Tried for a moment: somebody may only be writing down what follows from a control."""
        for _ in range(_TRIES):
            if self._try(lock):
                return True
            time.sleep(_BETWEEN_TRIES)
        return False

    def release(self, lock: Lock) -> None:
        import psycopg

        with self._using:
            self._held -= Counter([lock])
            if self._connection is not None:
                # A connection that was lost has released it already.
                with suppress(psycopg.Error):
                    self._ask(self._connection, f"pg_advisory_unlock{lock.ending}", lock.key)

    def renew(self) -> None:
        """Take again what was lost with the connection, unless another process has taken it since: then that one's lease counts."""
        import psycopg

        with self._using, suppress(UntilDoneError, psycopg.Error):
            if self._held:
                self._use(lambda connection: connection.execute("SELECT 1"))

    def is_held(self, key: int) -> bool:
        """By anybody."""
        return any(held == key % (1 << 32) for (held,) in self._database.rows(HELD))

    def close(self) -> None:
        with self._using:
            self._held.clear()
            if self._connection is not None:
                self._connection.close()

    def _try(self, lock: Lock) -> bool:
        """The server would give a session what it has already."""
        with self._using:
            if any(held.key == lock.key and not (held.shared and lock.shared) for held in self._held):
                return False
            ours = self._use(lambda connection: self._ask(connection, f"pg_try_advisory_lock{lock.ending}", lock.key))
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
                self._ask(self._connection, f"pg_try_advisory_lock{lock.ending}", lock.key)
        return self._connection
