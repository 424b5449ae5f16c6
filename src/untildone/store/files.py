"""The store that needs nothing started: a journal, a checkpoint and a lock per loop, in files under `.loop/`."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from untildone.core.apply import apply
from untildone.core.codec import epoch, timestamp
from untildone.core.errors import DamagedState, LoopBusy, LoopNotFound, UsageError
from untildone.core.events import Entry, Event, LoopCreated, RunnerClaimed, StateRepaired
from untildone.core.loop import Loop
from untildone.core.secrets import Redactor
from untildone.store import Clock, checkpoint, disk, layout, locks
from untildone.store.checkpoint import Checkpoint, CheckpointWriter
from untildone.store.lines import DamagedLine, as_fields, compact, entry_of, sealed, unsealed
from untildone.store.live import LiveFile

_CHUNK = 1 << 20


class FileStore:
    def __init__(self, root: Path, redactor: Redactor | None = None, clock: Clock = time.time) -> None:
        self.root = root
        self.redactor = redactor or Redactor({})
        self.clock = clock

    def create(self, event: LoopCreated) -> Loop:
        progress = self.root / f"{layout.checked_id(event.loop_id)}.progress"
        with disk.told_as_sentence(progress):
            (progress / "output").mkdir(parents=True)
            ignore = self.root / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
        places = layout.places(self.root, event.loop_id)
        journal = FileJournal(self, event.loop_id, places, None, 0)
        try:
            journal.append(event)
            checkpoint.write(places.checkpoint, journal.checkpoint(), self.redactor)
        finally:
            journal.close()
        disk.sync_folder(progress)
        disk.sync_folder(self.root)
        return journal.loop

    def ids(self) -> tuple[str, ...]:
        return layout.ids(self.root)

    def find(self, name: str) -> str:
        """The id that a person means: an id, a unique part of one, or `last`."""
        known = self.ids()
        matches = known[-1:] if name == "last" else tuple(each for each in known if name in each)
        if name in known or len(matches) == 1:
            return name if name in known else matches[0]
        where = f"in {self.root}"
        if matches:
            raise LoopNotFound(
                f"'{name}' fits {len(matches)} loops {where}.", f"say more of the id: {', '.join(matches[:5])}"
            )
        raise LoopNotFound(f"There is no loop '{name}' {where}.", "`untildone list` shows the loops there are")

    def load(self, loop_id: str) -> Loop:
        journal = self.open(loop_id)
        journal.close()
        return journal.loop

    def open(self, loop_id: str) -> FileJournal:
        places = layout.places(self.root, loop_id)
        found, problems = checkpoint.read(places.checkpoint)
        journal = FileJournal(self, loop_id, places, found.loop if found else None, found.offset if found else 0)
        try:
            journal.catch_up()
            if found is not None and not journal.begins_where_checkpoint_ends:
                journal.read_again()
        except BaseException:
            journal.close()
            raise
        if problems:
            journal.repairs.insert(0, problems)
        return journal

    @contextmanager
    def claim(self, loop_id: str) -> Iterator[FileJournal]:
        places = layout.places(self.root, loop_id)
        with disk.told_as_sentence(places.lock):
            lock = locks.try_lock(places.lock)
        if lock is None:
            raise self._busy(loop_id)
        try:
            journal = self.open(loop_id)
            try:
                journal.become_runner()
                yield journal
            finally:
                journal.close()
        finally:
            os.close(lock)

    def _busy(self, loop_id: str) -> LoopBusy:
        runner = self.load(loop_id).runner
        who = f" (process {runner.pid} on {runner.machine})" if runner else ""
        return LoopBusy(
            f"Loop {loop_id} is already being driven{who}.", f"`untildone log --follow {loop_id}` shows what it does"
        )

    def is_driven(self, loop_id: str) -> bool:
        return locks.is_locked(layout.places(self.root, loop_id).lock)

    def output(self, loop_id: str, name: str) -> Path:
        return layout.places(self.root, loop_id).output / f"{name}.jsonl"

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        path = self.progress(loop_id) / name
        with disk.told_as_sentence(path), open(path, "a", encoding="utf-8") as document:
            document.write(self.redactor.text(text))

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        return LiveFile(workspace, self.progress(loop_id), loop_id)

    def progress(self, loop_id: str) -> Path:
        """The loop's own folder, for what people and agents read."""
        return layout.places(self.root, loop_id).progress

    def receipt(self, loop_id: str) -> Path:
        return self.progress(loop_id) / "receipt.json"

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        """Two moves; a crash between them leaves a loop that is found all the same, and archived by the next call."""
        places = layout.places(self.root, loop_id)
        live = self.root / f"{loop_id}.progress"
        if places.progress == live:
            disk.replace_file(live / "receipt.json", self.redactor.text(receipt).encode())
            disk.replace_file(live / "report.md", self.redactor.text(report).encode())
            history = self.root / "history"
            day = timestamp(self.load(loop_id).created_at)[:10]
            with disk.told_as_sentence(history):
                history.mkdir(exist_ok=True)
                os.replace(live, history / f"{day}_{loop_id}")
        archived = layout.archive_of(self.root, loop_id)
        if archived is not None:
            with disk.told_as_sentence(archived):
                for path in self.root.glob(f"{loop_id}.json*"):
                    os.replace(path, archived / path.name)
            disk.sync_folder(self.root)


class FileJournal:
    """One loop's journal file. Every writer appends under the file's lock, after reading what others wrote."""

    def __init__(self, store: FileStore, loop_id: str, places: layout.Places, loop: Loop | None, offset: int) -> None:
        self._store = store
        self._loop_id = loop_id
        self._path = places.journal
        self._folded = loop
        self._offset = offset
        self._first_seq: int | None = None
        self._seq_before = loop.seq if loop else 0
        self._descriptor = self._open(places)
        self._writer: CheckpointWriter | None = None
        self._checkpoint_path = places.checkpoint
        self.repairs: list[str] = []

    def _open(self, places: layout.Places) -> int:
        with disk.told_as_sentence(places.journal):
            places.progress.mkdir(parents=True, exist_ok=True)
            return os.open(places.journal, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    @property
    def loop(self) -> Loop:
        if self._folded is None:
            raise DamagedState(
                f"The state of loop {self._loop_id} cannot be read: {'; '.join(self.repairs) or 'it is empty'}.",
                f"look at {self._path}",
            )
        return self._folded

    @property
    def begins_where_checkpoint_ends(self) -> bool:
        """Whether what lies behind the checkpoint's offset is what should: a cut or exchanged journal is read from its start."""
        return self._first_seq in (None, self._seq_before + 1) and not self.repairs

    def read_again(self) -> None:
        """Fold the whole journal over what is known: entries that were seen already change nothing."""
        self._offset = 0
        self.repairs.clear()
        self.catch_up()

    def catch_up(self) -> tuple[Entry, ...]:
        size = os.fstat(self._descriptor).st_size
        if size < self._offset:
            self._offset = 0
        entries: list[Entry] = []
        while (lines := self._next_lines(size)) is not None:
            entries += [entry for line in lines if (entry := self._folded_in(line)) is not None]
        return tuple(entries)

    def _next_lines(self, size: int) -> list[bytes] | None:
        """The next whole lines before `size`. A last line without its end is still being written, or was torn by a crash."""
        want, content = _CHUNK, b""
        while self._offset < size:
            content = os.pread(self._descriptor, min(want, size - self._offset), self._offset)
            whole = content.rpartition(b"\n")[0]
            if whole or content[:1] == b"\n":
                self._offset += len(whole) + 1
                return whole.split(b"\n")
            if len(content) >= size - self._offset:
                return None
            want *= 2
        return None

    def _folded_in(self, line: bytes) -> Entry | None:
        try:
            entry = entry_of(unsealed(line))
            if self._first_seq is None:
                self._first_seq = entry.seq
            known = self._folded.seq if self._folded else 0
            self._folded = apply(self._folded, entry)
            return entry if entry.seq > known else None
        except (DamagedLine, ValueError) as problem:
            self.repairs.append(f"{self._path.name}, before byte {self._offset}: {problem}")
            return None

    def append(self, *events: Event, sync: bool = True) -> tuple[Entry, ...]:
        if not events:
            disk.sync_content(self._descriptor)
            return ()
        with locks.locked(self._descriptor):
            theirs = self.catch_up()
            self._drop_torn_tail()
            ours = self._numbered(events)
            content = b"".join(self._line(entry) for entry in ours)
            disk.append_whole(self._descriptor, content, self._path, sync=sync)
            self._offset += len(content)
        for entry in ours:
            self._folded = apply(self._folded, entry)
        if self._writer is not None:
            self._writer.submit(self.checkpoint())
        return (*theirs, *ours)

    def _drop_torn_tail(self) -> None:
        if os.fstat(self._descriptor).st_size > self._offset:
            os.ftruncate(self._descriptor, self._offset)

    def _numbered(self, events: tuple[Event, ...]) -> tuple[Entry, ...]:
        seq = self._folded.seq if self._folded else 0
        now = epoch(timestamp(self._store.clock()))
        return tuple(Entry(seq + number, now, event) for number, event in enumerate(events, 1))

    def _line(self, entry: Entry) -> bytes:
        return sealed(self._store.redactor.text(compact(as_fields(entry, self._loop_id)))) + b"\n"

    def become_runner(self) -> None:
        token = f"{self._store.clock():.6f}-{secrets.token_hex(4)}"
        repairs = [StateRepaired(detail) for detail in self.repairs]
        self._writer = CheckpointWriter(self._checkpoint_path, self._store.redactor)
        self.append(RunnerClaimed(token, os.getpid(), socket.gethostname()), *repairs)

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.loop, self._offset)

    def entries(self) -> Iterator[Entry]:
        reader = FileJournal(self._store, self._loop_id, layout.places(self._store.root, self._loop_id), None, 0)
        try:
            yield from reader.catch_up()
        finally:
            reader.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def open_store(folder: Path, redactor: Redactor, *, create: bool = False) -> FileStore:
    """The store of a workspace: of the folder or of the nearest one above that has loops."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "give an existing one with --dir")
    return FileStore(folder / layout.FOLDER if create else layout.find_root(folder.resolve()), redactor)
