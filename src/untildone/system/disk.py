"""Writing so that nothing is half there: atomic replacement, appends that are on disk, and errors as sentences."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone.core.errors import StoreError

RACY_NANOSECONDS = 50_000_000
"""A file or folder that changed so shortly before a look may change again without its times showing it."""
COARSEST_NANOSECONDS = 2_000_000_000
"""Between two times that a file system can tell apart, where it keeps whole seconds or only every second one."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Result = TypeVar("Result")


@contextmanager
def told_as_sentence(path: Path) -> Iterator[None]:
    """An operating-system error while writing, as a sentence that says what and where."""
    try:
        yield
    except OSError as problem:
        raise store_error(problem, path) from problem


def store_error(problem: OSError, path: Path) -> StoreError:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreError(f"The disk is full: cannot write {path}.", "free some space, then `untildone resume` goes on")
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(
            f"Cannot write {path}: {problem.strerror}.", "make the folder writable, or choose another with --dir"
        )
    return StoreError(f"Cannot use {path}: {problem.strerror}.", "look at the folder and its disk, then try again")


def if_there(read: Callable[[], Result]) -> Result | None:
    """What is read; None if it is not there. Looked for twice: a loop may go to the history at this moment."""
    for _ in range(2):
        try:
            return read()
        except FileNotFoundError:
            continue
    return None


def is_racy(changed_at: int, looked_at: int) -> bool:
    """Whether what has this time, in nanoseconds, may have changed once more since the look without its time showing it."""
    uncertain = RACY_NANOSECONDS if changed_at % 1_000_000_000 else RACY_NANOSECONDS + COARSEST_NANOSECONDS
    return changed_at > looked_at - uncertain


def replace_file(path: Path, content: bytes, *, before: Callable[[], None] | None = None, sync: bool = True) -> None:
    """All of the new content or all of the old, whatever happens. `before` runs when the new is ready, the old still there."""
    draft = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    with told_as_sentence(path):
        try:
            _write(draft, content, sync=sync)
            if before is not None:
                before()
            os.replace(draft, path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


def _write(path: Path, content: bytes, *, sync: bool) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def append_whole(descriptor: int, content: bytes, path: Path, *, sync: bool) -> None:
    """Append all of it, or take back what was written and say why not."""
    size = os.fstat(descriptor).st_size
    try:
        written = 0
        while written < len(content):
            written += os.write(descriptor, content[written:] if written else content)
        if sync:
            sync_content(descriptor)
    except OSError as problem:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise store_error(problem, path) from problem


def read_at(descriptor: int, start: int, count: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, count)


def sync_content(descriptor: int) -> None:
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_folder(path: Path) -> None:
    """Make a rename or a new name in a folder last."""
    with told_as_sentence(path):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
