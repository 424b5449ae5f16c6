"""Where things lie under `.loop/`, and which names are allowed there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from untildone.core.errors import LoopNotFound, UsageError

FOLDER = ".loop"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one loop, live or archived."""

    checkpoint: Path
    progress: Path

    @property
    def journal(self) -> Path:
        return self.progress / "execution.log.jsonl"

    @property
    def lock(self) -> Path:
        return self.progress / "runner.lock"

    @property
    def output(self) -> Path:
        return self.progress / "output"


def checked_id(loop_id: str) -> str:
    """An id that cannot leave its folder."""
    if not _ID.match(loop_id):
        raise UsageError(
            f"'{loop_id}' is not a loop id.", "ids are letters, digits, '-' and '_'; `untildone list` shows them"
        )
    return loop_id


def places(root: Path, loop_id: str) -> Places:
    """Where a loop's files are now. Between the two moves of archiving, one part may already be in the history."""
    live = Places(root / f"{checked_id(loop_id)}.json", root / f"{loop_id}.progress")
    if live.progress.is_dir():
        return live
    archived = archive_of(root, loop_id)
    if archived is None:
        if live.checkpoint.exists():
            return live
        raise LoopNotFound(f"There is no loop '{loop_id}' in {root}.", "`untildone list` shows the loops there are")
    moved = archived / live.checkpoint.name
    return Places(moved if moved.exists() else live.checkpoint, archived)


def archive_of(root: Path, loop_id: str) -> Path | None:
    return next(iter(sorted((root / "history").glob(f"*_{loop_id}"))), None)


def ids(root: Path) -> tuple[str, ...]:
    live = (path.name.removesuffix(".progress") for path in root.glob("*.progress"))
    ended = (path.name.partition("_")[2] for path in (root / "history").glob("*_*"))
    return tuple(sorted({name for name in (*live, *ended) if _ID.match(name)}))


def find_root(start: Path) -> Path:
    """The `.loop` folder of a folder or of the nearest one above it; where there is none, the folder's own."""
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            return folder / FOLDER
    return start / FOLDER
