"""The store in files under `.loop/`, which needs no server: a journal, a checkpoint and a lock for each loop."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from untildone.core.errors import DamagedState, LoopBusy, LoopNotFound, StoreError, UntilDoneError, UsageError
from untildone.core.events import Entry, Event, LoopCreated
from untildone.core.kinds import Host
from untildone.core.live_file import KEPT_AS
from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.core.values.codec import timestamp
from untildone.store import (
    Clock,
    Group,
    LoopStatus,
    OnChange,
    Signatures,
    archived,
    checkpoint,
    ignore,
    layout,
    opening,
    rebuilding,
)
from untildone.store.checkpoint import Checkpoint
from untildone.store.journal import FileJournal, Writing
from untildone.store.journal_file import entries_after
from untildone.store.layout import Places
from untildone.store.live import LiveFile
from untildone.store.names import checked_id, resolve_id
from untildone.store.reading import LineReader
from untildone.store.seals import Head, LoopSeal, Seals
from untildone.store.spool import FileSpool
from untildone.system import disk, locks, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.store.memory import Memory

SERVER_LOCK = "server.lock"
KEPT_CHECKPOINTS = 10
"""How many copies of checkpoints a loop keeps."""


class FileStore:
    """The loops in one `.loop` folder, which is `root`."""

    def __init__(
        self,
        root: Path,
        redactor: Redactor | None = None,
        clock: Clock = time.time,
        memory: Memory | None = None,
        seals: Seals | None = None,
    ) -> None:
        self.root = root
        self.seals = seals or Seals()
        self.redactor = redactor or Redactor({})
        self.clock = clock
        self.on_change: OnChange = ignore
        self._journals = layout.Journals(root)
        self.memory = memory
        """The cache of a long-lived process; None: no cache."""

    @property
    def home(self) -> Path:
        return self.root.parent

    def keep_in_memory(self) -> None:
        from untildone.store.memory import Memory

        self.memory = Memory()

    @property
    def name(self) -> str:
        return str(self.home)

    def check(self) -> None:
        folder = self.root if self.root.exists() else self.home
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise StoreError(f"{folder} cannot be written.", "make the folder writable")

    def close(self) -> None:
        """There are no connections to close."""

    def create(self, event: LoopCreated, *first: Event) -> Loop:
        """Made in a draft folder that is renamed: a loop exists with its first entries, or not at all."""
        import shutil
        import tempfile

        checked_id(event.loop_id)
        if event.settings.group:
            raise _no_groups()
        with disk.as_store_error(self.root):
            layout.prepare(self.root)
            draft = Path(tempfile.mkdtemp(".tmp", f"{event.loop_id}.", self.root))
        try:
            return self._begin(event, first, draft)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _begin(self, event: LoopCreated, first: tuple[Event, ...], draft: Path) -> Loop:
        import shutil

        live = layout.live(self.root, event.loop_id)
        with disk.as_store_error(draft):
            (draft / "output").mkdir()
        layout.begin_journal(draft)
        seal = self.seals.for_new(event.loop_id)
        journal = FileJournal(self._writing(event.loop_id, ignore, seal), Places(live.checkpoint, draft))
        try:
            journal.append(event)
            with disk.as_store_error(draft):
                shutil.copyfile(draft / layout.JOURNAL, draft / rebuilding.FIRST_ENTRY)
            journal.append(*first)
            disk.sync_folder(draft)
            self._take_name(journal, draft, live.progress)
            with suppress(StoreError):
                checkpoint.write(live.checkpoint, journal.checkpoint(), self.redactor, seal)
        finally:
            journal.close()
        disk.sync_folder(self.root)
        self.on_change(event.loop_id, journal.loop)
        return journal.loop

    def _take_name(self, journal: FileJournal, draft: Path, progress: Path) -> None:
        loop = journal.loop
        if layout.is_taken(self.root, loop.loop_id, timestamp(loop.created_at)[:10]):
            raise UsageError(f"There is already a loop '{loop.loop_id}' in {self.root}.", "choose another id")
        # Before the loop appears: without its head, it would not be taken for one of ours.
        self.seals.head(self.root, loop.loop_id).create(loop.seq, journal.checkpoint().last_seal.encode())
        with disk.as_store_error(progress):
            os.rename(draft, progress)

    def _writing(
        self,
        loop_id: str,
        on_change: OnChange,
        seal: LoopSeal | None,
        head: Head | None = None,
        not_ours: str = "",
    ) -> Writing:
        return Writing(loop_id, self.redactor, self.clock, on_change, seal, head, not_ours, self._journals.ring)

    def ids(self) -> tuple[str, ...]:
        return layout.ids(self.root)

    def live_ids(self) -> tuple[str, ...]:
        return layout.live_ids(self.root)

    def running_ids(self, host: Host) -> tuple[str, ...]:
        return tuple(each.loop_id for each in self.survey(self.live_ids()) if each.is_to_run_on(host))

    def find(self, name: str) -> str:
        return resolve_id(name, self.ids(), f"in {self.root}", self.is_ours)

    def is_ours(self, loop_id: str) -> bool:
        try:
            return not self.load(loop_id).not_ours
        except UntilDoneError:
            # `last` does not pass over a loop because its files are damaged.
            return self.seals.head(self.root, loop_id).read() is not None

    def load(self, loop_id: str) -> Loop:
        if self.memory is None:
            return self._loaded(loop_id)[0]
        stamp = self._stamp(loop_id)
        known = self.memory.unchanged(loop_id, stamp)
        if known is not None:
            return known
        loop, is_whole = self._loaded(loop_id)
        if is_whole and not loop.not_ours:
            self.memory.keep_stamp(loop_id, loop, stamp)
        return loop

    def _loaded(self, loop_id: str) -> tuple[Loop, bool]:
        """A loop, and whether nothing was wrong with its files."""
        journal = self.open(loop_id)
        journal.close()
        return journal.loop, not journal.repairs

    def _stamp(self, loop_id: str) -> object | None:
        """A value that changes with the journal and the head of a loop; None if they may have changed just now."""
        now = time.time_ns()
        stamps = (
            disk.stamp(layout.journal_of(self.root, loop_id)),
            disk.stamp(self.seals.head(self.root, loop_id).path),
        )
        return stamps if all(each and not disk.is_racy(each.changed_at, now) for each in stamps) else None

    def survey(self, loop_ids: Collection[str]) -> Iterator[LoopStatus]:
        for loop_id in loop_ids:
            try:
                loop = self.load(loop_id)
                yield LoopStatus(loop_id, loop, driven=not loop.status.ended and self.is_driven(loop_id))
            except LoopNotFound:
                continue
            except UntilDoneError as problem:
                yield LoopStatus(loop_id, problem=problem.sentence)

    def signature(self, loop_id: str) -> object | None:
        try:
            return layout.signature(self.root, loop_id)
        except LoopNotFound:
            return None

    def signatures(self) -> Signatures:
        return self._journals.look()

    def entries_after(self, loop_id: str, place: int) -> tuple[tuple[Entry, ...], int]:
        known = self.seals.head(self.root, loop_id).read() is not None
        reader = LineReader(loop_id, self.seals.of(loop_id) if known else None, last_seal=None)
        try:
            return entries_after(layout.places(self.root, loop_id).journal, place, reader)
        except StoreError:
            # The loop was archived meanwhile.
            return entries_after(layout.places(self.root, loop_id).journal, place, reader)

    def open(self, loop_id: str) -> FileJournal:
        return self._open_in_place(loop_id, self.memory.recall(loop_id) if self.memory else None)

    def _open_in_place(self, loop_id: str, known: Checkpoint | None = None) -> FileJournal:
        """The journal, from a known state on, else from the checkpoint."""
        places = layout.places(self.root, loop_id)
        try:
            return self._open(loop_id, places, known)
        except StoreError:
            if places.journal.exists():
                raise
        # The loop was archived meanwhile, or its journal was deleted: then a new journal continues from the checkpoint.
        places = layout.places(self.root, loop_id)
        # Without a checkpoint the loop is being deleted: a new folder would bring it back as a damaged one.
        layout.begin_journal(places.progress, create_folder=any(self.root.glob(f"{loop_id}.json*")))
        return self._open(loop_id, places, known)

    def _open(self, loop_id: str, places: Places, known: Checkpoint | None) -> FileJournal:
        # The head is read before the journal: an entry that is written meanwhile must not seem to be missing.
        head, seal = self.seals.head(self.root, loop_id), self.seals.of(loop_id)
        last = head.read()
        own = None
        if seal is not None and last is not None:
            own = opening.own_journal(places, self._writing(loop_id, self.on_change, seal, head), known, last)
        journal = own or self._open_foreign(places, loop_id)
        self.on_change(loop_id, journal.loop)
        if self.memory:
            self.memory.keep(loop_id, journal.checkpoint())
        return journal

    def _open_foreign(self, places: Places, loop_id: str) -> FileJournal:
        """The journal of a loop that is not ours: everything in it is shown, and nothing of it is believed."""
        journal = FileJournal(self._writing(loop_id, self.on_change, None, None, self._doubt(loop_id)), places)
        try:
            journal.catch_up()
            journal.repairs.clear()
            if journal.is_lost:
                raise DamagedState(
                    f"The state of loop {loop_id} cannot be read: {self._doubt(loop_id)}.", f"look at {places.journal}"
                )
        except BaseException:
            journal.close()
            raise
        return journal

    def _doubt(self, loop_id: str) -> str:
        """Why a loop is not taken for one that untildone wrote here."""
        if self.seals.of(loop_id) is None:
            return self.seals.problem[0].rstrip(".")
        if self.seals.head(self.root, loop_id).read() is None:
            return f"untildone did not write it in {self.root}, or not with this state folder"
        return "its entries have no valid seal"

    @contextmanager
    def lease(
        self, loop_id: str, host: Host = Host.TERMINAL, token: str | None = None, *, reopens: bool = False
    ) -> Iterator[FileJournal]:
        lock = self._lock(loop_id)
        if lock is None:
            raise self._busy(loop_id)
        try:
            if reopens:
                archived.bring_back(self.root, loop_id)
            journal = self._opened_live(loop_id)
            try:
                journal.become_runner(host, token)
                yield journal
            finally:
                journal.close()
        finally:
            os.close(lock)

    def _opened_live(self, loop_id: str) -> FileJournal:
        """The journal for a runner. A loop in the history that has not ended, because the entry of its end was damaged there, is
        brought back: its next end gets a receipt of its own."""
        # Not from memory: a runner reports what does not count, and must see it for itself.
        journal = self._open_in_place(loop_id)
        is_live = layout.places(self.root, loop_id).progress == layout.live(self.root, loop_id).progress
        if is_live or journal.loop.status.ended:
            return journal
        journal.close()
        archived.bring_back(self.root, loop_id)
        return self._open_in_place(loop_id)

    def _lock(self, loop_id: str) -> int | None:
        if not layout.places(self.root, loop_id).progress.is_dir():
            self.open(loop_id).close()
        path = layout.places(self.root, loop_id).lock
        with disk.as_store_error(path):
            return locks.try_lock(path)

    def _busy(self, loop_id: str) -> LoopBusy:
        runner = self.load(loop_id).runner
        by_process = f" (process {runner.pid} on {runner.machine})" if runner else ""
        return LoopBusy(
            f"Loop {loop_id} is already being driven{by_process}.",
            f"`untildone log --follow {loop_id}` shows what it does",
        )

    def is_driven(self, loop_id: str) -> bool:
        return locks.is_locked(layout.places(self.root, loop_id).lock)

    @contextmanager
    def serving(self) -> Iterator[None]:
        path = self.root / SERVER_LOCK
        with disk.as_store_error(path):
            layout.prepare(self.root)
            lock = locks.try_lock(path)
            self._journals.ring()
        if lock is None:
            raise LoopBusy(f"Another server serves {self.name} already.", "use that one, or end it first")
        try:
            yield
        finally:
            os.close(lock)

    def is_served(self) -> bool:
        return locks.is_locked(self.root / SERVER_LOCK)

    def delete(self, loop_id: str, after: int | None = None) -> bool:
        if after is None:
            self._remove(loop_id)
            return True
        with closing(self.open(loop_id)) as journal:
            return journal.remove_after(after, lambda: self._remove(loop_id))

    def _remove(self, loop_id: str) -> None:
        """Rename the folder first, so that the loop is gone at once, then delete the files."""
        import shutil

        progress = layout.places(self.root, loop_id).progress
        deleted = self.root / f"{loop_id}.deleted.tmp"
        with disk.as_store_error(progress):
            for path in self.root.glob(f"{loop_id}.json*"):
                path.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                os.replace(progress, deleted)
        self.seals.head(self.root, loop_id).delete()
        if self.memory:
            self.memory.forget(loop_id)
        self.on_change(loop_id, None)
        shutil.rmtree(deleted, ignore_errors=True)

    def group(self, name: str) -> Group:
        """A group without limits: a store in files has none."""
        return Group(name)

    def waiting_in(self, name: str) -> tuple[str, ...]:
        return ()

    def groups(self) -> tuple[Group, ...]:
        raise _no_groups()

    def change_group(self, name: str, *, max_cost: float | None, at_once: int | None) -> Group:
        raise _no_groups()

    def spool(self, loop_id: str, name: str) -> FileSpool:
        file = f"{checked_id(name)}.jsonl"
        return FileSpool(lambda: layout.places(self.root, loop_id).output / file)

    def output_names(self, loop_id: str) -> tuple[str, ...]:
        return layout.output_names(layout.places(self.root, loop_id))

    def add_to_document(self, loop_id: str, name: str, text: str) -> None:
        path = self.progress(loop_id) / name
        with disk.as_store_error(path), open(path, "a", encoding="utf-8") as document:
            document.write(self.redactor.text(text))

    def put_document(self, loop_id: str, name: str, text: str) -> None:
        disk.replace_file(self.progress(loop_id) / name, self.redactor.text(text).encode("utf-8", "replace"))

    def carry(self, loop_id: str, name: str, text: str) -> None:
        raise UsageError(
            f"Loop {loop_id} is in files and stays on its machine.", "a cluster keeps its loops in Postgres"
        )

    def carried(self, loop_id: str, name: str) -> str | None:
        return None

    def keep_checkpoint(self, loop: Loop, live_state: str | None) -> None:
        import shutil

        folder = self.progress(loop.loop_id) / "checkpoints"
        place = folder / f"{loop.spend.iterations:04d}"
        with disk.as_store_error(place):
            place.mkdir(parents=True, exist_ok=True)
        # Offset 0 is always valid: the journal is read from its start.
        kept = checkpoint.Checkpoint(loop, 0)
        checkpoint.write(place / "checkpoint.json", kept, self.redactor, self.seals.of(loop.loop_id))
        if live_state is not None:
            disk.replace_file(place / KEPT_AS, self.redactor.text(live_state).encode("utf-8", "replace"))
        for old in sorted(folder.iterdir())[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old, ignore_errors=True)

    def live_file(self, loop_id: str, workspace: str) -> LiveFile:
        return LiveFile(workspace, self.progress(loop_id), loop_id, self.redactor)

    def documents(self, loop_id: str) -> Mapping[str, str]:
        paths = sorted(self.progress(loop_id).glob("*.md"))
        return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in paths}

    def progress(self, loop_id: str) -> Path:
        return layout.places(self.root, loop_id).progress

    def receipt(self, loop_id: str) -> str | None:
        def read() -> str:
            return (self.progress(loop_id) / "receipt.json").read_text(encoding="utf-8", errors="replace")

        return disk.read_if_exists(read)

    def archive(self, loop_id: str, receipt: str, report: str) -> None:
        """Move the folder, then the checkpoint. After a crash between the two, the loop is readable, and the next call goes on."""
        live = layout.live(self.root, loop_id).progress
        if layout.places(self.root, loop_id).progress == live:
            texts = {"receipt.json": self.redactor.text(receipt), "report.md": self.redactor.text(report)}
            try:
                archived.move_to_history(self.root, live, self.load(loop_id), texts)
            except StoreError:
                # Another process may have archived the loop at the same moment.
                if layout.archive_of(self.root, loop_id) is None:
                    raise
        folder = layout.archive_of(self.root, loop_id)
        if folder is not None:
            archived.move_checkpoints(self.root, loop_id, folder)
            self.seals.head(self.root, loop_id).spare.unlink(missing_ok=True)


def _no_groups() -> UsageError:
    return UsageError("Groups need loops that are kept in Postgres.", "name the database with --store")


def open_store(folder: Path, environment: Mapping[str, str], *, create: bool = False) -> FileStore:
    """The store of `folder` or of its nearest parent that has loops; with `create`, of `folder` itself."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.", "give an existing one with --dir")
    root = folder / layout.FOLDER if create else layout.find_root(folder.resolve())
    if create and root.is_symlink():
        # An agent may have put it there, to lead what untildone writes to another folder.
        raise UsageError(f"{root} is a link, and loops are not kept behind one.", "delete the link, or move the folder")
    return FileStore(root, Redactor.from_environment(environment), seals=Seals(state_folder.folder(environment)))
