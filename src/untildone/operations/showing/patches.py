"""Splits a diff of git into files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_LINES = 1200
LONGEST_LINE = 400
_NAMES = re.compile(r'^diff --git (?:"?a/)(.*?)"? "?b/(.*?)"?$')


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
    names = _NAMES.match(lines[0])
    return names[2] if names else lines[0].removeprefix("diff --git ")
