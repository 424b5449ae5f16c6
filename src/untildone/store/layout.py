"""Where things lie under `.loop/`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time_ns

from untildone.core.errors import LoopNotFound
from untildone.core.value import dataclass
from untildone.store import Seen
from untildone.store.names import checked_id, is_id
from untildone.system import disk

FOLDER = ".loop"
JOURNAL = "execution.log.jsonl"
HISTORY = "history"
_DAY = re.compile(r"....-..-..")
_TOLD_DAY = re.compile(r"loop-(\d{4})(\d\d)(\d\d)-")


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
    """Where a loop's files are until it is archived."""
    return Places(root / f"{checked_id(loop_id)}.json", root / f"{loop_id}.progress")


def places(root: Path, loop_id: str) -> Places:
    """Where a loop's files are now. Between the two moves of archiving, one part may already be in the history."""
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
    """The folder, which git ignores."""
    root.mkdir(parents=True, exist_ok=True)
    ignore = root / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def signature(root: Path, loop_id: str) -> object:
    """What changes whenever something is written to the journal; LoopNotFound if there is none."""
    live_journal = os.path.join(root, f"{checked_id(loop_id)}.progress", JOURNAL)
    if os.path.exists(live_journal):
        return _signature(live_journal)
    return (str(places(root, loop_id).journal),)


class Journals:
    """All of them at once. In words instead of paths: this is asked twice a second, of thousands of loops.

    In the history, nothing is written any more: those need not be looked at one by one.
    """

    def __init__(self, root: Path) -> None:
        self._live = _Listed(str(root), _live_journals)
        self._ended = _Listed(os.path.join(root, HISTORY), _ended_journals)

    def look(self) -> Seen:
        """The live ones looked at first: one that is put away meanwhile is in the history."""
        journals = self._live.now()
        live = {name: _signature(journal) for name, (journal,) in journals.items()}
        ended = self._ended.now()
        for name in live.keys() & ended.keys():
            if os.path.isdir(os.path.dirname(journals[name][0])):
                ended = {other: journal for other, journal in ended.items() if other != name}
            else:
                del live[name]
        return Seen(live, ended)


class _Listed:
    """The journals in a folder. It is listed again only when something in it has come or gone."""

    def __init__(self, folder: str, journals: Callable[[str], Mapping[str, tuple[str]]]) -> None:
        self._folder = folder
        self._journals = journals
        self._changed_at = 0
        self._found: Mapping[str, tuple[str]] = {}

    def now(self) -> Mapping[str, tuple[str]]:
        try:
            now, changed_at = time_ns(), os.stat(self._folder).st_mtime_ns
        except OSError:
            return {}
        if changed_at != self._changed_at:
            self._found = self._journals(self._folder)
            # What changed just now may change again without its time showing it.
            self._changed_at = 0 if disk.is_racy(changed_at, now) else changed_at
        return self._found


def _live_journals(root: str) -> dict[str, tuple[str]]:
    return {name: (os.path.join(root, f"{name}.progress", JOURNAL),) for name in live_ids(Path(root))}


def _ended_journals(history: str) -> dict[str, tuple[str]]:
    names = {folder.partition("_")[2]: folder for folder in _names(Path(history))}
    return {name: (os.path.join(history, names[name], JOURNAL),) for name in names if is_id(name)}


def _signature(journal: str) -> object:
    try:
        found = os.stat(journal)
    except OSError:
        return (journal,)
    return journal, found.st_mtime_ns, found.st_size


def output_names(places: Places) -> tuple[str, ...]:
    return tuple(sorted(name.removesuffix(".jsonl") for name in _names(places.output) if name.endswith(".jsonl")))


def is_taken(root: Path, loop_id: str, day: str) -> bool:
    """Whether there is such a loop, or was one of which a part is left. Today's loops have ids that tell the day."""
    unmoved = live(root, loop_id)
    parts = (unmoved.progress, unmoved.checkpoint.with_name(f"{unmoved.checkpoint.name}.sha256"))
    if any(part.exists() for part in parts):
        return True
    likely = _likely_archive(root, loop_id)
    if likely is not None and likely.name.startswith(day):
        # No other loop can have this id: the history, which may be long, need not be looked through.
        return likely.is_dir()
    return archive_of(root, loop_id) is not None


def begin_journal(progress: Path) -> None:
    """An empty journal, where there is none."""
    path = progress / JOURNAL
    with disk.as_store_error(path):
        progress.mkdir(exist_ok=True)
        path.touch()


def archive_of(root: Path, loop_id: str) -> Path | None:
    """Where a loop of the history is. Most ids tell the day: then the others need not be looked through."""
    history, ending = root / HISTORY, f"_{checked_id(loop_id)}"
    likely = _likely_archive(root, loop_id)
    if likely is not None and likely.is_dir():
        return likely
    found = (name for name in _names(history) if name.endswith(ending) and _DAY.fullmatch(name.removesuffix(ending)))
    return next((history / name for name in sorted(found)), None)


def _likely_archive(root: Path, loop_id: str) -> Path | None:
    told = _TOLD_DAY.match(loop_id)
    return root / HISTORY / f"{'-'.join(told.groups())}_{loop_id}" if told else None


def ids(root: Path) -> tuple[str, ...]:
    ended = (name.partition("_")[2] for name in _names(root / HISTORY))
    return tuple(sorted({*live_ids(root), *(name for name in ended if is_id(name))}))


def live_ids(root: Path) -> tuple[str, ...]:
    """The loops that are not, or not wholly, in the history."""
    found = {
        name.removesuffix(ending)
        for name in _names(root)
        for ending in (".progress", ".json.sha256")
        if name.endswith(ending)
    }
    return tuple(sorted(name for name in found if is_id(name)))


def _names(folder: Path) -> list[str]:
    """Of all that is in a folder. Not by glob, which takes ten times as long where there are thousands."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def find_root(start: Path) -> Path:
    """The `.loop` folder of a folder or of the nearest one above it; where there is none, the folder's own."""
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
    return start / FOLDER
