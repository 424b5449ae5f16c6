"""What a folder contains, by the stamps of its files: whether it is as it was at a moment, and which files differ.

The change time of a file (ctime) cannot be set by a program, so every change of content, times or name changes it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
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
    folders: Mapping[bytes, int] = field(default_factory=dict)
    """The inodes of the folders below it, by path, if they were wanted."""

    def digest(self) -> str:
        """A hash of all paths and stamps, without hashes of content: these are made only for some files."""
        rows = [b"%b\0%d %d %d %d\n" % (path, *self.files[path][:4]) for path in sorted(self.files)]
        return hashlib.blake2b(b"".join(rows), digest_size=20).hexdigest()

    def names_digest(self) -> str:
        """A hash of the names of files and the inodes of folders, without bytecode caches: an outline and a listing have the same."""
        names = [path for path in self.files if BYTECODE not in path or BYTECODE not in path.split(b"/")]
        return _names_digest(names, self.folders)


def _names_digest(names: Iterable[bytes], folders: Mapping[bytes, int]) -> str:
    rows = [b"%b\0%d\n" % (path, folders[path]) for path in sorted(folders)]
    return hashlib.blake2b(b"\0".join((*sorted(names), *rows)), digest_size=20).hexdigest()


@dataclass(frozen=True, slots=True)
class Glance:
    """A quick look at a folder: whether it may differ from an outline of it."""

    names: str
    """As `Listing.names_digest`."""
    is_touched: bool
    """Whether a file changed since a moment, bytecode aside."""
    bytecode: tuple[bytes, ...]
    """Files in bytecode caches that changed since."""


def glance(folder: bytes, began: int, *, leave_out: Never = lambda _name: False) -> Glance:
    """Look at every file of a folder, and keep what changed after `began`, in nanoseconds: most of the time nothing did."""
    names: list[bytes] = []
    folders: dict[bytes, int] = {}
    recent: list[bytes] = []
    for below, entries in _visit(folder, leave_out):
        files = [entry for entry in entries if not entry.is_dir(follow_symlinks=False)]
        recent += _recent(below, files, began)
        if files and BYTECODE not in below.split(b"/"):
            folders[below] = _inode(folder, below)
            names += (below + entry.name for entry in files)
    bytecode = tuple(path for path in recent if is_bytecode(path))
    return Glance(_names_digest(names, folders), len(bytecode) < len(recent), bytecode)


def _recent(below: bytes, files: list[os.DirEntry[bytes]], began: int) -> list[bytes]:
    """The files that may have changed after `began`; all of them, if one cannot be looked at."""
    limit = began - UNSURE_NANOSECONDS
    try:
        return [below + entry.name for entry in files if entry.stat(follow_symlinks=False).st_ctime_ns > limit]
    except OSError:
        return [below + entry.name for entry in files]


def is_bytecode(path: bytes) -> bool:
    """Whether a path below a library is one of compiled Python."""
    return path.endswith(b".pyc") and BYTECODE in path.split(b"/")[:-1]


def listing(folder: bytes, *, leave_out: Never = lambda _name: False) -> Listing:
    """List a folder. Entries with a name for which `leave_out` is true do not belong to it."""
    files: dict[bytes, Stamp] = {}
    bytecode: dict[bytes, int] = {}
    for path, status in walk(folder, leave_out):
        if len(files) >= MOST_FILES:
            return Listing(whole=False)
        if is_bytecode(path):
            bytecode[path] = status.st_ctime_ns
        else:
            files[path] = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return Listing(files, bytecode)


UNSEEN = Stamp(-1, -1, -1, -1)
"""Stands for a file of which only the name is known."""


def outline(folder: bytes, *, leave_out: Never = lambda _name: False) -> Listing:
    """The names of files and the inodes of folders, without a look at each file: a fraction of the work of a listing. `since` makes a
    listing of it later. Bytecode caches do not belong to it."""
    files: dict[bytes, Stamp] = {}
    folders: dict[bytes, int] = {}
    for below, entries in _visit(folder, lambda name: name == BYTECODE or leave_out(name)):
        names = [below + entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
        if names:
            folders[below] = _inode(folder, below)
            files.update(dict.fromkeys(names, UNSEEN))
        if len(files) > MOST_FILES:
            return Listing(whole=False)
    return Listing(files, folders=folders)


def since(then: Listing, now: Listing, began: int) -> Listing:
    """The listing of the moment of an outline, as far as it can be known: a file that did not change since `began`, in a folder that
    is still the same, had the stamp that it has now."""

    def stays(path: bytes, each: Stamp) -> bool:
        above = path[: path.rfind(b"/") + 1]
        is_known = path in then.files or BYTECODE in path.split(b"/")
        return is_known and not is_since(each.changed, began) and then.folders.get(above) == now.folders.get(above)

    same = {path: each for path, each in now.files.items() if stays(path, each)}
    seen = {path: each for path, each in then.files.items() if each != UNSEEN}
    return Listing({**then.files, **same, **seen}, folders=then.folders)


def looked_at(folder: bytes, paths: Iterable[bytes]) -> dict[bytes, Stamp]:
    """The stamps of some files of a folder. What cannot be read is left out."""
    found = {}
    for path in paths:
        with suppress(OSError):
            status = os.lstat(os.path.join(folder, path))
            found[path] = Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return found


def with_folders(folder: bytes, listed: Listing) -> Listing:
    """The listing with the inodes of the folders of its files."""
    above = {path[: path.rfind(b"/") + 1] for path in listed.files}
    found = {below: _inode(folder, below) for below in above if BYTECODE not in below.split(b"/")}
    return Listing(listed.files, listed.bytecode, listed.whole, found)


def _inode(folder: bytes, below: bytes) -> int:
    try:
        return os.stat(os.path.join(folder, below)).st_ino
    except OSError:
        return 0


def walk(folder: bytes, leave_out: Never = lambda _name: False) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every file and link below a folder with its status, without following links. What cannot be read is left out."""
    for below, entries in _visit(folder, leave_out):
        for entry in entries:
            try:
                if not entry.is_dir(follow_symlinks=False):
                    yield below + entry.name, entry.stat(follow_symlinks=False)
            except OSError:
                continue


def _visit(folder: bytes, leave_out: Never) -> Iterator[tuple[bytes, list[os.DirEntry[bytes]]]]:
    """A folder and all below it, each as a path that ends in a slash and its entries. What cannot be read is left out."""
    pending = [b""]
    while pending:
        below = pending.pop()
        try:
            entries = [entry for entry in os.scandir(os.path.join(folder, below)) if not leave_out(entry.name)]
        except OSError:
            continue
        yield below, entries
        pending += (below + entry.name + b"/" for entry in entries if entry.is_dir(follow_symlinks=False))


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
    folders = (b"%b/\0%d\0" % (name, inode) for name, inode in listed.folders.items())
    content = zlib.compress(b"".join((*rows, *folders)), 1)
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
    rows = list(zip(parts[::2], parts[1::2], strict=True))
    files = {name: _stamp(row) for name, row in rows if not name.endswith(b"/")}
    return Listing(files, folders={name[:-1]: int(row) for name, row in rows if name.endswith(b"/")})


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
