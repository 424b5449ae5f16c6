"""Puts the files of a workspace back to a snapshot, byte for byte. Touches only files that a snapshot contains.

Everything that is there is looked at before the first file is written. A file that no snapshot contains (an ignored one, a very big
one) and that is in the way makes it refuse: that file could not be brought back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

from untildone.core.errors import StoreError, UsageError
from untildone.workspace.shadow import NoSnapshot, Shadow
from untildone.workspace.shadow.objects import SUBMODULE
from untildone.workspace.shadow.values import LINK, PROGRAM, File, Reading

DRAFT = ".untildone-restored.tmp"
MOST_NAMED = 5


def check(shadow: Shadow, before: str, after: str) -> None:
    """Raise UsageError or StoreError if the workspace, of which `before` is the present snapshot, cannot be put back to `after`."""
    with _as_errors():
        _check(shadow, before, after)


def restore(shadow: Shadow, before: str, after: str) -> None:
    """Put the workspace, of which `before` is the present snapshot, back to `after`. It can be repeated after a crash."""
    with _as_errors():
        top = _check(shadow, before, after)
        changes = shadow.changed(before, after)
        _remove(top, (change.path for change in changes if change.after is None))
        _write(top, {change.path: change.after for change in changes if change.after is not None}, shadow)
        left = shadow.changed(shadow.take(reading=Reading.ALL).tree, after)
        if left:
            raise StoreError(
                f"The workspace is not yet as in the snapshot: {_named(change.path for change in left)}.",
                "end the program that writes there, then try again",
            )


@contextmanager
def _as_errors() -> Iterator[None]:
    """Turns errors of files and snapshots into sentences."""
    try:
        yield
    except NoSnapshot as problem:
        raise StoreError(str(problem), "look at the disk and at the state folder") from problem
    except OSError as problem:
        raise StoreError(
            f"The workspace cannot be put back: {problem.strerror}: {problem.filename}.", "look at it, then try again"
        ) from problem


def _check(shadow: Shadow, before: str, after: str) -> str:
    if not before or shadow.start is None:
        raise UsageError("There is no snapshot of the workspace as it is now.", "look at the disk, then try again")
    top, now = shadow.start.root, shadow.files(before)
    restored = {change.path for change in shadow.changed(before, after) if change.after is not None}
    blocking = sorted({found for path in restored for found in _in_the_way(top, path, now)})
    if blocking:
        raise UsageError(
            f"Files that no snapshot contains are in the way: {_named(blocking)}.", "move them away, then try again"
        )
    return top


def _in_the_way(top: str, path: str, now: Mapping[str, File]) -> Iterator[str]:
    """What would be lost if a file were written to this path."""
    parts = path.split("/")
    for number in range(1, len(parts)):
        above = "/".join(parts[:number])
        full = os.path.join(top, above)
        if os.path.lexists(full) and not _is_folder(full):
            yield from () if above in now else (above,)
            return
    full = os.path.join(top, path)
    if _is_folder(full):
        yield from (file for file in _files_below(top, path) if file not in now)
    elif os.path.lexists(full) and path not in now:
        yield path


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _files_below(top: str, path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(os.path.join(top, path)):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        yield from (os.path.relpath(os.path.join(folder, name), top) for name in (*files, *links))


def _remove(top: str, paths: Iterable[str]) -> None:
    for path in paths:
        if _is_below_folders(top, path):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(top, path))
            _remove_empty(top, os.path.dirname(path))


def _remove_empty(top: str, folder: str) -> None:
    """Remove folders that have become empty: a snapshot contains none."""
    while folder:
        try:
            os.rmdir(os.path.join(top, folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def _is_below_folders(top: str, path: str) -> bool:
    """Whether every folder on the way to a path is one, and no link out of the workspace."""
    parts = path.split("/")[:-1]
    return all(_is_folder(os.path.join(top, *parts[:number])) for number in range(1, len(parts) + 1))


def _write(top: str, files: Mapping[str, File], shadow: Shadow) -> None:
    paths: dict[str, list[str]] = {}
    for path, file in files.items():
        if file.mode != SUBMODULE:
            paths.setdefault(file.blob, []).append(path)
    for blob, content in shadow.contents(paths):
        for path in paths[blob]:
            _make_room(top, path)
            _write_file(os.path.join(top, path), files[path].mode, content)


def _make_room(top: str, path: str) -> None:
    """Make the folders on the way to a path. A link or file in the place of one is in the snapshot of what was there."""
    parts = path.split("/")[:-1]
    for number in range(1, len(parts) + 1):
        full = os.path.join(top, *parts[:number])
        if not _is_folder(full):
            with suppress(FileNotFoundError):
                os.unlink(full)
            os.mkdir(full)
    full = os.path.join(top, path)
    if _is_folder(full):
        for folder, _, _ in os.walk(full, topdown=False):
            os.rmdir(folder)


def _write_file(path: str, mode: str, content: bytes) -> None:
    """Write a file or link beside the old one and put it in its place: a concurrent reader gets the old or the new one."""
    draft = f"{path}{DRAFT}"
    with suppress(FileNotFoundError):
        os.unlink(draft)
    if mode == LINK:
        os.symlink(os.fsdecode(content), draft)
    else:
        _write_plain(draft, path, content, is_program=mode == PROGRAM)
    os.replace(draft, path)


def _write_plain(draft: str, path: str, content: bytes, *, is_program: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(draft, flags, 0o777 if is_program else 0o666), "wb", buffering=0) as file:
        view = memoryview(content)
        while view:
            view = view[file.write(view) :]
    with suppress(OSError):
        before = os.lstat(path)
        if stat.S_ISREG(before.st_mode) and bool(before.st_mode & stat.S_IXUSR) == is_program:
            os.chmod(draft, stat.S_IMODE(before.st_mode))


def _named(paths: Iterable[str]) -> str:
    listed = list(paths)
    more = f" and {len(listed) - MOST_NAMED} more" if len(listed) > MOST_NAMED else ""
    return f"{', '.join(listed[:MOST_NAMED])}{more}"
