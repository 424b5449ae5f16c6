"""One loop's journal file: read and folded line by line, appended to under its lock."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from untildone.core.apply import apply, refusal
from untildone.core.errors import DamagedState, JournalLocked, LoopNotFound, NotOurs, StoreError
from untildone.core.events import Entry, Event, RunnerLeased, StateRepaired, TurnStarted
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import epoch, timestamp
from untildone.core.values.value import dataclass, replace
from untildone.store import Clock, OnChange, acting, checkpoint, layout
from untildone.store.checkpoint import Checkpoint, CheckpointWriter, LateWriter
from untildone.store.journal_file import line_before, opened, readable, whole_lines
from untildone.store.lines import DamagedLine, ForeignLine, as_fields, encoded, with_checksum, without_checksum
from untildone.store.reading import FROM_ANYBODY, Line, LineReader
from untildone.store.seals import FIRST, Head, LoopSeal
from untildone.system import disk, locks, runners

_MOST_REPAIRS = 20
CONTROL_PATIENCE, READ_PATIENCE = 3.0, 1.0
"""Seconds that a control waits for the lock of the journal, and a reader that sees a damaged line; a runner: `locks.PATIENCE`."""
_UNFIT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Exceptions that reading or folding a damaged line may raise."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What a journal needs to write entries of its loop."""

    loop_id: str
    redactor: Redactor
    clock: Clock
    on_change: OnChange
    seal: LoopSeal | None = None
    """Seals its entries. None: the loop is not ours, so that every whole line is read, and only orders to pause or stop are written."""
    head: Head | None = None
    """The file to keep up with the last entry; None: none is kept."""
    not_ours: str = ""
    """Why the loop is not ours; empty: it is."""
    announce: Callable[[], None] | None = None
    """Called after each append, so that servers look at the journals."""


class FileJournal:
    """The journal of one loop in a file. Every writer appends under the file's lock, after reading the entries of other writers."""

    def __init__(self, writing: Writing, places: layout.Places, start: Checkpoint | None = None) -> None:
        self.repairs: list[str] = []
        """Descriptions of the damage that was detected so far."""
        self._writing = writing
        self._places = places
        self._path = places.journal
        self._descriptor, self._refusal = opened(self._path)
        self._folded: Loop | None = start.loop if start else None
        self._offset = start.offset if start else 0
        last_seal = (start.last_seal.encode() or None) if start else FIRST
        self._reader = LineReader(writing.loop_id, writing.seal, start.loop.seq if start else 0, last_seal)
        self._head_seq = 0
        """The last entry number that the head knows of, if entries were cut off."""
        self._repairs_recorded = 0
        self._recorded_before: set[str] = set()
        """Damage that earlier runners recorded in the journal."""
        self._writer: CheckpointWriter | LateWriter | None = None
        self._spare_lock, self._spare_seq = _thread.allocate_lock(), 0
        self._last_encoded: tuple[Checkpoint | None, bytes] = None, b""
        self._is_synced = False
        """Whether everything that this journal wrote is on disk."""
        if start is not None and not self._continues(start):
            self._reread()

    @property
    def loop(self) -> Loop:
        if self._folded is None:
            damage = "; ".join(self.repairs[:3]) or "the journal is empty"
            raise DamagedState(
                f"The state of loop {self._writing.loop_id} cannot be read: {damage}.", f"look at {self._path}"
            )
        return self._folded

    def _continues(self, start: Checkpoint) -> bool:
        """Whether the line before the checkpoint's offset is its last entry. Otherwise the file was truncated or replaced."""
        if os.fstat(self._descriptor).st_size < start.offset:
            return False
        line, seal = line_before(self._descriptor, start.offset), self._writing.seal
        try:
            if seal is None:
                return LineReader(self._writing.loop_id, None).read(line).entry.seq == start.loop.seq
            link = seal.link(without_checksum(line))
            return link is not None and link.seal == start.last_seal.encode()
        except DamagedLine:
            return False

    def _check_exists(self) -> None:
        """Raise LoopNotFound if the journal of a running loop is not in its place: no person could see or control the loop any more."""
        if self._writer is None or self._is_in_place():
            return
        self._writer.abandon()
        what = "moved" if os.fstat(self._descriptor).st_nlink else "deleted"
        raise LoopNotFound(
            f"Loop {self._writing.loop_id} is gone: {self._path.parent} was {what} while the loop ran.", self._kept()
        )

    def _is_in_place(self) -> bool:
        try:
            status = os.stat(self._path)
        except OSError:
            return False
        return os.path.samestat(status, os.fstat(self._descriptor))

    def _kept(self) -> str:
        """Copy the journal, which can still be read here, to the state folder. Returns a hint how to go on."""
        from untildone.system import running

        size = os.fstat(self._descriptor).st_size
        lines = (line + b"\n" for _, line in whole_lines(self._descriptor, 0, size))
        copy = running.keep_journal(self._writing.loop_id, b"".join(lines))
        ways = "move it back" if copy is None else f"move it back, or copy {copy} to {self._path}"
        return f"{ways}; then `untildone resume {self._writing.loop_id}` goes on; the changes in the workspace stay"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the journal. Raises JournalLocked if another process holds it for too long."""
        try:
            with locks.locked(self._descriptor, locks.PATIENCE if self._writer is not None else CONTROL_PATIENCE):
                yield
        except locks.LockHeld as held:
            raise JournalLocked(
                f"The journal of loop {self._writing.loop_id} cannot be written: {held}.",
                "end that process; nothing that was written before is lost",
            ) from None

    def _reread(self) -> None:
        """Read the file again from its start. Entries that are folded already change nothing."""
        size = os.fstat(self._descriptor).st_size
        if size < self._offset:
            self._note(f": only {size} of {self._offset} bytes are left")
        self._offset = 0
        self._reader = LineReader(self._writing.loop_id, self._writing.seal)

    @property
    def is_lost(self) -> bool:
        """Whether no checkpoint and no entry says how the loop was created."""
        return self._folded is None

    def begin_from(self, loop: Loop) -> None:
        """Continue from a loop that was rebuilt from other files, and fold the remaining entries of the journal."""
        # Without a first entry no line could be folded. `catch_up` notes the lines again that are really damaged.
        self.repairs = [repair for repair in self.repairs if not repair.startswith(self._path.name)]
        self._note(": its beginning is lost; the loop was rebuilt from the remaining files")
        self._folded, self._offset = loop, 0
        self._reader = LineReader(self._writing.loop_id, self._writing.seal)
        self.catch_up()

    def expect(self, seq: int) -> None:
        """Note that entries were cut off at the end, if the last one is not yet the one with the number that the head has."""
        if seq > self._read_seq:
            self._note(f": entries {self._read_seq + 1} to {seq} are missing")
            self._head_seq = seq

    def catch_up(self) -> tuple[Entry, ...]:
        self._check_exists()
        fresh, all_fit = self._read(stop_at_damage=True)
        if not all_fit:
            fresh = (*fresh, *self._read_damage())
        if fresh:
            self._writing.on_change(self._writing.loop_id, self._folded)
        return fresh

    def _read_damage(self) -> tuple[Entry, ...]:
        """Read on at a damaged line. It may be a torn line that a writer is replacing right now; under the lock, no one writes."""
        if self._writer is not None:
            with self._locked():
                return self._read(stop_at_damage=False)[0]
        try:
            with locks.locked(self._descriptor, READ_PATIENCE):
                return self._read(stop_at_damage=False)[0]
        except locks.LockHeld:
            # Readers must not depend on a lock that any process can hold.
            return self._read(stop_at_damage=False)[0]

    def _read(self, *, stop_at_damage: bool) -> tuple[tuple[Entry, ...], bool]:
        """Fold the new complete lines. A last line without a line end is still being written, or was torn by a crash."""
        size = os.fstat(self._descriptor).st_size
        if size < self._offset:
            self._reread()
        fresh: list[Entry] = []
        for end, line in whole_lines(self._descriptor, self._offset, size):
            try:
                fresh += self._fold(self._reader.read(line))
            except ForeignLine as problem:
                self._note(f", line before byte {end}: {problem}")
            except _UNFIT as problem:
                if stop_at_damage:
                    return tuple(fresh), False
                self._note(f", line before byte {end}: {problem}")
                self._reader.skip()
            self._offset = end
        return tuple(fresh), True

    def _fold(self, line: Line) -> tuple[Entry, ...]:
        entry, last, known = line.entry, self._read_seq, self._folded
        if refused := refusal(known, entry):
            self._note(f": {refused}")
        self._folded = apply(known, entry)
        if known is None and self._writing.not_ours:
            self._folded = replace(self._folded, not_ours=self._writing.not_ours)
        follows = self._reader.follows(line)
        self._reader.take(line)
        if isinstance(entry.event, StateRepaired):
            self._recorded_before.add(entry.event.detail)
        if known is not None and entry.seq <= known.seq:
            return ()
        if entry.seq > last + 1:
            self._note(f": entries {last + 1} to {entry.seq - 1} are missing")
        elif not follows:
            self._note(f": entry {entry.seq} was written after another entry than the one before it")
        return (entry,)

    def _note(self, problem: str) -> None:
        """Record a problem of the journal file, up to `_MOST_REPAIRS` of them."""
        if len(self.repairs) < _MOST_REPAIRS:
            self.repairs.append(f"{self._path.name}{problem}")
        elif len(self.repairs) == _MOST_REPAIRS:
            self.repairs.append(f"{self._path.name}: and more")

    @property
    def _read_seq(self) -> int:
        """The number of the last entry that was read or written."""
        return max(self._reader.seq, self._folded.seq if self._folded else 0)

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        self._check_exists()
        if not events:
            self._sync()
            return ()
        self._check_may_write(events)
        with self._locked():
            if self._writer is None and self._is_deleted():
                raise LoopNotFound(f"Loop {self._writing.loop_id} was deleted.", "`untildone list` shows what is there")
            theirs, _ = self._read(stop_at_damage=False)
            if after is not None and self.loop.seq != after:
                return theirs
            ours = self._numbered((*events, *self._repairs_to_record()))
            self._write(ours, sync=sync)
        self._writing.on_change(self._writing.loop_id, self._folded)
        if self._writer is not None:
            kept = self.checkpoint()
            if any(isinstance(event, TurnStarted) for event in events):
                # An agent that cuts this entry off at once must not get the round back.
                self._write_spare(kept, self._encoded(kept))
            self._writer.submit(kept)
        return (*theirs, *ours)

    def remove_after(self, seq: int, remove: Callable[[], None]) -> bool:
        """Remove the journal if this is its last entry. A writer that waits for the lock meanwhile finds that the loop is gone."""
        with self._locked():
            self._read(stop_at_damage=False)
            if self.loop.seq != seq or self._is_deleted():
                return False
            remove()
            return True

    def _is_deleted(self) -> bool:
        return os.fstat(self._descriptor).st_nlink == 0

    def _sync(self) -> None:
        if not self._is_synced:
            with disk.as_store_error(self._path):
                disk.sync_content(self._descriptor)
            self._is_synced = True

    def _check_may_write(self, events: tuple[Event, ...]) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._writing.not_ours and not all(isinstance(event, FROM_ANYBODY) for event in events):
            raise NotOurs(
                f"Loop {self._writing.loop_id} cannot go on: {self._writing.not_ours}.",
                "it can be shown, paused and stopped; `untildone run` starts a new loop",
            )

    def _numbered(self, events: tuple[Event, ...]) -> tuple[Entry, ...]:
        now = epoch(timestamp(self._writing.clock()))
        first = max(self._read_seq, self._head_seq) + 1
        return acting.numbered(events, first, now)

    def _repairs_to_record(self) -> tuple[Event, ...]:
        """Events for new damage, which only a runner records. Damage of the journal is recorded once, because a damaged line stays."""
        fresh = self.repairs[self._repairs_recorded :] if self._writer is not None else []
        known = {detail for detail in self._recorded_before if detail.startswith(self._path.name)}
        return tuple(StateRepaired(detail) for detail in fresh if detail not in known)

    def _write(self, entries: tuple[Entry, ...], *, sync: bool) -> None:
        """Append entries to the file. They are folded first: an entry that cannot be folded must not get into the file."""
        folded = self._folded
        for entry in entries:
            folded = apply(folded, entry)
        content, last_seal = self._lines(entries)
        with disk.as_store_error(self._path):
            self._drop_torn_tail()
        # Not the offset plus the length: a process that ignores the lock may have written in between.
        self._is_synced = False
        self._offset = disk.append_whole(self._descriptor, content, self._path, sync=sync)
        self._is_synced = sync
        self._folded = folded
        self._reader.seq, self._reader.last_seal = entries[-1].seq, last_seal
        if self._writing.head is not None and last_seal is not None:
            self._writing.head.write(entries[-1].seq, last_seal)
        if self._writer is not None:
            self._repairs_recorded = len(self.repairs)
        if self._writing.announce is not None:
            self._writing.announce()

    def _drop_torn_tail(self) -> None:
        if os.fstat(self._descriptor).st_size > self._offset:
            os.ftruncate(self._descriptor, self._offset)

    def _lines(self, entries: tuple[Entry, ...]) -> tuple[bytes, bytes | None]:
        """The lines of entries, and the seal of the last one."""
        lines, seal, last_seal = [], self._writing.seal, self._reader.last_seal
        for entry in entries:
            body = encoded(as_fields(entry, self._writing.loop_id, self._writing.redactor.text))
            if seal is not None:
                body, last_seal = seal.linked(body, last_seal or FIRST)
            lines.append(with_checksum(body) + b"\n")
        return b"".join(lines), last_seal

    def become_runner(self, host: Host, token: str | None = None) -> None:
        """Record the lease, and write checkpoints from here on. The caller holds the lock."""
        self._check_may_write((RunnerLeased("", 0, ""),))
        if self.loop.runner is not None:
            # The runner before did not come to rest: it may have died while writing.
            checkpoint.remove_drafts(self._places.checkpoint)
        self._writer = (LateWriter if host is Host.HOOK else CheckpointWriter)(self._write_checkpoint)
        token = token or runners.new_token(self._writing.clock())
        # No sync: the lock keeps other runners out, and the next synced entry brings this one to disk too.
        self.append(RunnerLeased(token, os.getpid(), runners.machine(), host), sync=False)

    def _write_checkpoint(self, kept: Checkpoint) -> None:
        content = self._encoded(kept)
        checkpoint.put(self._places.checkpoint, content)
        self._write_spare(kept, content)

    def _encoded(self, kept: Checkpoint) -> bytes:
        """The content of a checkpoint. That of the last one is kept, because it is often written to both places."""
        last, content = self._last_encoded
        if last is not kept:
            content = checkpoint.encoded(kept, self._writing.redactor, self._writing.seal)
            self._last_encoded = kept, content
        return content

    def _write_spare(self, kept: Checkpoint, content: bytes) -> None:
        """Write the copy of a checkpoint in the state folder, unless there is one that is as new."""
        head = self._writing.head
        with self._spare_lock:
            if head is None or kept.loop.seq <= self._spare_seq:
                return
            # Without a copy, a journal that is cut off is only restored from the checkpoints beside it.
            with suppress(StoreError):
                disk.replace_file(head.spare, content, sync=False, mode=0o600)
                self._spare_seq = kept.loop.seq

    def checkpoint(self) -> Checkpoint:
        """The state as of the last folded entry."""
        return Checkpoint(self.loop, self._offset, (self._reader.last_seal or b"").decode())

    def entries(self) -> Iterator[Entry]:
        last = 0
        lines = (line for _, line in whole_lines(self._descriptor, 0, self._offset))
        for entry in readable(lines, LineReader(self._writing.loop_id, self._writing.seal)):
            if entry.seq > last:
                last = entry.seq
                yield entry

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._writing.head is not None:
            self._writing.head.close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
