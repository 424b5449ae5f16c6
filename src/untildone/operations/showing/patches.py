"""Splits a diff of git into files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_LINES = 1200
LONGEST_LINE = 400
_NAMES = re.compile(r'^diff --git (?:"a/.*"|a/.*?) (?:"b/(?P<quoted>.*)"|b/(?P<plain>.*))$')
_ESCAPED = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_LETTERS = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\', strict=True))


@dataclass(frozen=True, slots=True)
class Patch:
    """The changes of one file."""

    path: str
    added: int
    removed: int
    lines: tuple[str, ...]
    """At most MOST_LINES lines; `left_out` counts the others."""
    left_out: int = 0


def patches(diff: str) -> tuple[Patch, ...]:
    """The files of a diff."""
    return tuple(_patch(lines) for lines in _files(diff))


def _files(diff: str) -> Iterator[list[str]]:
    current: list[str] = []
    for line in diff.split("\n"):
        if line.startswith("diff --git ") and current:
            yield current
            current = []
        if line.startswith("diff --git ") or current:
            current.append(line)
    if current:
        yield current


def _patch(lines: list[str]) -> Patch:
    first = next((place for place, line in enumerate(lines) if line.startswith("@@")), len(lines))
    hunks = lines[first:]
    about = [line for line in lines[1:first] if line and not line.startswith(("index ", "--- ", "+++ "))]
    added = sum(line.startswith("+") for line in hunks)
    removed = sum(line.startswith("-") for line in hunks)
    body = [*about, *hunks]
    while body and not body[-1]:
        body.pop()
    shown = tuple(line[:LONGEST_LINE] for line in body[:MOST_LINES])
    return Patch(_name(lines), added, removed, shown, max(0, len(body) - MOST_LINES))


def _name(lines: list[str]) -> str:
    both = lines[0].removeprefix("diff --git ")
    half = len(both) // 2
    # A file that keeps its name is named twice: ` b/` may be a part of the name.
    same = both[2:half] == both[half + 3 :] and not both.startswith('"')
    names = None if same else _NAMES.match(lines[0])
    if names is None:
        return both[2:half] if same else both
    return names["plain"] if names["quoted"] is None else unquoted(names["quoted"])


def unquoted(name: str) -> str:
    """A file name without the escapes that git writes between quotes: for quotes, backslashes, control characters."""

    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes((int(code, 8) & 0xFF if code.isdigit() else _LETTERS[code[0]],))

    return _ESCAPED.sub(plain, name.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
