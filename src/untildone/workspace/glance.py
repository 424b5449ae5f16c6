"""A glance at a small repository: if no file in it was touched since the last one, git need not be asked again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from untildone.system import disk
from untildone.workspace.git import git_folders

MOST_ENTRIES = 1500
"""Files and folders: with more of them, git itself is as quick."""

_OURS = b".loop"
_CONTENT = frozenset({b"objects", b"logs", b"hooks"})
"""Inside git's own folder: named by what is in them, or read by nobody here."""

Stamp = tuple[int, ...]
Glance = Mapping[bytes, Stamp]


def stamp_of(path: bytes | str) -> Stamp | None:
    try:
        return _stamp(os.lstat(path))
    except (OSError, ValueError):
        return None


def is_racy(stamp: Stamp | None, taken_at: int) -> bool:
    """By the later of its times: not everywhere does the last one tell of a change."""
    return stamp is not None and disk.is_racy(max(stamp[1], stamp[3]), taken_at)


def look(root: str, rules: Iterable[str] = ()) -> Glance | None:
    """Every file of the work tree, ignored ones too, and of git's own folders; None: these are too many to be quick.

    `rules` are files that say what is ignored, wherever they lie: they are named so that none is taken for a plain one."""
    stamps = ((b"\0" + os.fsencode(path), stamp_of(path)) for path in rules)
    found: dict[bytes, Stamp] = {name: stamp for name, stamp in stamps if stamp}
    try:
        for path, stamp in _files(root):
            found[path] = stamp
    except (OSError, ValueError, _TooMany):
        return None
    return found


def touched(before: Glance, taken_at: int, after: Glance) -> set[bytes]:
    """What may differ between two glances: also what was so new at the first that it may have changed unseen."""
    different = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return different | {path for path, stamp in before.items() if is_racy(stamp, taken_at)}


class _TooMany(Exception):
    """There is more than a glance can take in."""


def _files(root: str) -> Iterator[tuple[bytes, Stamp]]:
    top = os.fsencode(root)
    own = [os.fsencode(folder) for folder in git_folders(root)]
    inside = tuple(os.path.join(folder, b"") for folder in own)
    pending, seen = [top, *own], 0
    while pending:
        folder = pending.pop()
        # A branch may be named as one of git's folders is: below `refs`, everything is looked at.
        is_git = (place := os.path.join(folder, b"")).startswith(inside) and b"/refs/" not in place
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_ENTRIES:
                    raise _TooMany
                if not entry.is_dir(follow_symlinks=False):
                    if not _is_live_state(entry.name):
                        yield entry.path, _stamp(entry.stat(follow_symlinks=False))
                elif entry.name != _OURS and not (is_git and entry.name in _CONTENT) and entry.path not in own:
                    pending.append(entry.path)


def _is_live_state(name: bytes) -> bool:
    return name.startswith(b"ralph-delta") and name.endswith(b".local.md")


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_size, found.st_mtime_ns, found.st_mode, found.st_ctime_ns, found.st_ino
