"""The output of agents in rows of bounded size: written by a thread, readable from any machine."""

from __future__ import annotations

import threading
from collections.abc import Callable

from untildone.core.errors import StoreError, UntilDoneError
from untildone.core.values.value import dataclass
from untildone.store.postgres.connections import Database

LARGEST_ROW = 256 * 1024
FLUSH_EVERY = 0.5
"""Seconds between two rows of an agent that prints little."""
MOST_WAITING = 64 * 1024 * 1024
"""Bytes that may wait for a slow or unreachable database. An agent that prints more is blocked."""

_SIZE = """
    SELECT start + octet_length(content) FROM untildone.output
    WHERE loop = (SELECT number FROM untildone.loops WHERE loop_id = %s) AND name = %s ORDER BY start DESC LIMIT 1
"""
_WRITE = """
    INSERT INTO untildone.output (loop, name, start, content)
    SELECT number, %s, %s, %s FROM untildone.loops WHERE loop_id = %s AND (%s::text IS NULL OR token = %s)
    ON CONFLICT (loop, name, start) DO UPDATE SET content = excluded.content WHERE output.content = '' RETURNING 1
"""
_SAME = """
    SELECT content = %s FROM untildone.output
    WHERE loop = (SELECT number FROM untildone.loops WHERE loop_id = %s) AND name = %s AND start = %s
"""
_READ = f"""
    SELECT start, content FROM untildone.output
    WHERE loop = (SELECT number FROM untildone.loops WHERE loop_id = %s) AND name = %s
        AND start > %s - {LARGEST_ROW} AND start < %s
    ORDER BY start
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """Identifies an output: the loop, and the name of the turn."""

    loop_id: str
    name: str


class PostgresSpool:
    """The output of one turn, in rows of the database."""

    def __init__(self, database: Database, turn: Turn, token: Callable[[], str | None]) -> None:
        """`token` returns the token of the lease under which output is written: a superseded runner can add nothing more."""
        self._database = database
        self._turn = turn
        self._token = token
        self._writer: _Writer | None = None

    def write(self, content: bytes) -> None:
        if self._writer is None:
            self._writer = _Writer(self._database, self._turn, self._token(), self.size())
        self._writer.write(content)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def size(self) -> int | None:
        row = self._database.row(_SIZE, (self._turn.loop_id, self._turn.name))
        return None if row is None else int(row[0])

    def written_at(self) -> float | None:
        return None

    def read(self, start: int, count: int) -> bytes:
        rows = self._database.rows(_READ, (self._turn.loop_id, self._turn.name, start, start + count))
        return b"".join(bytes(content)[max(0, start - at) :] for at, content in rows)[:count]


class _Writer:
    """Collects output, which a thread writes to the database."""

    def __init__(self, database: Database, turn: Turn, token: str | None, size: int | None) -> None:
        self._database = database
        self._turn = turn
        self._token = token
        self._at = size or 0
        self._waiting = bytearray()
        self._problem: UntilDoneError | None = None
        self._superseded = False
        self._closed = False
        self._change = threading.Condition()
        if size is None:
            # Create the output at once, even for an agent that prints nothing.
            self._write(b"")
        self._thread = threading.Thread(target=self._work, name="output", daemon=True)
        self._thread.start()

    def write(self, content: bytes) -> None:
        with self._change:
            self._change.wait_for(lambda: len(self._waiting) < MOST_WAITING or self._problem or self._superseded)
            if self._problem is not None:
                raise self._problem
            self._waiting += b"" if self._superseded else content
            if len(self._waiting) >= LARGEST_ROW:
                self._change.notify_all()

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._change.notify_all()
        self._thread.join()
        if self._problem is not None:
            raise self._problem

    def _work(self) -> None:
        while (content := self._next()) is not None:
            try:
                for start in range(0, len(content), LARGEST_ROW):
                    self._write(content[start : start + LARGEST_ROW])
            except UntilDoneError as problem:
                with self._change:
                    self._problem = StoreError(f"The output cannot be kept: {problem.sentence}", problem.hint)
                    self._change.notify_all()
                return

    def _next(self) -> bytes | None:
        """The output since the last call; None after `close`, when all is written."""
        with self._change:
            self._change.wait_for(lambda: len(self._waiting) >= LARGEST_ROW or self._closed, FLUSH_EVERY)
            if self._closed and not self._waiting:
                return None
            content = bytes(self._waiting)
            self._waiting.clear()
            self._change.notify_all()
            return content

    def _write(self, content: bytes) -> None:
        loop_id, name = self._turn.loop_id, self._turn.name
        values = (name, self._at, content, loop_id, self._token, self._token)
        while not self._superseded and not self._database.rows(_WRITE, values):
            same = self._database.row(_SAME, (content, loop_id, name, self._at))
            if same is None:
                self._superseded = True
            elif same[0]:
                # The row was written before the connection was lost.
                break
            else:
                self._at = int((self._database.row(_SIZE, (loop_id, name)) or (0,))[0])
                values = (name, self._at, content, loop_id, self._token, self._token)
        self._at += len(content)
