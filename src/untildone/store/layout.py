"""Where things lie under `.loop/`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from time import time_ns

from untildone.core.errors import LoopNotFound
from untildone.core.value import dataclass
from untildone.store import disk
from untildone.store.names import checked_id, is_id

FOLDER = ".loop"
JOURNAL = "execution.log.jsonl"
HISTORY = "history"
_DAY = re.compile(r"....-..-..")


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


class Signatures:
    """Of all loops at once. In words instead of paths: this is asked every second, of thousands of loops.

    In the history, nothing is written any more: it is listed again only when loops have come or gone.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._history = os.path.join(root, HISTORY)
        self._listed: tuple[int, Mapping[str, object]] = (0, {})

    def all(self) -> dict[str, object]:
        """The live ones looked at first: one that is put away meanwhile is in the history."""
        folders = {name: os.path.join(self._root, f"{name}.progress") for name in live_ids(Path(self._root))}
        live = {name: _signature(os.path.join(folder, JOURNAL)) for name, folder in folders.items()}
        ended = self._ended()
        unmoved = {name: seen for name, seen in live.items() if name not in ended or os.path.isdir(folders[name])}
        return {**ended, **unmoved}

    def _ended(self) -> Mapping[str, object]:
        try:
            now, changed_at = time_ns(), os.stat(self._history).st_mtime_ns
        except OSError:
            return {}
        if changed_at == self._listed[0]:
            return self._listed[1]
        names = {folder.partition("_")[2]: folder for folder in _names(Path(self._history))}
        found = {name: (os.path.join(self._history, names[name], JOURNAL),) for name in names if is_id(name)}
        # What changed just now may change again without its time showing it.
        self._listed = (changed_at if changed_at < now - disk.RACY_NANOSECONDS else 0, found)
        return found


def _signature(journal: str) -> object:
    try:
        found = os.stat(journal)
    except OSError:
        return (journal,)
    return journal, found.st_mtime_ns, found.st_size


def output_names(places: Places) -> tuple[str, ...]:
    return tuple(sorted(name.removesuffix(".jsonl") for name in _names(places.output) if name.endswith(".jsonl")))


def is_taken(root: Path, loop_id: str) -> bool:
    """Whether there is such a loop, or was one of which a part is left."""
    unmoved = live(root, loop_id)
    parts = (unmoved.progress, unmoved.checkpoint.with_name(f"{unmoved.checkpoint.name}.sha256"))
    return any(part.exists() for part in parts) or archive_of(root, loop_id) is not None


def begin_journal(progress: Path) -> None:
    """An empty journal, where there is none."""
    path = progress / JOURNAL
    with disk.told_as_sentence(path):
        progress.mkdir(exist_ok=True)
        path.touch()


def archive_of(root: Path, loop_id: str) -> Path | None:
    """Where a loop of the history is. Most ids tell the day: then the others need not be looked through."""
    history, ending = root / HISTORY, f"_{checked_id(loop_id)}"
    told = re.match(r"loop-(\d{4})(\d\d)(\d\d)-", loop_id)
    likely = history / f"{'-'.join(told.groups())}{ending}" if told else None
    if likely is not None and likely.is_dir():
        return likely
    found = (name for name in _names(history) if name.endswith(ending) and _DAY.fullmatch(name.removesuffix(ending)))
    return next((history / name for name in sorted(found)), None)


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
