"""One loop's journal in the database.

An append names the entry that it follows, and the database accepts it if that is still the last one. It is one statement, so that a
writer that freezes or dies does not block the others. Each append has a key, which shows after a lost connection whether it was
written: it is neither lost nor written twice.

Rows have no seals, unlike lines of a file (`store.seals`): an agent cannot reach the database, whose address is kept from it. That a
loop is verified only if its gates have passed holds here too, because `apply` decides it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from untildone.core.apply import apply, refusal
from untildone.core.errors import DamagedState, LoopNotFound, Superseded
from untildone.core.events import Entry, Event, RunnerLeased, StateRepaired
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import epoch, timestamp
from untildone.core.values.value import dataclass
from untildone.store import Clock, OnChange, acting, checkpoint
from untildone.store.checkpoint import Checkpoint, CheckpointWriter
from untildone.store.lines import DamagedLine, as_fields, encoded, entry_of, fields_of, with_checksum, without_checksum
from untildone.store.postgres.announcing import Announcing
from untildone.store.postgres.connections import Database
from untildone.store.postgres.listening import CHANNEL, Listening
from untildone.system import runners

if TYPE_CHECKING:
    from untildone.store.postgres.connections import Connection

CHECKPOINT_EVERY = 1.0
"""Minimum seconds between two checkpoints. Folding the few entries since the last one is cheap."""
_BATCH = 500
_MOST_REPAIRS = 20
_UNFIT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Exceptions that reading or folding a damaged line may raise."""

_APPEND = f"""
    WITH moved AS (
        UPDATE untildone.loops
        SET last_seq = %(known)s + cardinality(%(lines)s::text[]), told_seq = %(known)s + cardinality(%(lines)s::text[]),
            cost = %(cost)s, status = %(status)s, host = %(host)s,
            token = coalesce(%(lease)s, token), engine_token = coalesce(%(engine)s, engine_token)
        WHERE number = %(loop)s AND last_seq = %(known)s AND (%(token)s::text IS NULL OR token = %(token)s)
            AND (%(engine)s::text IS NULL OR engine_token IS NULL OR engine_token < %(engine)s
                 OR (engine_token = %(engine)s AND token = %(engine)s))
        RETURNING number, loop_id, last_seq
    ), written AS (
        INSERT INTO untildone.entries (loop, seq, append_key, line)
        SELECT number, %(known)s + place, %(key)s, line FROM moved, unnest(%(lines)s::text[]) WITH ORDINALITY AS _(line, place)
    )
    SELECT CASE WHEN %(notify)s THEN pg_notify('{CHANNEL}', loop_id || ' ' || last_seq) END FROM moved
"""
_NEWS = """
    SELECT token, engine_token, seq, append_key, line
    FROM untildone.loops LEFT JOIN untildone.entries ON loop = number AND seq > %s
    WHERE number = %s ORDER BY seq
"""
_PAGE = "SELECT seq, line FROM untildone.entries WHERE loop = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s"
_CHECKPOINT = """
    INSERT INTO untildone.checkpoints AS kept (loop, seq, content) VALUES (%s, %s, %s)
    ON CONFLICT (loop) DO UPDATE SET seq = excluded.seq, content = excluded.content WHERE kept.seq < excluded.seq
"""


@dataclass(frozen=True, slots=True)
class Writing:
    """What a journal needs to read and write entries of its loop."""

    database: Database
    listening: Listening
    announcing: Announcing
    redactor: Redactor
    clock: Clock
    loop_id: str
    number: int
    on_change: OnChange
    machine: str


@dataclass(frozen=True, slots=True)
class _News:
    """Entries since the last look, the keys of their appends, and the tokens of the current lease."""

    entries: tuple[Entry, ...]
    keys: frozenset[uuid.UUID]
    token: str | None
    engine_token: str | None


class PostgresJournal:
    """The journal of one loop in the database."""

    def __init__(self, writing: Writing, loop: Loop | None, lines: Iterable[tuple[int, str]]) -> None:
        """`loop` is the state as of some entry, `lines` are the entries after it."""
        self.repairs: list[str] = []
        self.token: str | None = None
        """The token of the lease, if this is a runner's journal."""
        self._writing = writing
        self._database = writing.database
        self._folded = loop
        self._last_seq = loop.seq if loop else 0
        """The last entry number in use. A damaged line keeps its number."""
        self._looked_at = float("-inf")
        self._repairs_recorded = 0
        self._writer: CheckpointWriter | None = None
        self._take(lines)

    @property
    def loop(self) -> Loop:
        if self._folded is None:
            damage = "; ".join(self.repairs[:3]) or "the journal is empty"
            raise DamagedState(
                f"The state of loop {self._writing.loop_id} cannot be read: {damage}.", f"look at {self._database.name}"
            )
        return self._folded

    def catch_up(self) -> tuple[Entry, ...]:
        """Query the database if there may be new entries. Raises Superseded in a runner that has lost its lease."""
        if not self._writing.listening.may_be_news(self._writing.loop_id, self._last_seq, self._looked_at):
            return ()
        self._looked_at = time.monotonic()
        news = self._news()
        self._check(news)
        return news.entries

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        """Entries are always on disk on return: an entry that another process has read must survive a crash of the server."""
        return self._append(events, after) if events else ()

    def become_runner(self, host: Host, engine_token: str | None = None) -> None:
        """Raises Superseded if an engine issued a newer lease."""
        self._writer = CheckpointWriter(self._write_checkpoint, CHECKPOINT_EVERY)
        token = engine_token or runners.new_token(self._writing.clock())
        leased = RunnerLeased(token, os.getpid(), self._writing.machine, host)
        self._append((leased,), None, {"lease": token, "engine": engine_token})
        self.token = token

    def entries(self) -> Iterator[Entry]:
        last, end = 0, self._last_seq
        while last < end and (page := self._database.rows(_PAGE, (self._writing.number, last, end, _BATCH))):
            last = page[-1][0]
            for _, line in page:
                try:
                    yield self._entry(line)
                except DamagedLine:
                    continue

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            self._writing.announcing.flush()

    def _append(
        self, events: tuple[Event, ...], after: int | None, lease: dict[str, str | None] | None = None
    ) -> tuple[Entry, ...]:
        key = uuid.uuid4()
        fresh: tuple[Entry, ...] = ()
        while after is None or self.loop.seq == after:
            ours = self._numbered((*events, *self._repairs_to_record()))
            folded = self._folded_with(ours)
            if self._written(ours, key, {**_summary(folded), **(lease or {})}):
                self._folded, self._last_seq = folded, ours[-1].seq
                self._note_written()
                return (*fresh, *ours)
            news = self._news()
            if key in news.keys:
                # The append was written before the connection was lost.
                self._note_written()
                mine = {entry.seq: entry for entry in ours}
                return (*fresh, *(mine.get(entry.seq, entry) for entry in news.entries))
            fresh = (*fresh, *news.entries)
            self._check(news, lease)
            if not news.keys:
                raise self._lost()
        return fresh

    def _numbered(self, events: tuple[Event, ...]) -> tuple[Entry, ...]:
        now = epoch(timestamp(self._writing.clock()))
        return acting.numbered(events, self._last_seq + 1, now)

    def _repairs_to_record(self) -> tuple[Event, ...]:
        return tuple(map(StateRepaired, self.repairs[self._repairs_recorded :])) if self._writer is not None else ()

    def _folded_with(self, entries: tuple[Entry, ...]) -> Loop | None:
        """The state with these entries. Computed before writing: an entry that cannot be folded must not get into the journal."""
        folded = self._folded
        for entry in entries:
            folded = apply(folded, entry)
        return folded

    def _written(self, entries: tuple[Entry, ...], key: uuid.UUID, also: Mapping[str, object]) -> bool:
        values = {
            "loop": self._writing.number,
            "known": self._last_seq,
            "token": self.token,
            "key": key,
            "lines": [line_of(entry, self._writing.loop_id, self._writing.redactor) for entry in entries],
            # A control is announced at once; the many entries of a runner are announced in batches.
            "notify": self._writer is None,
            "lease": None,
            "engine": None,
            **also,
        }

        def write(connection: Connection) -> bool:
            return connection.execute(_APPEND.encode(), values).rowcount > 0

        return self._database.run(write)

    def _note_written(self) -> None:
        self._writing.listening.heard(self._writing.loop_id, self._last_seq)
        self._writing.on_change(self._writing.loop_id, self.loop)
        if self._writer is not None:
            self._writing.announcing.announce(self._writing.loop_id, self._last_seq)
            self._repairs_recorded = len(self.repairs)
            self._writer.submit(Checkpoint(self.loop, self._last_seq))

    def _news(self) -> _News:
        rows = self._database.rows(_NEWS, (self._last_seq, self._writing.number))
        if not rows:
            raise LoopNotFound(f"There is no loop '{self._writing.loop_id}' any more.", "it was deleted meanwhile")
        fresh = [row for row in rows if row[2] is not None]
        entries = self._take((seq, line) for _, _, seq, _, line in fresh)
        return _News(entries, frozenset(row[3] for row in fresh), rows[0][0], rows[0][1])

    def _check(self, news: _News, lease: dict[str, str | None] | None = None) -> None:
        """Raise Superseded if another runner has leased the loop since, or an engine issued a newer lease."""
        engine = lease.get("engine") if lease else None
        older = engine is not None and news.engine_token is not None and news.engine_token >= engine != news.token
        if older or (self.token is not None and news.token != self.token):
            raise Superseded(
                f"Another runner drives loop {self._writing.loop_id} now.",
                "this one ends, and its work does not count",
            )

    def _lost(self) -> DamagedState:
        return DamagedState(
            f"{self._database.name} has lost entries of loop {self._writing.loop_id} that were there before.",
            "was an old copy of the database put in its place? then `untildone resume` goes on from that",
        )

    def _take(self, lines: Iterable[tuple[int, str]]) -> tuple[Entry, ...]:
        fresh: list[Entry] = []
        for seq, line in lines:
            try:
                entry = self._entry(line)
                if refused := refusal(self._folded, entry):
                    self._note(refused)
                self._folded = apply(self._folded, entry)
                fresh.append(entry)
            except _UNFIT as problem:
                self._note(f"entry {seq}: {problem}")
            self._last_seq = seq
        if self._folded is not None:
            self._writing.on_change(self._writing.loop_id, self._folded)
        return tuple(fresh)

    def _entry(self, line: str) -> Entry:
        return entry_of(fields_of(without_checksum(line.encode())), self._writing.loop_id)

    def _note(self, problem: str) -> None:
        if len(self.repairs) < _MOST_REPAIRS:
            self.repairs.append(problem)

    def _write_checkpoint(self, kept: Checkpoint) -> None:
        content = checkpoint.encoded(kept, self._writing.redactor).decode()
        self._database.rows(_CHECKPOINT, (self._writing.number, kept.offset, content))


def _summary(loop: Loop | None) -> dict[str, object]:
    """Columns that answer questions about many loops without their journals; empty for a loop that cannot be read."""
    if loop is None:
        return {"cost": 0.0, "status": None, "host": None}
    return {"cost": loop.spend.cost_usd, "status": loop.status.value, "host": loop.host.value}


def line_of(entry: Entry, loop_id: str, redactor: Redactor) -> str:
    """An entry as a redacted line of JSON with its checksum."""
    return with_checksum(encoded(as_fields(entry, loop_id, redactor.text))).decode()
