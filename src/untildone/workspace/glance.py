"""A quick look at a small repository: if no file was touched since the last look, no git process is needed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from untildone.core.live_file import is_live_file
from untildone.system import disk
from untildone.workspace.git import git, git_folders

MOST_ENTRIES = 1500
"""Files and folders. With more of them, git itself is as fast."""

_OURS = b".loop"
_CONTENT = frozenset({b"objects", b"logs", b"hooks"})
"""Folders inside `.git` that do not affect a snapshot."""

Stamp = tuple[int, ...]
"""Size, modification time, mode, change time and inode of a file. It changes with the file, unless it is racy."""
Glance = Mapping[bytes, Stamp]
"""The stamps of all files of a repository, by path."""


def stamp_of(path: bytes | str) -> Stamp | None:
    """The stamp of a file; None if it does not exist."""
    try:
        return _stamp(os.lstat(path))
    except (OSError, ValueError):
        return None


def is_racy(stamp: Stamp | None, taken_at: int) -> bool:
    """Whether the file may have changed after `taken_at` and kept its stamp. Not every file system updates the change time."""
    return stamp is not None and disk.is_racy(max(stamp[1], stamp[3]), taken_at)


def look(root: str, rules: Iterable[str] = ()) -> Glance | None:
    """Every file of the work tree, including ignored ones, and of `.git`; None if there are too many.

    `rules` are further files to watch."""
    stamps = ((os.fsencode(path), stamp_of(path)) for path in rules)
    glance: dict[bytes, Stamp] = {path: stamp for path, stamp in stamps if stamp}
    try:
        for path, stamp in _files(root):
            glance[path] = stamp
    except (OSError, ValueError, _TooMany):
        return None
    return glance


def touched(before: Glance, taken_at: int, after: Glance) -> set[bytes]:
    """Paths that may differ between two looks. They include files so new at the first look that a later change may not show."""
    different = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    return different | {path for path, stamp in before.items() if is_racy(stamp, taken_at)}


def rule_files(root: str) -> tuple[str, ...]:
    """Files beside the work tree that decide what git ignores: configuration, and the person's ignore files."""
    home = os.path.expanduser("~")
    own = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    named = (os.environ.get(name, "") for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"))
    usual = (
        os.path.join(home, ".gitconfig"),
        os.path.join(own, "config"),
        "/etc/gitconfig",
        os.path.join(own, "ignore"),
    )
    listed = git(root, "config", "--null", "--type=path", "--get-all", "core.excludesFile", fine=(0, 1)).split(b"\0")
    ignore_files = (os.path.join(root, os.fsdecode(path)) for path in listed if path)
    return (os.path.join(git_folders(root)[-1], "config"), *filter(None, named), *usual, *ignore_files)


class _TooMany(Exception):
    """The work tree has more than `MOST_ENTRIES` entries."""


def _files(root: str) -> Iterator[tuple[bytes, Stamp]]:
    top = os.fsencode(root)
    own = [os.fsencode(folder) for folder in git_folders(root)]
    inside = tuple(os.path.join(folder, b"") for folder in own)
    pending, count = [top, *own], 0
    while pending:
        folder = pending.pop()
        # A branch may have the name of one of these folders, so everything below `refs` counts.
        is_git = (place := os.path.join(folder, b"")).startswith(inside) and b"/refs/" not in place
        with os.scandir(folder) as entries:
            for entry in entries:
                count += 1
                if count > MOST_ENTRIES:
                    raise _TooMany
                if not entry.is_dir(follow_symlinks=False):
                    if not _is_live_state(entry.name):
                        yield entry.path, _stamp(entry.stat(follow_symlinks=False))
                elif entry.name != _OURS and not (is_git and entry.name in _CONTENT) and entry.path not in own:
                    pending.append(entry.path)


def _is_live_state(name: bytes) -> bool:
    return is_live_file(os.fsdecode(name))


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_mode, status.st_ctime_ns, status.st_ino
