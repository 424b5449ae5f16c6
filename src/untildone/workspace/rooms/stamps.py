"""What a folder contains, by the stamps of its files: whether it is as it was at a moment, and which files differ.

The change time of a file (ctime) cannot be set by a program, so it tells of every change of content, times or name.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

MOST_FILES = 400_000
"""A folder with more files is not watched."""
MOST_HASHED = 64 << 20
"""Bytes. The content of bigger files is not compared; their stamps are."""
MOST_CONTENT = 512 << 20
"""Bytes of one folder whose content is known, so that packages that are installed again unchanged count as unchanged."""
UNSURE_NANOSECONDS = 20_000_000
"""The kernel stamps files with a clock that runs behind by as much as a tick."""
BYTECODE = b"__pycache__"

Never = Callable[[bytes], bool]


class Stamp(NamedTuple):
    """A file at a moment. A tuple, because tens of thousands are made at a time."""

    size: int
    modified: int
    changed: int
    inode: int
    content: str = ""
    """A hash of the content, if it may be wanted: another name of the same file changes its stamp and not its content."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a folder at a moment, by their path in it. Folders themselves and bytecode caches do not belong to it."""

    files: Mapping[bytes, Stamp] = field(default_factory=dict)
    bytecode: Mapping[bytes, int] = field(default_factory=dict)
    """Files in bytecode caches, with their change times."""
    whole: bool = True
    """False: there are too many files."""

    def digest(self) -> str:
        """A hash of all paths and stamps, without hashes of content: these are made only for some files."""
        rows = [b"%b\0%d %d %d %d\n" % (path, *self.files[path][:4]) for path in sorted(self.files)]
        return hashlib.blake2b(b"".join(rows), digest_size=20).hexdigest()


def listing(folder: bytes, *, leave_out: Never = lambda _name: False) -> Listing:
    """List a folder. Entries with a name for which `leave_out` is true do not belong to it."""
    files: dict[bytes, Stamp] = {}
    bytecode: dict[bytes, int] = {}
    for path, status in walk(folder, leave_out):
        if len(files) >= MOST_FILES:
            return Listing(whole=False)
        if path.endswith(b".pyc") and BYTECODE in path.split(b"/")[:-1]:
            bytecode[path] = status.st_ctime_ns
        else:
            files[path] = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return Listing(files, bytecode)


def walk(folder: bytes, leave_out: Never = lambda _name: False) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every file and link below a folder with its status, without following links. What cannot be read is left out."""
    pending = [b""]
    while pending:
        below = pending.pop()
        try:
            entries = list(os.scandir(os.path.join(folder, below)))
        except OSError:
            continue
        for entry in entries:
            if leave_out(entry.name):
                continue
            path = below + entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path + b"/")
                else:
                    yield path, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def with_content(
    folder: bytes, listed: Listing, wanted: Callable[[bytes], bool], known: Listing | None = None
) -> Listing:
    """The listing with hashes of contents: of the first `MOST_CONTENT` bytes, and of files that `wanted` names or that have another name
    elsewhere. Files that have the same stamp in the earlier listing `known` are not read again."""
    files: dict[bytes, Stamp] = {}
    left = MOST_CONTENT
    for path, each in listed.files.items():
        content = _known_content(each, known.files.get(path) if known else None)
        if not content and (each.size <= left or wanted(path) or _has_other_names(folder, path)):
            content = _hash_if_small(folder, path, each)
            left -= each.size
        files[path] = Stamp(each.size, each.modified, each.changed, each.inode, content)
    return Listing(files, listed.bytecode, listed.whole)


def _known_content(now: Stamp, then: Stamp | None) -> str:
    return then.content if then and _same_stamp(then, now) else ""


def _has_other_names(folder: bytes, path: bytes) -> bool:
    try:
        return os.lstat(os.path.join(folder, path)).st_nlink > 1
    except OSError:
        return False


def _hash_if_small(folder: bytes, path: bytes, stamp: Stamp) -> str:
    try:
        return content_hash(os.path.join(folder, path)) if stamp.size <= MOST_HASHED else ""
    except OSError:
        return ""


def content_hash(path: bytes) -> str:
    """A hash of a file's content and whether it is a program, or of a link's target."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return hashlib.blake2b(os.readlink(path), digest_size=20, person=b"link").hexdigest()
    person = b"program" if status.st_mode & stat.S_IXUSR else b""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=20, person=person)).hexdigest()


def differences(folder: bytes, before: Listing, after: Listing) -> Iterator[bytes]:
    """Paths that differ between two listings of a folder. A file whose content is known to be the same does not."""
    for path in sorted(before.files.keys() | after.files.keys()):
        then, now = before.files.get(path), after.files.get(path)
        if then is None or now is None or (not _same_stamp(then, now) and not _same_content(folder, path, then)):
            yield path


def _same_stamp(then: Stamp, now: Stamp) -> bool:
    return (then.size, then.modified, then.changed, then.inode) == (now.size, now.modified, now.changed, now.inode)


def _same_content(folder: bytes, path: bytes, then: Stamp) -> bool:
    try:
        return bool(then.content) and content_hash(os.path.join(folder, path)) == then.content
    except OSError:
        return False


def save(listed: Listing, path: Path) -> str:
    """Write the files of a listing to a file; return a hash of what was written, for `load`."""
    rows = (
        b"%b\0%d %d %d %d %b\0" % (name, each.size, each.modified, each.changed, each.inode, each.content.encode())
        for name, each in listed.files.items()
    )
    content = zlib.compress(b"".join(rows), 1)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def load(path: Path, saved: str) -> Listing:
    """Read a listing for which `save` returned the hash `saved`. Raises OSError or ValueError if that cannot be done."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != saved:
        raise ValueError("it is not the one that was written")
    try:
        parts = zlib.decompress(content).split(b"\0")[:-1]
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return Listing({name: _stamp(row) for name, row in zip(parts[::2], parts[1::2], strict=True)})


def _stamp(row: bytes) -> Stamp:
    size, modified, changed, inode, content = row.split(b" ")
    return Stamp(int(size), int(modified), int(changed), int(inode), content.decode())


def is_since(changed: int, began: int) -> bool:
    """Whether a file with this change time may have changed after `began`. Both in nanoseconds."""
    return changed > began - UNSURE_NANOSECONDS


def changed_since(path: bytes, began: int, most: int = MOST_FILES) -> Iterator[bytes]:
    """Files that changed or appeared after `began`: the path itself, or files below it without bytecode caches. Links are followed at
    the top only. Gives up with the folder itself after `most` files."""
    try:
        status = os.stat(path)
    except OSError:
        return
    if not stat.S_ISDIR(status.st_mode):
        if is_since(status.st_ctime_ns, began):
            yield path
        return
    for number, (name, each) in enumerate(walk(path, lambda name: name == BYTECODE)):
        if number >= most:
            yield path
            return
        if is_since(each.st_ctime_ns, began):
            yield os.path.join(path, name)
