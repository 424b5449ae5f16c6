"""The paths of a loop's files under `.loop/`."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, time_ns

from untildone.core.errors import LoopNotFound
from untildone.core.values.value import dataclass
from untildone.store import Signatures
from untildone.store.names import checked_id, is_id
from untildone.system import disk

FOLDER = ".loop"
JOURNAL = "execution.log.jsonl"
HISTORY = "history"
BELL = ".changed"
"""A file whose modification time changes with every entry of any loop, so that a server need not look at each journal."""
LOOK_AT_ALL_EVERY = 15.0
"""Seconds after which all journals are looked at even so: a program that writes to them may be older than the bell."""
_DAY = r"....-..-.."
_DATE_IN_ID = r"loop-(\d{4})(\d\d)(\d\d)-"


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one loop, live or archived."""

    checkpoint: Path
    progress: Path

    @property
    def journal(self) -> Path:
        return self.progress / JOURNAL

    @property
    def lock(self) -> Path:
        return self.progress / "runner.lock"

    @property
    def output(self) -> Path:
        return self.progress / "output"


def live(root: Path, loop_id: str) -> Places:
    """The paths of a loop's files before it is archived."""
    return Places(root / f"{checked_id(loop_id)}.json", root / f"{loop_id}.progress")


def places(root: Path, loop_id: str) -> Places:
    """The current paths of a loop's files. After a crash during archiving, only some of them may be in the history."""
    unmoved = live(root, loop_id)
    if unmoved.progress.is_dir():
        return unmoved
    archived = archive_of(root, loop_id)
    if archived is None:
        if any(root.glob(f"{loop_id}.json*")):
            return unmoved
        raise LoopNotFound(f"There is no loop '{loop_id}' in {root}.", "`untildone list` shows the loops there are")
    moved = archived / unmoved.checkpoint.name
    return Places(moved if moved.exists() else unmoved.checkpoint, archived)


def prepare(root: Path) -> None:
    """Create the folder with a `.gitignore`, so that git ignores it."""
    root.mkdir(parents=True, exist_ok=True)
    ignore = root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def signature(root: Path, loop_id: str) -> object:
    """A value that changes with every append to the journal. Raises LoopNotFound if there is no such loop."""
    live_journal = os.path.join(root, f"{checked_id(loop_id)}.progress", JOURNAL)
    if os.path.exists(live_journal):
        return _signature(live_journal)
    return (str(places(root, loop_id).journal),)


def journal_of(root: Path, loop_id: str) -> str:
    """Where the journal of a loop is, as far as that is known without a listing."""
    live_journal = os.path.join(root, f"{checked_id(loop_id)}.progress", JOURNAL)
    likely = None if os.path.exists(live_journal) else _likely_archive(root, loop_id)
    return live_journal if likely is None else os.path.join(likely, JOURNAL)


class Journals:
    """The signatures of all journals. Works with `str` instead of `Path`, because it runs twice a second for thousands of loops.

    The journals in the history no longer change, so they are not looked at one by one; the others only after the bell rang.
    """

    def __init__(self, root: Path) -> None:
        self._live = _Listing(str(root), _live_journals)
        self._ended = _Listing(os.path.join(root, HISTORY), _ended_journals)
        self._bell = os.path.join(root, BELL)
        self._heard: object = None
        self._known: Signatures | None = None
        self._looked_at_all = 0.0
        self._all_there = False
        """Whether every journal is a file. A person who puts one back announces nothing."""

    def ring(self) -> None:
        """Announce an entry to the servers of the folder. Without a bell they see it when they look at all journals."""
        with suppress(OSError):
            try:
                os.utime(self._bell)
            except FileNotFoundError:
                os.close(os.open(self._bell, os.O_CREAT | os.O_WRONLY, 0o600))

    def look(self) -> Signatures:
        """The signatures now; the same object as last time if nothing was announced since. An announced entry makes a new one, even if it
        has the same content: a loop may have come and gone, and the caller may have heard of one of both by another way."""
        heard, now = self._listen(), monotonic()
        is_recent = self._all_there and now < self._looked_at_all + LOOK_AT_ALL_EVERY
        if self._known is not None and heard == self._heard and is_recent:
            return self._known
        # What is announced while the journals are looked at is looked at next time.
        self._heard, self._looked_at_all = heard, now
        self._known = self._look_at_all()
        return self._known

    def _listen(self) -> object:
        """A value that changes with every announced entry and every new, deleted or archived loop."""
        now = time_ns()
        try:
            rang_at = os.stat(self._bell).st_mtime_ns
        except OSError:
            rang_at = now
        # A bell that rang just now may ring again and keep its modification time.
        return self._live.now(), self._ended.now(), now if disk.is_racy(rang_at, now) else rang_at

    def _look_at_all(self) -> Signatures:
        """Live loops come first, so that a loop that is archived meanwhile is not missed."""
        journals = self._live.now()
        live = {name: _signature(journal) for name, (journal,) in journals.items()}
        self._all_there = all(live[name] != journal for name, journal in journals.items())
        ended = self._ended.now()
        for name in live.keys() & ended.keys():
            if os.path.isdir(os.path.dirname(journals[name][0])):
                ended = {other: journal for other, journal in ended.items() if other != name}
            else:
                del live[name]
        return Signatures(live, ended)


class _Listing:
    """The journals in a folder, which is listed again only after its modification time changed."""

    def __init__(self, folder: str, journals: Callable[[str], Mapping[str, tuple[str]]]) -> None:
        self._folder = folder
        self._journals = journals
        self._changed_at = 0
        self._listed: Mapping[str, tuple[str]] = {}

    def now(self) -> Mapping[str, tuple[str]]:
        try:
            now, changed_at = time_ns(), os.stat(self._folder).st_mtime_ns
        except OSError:
            return {}
        if changed_at != self._changed_at:
            self._listed = self._journals(self._folder)
            # A folder that changed just now may change again and keep its modification time.
            self._changed_at = 0 if disk.is_racy(changed_at, now) else changed_at
        return self._listed


def _live_journals(root: str) -> dict[str, tuple[str]]:
    return {name: (os.path.join(root, f"{name}.progress", JOURNAL),) for name in live_ids(Path(root))}


def _ended_journals(history: str) -> dict[str, tuple[str]]:
    names = {folder.partition("_")[2]: folder for folder in _names(Path(history))}
    return {name: (os.path.join(history, names[name], JOURNAL),) for name in names if is_id(name)}


def _signature(journal: str) -> object:
    try:
        status = os.stat(journal)
    except OSError:
        return (journal,)
    return (journal, status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else (journal,)


def output_names(places: Places) -> tuple[str, ...]:
    """The names of the outputs, in the order of the iterations."""
    return tuple(sorted(name.removesuffix(".jsonl") for name in _names(places.output) if name.endswith(".jsonl")))


def is_taken(root: Path, loop_id: str, day: str) -> bool:
    """Whether a loop with this id exists, or a part of one. `day` is the date of the new loop."""
    unmoved = live(root, loop_id)
    parts = (unmoved.progress, unmoved.checkpoint.with_name(f"{unmoved.checkpoint.name}.sha256"))
    if any(part.exists() for part in parts):
        return True
    likely = _likely_archive(root, loop_id)
    if likely is not None and likely.name.startswith(day):
        # The id contains the date, so the loop can be in this folder only: no need to list a long history.
        return likely.is_dir()
    return archive_of(root, loop_id) is not None


def begin_journal(progress: Path, *, create_folder: bool = True) -> None:
    """Create an empty journal if there is none. Without `create_folder`, StoreError if its folder does not exist."""
    path = progress / JOURNAL
    with disk.as_store_error(path):
        if create_folder:
            progress.mkdir(0o700, exist_ok=True)
        path.touch(0o600)


def archive_of(root: Path, loop_id: str) -> Path | None:
    """The folder of an archived loop; None if it is not archived. Lists the history only if the id does not contain the date."""
    history, ending = root / HISTORY, f"_{checked_id(loop_id)}"
    likely = _likely_archive(root, loop_id)
    if likely is not None and likely.is_dir():
        return likely
    names = (
        name for name in _names(history) if name.endswith(ending) and re.fullmatch(_DAY, name.removesuffix(ending))
    )
    return next((history / name for name in sorted(names)), None)


def _likely_archive(root: Path, loop_id: str) -> Path | None:
    """The folder of an archived loop whose id contains its date; None for another id."""
    date = re.match(_DATE_IN_ID, loop_id)
    return root / HISTORY / f"{'-'.join(date.groups())}_{loop_id}" if date else None


def ids(root: Path) -> tuple[str, ...]:
    """All loops, live and archived."""
    ended = (name.partition("_")[2] for name in _names(root / HISTORY))
    return tuple(sorted({*live_ids(root), *(name for name in ended if is_id(name))}))


def live_ids(root: Path) -> tuple[str, ...]:
    """The loops that are not, or not completely, in the history."""
    candidates = {
        name.removesuffix(ending)
        for name in _names(root)
        for ending in (".progress", ".json.sha256")
        if name.endswith(ending)
    }
    return tuple(sorted(name for name in candidates if is_id(name)))


def _names(folder: Path) -> list[str]:
    """The names in a folder, if it exists. `glob` takes ten times as long in a folder with thousands of files."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def find_root(start: Path) -> Path:
    """The `.loop` folder in `start` or its nearest parent that has one; the path in `start` if none has."""
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
    return start / FOLDER
