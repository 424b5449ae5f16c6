"""Crash-safe writing: atomic replacement, complete appends, and operating-system errors as `StoreError`."""

from __future__ import annotations

import _thread
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone.core.errors import StoreError
from untildone.core.values.value import dataclass

RACY_NANOSECONDS = 50_000_000
"""A file that changed less than this before it was looked at may change again and keep the same timestamps."""
COARSEST_NANOSECONDS = 2_000_000_000
"""The coarsest timestamp resolution of a file system: FAT stores every second second only."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader
    from typing import TypeVar

    Result = TypeVar("Result")


@contextmanager
def as_store_error(path: Path) -> Iterator[None]:
    """Raise an `OSError` of the block as a `StoreError` that names `path`."""
    try:
        yield
    except OSError as problem:
        raise store_error(problem, path) from problem


def store_error(problem: OSError, path: Path) -> StoreError:
    """The `StoreError` for an operating-system error: what failed, where, and what to do about it."""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"The disk is full: cannot write {path}.", "free some space, then `untildone resume` goes on")
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"Cannot write {path}: {problem.strerror}.", "make the folder writable, or choose another with --dir"
        )
    return StoreError(f"Cannot use {path}: {problem.strerror}.", "look at the folder and its disk, then try again")


def read_if_exists(read: Callable[[], Result]) -> Result | None:
    """The result of `read`; None if the file does not exist. Tries twice, because a loop may move to the history meanwhile."""
    for _ in range(2):
        try:
            return read()
        except FileNotFoundError:
            continue
    return None


def read_promptly(path: Path, most: int = 1 << 30) -> bytes:
    """The content of a file, at most `most` bytes. OSError for a FIFO: opening it would block until another process writes to it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is a FIFO, not a file", str(path))
        return file.read(most)


def open_promptly(path: str | bytes) -> BufferedReader:
    """A file, open for reading. OSError for anything else: to open a pipe waits for a writer, for ever, and no signal ends it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a file", os.fsdecode(path))
    return open(descriptor, "rb")


def is_racy(changed_at: int, looked_at: int) -> bool:
    """Whether a file with this modification time may have changed again after `looked_at` and kept it. Both in nanoseconds."""
    uncertain = RACY_NANOSECONDS if changed_at % 1_000_000_000 else RACY_NANOSECONDS + COARSEST_NANOSECONDS
    return changed_at > looked_at - uncertain


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes with every change of a file: no program can set `changed_at`."""

    device: int
    inode: int
    size: int
    written_at: int
    changed_at: int
    """Nanoseconds; see `is_racy`."""


def stamp(path: str | Path) -> Stamp | None:
    """The stamp of a file; None if there is none, or if it is something else."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def replace_file(
    path: Path, content: bytes, *, before: Callable[[], None] | None = None, sync: bool = True, mode: int = 0o666
) -> None:
    """Replace a file atomically: after a crash it has the old or the new content. `before` runs between writing and renaming."""
    draft = path.with_name(f"{path.name}.{os.getpid()}-{_thread.get_ident()}.tmp")
    with as_store_error(path):
        try:
            _write(draft, content, sync=sync, mode=mode)
            if before is not None:
                before()
            os.replace(draft, path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


def _write(path: Path, content: bytes, *, sync: bool, mode: int) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode), "wb") as file:
        file.write(content)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def append_whole(descriptor: int, content: bytes, path: Path, *, sync: bool) -> int:
    """Append all of `content`; return the offset where it ends. On failure, truncate the file to its old size, and StoreError."""
    size = os.fstat(descriptor).st_size
    try:
        written = 0
        while written < len(content):
            written += os.write(descriptor, content[written:] if written else content)
        if sync:
            sync_content(descriptor)
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError as problem:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise store_error(problem, path) from problem


def read_at(descriptor: int, start: int, count: int) -> bytes:
    """At most `count` bytes from byte `start` on."""
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, count)


def sync_content(descriptor: int) -> None:
    """Flush the content of an open file to disk. macOS has no `fdatasync`."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_folder(path: Path) -> None:
    """Flush a folder to disk, so that renamed and new files in it survive a crash."""
    with as_store_error(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
