"""Reads a person's prompts from transcript files, in bounded time and memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import glob
from io import BytesIO
from typing import BinaryIO

from untildone.core.plugins.transcript import Transcript
from untildone.hosts.hook.asked import PromptCollector
from untildone.hosts.hook.transcripts import opened

PART = 32 << 20
"""How many bytes of a transcript are read, at its beginning and at its end."""
DESCRIPTOR = "/dev/fd/"
"""Begins the path of a transcript that is passed as a descriptor."""
LONGEST_LINE = 8 << 20
"""Longer lines are skipped: they contain images, not prompts."""
MOST_COPIES = 8
"""How many generations of forks are followed."""


def asked_in(transcript: Transcript, path: str, part: int = PART) -> tuple[str, ...]:
    """The person's prompts, in order; of a very long transcript, those at its beginning and end. Empty if there is no such file."""
    collector = PromptCollector(transcript)
    try:
        for record, before in reversed(_with_origins(transcript, path)):
            with _opened(record, passed=_is_passed(path) and record != path) as file:
                for line in _lines(file, part):
                    collector.feed(line, before)
    except OSError:
        return ()
    return collector.asked


def _with_origins(transcript: Transcript, path: str) -> list[tuple[str, int | None]]:
    """The transcript and those that it was forked from, each with the ordinal at which the fork was made."""
    records: list[tuple[str, int | None]] = [(path, None)]
    while len(records) <= MOST_COPIES and (origin := _origin(transcript, records[-1][0])) is not None:
        records.append(origin)
    return records


def _origin(transcript: Transcript, path: str) -> tuple[str, int] | None:
    with opened(path) as file:
        origin = transcript.origin(_place_of(path), file.readline(LONGEST_LINE))
    files = glob(origin.files) if origin else []
    return (os.path.normpath(files[0]), origin.before) if origin and files else None


def _is_passed(path: str) -> bool:
    """Whether the transcript is a descriptor that was passed on: then an agent in a box decides what lies at its path."""
    return path.startswith(DESCRIPTOR)


def _place_of(path: str) -> str:
    """The path of a file that is passed as a descriptor; of another, its own."""
    return os.readlink(f"/proc/self/fd/{path.removeprefix(DESCRIPTOR)}") if _is_passed(path) else path


def _opened(path: str, *, passed: bool) -> BinaryIO:
    """The file for reading; an empty one if there is none. With `passed`, also if a link leads to it: it could be a file that the agent
    itself cannot read."""
    file = opened(path)
    if passed and not isinstance(file, BytesIO) and os.readlink(f"/proc/self/fd/{file.fileno()}") != path:
        file.close()
        return BytesIO()
    return file


def _lines(file: BinaryIO, part: int) -> Iterator[bytes]:
    """The complete lines of a transcript; of a long one, those at its beginning and end."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    yield from _lines_until(file, size if size <= 2 * part else part)
    if size > 2 * part:
        file.seek(size - part)
        _skip_line(file)
        yield from _lines_until(file, size)


def _lines_until(file: BinaryIO, end: int) -> Iterator[bytes]:
    while file.tell() < end and (line := file.readline(LONGEST_LINE)):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            _skip_line(file)
        else:
            yield line


def _skip_line(file: BinaryIO) -> None:
    while (part := file.readline(LONGEST_LINE)) and not part.endswith(b"\n"):
        continue
