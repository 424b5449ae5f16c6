"""Connections to the database: pooled, tried again for a while when they are lost, and their errors as sentences."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from untildone.core.errors import MissingPackage, StoreError
from untildone.store.postgres import addresses, schema
from untildone.store.postgres.problems import passes, told

if TYPE_CHECKING:
    import psycopg
    from psycopg_pool import ConnectionPool

    Connection = psycopg.Connection[tuple[Any, ...]]

Result = TypeVar("Result")
PATIENCE, FIRST_PATIENCE = 30.0, 3.0
"""Seconds for which a lost connection is tried again; and one that never was."""
TRY_AGAIN, ONE_TRY = 0.1, 2.0
MOST_CONNECTIONS = 8


class Database:
    """One database. Nothing is connected before the first use, which also brings its tables up to date."""

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.name = addresses.shown(address)
        """For people: without user and password."""
        self._address = address
        self._pool: ConnectionPool[Connection] | None = None
        self._opening = threading.Lock()
        self._closed = False

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a query gives. It may be asked twice, if the connection is lost in the middle of it."""
        return self.run(lambda connection: _asked(connection, query, values))

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        found = self.rows(query, values)
        return found[0] if found else None

    def run(self, work: Callable[[Connection], Result]) -> Result:
        """Work on a connection; on another one from the start, if it is lost."""
        pool, deadline = self._opened(), time.monotonic() + self.patience
        import psycopg

        while True:
            try:
                with pool.connection(timeout=ONE_TRY) as connection:
                    return work(connection)
            except psycopg.Error as problem:
                if not passes(problem) or time.monotonic() > deadline or self._closed:
                    raise told(problem, self.name) from problem
            time.sleep(TRY_AGAIN)

    def connect(self) -> Connection:
        """A connection of one's own, for what belongs to a session: locks, listening."""
        self._opened()
        import psycopg

        try:
            return _connected(self._address)
        except psycopg.Error as problem:
            raise told(problem, self.name) from problem

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
        # Whatever it has to say is said as an error of ours.
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
        """Tables as they should be; or what is wrong with the address or the server, at once."""
        import psycopg

        deadline = time.monotonic() + FIRST_PATIENCE
        while True:
            try:
                with _connected(self._address) as connection:
                    return schema.migrate(connection)
            except psycopg.Error as problem:
                if not passes(problem) or time.monotonic() > deadline:
                    raise told(problem, self.name) from problem
            time.sleep(TRY_AGAIN)


def _asked(connection: Connection, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    cursor = connection.execute(query.encode(), values)
    return cursor.fetchall() if cursor.description else []


def _connected(address: str) -> Connection:
    import psycopg

    return psycopg.connect(addresses.complete(address), autocommit=True)
