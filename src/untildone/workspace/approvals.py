"""What a person approved: a path, and what was there at that moment. A later change of the same file asks again."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from itertools import zip_longest

from untildone.system import disk
from untildone.workspace.rooms.ignored import beside
from untildone.workspace.shadow import LINK, PROGRAM, File, Shadow

MISSING = "missing"
UNKNOWN = ""
"""Approves whatever is there: of a loop on another machine nothing is known."""


def content(path: str) -> str:
    """A digest of the file, link or folder at a path. Of a folder of packages the stamps of its files count."""
    try:
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            return f"folder {beside.listing(path).digest()}"
        if stat.S_ISLNK(status.st_mode):
            return _digest(LINK, os.fsencode(os.readlink(path)))
        if not stat.S_ISREG(status.st_mode):
            return MISSING
        with disk.open_promptly(path) as file:
            return _digest(PROGRAM if status.st_mode & stat.S_IXUSR else "", file.read())
    except OSError:
        return MISSING


def _digest(kind: str, data: bytes) -> str:
    return hashlib.sha256(b"%b\0%b" % (kind.encode(), data)).hexdigest()


def contents(paths: Iterable[str], root: str) -> tuple[str, ...]:
    """The digests of paths, which are absolute or below `root`."""
    return tuple(content(os.path.join(root, path)) for path in paths)


def still_hold(approved: Iterable[str], digests: Iterable[str], root: str) -> frozenset[str]:
    """The approved paths at which there is what was approved."""
    pairs = zip_longest(approved, digests, fillvalue=UNKNOWN)
    return frozenset(path for path, digest in pairs if digest in (UNKNOWN, content(os.path.join(root, path))))


def hold_in(tree: str, shadow: Shadow, approved: Iterable[str], digests: Iterable[str], root: str) -> frozenset[str]:
    """Like `still_hold`, for a claim: a file of the claimed tree is compared as it is there, any other as it is now."""
    files = shadow.files(tree)
    pairs = list(zip_longest(approved, digests, fillvalue=UNKNOWN))
    inside = {path: files[path] for path, _ in pairs if path in files}
    read = shadow.read({file.blob for file in inside.values()}) if inside else {}
    beside_it = still_hold(*_split([pair for pair in pairs if pair[0] not in inside]), root)
    return beside_it | {
        path for path, digest in pairs if path in inside and digest in (UNKNOWN, _of(inside[path], read))
    }


def _split(pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [path for path, _ in pairs], [digest for _, digest in pairs]


def _of(file: File, read: Mapping[str, bytes]) -> str:
    return _digest(file.mode if file.mode in (LINK, PROGRAM) else "", read[file.blob])
