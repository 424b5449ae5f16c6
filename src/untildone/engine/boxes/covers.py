"""Files that a box hides or protects by a mount of their own: the kernel drops such a mount when a program outside replaces the file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from untildone.system.box.sandbox import Access, Box

COVERING = frozenset({Access.HIDDEN, Access.READ, Access.READ_IF_THERE})


def of(box: Box | None) -> Mapping[str, tuple[int, int]]:
    """The covered files of a box, each with its identity."""
    mounts = box.mounts if box is not None else ()
    return identities(
        each.path for each in mounts if each.access in COVERING and not each.source and os.path.isfile(each.path)
    )


def identities(paths: Iterable[str]) -> Mapping[str, tuple[int, int]]:
    """The identity of each of these files: its device and inode. A file that replaces it has another one."""
    return {path: _identity(path) for path in paths}


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)
