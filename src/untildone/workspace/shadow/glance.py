"""A quick look at a small folder: if no file in it was touched since the last look, no git process is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import time_ns

from untildone.core.live_file import is_live_file
from untildone.core.values.digest import sha256
from untildone.core.values.value import dataclass
from untildone.system import disk
from untildone.workspace.shadow.values import Stamp, stamp_of

MOST_ENTRIES = 1500
"""Files and folders. With more of them, git itself is as fast."""

_SKIPPED = frozenset({b".git", b".loop"})
"""Folders that no snapshot contains."""


@dataclass(frozen=True, slots=True)
class Glance:
    """All files of a folder, by their stamps."""

    digest: str
    sure: bool
    """Whether every file is old enough: a later change of it changes its stamp."""


def look(folder: str, left_out: Path) -> Glance | None:
    """Every file below the folder, including ignored ones, without the folder `left_out`; None if there are too many."""
    at = time_ns()
    try:
        files = sorted(_files(os.fsencode(folder), os.fsencode(left_out)))
    except (OSError, ValueError, _TooMany):
        return None
    sure = not any(disk.is_racy(max(stamp[1], stamp[3]), at) for _, stamp in files)
    return Glance(sha256(repr(files).encode()).hexdigest(), sure)


class _TooMany(Exception):
    """The folder has more than `MOST_ENTRIES` entries."""


def _files(top: bytes, left_out: bytes) -> Iterator[tuple[bytes, Stamp]]:
    pending, count = [top], 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                count += 1
                if count > MOST_ENTRIES:
                    raise _TooMany
                if not entry.is_dir(follow_symlinks=False):
                    if not is_live_file(os.fsdecode(entry.name)):
                        yield entry.path, stamp_of(entry.stat(follow_symlinks=False))
                elif entry.name not in _SKIPPED and entry.path != left_out:
                    pending.append(entry.path)
