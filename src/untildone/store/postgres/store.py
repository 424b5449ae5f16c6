"""The store in a Postgres database: loops, leases, and the documents beside the journal."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from untildone.core.apply import apply
from untildone.core.errors import LoopBusy, LoopNotFound, UntilDoneError, UsageError
from untildone.core.events import Entry, Event, LoopCreated
from untildone.core.kinds import Host
from untildone.core.live_file import KEPT_AS
from untildone.core.loop import Loop
from untildone.core.model import Status
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import epoch, timestamp
from untildone.store import Clock, Group, LoopStatus, OnChange, Signatures, acting, checkpoint, ignore, waiting
from untildone.store.lines import DamagedLine, entry_of, fields_of, without_checksum
from untildone.store.live import LiveFile
from untildone.store.names import checked_group, checked_id, resolve_id
from untildone.store.postgres import documents, groups, schema
from untildone.store.postgres.announcing import Announcing
from untildone.store.postgres.connections import PATIENCE, Database
from untildone.store.postgres.journal import PostgresJournal, Writing, line_of
from untildone.store.postgres.listening import Listening
from untildone.store.postgres.locks import HELD, Lock, Locks
from untildone.store.postgres.output import PostgresSpool, Turn
from untildone.store.seals import Seals
from untildone.system import disk, runners

KEPT_CHECKPOINTS = 10
CARRIED = "carried"
"""The folder, in the names of documents, of what is carried to machines."""
_BATCH = 500
_CREATE = """
    WITH made AS (
        INSERT INTO untildone.loops (loop_id, last_seq, group_name, status, host, told_seq) VALUES (%s, 1, %s, %s, %s, 1)
        ON CONFLICT DO NOTHING RETURNING number, loop_id
    ), written AS (
        INSERT INTO untildone.entries (loop, seq, append_key, line) SELECT number, 1, %s, %s FROM made
    )
    SELECT number FROM made
"""
_MADE_BEFORE = """
    SELECT 1 FROM untildone.entries WHERE loop = (SELECT number FROM untildone.loops WHERE loop_id = %s) AND append_key = %s
"""
# One statement: with two, a checkpoint that is replaced in between would hide entries.
_LOAD = """
    SELECT loop_id, number, checkpoints.content,
        ARRAY(SELECT seq FROM untildone.entries WHERE loop = number AND seq > coalesce(checkpoints.seq, 0) ORDER BY seq),
        ARRAY(SELECT line FROM untildone.entries WHERE loop = number AND seq > coalesce(checkpoints.seq, 0) ORDER BY seq)
    FROM untildone.loops LEFT JOIN untildone.checkpoints ON checkpoints.loop = number
    WHERE loop_id = ANY(%s) ORDER BY loop_id
"""
_DELETE = """
    DELETE FROM untildone.loops WHERE loop_id = %s AND (%s::bigint IS NULL OR last_seq = %s) RETURNING number
"""
# The status column is out of date if an older version of untildone wrote last. Such loops, and those without status, are read.
_RUNNING = """
    SELECT loop_id, told_seq = last_seq AND status IS NOT NULL FROM untildone.loops
    WHERE NOT archived AND (told_seq <> last_seq OR status IS NULL OR (status = %s AND host = %s)) ORDER BY loop_id
"""
_EVERY_LINE = "SELECT seq, line FROM untildone.entries WHERE loop = %s ORDER BY seq"
_AFTER = """
    SELECT seq, line FROM untildone.entries
    WHERE loop = (SELECT number FROM untildone.loops WHERE loop_id = %s) AND seq > %s ORDER BY seq LIMIT %s
"""


class PostgresStore:
    """The store in a Postgres database. `folder` holds the files that agents and people read on this machine."""

    def __init__(
        self,
        address: str,
        redactor: Redactor | None = None,
        clock: Clock = time.time,
        folder: Path | None = None,
        home: Path | None = None,
        patience: float = PATIENCE,
        machine: str = "",
    ) -> None:
        self.database = Database(address, patience)
        self.redactor = redactor or Redactor({})
        self.seals = Seals()
        self.on_change: OnChange = ignore
        self.clock = clock
        self.machine = machine or runners.machine()
        """The name of this machine, which its leases carry."""
        self.home = home or Path.cwd()
        self._folder = folder or _default_folder()
        self._locks = Locks(self.database)
        self._listening = Listening(self.database, self._locks.renew)
        self._announcing = Announcing(self.database)
        self._tokens: dict[str, str] = {}
        """The tokens of this process's leases, by loop."""
        self._signatures: dict[str, tuple[int, bool]] = {}
        self._signatures_at = float("-inf")

    @property
    def root(self) -> None:
        """None, because the loops are in the database."""

    def keep_in_memory(self) -> None:
        """Does nothing, because the database is fast enough."""

    @property
    def name(self) -> str:
        return self.database.name

    def check(self) -> None:
        # Long enough to get past connections of the pool that broke when the server was last restarted.
        token = waiting.longest.set(1.0)
        try:
            self.database.row("SELECT 1")
        finally:
            waiting.longest.reset(token)

    def close(self) -> None:
        self._announcing.close()
        self._listening.close()
        self._locks.close()
        self.database.close()

    def create(self, event: LoopCreated, *first: Event) -> Loop:
        loop_id, key = checked_id(event.loop_id), uuid.uuid4()
        (entry,) = acting.numbered((event,), 1, epoch(timestamp(self.clock())))
        loop, line = apply(None, entry), line_of(entry, loop_id, self.redactor)
        summary = (event.settings.group, loop.status.value, loop.host.value)
        created = self.database.rows(_CREATE, (loop_id, *summary, key, line))
        made = created or self.database.rows(_MADE_BEFORE, (loop_id, key))
        if not made:
            raise UsageError(f"There is already a loop '{loop_id}' in {self.name}.", "choose another id")
        self.on_change(loop_id, loop)
        return self._begun(loop_id, first) if first else loop

    def _begun(self, loop_id: str, first: tuple[Event, ...]) -> Loop:
        journal = self.open(loop_id)
        journal.append(*first)
        journal.close()
        return journal.loop

    def ids(self) -> tuple[str, ...]:
        return tuple(name for (name,) in self.database.rows("SELECT loop_id FROM untildone.loops ORDER BY loop_id"))

    def is_ours(self, loop_id: str) -> bool:
        """Always: an agent cannot write to the database."""
        return True

    def live_ids(self) -> tuple[str, ...]:
        rows = self.database.rows("SELECT loop_id FROM untildone.loops WHERE NOT archived ORDER BY loop_id")
        return tuple(name for (name,) in rows)

    def running_ids(self, host: Host) -> tuple[str, ...]:
        rows = self.database.rows(_RUNNING, (Status.RUNNING.value, host.value))
        unsure = [name for name, is_sure in rows if not is_sure]
        others = {each.loop_id for each in self._surveyed(unsure) if not each.is_to_run_on(host)}
        return tuple(name for name, _ in rows if name not in others)

    def _surveyed(self, loop_ids: list[str]) -> Iterator[LoopStatus]:
        """As `survey`, in batches."""
        for start in range(0, len(loop_ids), _BATCH):
            yield from self.survey(loop_ids[start : start + _BATCH])

    def find(self, name: str) -> str:
        return resolve_id(name, self.ids(), f"in {self.name}")

    def load(self, loop_id: str) -> Loop:
        return self.open(loop_id).loop

    def survey(self, loop_ids: Collection[str]) -> Iterator[LoopStatus]:
        driven = {number for (number,) in self.database.rows(HELD)}
        rows = {row[0]: row for row in self.database.rows(_LOAD, (list(loop_ids),))}
        for loop_id in loop_ids:
            if loop_id in rows:
                yield self._status(rows[loop_id], driven)

    def _status(self, row: tuple[Any, ...], driven: Collection[int]) -> LoopStatus:
        loop_id, number = row[:2]
        try:
            loop = self._journal(row).loop
            return LoopStatus(loop_id, loop, driven=not loop.status.ended and number in driven)
        except UntilDoneError as problem:
            return LoopStatus(loop_id, problem=problem.sentence)

    def open(self, loop_id: str) -> PostgresJournal:
        row = self.database.row(_LOAD, ([checked_id(loop_id)],))
        if row is None:
            raise self._missing(loop_id)
        return self._journal(row)

    def _journal(self, row: tuple[Any, ...]) -> PostgresJournal:
        loop_id, number, content, numbers, lines = row
        writing = Writing(
            self.database,
            self._listening,
            self._announcing,
            self.redactor,
            self.clock,
            loop_id,
            number,
            self.on_change,
            self.machine,
        )
        try:
            known = None if content is None else checkpoint.decoded(content.encode()).loop
        except DamagedLine:
            return PostgresJournal(writing, None, self.database.rows(_EVERY_LINE, (number,)))
        return PostgresJournal(writing, known, zip(numbers, lines, strict=True))

    def _missing(self, loop_id: str) -> LoopNotFound:
        return LoopNotFound(
            f"There is no loop '{loop_id}' in {self.name}.", "`untildone list` shows the loops there are"
        )

    @contextmanager
    def lease(
        self, loop_id: str, host: Host = Host.TERMINAL, token: str | None = None, *, reopens: bool = False
    ) -> Iterator[PostgresJournal]:
        """Without a token, a runner keeps the lease for as long as it lives. With tokens of an engine, the runner with the newest
        token has the lease, even while an older runner is still alive."""
        lock = self._taken(loop_id, host, shared=token is not None)
        try:
            if reopens:
                documents.bring_back(self.database, loop_id)
            journal = self.open(loop_id)
            try:
                self._become_runner(journal, host, token)
                yield journal
            finally:
                self._tokens.pop(loop_id, None)
                journal.close()
        finally:
            self._locks.release(lock)

    def _taken(self, loop_id: str, host: Host, *, shared: bool) -> Lock:
        """Take the lock of a loop. LoopBusy if another process holds it; GroupFull if the host needs a place and there is none."""
        number, group = self._place(loop_id)
        lock = Lock(number, shared)

        def take() -> bool:
            return self._locks.take(lock)

        if not (groups.enter(self.database, group, number, take) if group and host else take()):
            raise self._busy(loop_id)
        return lock

    def _become_runner(self, journal: PostgresJournal, host: Host, token: str | None) -> None:
        loop = journal.loop
        if token is None and host and loop.host is Host.CLUSTER and loop.status is Status.RUNNING:
            # Between two turns, no runner of the cluster holds the lock.
            raise self._busy(loop.loop_id)
        journal.become_runner(host, token)
        if journal.token is not None:
            self._tokens[loop.loop_id] = journal.token

    def _place(self, loop_id: str) -> tuple[int, str | None]:
        """The number of the loop, and its group."""
        query = "SELECT number, group_name FROM untildone.loops WHERE loop_id = %s"
        row = self.database.row(query, (checked_id(loop_id),))
        if row is None:
            raise self._missing(loop_id)
        return int(row[0]), row[1]

    def _number(self, loop_id: str) -> int:
        return self._place(loop_id)[0]

    def _busy(self, loop_id: str) -> LoopBusy:
        loop = self.load(loop_id)
        by_process = f" (process {loop.runner.pid} on {loop.runner.machine})" if loop.runner else ""
        return LoopBusy(
            f"Loop {loop_id} is already being driven{by_process}.",
            f"`untildone log --follow {loop_id}` shows what it does",
        )

    def is_driven(self, loop_id: str) -> bool:
        return self._locks.is_held(self._number(loop_id))

    def signature(self, loop_id: str) -> object | None:
        """The signature of a loop, from the cache unless a notification of the database may have been missed."""
        if loop_id not in self._signatures or self._listening.is_stale(self._signatures_at):
            self.signatures()
        known = self._signatures.get(loop_id)
        return known and (max(known[0], self._listening.newest(loop_id)), known[1])

    def signatures(self) -> Signatures:
        self._signatures_at = time.monotonic()
        rows = self.database.rows("SELECT loop_id, last_seq, archived FROM untildone.loops ORDER BY loop_id")
        self._signatures = {name: (seq, archived) for name, seq, archived in rows}
        live = {name: each for name, each in self._signatures.items() if not each[1]}
        return Signatures(live, {name: each for name, each in self._signatures.items() if each[1]})

    def entries_after(self, loop_id: str, place: int) -> tuple[tuple[Entry, ...], int]:
        rows = self.database.rows(_AFTER, (checked_id(loop_id), place, _BATCH))
        return tuple(_readable((line for _, line in rows), loop_id)), rows[-1][0] if rows else place

    @contextmanager
    def serving(self) -> Iterator[None]:
        lock = Lock(schema.SERVING)
        if not self._locks.take(lock):
            raise LoopBusy(f"Another server serves {self.name} already.", "use that one, or end it first")
        try:
            yield
        finally:
            self._locks.release(lock)

    def is_served(self) -> bool:
        return self._locks.is_held(schema.SERVING)

    def spool(self, loop_id: str, name: str) -> PostgresSpool:
        turn = Turn(checked_id(loop_id), checked_id(name))
        return PostgresSpool(self.database, turn, lambda: self._tokens.get(loop_id))

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        query = "SELECT DISTINCT name FROM untildone.output WHERE loop = %s ORDER BY name"
        return tuple(name for (name,) in self.database.rows(query, (self._number(loop_id),)))

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        documents.add(self.database, loop_id, name, self.redactor.text(text))
        self._show(loop_id, name)

    def put_document(self, loop_id: str, name: str, text: str) -> None:
        documents.put(self.database, loop_id, name, self.redactor.text(text))

    def carry(self, loop_id: str, name: str, text: str) -> None:
        documents.put(self.database, loop_id, f"{CARRIED}/{name}", text)

    def carried(self, loop_id: str, name: str) -> str | None:
        return documents.read(self.database, loop_id, f"{CARRIED}/{name}")

    def _show(self, loop_id: str, name: str) -> None:
        """Write a document to a file for the agents of this machine."""
        text = documents.read(self.database, loop_id, name)
        disk.replace_file(self._progress_folder(loop_id) / name, (text or "").encode(), sync=False)

    def documents(self, loop_id: str) -> Mapping[str, str]:
        return documents.read_all(self.database, loop_id)

    def receipt(self, loop_id: str) -> str | None:
        return documents.read(self.database, loop_id, documents.RECEIPT)

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        place = f"checkpoints/{loop.spend.iterations:04d}"
        kept = checkpoint.encoded(checkpoint.Checkpoint(loop, 0), self.redactor).decode()
        documents.put(self.database, loop.loop_id, f"{place}/checkpoint.json", kept)
        if live_state is not None:
            self.put_document(loop.loop_id, f"{place}/{KEPT_AS}", live_state)
        documents.keep_newest(self.database, loop.loop_id, "checkpoints", KEPT_CHECKPOINTS)

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        return LiveFile(workspace, self._progress_folder(loop_id), loop_id, self.redactor)

    def progress(self, loop_id: str) -> Path:
        return self._folder / f"{checked_id(loop_id)}.progress"

    def _progress_folder(self, loop_id: str) -> Path:
        place = self.progress(loop_id)
        with disk.as_store_error(place):
            place.mkdir(parents=True, exist_ok=True)
        return place

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        texts = {documents.RECEIPT: receipt, documents.REPORT: report}
        documents.archive(self.database, loop_id, {name: self.redactor.text(text) for name, text in texts.items()})
        shutil.rmtree(self.progress(loop_id), ignore_errors=True)

    def delete(self, loop_id: str, after: int | None = None) -> bool:
        parameters = (checked_id(loop_id), after, after)
        if not self.database.rows(_DELETE, parameters) and after is not None:
            return False
        self._listening.forget(loop_id)
        self._signatures.pop(loop_id, None)
        self.on_change(loop_id, None)
        return True

    def group(self, name: str) -> Group:
        return next(iter(groups.read(self.database, name)), Group(name))

    def waiting_in(self, name: str) -> tuple[str, ...]:
        return groups.waiting(self.database, name)

    def groups(self) -> tuple[Group, ...]:
        return groups.read(self.database)

    def change_group(self, name: str, *, max_cost: float | None, at_once: int | None) -> Group:
        groups.change(self.database, checked_group(name), max_cost, at_once)
        return self.group(name)


def _readable(lines: Iterable[str], loop_id: str) -> Iterator[Entry]:
    for line in lines:
        try:
            yield entry_of(fields_of(without_checksum(line.encode())), loop_id)
        except DamagedLine:
            continue


def _default_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "untildone" / "loops"
