"""What snapshots are made of."""

from __future__ import annotations

import os
from enum import Enum

from untildone.core.values.digest import sha256
from untildone.core.values.value import dataclass

Stamp = tuple[int, ...]
"""Size, modification time, mode, change time and inode of a file. It changes with the file, unless it is racy."""

PLAIN, PROGRAM, LINK = "100644", "100755", "120000"
"""Modes of files in a tree."""


class Reading(Enum):
    """Which files are read for a snapshot."""

    TOUCHED = "touched"
    """Those whose stamp differs from the last snapshot."""
    ALL = "all"
    """Every file. A program that keeps a file mapped into its memory can change it and keep its stamp."""


class NoSnapshot(Exception):
    """No snapshot can be taken or read. The text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a snapshot."""

    mode: str
    """`PLAIN`, `PROGRAM` or `LINK`."""
    blob: str
    """The name of its content in the shadow repository; for a link, of its target."""


@dataclass(frozen=True, slots=True)
class Content:
    """A file to be written into a tree."""

    mode: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """A path that differs between two trees."""

    path: str
    before: File | None
    """None: the file is new."""
    after: File | None
    """None: the file is gone."""


class Why(Enum):
    """Why a file is not in a snapshot although nothing ignores it."""

    BIG = "very big"
    UNREADABLE = "unreadable"
    NAME = "of a name that git refuses"
    CHANGING = "being written"
    """It is in the snapshot, with one of its contents."""
    LATE = "one of too many that were ignored at the start"


@dataclass(frozen=True, slots=True)
class Unkept:
    """A file that a snapshot does not contain. Its stamp is part of the fingerprint, so that a change of it is seen."""

    path: str
    why: Why
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a workspace at one moment."""

    tree: str
    """A plain git tree in the shadow repository. Equal trees mean equal files, byte for byte."""
    root: str
    """The folder whose files it contains: the top of the person's repository at the start of the loop, or the workspace."""
    files: int = 0
    unkept: tuple[Unkept, ...] = ()

    @property
    def beside(self) -> str:
        """A digest of what the tree does not contain; empty if it contains everything."""
        if not self.unkept:
            return ""
        stamps = [(each.path, each.stamp) for each in self.unkept]
        return sha256(repr(stamps).encode(errors="surrogateescape")).hexdigest()[:16]


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_mode, status.st_ctime_ns, status.st_ino
