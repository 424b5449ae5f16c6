"""The agents' own records of sessions, as files: read in bounded time and memory, however long they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import glob
from typing import BinaryIO

from untildone.core.transcript import Transcript
from untildone.hosts.hook.asked import Words
from untildone.hosts.hook.transcripts import opened

PART = 32 << 20
"""Bytes that are read of a record, at its beginning and at its end."""
LONGEST_LINE = 8 << 20
"""A longer one is passed over: what a person types is shorter, and an image says nothing to be read."""
MOST_COPIES = 8
"""How many generations of forks are followed."""


def asked_in(transcript: Transcript, path: str, part: int = PART) -> tuple[str, ...]:
    """Everything that the person asked, in order; of very much, the beginning and the end. Empty if there is no such file."""
    words = Words(transcript)
    try:
        for record, before in reversed(_with_origins(transcript, path)):
            with opened(record) as file:
                for line in _lines(file, part):
                    words.hear(line, before)
    except OSError:
        return ()
    return words.asked


def _with_origins(transcript: Transcript, path: str) -> list[tuple[str, int | None]]:
    """The record and those that it was forked from, each with the ordinal at which the fork was made."""
    found: list[tuple[str, int | None]] = [(path, None)]
    while len(found) <= MOST_COPIES and (origin := _origin(transcript, found[-1][0])) is not None:
        found.append(origin)
    return found


def _origin(transcript: Transcript, path: str) -> tuple[str, int] | None:
    with opened(path) as file:
        origin = transcript.origin(path, file.readline(LONGEST_LINE))
    files = glob(origin.files) if origin else []
    return (files[0], origin.before) if origin and files else None


def _lines(file: BinaryIO, part: int) -> Iterator[bytes]:
    """Whole lines: of a long record, those of its beginning and of its end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    yield from _lines_until(file, size if size <= 2 * part else part)
    if size > 2 * part:
        file.seek(size - part)
        _pass_over_line(file)
        yield from _lines_until(file, size)


def _lines_until(file: BinaryIO, end: int) -> Iterator[bytes]:
    while file.tell() < end and (line := file.readline(LONGEST_LINE)):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            _pass_over_line(file)
        else:
            yield line


def _pass_over_line(file: BinaryIO) -> None:
    while (part := file.readline(LONGEST_LINE)) and not part.endswith(b"\n"):
        continue
