"""One loop's journal file: read and folded line by line, appended to under its lock."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from untildone.core.apply import apply
from untildone.core.codec import epoch, timestamp
from untildone.core.errors import DamagedState, LoopNotFound, StoreError
from untildone.core.events import Entry, Event, RunnerLeased, StateRepaired
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.secrets import Redactor
from untildone.core.value import dataclass
from untildone.store import Clock, OnChange, checkpoint, layout
from untildone.store.checkpoint import Checkpoint, CheckpointWriter
from untildone.store.lines import DamagedLine, as_fields, compact, entry_of, sealed, unsealed
from untildone.system import disk, locks, runners

_CHUNK = 1 << 20
_TAIL = 1 << 12
"""Bytes that are read first in search of the start of a line."""
_MOST_REPAIRS = 20
_OPEN = os.O_APPEND
_UNFIT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""Exceptions that reading or folding a damaged line may raise."""


@dataclass(frozen=True, slots=True)
class Writing:
    """What a journal needs to write entries of its loop."""

    loop_id: str
    redactor: Redactor
    clock: Clock
    on_change: OnChange


class FileJournal:
    """The journal of one loop in a file. Every writer appends under the file's lock, after reading the entries of other writers."""

    def __init__(self, writing: Writing, places: layout.Places, start: Checkpoint | None = None) -> None:
        self.repairs: list[str] = []
        """Descriptions of the damage that was detected so far."""
        self._writing = writing
        self._places = places
        self._path = places.journal
        self._descriptor, self._refusal = _opened(self._path)
        self._folded: Loop | None = start.loop if start else None
        self._offset = start.offset if start else 0
        self._line_seq = start.loop.seq if start else 0
        self._repairs_recorded = 0
        self._recorded_before: set[str] = set()
        """Damage that earlier runners recorded in the journal."""
        self._writer: CheckpointWriter | None = None
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
        """Whether the journal continues the checkpoint: its offset is followed by the next entry, or preceded by the
        checkpoint's own entry if there is none. Otherwise the file was truncated or replaced."""
        size = os.fstat(self._descriptor).st_size
        if size < start.offset:
            return False
        _, line = next(_whole_lines(self._descriptor, start.offset, size), (0, None))
        try:
            if line is not None:
                return self._entry(line).seq == start.loop.seq + 1
            return not start.offset or self._entry(_line_before(self._descriptor, start.offset)).seq == start.loop.seq
        except DamagedLine:
            return False

    def _check_exists(self) -> None:
        """Raise LoopNotFound if the files of a running loop were deleted: no person could see or control it any more."""
        if self._writer is not None and os.fstat(self._descriptor).st_nlink == 0 and not self._path.exists():
            self._writer.abandon()
            raise LoopNotFound(
                f"Loop {self._writing.loop_id} is gone: {self._path.parent} was deleted while the loop ran.",
                "the changes in the workspace stay; `untildone run` starts a new loop",
            )

    def _reread(self) -> None:
        """Read the file again from its start. Entries that are folded already change nothing."""
        size = os.fstat(self._descriptor).st_size
        if size < self._offset:
            self._note(f": only {size} of {self._offset} bytes are left")
        self._offset = self._line_seq = 0

    @property
    def is_lost(self) -> bool:
        """Whether no checkpoint and no entry says how the loop was created."""
        return self._folded is None

    def begin_from(self, loop: Loop) -> None:
        """Continue from a loop that was rebuilt from other files, and fold the remaining entries of the journal."""
        # Without a first entry no line could be folded. `catch_up` notes the lines again that are really damaged.
        self.repairs = [repair for repair in self.repairs if not repair.startswith(self._path.name)]
        self._note(": its beginning is lost; the loop was rebuilt from the remaining files")
        self._folded, self._offset, self._line_seq = loop, 0, 0
        self.catch_up()

    def catch_up(self) -> tuple[Entry, ...]:
        self._check_exists()
        fresh, all_fit = self._read(stop_at_damage=True)
        if not all_fit:
            # The damage may be a torn line that a writer is replacing right now. Under the lock, no one writes.
            with locks.locked(self._descriptor):
                more, _ = self._read(stop_at_damage=False)
            fresh = (*fresh, *more)
        if fresh:
            self._writing.on_change(self._writing.loop_id, self._folded)
        return fresh

    def _read(self, *, stop_at_damage: bool) -> tuple[tuple[Entry, ...], bool]:
        """Fold the new complete lines. A last line without a line end is still being written, or was torn by a crash."""
        size = os.fstat(self._descriptor).st_size
        if size < self._offset:
            self._reread()
        fresh: list[Entry] = []
        for end, line in _whole_lines(self._descriptor, self._offset, size):
            try:
                fresh += self._fold(self._entry(line))
            except _UNFIT as problem:
                if stop_at_damage:
                    return tuple(fresh), False
                self._note(f", line before byte {end}: {problem}")
                self._line_seq += 1
            self._offset = end
        return tuple(fresh), True

    def _entry(self, line: bytes) -> Entry:
        return entry_of(unsealed(line), self._writing.loop_id)

    def _fold(self, entry: Entry) -> tuple[Entry, ...]:
        last, known = self._last_seq, self._folded
        self._folded = apply(known, entry)
        self._line_seq = entry.seq
        if isinstance(entry.event, StateRepaired):
            self._recorded_before.add(entry.event.detail)
        if known is not None and entry.seq <= known.seq:
            return ()
        if entry.seq > last + 1:
            self._note(f": entries {last + 1} to {entry.seq - 1} are missing")
        return (entry,)

    def _note(self, problem: str) -> None:
        """Record a problem of the journal file, up to `_MOST_REPAIRS` of them."""
        if len(self.repairs) < _MOST_REPAIRS:
            self.repairs.append(f"{self._path.name}{problem}")
        elif len(self.repairs) == _MOST_REPAIRS:
            self.repairs.append(f"{self._path.name}: and more")

    @property
    def _last_seq(self) -> int:
        """The last entry number in use. A damaged line keeps its number, because readers may have read it before the damage."""
        return max(self._line_seq, self._folded.seq if self._folded else 0)

    def append(self, *events: Event, sync: bool = True, after: int | None = None) -> tuple[Entry, ...]:
        self._check_exists()
        if not events:
            with disk.as_store_error(self._path):
                disk.sync_content(self._descriptor)
            return ()
        if self._refusal is not None:
            raise self._refusal
        with locks.locked(self._descriptor):
            theirs, _ = self._read(stop_at_damage=False)
            if after is not None and self.loop.seq != after:
                return theirs
            ours = self._numbered((*events, *self._repairs_to_record()))
            self._write(ours, sync=sync)
        self._writing.on_change(self._writing.loop_id, self._folded)
        if self._writer is not None:
            self._writer.submit(self.checkpoint())
        return (*theirs, *ours)

    def _numbered(self, events: tuple[Event, ...]) -> tuple[Entry, ...]:
        now = epoch(timestamp(self._writing.clock()))
        return tuple(Entry(seq, now, event) for seq, event in enumerate(events, self._last_seq + 1))

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
        content = b"".join(map(self._line, entries))
        with disk.as_store_error(self._path):
            self._drop_torn_tail()
        disk.append_whole(self._descriptor, content, self._path, sync=sync)
        self._offset += len(content)
        self._folded = folded
        if self._writer is not None:
            self._repairs_recorded = len(self.repairs)

    def _drop_torn_tail(self) -> None:
        if os.fstat(self._descriptor).st_size > self._offset:
            os.ftruncate(self._descriptor, self._offset)

    def _line(self, entry: Entry) -> bytes:
        return sealed(compact(as_fields(entry, self._writing.loop_id, self._writing.redactor.text))) + b"\n"

    def become_runner(self, host: Host, token: str | None = None) -> None:
        """Record the lease, and write checkpoints from here on. The caller holds the lock."""
        if self.loop.runner is not None:
            # The runner before did not come to rest: it may have died while writing.
            checkpoint.remove_drafts(self._places.checkpoint)
        self._writer = CheckpointWriter(self._write_checkpoint)
        token = token or runners.new_token(self._writing.clock())
        # No sync: the lock keeps other runners out, and the next synced entry brings this one to disk too.
        self.append(RunnerLeased(token, os.getpid(), runners.machine(), host), sync=False)

    def _write_checkpoint(self, kept: Checkpoint) -> None:
        checkpoint.write(self._places.checkpoint, kept, self._writing.redactor)

    def checkpoint(self) -> Checkpoint:
        """The state as of the last folded entry."""
        return Checkpoint(self.loop, self._offset)

    def entries(self) -> Iterator[Entry]:
        last = 0
        for _, line in _whole_lines(self._descriptor, 0, self._offset):
            try:
                entry = self._entry(line)
            except DamagedLine:
                continue
            if entry.seq > last:
                last = entry.seq
                yield entry

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _opened(path: Path) -> tuple[int, StoreError | None]:
    """The open file; if it can only be read, also the error to raise on writing."""
    with disk.as_store_error(path):
        try:
            return os.open(path, os.O_RDWR | _OPEN), None
        except OSError as problem:
            if problem.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise
            return os.open(path, os.O_RDONLY | _OPEN), disk.store_error(problem, path)


def entries_after(path: Path, offset: int, loop_id: str, most: int = _CHUNK) -> tuple[tuple[Entry, ...], int]:
    """The entries after `offset`, about `most` bytes of them, and the offset where they end. Damaged lines are skipped."""
    with disk.as_store_error(path):
        descriptor = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        lines = list(_whole_lines(descriptor, offset, min(size, offset + most)))
        while not lines and offset + most < size:
            # The line is longer than `most`.
            most *= 4
            lines = list(_whole_lines(descriptor, offset, min(size, offset + most)))
    finally:
        os.close(descriptor)
    return tuple(_readable((line for _, line in lines), loop_id)), lines[-1][0] if lines else offset


def _readable(lines: Iterable[bytes], loop_id: str) -> Iterator[Entry]:
    for line in lines:
        try:
            yield entry_of(unsealed(line), loop_id)
        except DamagedLine:
            continue


def _whole_lines(descriptor: int, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Each line that ends between two offsets, with the offset where it ends."""
    position, rest = start, b""
    while position < end and (chunk := disk.read_at(descriptor, position, min(_CHUNK, end - position))):
        at = position - len(rest)
        position += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            at += len(line) + 1
            yield at, line


def _line_before(descriptor: int, end: int) -> bytes:
    """The line that ends at `end`. If no line ends there, the result is not a valid entry."""
    begin, content = end, b""
    while begin and b"\n" not in content[:-1]:
        step = min(begin, _TAIL + len(content))
        begin -= step
        content = disk.read_at(descriptor, begin, step) + content
    return content[:-1].rpartition(b"\n")[2]
