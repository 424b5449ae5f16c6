"""The copy of a tree that a sealed room shows in place of the workspace. It is kept between rooms, and only what differs is written.

The copy lies where an agent can write. So a file in it counts only if its stamp is the one that this process saw when it wrote or
compared the file; else its content is compared with the tree.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.ignored import beside
from untildone.workspace.rooms.ignored.kinds import Kind
from untildone.workspace.rooms.room import File, Trees
from untildone.workspace.shadow import NoSnapshot, objects

Keep = Callable[[str, os.DirEntry[str]], bool]
Stamp = tuple[int, int, int, int, int]
_LINK, _PROGRAM = "120000", "100755"

_seen: dict[str, dict[str, tuple[File, Stamp]]] = {}
"""For each copy, the files that this process wrote or compared, with their stamps."""


class Copy:
    """A folder with the files of a tree."""

    def __init__(self, trees: Trees, folder: Path) -> None:
        self.files = folder / "tree"
        self._trees = trees

    def become(self, tree: str, paths: Collection[str], keep: Keep) -> None:
        """Make the copy one of this tree, whose files are `paths`. Other files are removed, unless `keep` says that they may stay."""
        try:
            self._become(tree, paths, keep)
        except (OSError, NoSnapshot):
            self.remove()
            self._become(tree, paths, keep)

    def _become(self, tree: str, paths: Collection[str], keep: Keep) -> None:
        if self.files.is_symlink():
            self.files.unlink()
        self.files.mkdir(parents=True, exist_ok=True)
        # Before the files are written: a command may have put a link in the place of a folder.
        for path, entry in list(beside.entries(str(self.files), paths)):
            if not keep(path, entry):
                remove(Path(entry.path))
        files, seen = self._trees.files(tree), _seen.setdefault(str(self.files), {})
        top = os.path.join(self.files, "")
        self._write({path: files[path] for path in paths if not self._is_there(top, path, files[path], seen)}, seen)

    def _is_there(self, top: str, path: str, file: File, seen: dict[str, tuple[File, Stamp]]) -> bool:
        full = top + path
        try:
            now = _stamp(full)
        except OSError:
            return False
        if seen.get(path) == (file, now):
            return True
        if not objects.is_same(os.fsencode(full), file.mode, file.blob) or not _is_in_folders(str(self.files), path):
            return False
        seen[path] = (file, now)
        return True

    def _write(self, files: Mapping[str, File], seen: dict[str, tuple[File, Stamp]]) -> None:
        paths: dict[str, list[str]] = {}
        for path, file in files.items():
            _make_folders(str(self.files), path)
            remove(self.files / path)
            if file.mode == objects.SUBMODULE:
                (self.files / path).mkdir()
            else:
                paths.setdefault(file.blob, []).append(path)
        for blob, content in self._trees.contents(paths):
            for path in paths[blob]:
                full = os.path.join(self.files, path)
                _write(full, files[path].mode, content)
                seen[path] = (files[path], _stamp(full))

    def renew(self, paths: Iterable[str], since: int) -> None:
        """Make files newer than a time, in nanoseconds: builds take a file that is older than its output for unchanged."""
        seen = _seen.setdefault(str(self.files), {})
        for path in paths:
            full = os.path.join(self.files, path)
            if os.lstat(full).st_mtime_ns <= since:
                os.utime(full, follow_symlinks=False)
                if path in seen:
                    seen[path] = (seen[path][0], _stamp(full))

    def remove(self) -> None:
        """Remove all of it; the next tree is written anew."""
        _seen.pop(str(self.files), None)
        remove(self.files)


def _stamp(path: str) -> Stamp:
    status = os.lstat(path)
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_in_folders(top: str, path: str) -> bool:
    """Whether all folders on the way to a path are folders, and no links."""
    parts = path.split("/")[:-1]
    return not any(os.path.islink(os.path.join(top, *parts[:number])) for number in range(1, len(parts) + 1))


def _make_folders(top: str, path: str) -> None:
    """Make the folders on the way to a path. What is there and is no folder makes room."""
    full = top
    for part in path.split("/")[:-1]:
        full = os.path.join(full, part)
        try:
            if stat.S_ISDIR(os.lstat(full).st_mode):
                continue
            os.unlink(full)
        except FileNotFoundError:
            pass
        os.mkdir(full)


def _write(path: str, mode: str, content: bytes) -> None:
    if mode == _LINK:
        os.symlink(os.fsdecode(content), path)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o777 if mode == _PROGRAM else 0o666)
    with open(descriptor, "wb", buffering=0) as file:
        file.write(content)


def nothing(_path: str, _entry: os.DirEntry[str]) -> bool:
    """Keep no file."""
    return False


def unless_judge(is_judge: Callable[[str], bool]) -> Keep:
    """Keep what a command wrote, except caches and judge files. Judge files in folders that are kept are removed."""

    def keep(path: str, entry: os.DirEntry[str]) -> bool:
        if beside.kind(path, entry) is Kind.CACHE or is_judge(path):
            return False
        if entry.is_dir(follow_symlinks=False):
            for name, _ in stamps.walk(os.fsencode(entry.path)):
                if is_judge(f"{path}/{os.fsdecode(name)}"):
                    remove(Path(entry.path, os.fsdecode(name)))
        return True

    return keep


def outputs(is_judge: Callable[[str], bool]) -> Keep:
    """Keep folders with the outputs of builds, without judge files in them."""
    written = unless_judge(is_judge)

    def keep(path: str, entry: os.DirEntry[str]) -> bool:
        return beside.kind(path, entry) is Kind.OUTPUT and written(path, entry)

    return keep


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, also if a command took away the permissions."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        for folder in _folders(path):
            os.chmod(folder, stat.S_IRWXU)
        shutil.rmtree(path)


def set_aside(path: Path, away: Path) -> None:
    """Move a file or folder into the folder `away`, which is removed while something else is done: removing waits for the disk."""
    try:
        away.mkdir(exist_ok=True, mode=0o700)
        path.rename(away / secrets.token_hex(8))
    except FileNotFoundError:
        return
    except OSError:
        # Without permissions a folder cannot be moved.
        remove(path)


def empty(away: Path) -> None:
    """Remove what was set aside."""
    for entry in list(os.scandir(away)) if away.is_dir() else ():
        with suppress(OSError):
            remove(Path(entry.path))


def _folders(path: Path) -> Iterator[str]:
    """The folder and all folders in it, each before what is in it."""
    pending = [str(path)]
    while pending:
        folder = pending.pop()
        yield folder
        with os.scandir(folder) as entries:
            pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
