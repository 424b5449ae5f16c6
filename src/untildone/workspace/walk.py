"""The files of a folder without git, and a digest of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator

from untildone.core.live_file import is_live_file
from untildone.workspace.shadow.values import Stamp, stamp_of

MOST_FILES = 200_000
SKIPPED = frozenset({".git", ".loop", "node_modules", ".venv", "__pycache__"})


def files_below(folder: bytes) -> Iterator[tuple[bytes, Stamp]]:
    """At most `MOST_FILES` files by relative path, with their stamps, in a stable order."""
    pending, left = [b""], MOST_FILES
    while pending and left > 0:
        below = pending.pop()
        for name, is_folder in _entries_of(os.path.join(folder, below)):
            path = os.path.join(below, name)
            if is_folder:
                pending.append(path)
            elif stamp := _stamp(os.path.join(folder, path)):
                left -= 1
                yield path, stamp


def digest(files: Iterable[tuple[bytes, Stamp]]) -> str:
    """A SHA-256 of paths and stamps."""
    summed = hashlib.sha256()
    for path, stamp in files:
        summed.update(b"%b\0%b\n" % (path, repr(stamp).encode()))
    return summed.hexdigest()


def _stamp(path: bytes) -> Stamp | None:
    try:
        return stamp_of(os.lstat(path))
    except (OSError, ValueError):
        return None


def _entries_of(folder: bytes) -> list[tuple[bytes, bool]]:
    try:
        with os.scandir(folder) as entries:
            listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except (OSError, ValueError):
        return []
    return sorted(entry for entry in listed if not _is_skipped(os.fsdecode(entry[0])))


def _is_skipped(name: str) -> bool:
    return name in SKIPPED or is_live_file(name)
