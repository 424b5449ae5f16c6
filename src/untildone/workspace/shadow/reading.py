"""Reads files of a workspace in which an agent may do anything: follows no link, waits for no pipe, and notices a change meanwhile."""

from __future__ import annotations

import hashlib
import os
import stat
from time import time_ns

from untildone.core.values.value import dataclass
from untildone.system import disk
from untildone.workspace.shadow.values import LINK, PLAIN, PROGRAM, Content, Stamp, stamp_of

BIG_FILE = 64 * 1024 * 1024
"""A file from this size on is not kept; its size and times represent it."""
_TRIES = 3


class TooBig(OSError):
    """The file has `BIG_FILE` bytes or more."""


class Special(OSError):
    """Neither a file nor a symbolic link."""


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read."""

    content: Content
    stamp: Stamp
    sure: bool
    """Whether the file is so old that a later change of it changes its stamp."""


def read(path: bytes, status: os.stat_result) -> Read:
    """The content of a file or link. Raises OSError if it cannot be read, TooBig, or Special, also if a link is on the way to it."""
    if stat.S_ISLNK(status.st_mode):
        at = time_ns()
        return Read(Content(LINK, os.readlink(path)), stamp_of(status), _sure(stamp_of(status), at))
    if not stat.S_ISREG(status.st_mode):
        raise Special(path)
    for _ in range(_TRIES):
        at, (before, data, after) = time_ns(), _read_regular(path)
        if before == after:
            break
    mode = PROGRAM if before[2] & stat.S_IXUSR else PLAIN
    return Read(Content(mode, data), before, before == after and _sure(before, at))


def _read_regular(path: bytes) -> tuple[Stamp, bytes, Stamp]:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or not _is_there(descriptor, path):
            raise Special(path)
        if before.st_size >= BIG_FILE:
            raise TooBig(path)
        parts = [file.read(before.st_size + 1) or b""]
        while parts[-1] and sum(map(len, parts)) < before.st_size:
            parts.append(file.read(before.st_size) or b"")
        return stamp_of(before), b"".join(parts), stamp_of(os.fstat(descriptor))


def _is_there(descriptor: int, path: bytes) -> bool:
    """Whether an open file is the one of its path, or was. A program of the agent may put a link in the place of a folder on the way to it
    just before it is opened: then it is another file, perhaps one that is hidden from the agent."""
    try:
        return os.readlink(b"/proc/self/fd/%d" % descriptor) in (path, path + b" (deleted)")
    except OSError:
        return True


def _sure(stamp: Stamp, taken_at: int) -> bool:
    return not disk.is_racy(max(stamp[1], stamp[3]), taken_at)


def blob_name(content: Content, object_format: str) -> str:
    """The name that git gives to this content."""
    header = b"blob %d\0" % len(content.data)
    return hashlib.new(object_format, header + content.data, usedforsecurity=False).hexdigest()
