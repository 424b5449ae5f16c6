"""Where things lie under `.loop/`."""

from __future__ import annotations

import os
from pathlib import Path

from untildone.core.errors import LoopNotFound
from untildone.core.value import dataclass
from untildone.store import disk
from untildone.store.names import checked_id, is_id

FOLDER = ".loop"
JOURNAL = "execution.log.jsonl"


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


def begin_journal(progress: Path) -> None:
    """An empty journal, where there is none."""
    path = progress / JOURNAL
    with disk.told_as_sentence(path):
        progress.mkdir(exist_ok=True)
        path.touch()


def archive_of(root: Path, loop_id: str) -> Path | None:
    return next(iter(sorted((root / "history").glob(f"????-??-??_{checked_id(loop_id)}"))), None)


def ids(root: Path) -> tuple[str, ...]:
    ended = (name.partition("_")[2] for name in _names(root / "history"))
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


def every(root: Path) -> dict[str, Places]:
    """Where the files of all loops are now, oldest first, by one look at each of the two folders."""
    found = {name: Places(root / f"{name}.json", root / f"{name}.progress") for name in live_ids(root)}
    history = root / "history"
    for folder in _names(history):
        name = folder.partition("_")[2]
        if is_id(name) and not (name in found and found[name].progress.is_dir()):
            found[name] = Places(history / folder / f"{name}.json", history / folder)
    return dict(sorted(found.items()))


def find_root(start: Path) -> Path:
    """The `.loop` folder of a folder or of the nearest one above it; where there is none, the folder's own."""
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
    return start / FOLDER
