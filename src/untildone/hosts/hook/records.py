"""The agents' own records of sessions, as files: read in bounded time and memory, however long they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import escape, glob
from typing import BinaryIO

from untildone.core.plain_json import read_object
from untildone.hosts.hook import sessions
from untildone.hosts.hook.asked import Words
from untildone.hosts.hook.transcripts import opened

PART = 32 << 20
"""Bytes that are read of a record, at its beginning and at its end."""
LONGEST_LINE = 8 << 20
"""A longer one is passed over: what a person types is shorter, and an image says nothing to be read."""
MOST_COPIES = 8
"""So many generations of copies of copies are followed."""


def asked_in(path: str, part: int = PART) -> tuple[str, ...]:
    """Everything that the person asked, in order; of very much, the first and the last of it. Nothing if there is no such record."""
    words = Words()
    try:
        for record, before in reversed(_with_origins(path)):
            with opened(record) as file:
                for line in _lines(file, part):
                    words.hear(line, before)
    except OSError:
        return ()
    return words.asked


def _with_origins(path: str) -> list[tuple[str, int | None]]:
    """The record, and those that it was copied from, each with the number at which the copy was made: Codex writes down no more."""
    found: list[tuple[str, int | None]] = [(path, None)]
    while len(found) <= MOST_COPIES and (origin := _origin(found[-1][0])) is not None:
        found.append(origin)
    return found


def _origin(path: str) -> tuple[str, int] | None:
    with opened(path) as file:
        first = file.readline(LONGEST_LINE)
    try:
        entry = read_object(first) if b'"forked_from_id"' in first else {}
    except (ValueError, RecursionError):
        return None
    match entry:
        case {"payload": {"forked_from_id": str(name), "forked_from_ordinal_exclusive": int(before)}}:
            return _of_codex(path, name, before)
        case _:
            return None


def _of_codex(path: str, name: str, before: int) -> tuple[str, int] | None:
    """Its records lie in folders by day, all of them three levels below one."""
    top = os.path.join(os.path.dirname(path), *[os.pardir] * 3)
    pattern = os.path.join(escape(top), "*", "*", "*", f"rollout-*-{name}.jsonl")
    found = glob(pattern) if sessions.is_name(name) else []
    return (found[0], before) if found else None


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
