"""Vouches for the transcript of a worker's session: a reviewer is a fork of it only if it says what was really asked.

A transcript is a file in the person's home folder, so a worker can change it: it could put other words into the person's mouth, or take
back what was said. After each turn of the worker, the part that was there before must be as it was, and what a person says in the new part
must be the prompt of this turn. Whatever is not so is not vouched for, from then on.
"""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Collection
from typing import BinaryIO

from untildone.core.plugins.transcript import PersonText, SessionRecord

CHUNK = 1 << 20
LONGEST_LINE = 64 << 20
"""Bytes. A longer line is not read, so its transcript is not vouched for."""


def vouched(record: SessionRecord, before: str | None, known: Collection[str]) -> str:
    """The digest of the transcript, if all that a person says in it is known; empty: it cannot be vouched for.

    `before` is the digest after the last turn of the session; None: the session is new. `known` are the words of this turn."""
    if before == "":
        return ""
    try:
        with _opened(record.files) as file:
            if before is not None and not _grew_from(file, before):
                return ""
            said = {words.strip() for words in known}
            return _digest(file) if all(words in said for words in _said(record, file)) else ""
    except (OSError, ValueError):
        return ""


def grown(path: str, before: str) -> str:
    """The digest of a transcript that begins with the content of the digest `before`; empty if it does not."""
    try:
        with _opened(glob.escape(path)) as file:
            return "" if before and not _grew_from(file, before) else _digest(file)
    except (OSError, ValueError):
        return ""


def is_unchanged(record: SessionRecord, digest: str, *, may_grow: bool) -> bool:
    """Whether the transcript is the one with this digest. `may_grow`: lines in which no person speaks may follow."""
    try:
        with _opened(record.files) as file:
            if not _grew_from(file, digest):
                return False
            return not any(_said(record, file)) if may_grow else not file.read(1)
    except (OSError, ValueError):
        return False


def _opened(pattern: str) -> BinaryIO:
    """The one regular file of the pattern. Opening follows no link and waits for no pipe."""
    (path,) = glob.glob(pattern)
    # A descriptor of this process is a link to a file that was opened before.
    no_link = 0 if path.startswith("/dev/fd/") else os.O_NOFOLLOW
    descriptor = os.open(path, os.O_RDONLY | no_link | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no file")
    return os.fdopen(descriptor, "rb")


def _grew_from(file: BinaryIO, digest: str) -> bool:
    """Whether the file begins with the content of the digest. It is then read up to there."""
    size, _, expected = digest.partition(":")
    return _hashed(file, int(size)) == expected


def _digest(file: BinaryIO) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return f"{size}:{_hashed(file, size)}"


def _hashed(file: BinaryIO, size: int) -> str:
    content = hashlib.sha256()
    while size and (chunk := file.read(min(CHUNK, size))):
        content.update(chunk)
        size -= len(chunk)
    return content.hexdigest() if not size else ""


def _said(record: SessionRecord, file: BinaryIO) -> list[str]:
    """What a person says in the rest of the file. Raises ValueError for a line that is too long to be read."""
    said: list[str] = []
    while line := file.readline(LONGEST_LINE):
        if len(line) >= LONGEST_LINE:
            raise ValueError("a line of the transcript is too long")
        said += [item.text.strip() for item in record.transcript.person_line(line) if isinstance(item, PersonText)]
    return said
