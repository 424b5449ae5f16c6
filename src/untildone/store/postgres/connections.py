"""Connections to the database: pooled, retried for a while when lost, with errors translated to `StoreError`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from untildone.core.errors import MissingPackage, StoreError
from untildone.store import waiting
from untildone.store.postgres import addresses, schema
from untildone.store.postgres.problems import is_temporary, store_error

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

    Connection = psycopg.Connection[tuple[Any, ...]]

Result = TypeVar("Result")
PATIENCE, FIRST_PATIENCE = 30.0, 3.0
"""Seconds for which a lost connection is retried, and for which the first connection is."""
TRY_AGAIN, ONE_TRY = 0.1, 2.0
"""Seconds between two attempts, and for one attempt."""
MOST_CONNECTIONS = 8


class Database:
    """One database. The first use connects, and migrates the tables."""

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.name = addresses.shown(address)
        """The address to show: without user and password."""
        self._address = address
        self._pool: ConnectionPool[Connection] | None = None
        self._opening = threading.Lock()
        self._closed = False

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query. It may run twice, if the connection is lost during it."""
        return self.run(lambda connection: _fetched(connection, query, values))

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row of a query; None if there is none."""
        rows = self.rows(query, values)
        return rows[0] if rows else None

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """The result of `work` on a connection. If the connection is lost, `work` runs again on another one."""
        pool, deadline = self._opened(), time.monotonic() + min(self.patience, waiting.longest.get())
        import psycopg

        while True:
            try:
                with pool.connection(timeout=ONE_TRY) as connection:
                    return work(connection)
            except psycopg.Error as problem:
                if not is_temporary(problem) or time.monotonic() > deadline or self._closed:
                    raise store_error(problem, self.name) from problem
            time.sleep(TRY_AGAIN)

    def connect(self) -> Connection:
        """A new connection outside the pool, for state of a database session: locks, notices."""
        self._opened()
        import psycopg

        try:
            return _connected(self._address)
        except psycopg.Error as problem:
            raise store_error(problem, self.name) from problem

    def close(self) -> None:
        self._closed = True
        with self._opening:
            if self._pool is not None:
                self._pool.close(timeout=1.0)

    def _opened(self) -> ConnectionPool[Connection]:
        with self._opening:
            if self._closed:
                raise StoreError(f"The connection to {self.name} is closed.", "open the store again")
            if self._pool is None:
                self._pool = self._open()
            return self._pool

    def _open(self) -> ConnectionPool[Connection]:
        try:
            from psycopg_pool import ConnectionPool
        except ImportError:
            sentence = "Loops in Postgres need the package psycopg, which is not installed."
            raise MissingPackage(sentence, "cluster") from None
        self._prepare()
        # Silence the log of psycopg: its problems are raised as our exceptions.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
        return ConnectionPool(
            addresses.complete(self._address),
            kwargs={"autocommit": True},
            min_size=0,
            max_size=MOST_CONNECTIONS,
            reconnect_timeout=ONE_TRY,
            open=True,
        )

    def _prepare(self) -> None:
        """Migrate the tables. Fails quickly if the address is wrong or the server is down."""
        import psycopg

        deadline = time.monotonic() + FIRST_PATIENCE
        while True:
            try:
                with _connected(self._address) as connection:
                    return schema.migrate(connection)
            except psycopg.Error as problem:
                if not is_temporary(problem) or time.monotonic() > deadline:
                    raise store_error(problem, self.name) from problem
            time.sleep(TRY_AGAIN)


def _fetched(connection: Connection, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    cursor = connection.execute(query.encode(), values)
    return cursor.fetchall() if cursor.description else []


def _connected(address: str) -> Connection:
    import psycopg

    return psycopg.connect(addresses.complete(address), autocommit=True)
