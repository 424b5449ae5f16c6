"""The lines of a diff as markup: in the colours of the language, with the changed part of a changed line marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from markupsafe import Markup

from untildone.faces.web.render import bidi, code
from untildone.faces.web.render.code import Piece
from untildone.faces.web.render.diffs import FileDiff, Hunk, Line, Side

LONGEST_LINE = 1000
"""A longer line is cut: it is data that people do not read here."""
LEAST_ALIKE = 0.3
"""The share of two lines that must be equal for the rest to be marked: below, all of it is new."""
_SIGNS = {Side.BOTH: " ", Side.NEW: "+", Side.OLD: "-"}


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line: its place, its numbers and its markup."""

    side: Side
    old: int | None
    new: int | None
    html: Markup
    text: str
    ends: bool = True

    @property
    def sign(self) -> str:
        return _SIGNS[self.side]

    @property
    def number(self) -> int:
        """Its number in the new file; of a removed line, in the old one."""
        return self.new if self.new is not None else self.old or 0


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of the view side by side. None: nothing is on that side."""

    left: ShownLine | None
    right: ShownLine | None


@dataclass(frozen=True, slots=True)
class ShownHunk:
    """A hunk in both views."""

    hunk: Hunk
    lines: tuple[ShownLine, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(_pairs(self.lines))


def shown(file: FileDiff, start: int = 0, count: int | None = None) -> tuple[ShownHunk, ...]:
    """The hunks of a file with their markup; `start` and `count` choose a page of its lines."""
    end = None if count is None else start + count
    hunks, at = [], 0
    for hunk in file.hunks:
        lines = hunk.lines[max(0, start - at) : None if end is None else max(0, end - at)]
        at += len(hunk.lines)
        if lines:
            hunks.append(ShownHunk(hunk, _coloured(lines, file.path)))
    return tuple(hunks)


def _coloured(lines: Sequence[Line], path: str) -> tuple[ShownLine, ...]:
    old = iter(_pieces([line for line in lines if line.side is not Side.NEW], path))
    new = iter(_pieces([line for line in lines if line.side is not Side.OLD], path))
    pieces = [_next_of(line, old, new) for line in lines]
    marks = _marks(lines)
    return tuple(
        ShownLine(line.side, line.old, line.new, _markup(parts, marks.get(place)), line.text[:LONGEST_LINE], line.ends)
        for place, (line, parts) in enumerate(zip(lines, pieces, strict=True))
    )


def _pieces(lines: Sequence[Line], path: str) -> list[list[Piece]]:
    """One version of the lines is one text for the lexer, so that strings over several lines are seen."""
    return code.lines_of_file("\n".join(line.text[:LONGEST_LINE].rstrip("\r") for line in lines), path)


def _next_of(line: Line, old: Iterator[list[Piece]], new: Iterator[list[Piece]]) -> list[Piece]:
    if line.side is Side.BOTH:
        next(old)
    return next(old) if line.side is Side.OLD else next(new)


def _marks(lines: Sequence[Line]) -> dict[int, tuple[int, int]]:
    """By the place of a line, the part of it that differs from its partner on the other side."""
    marks: dict[int, tuple[int, int]] = {}
    for removed, added in _blocks(lines):
        if len(removed) == len(added):
            for one, other in zip(removed, added, strict=True):
                if parts := changed_parts(lines[one].text[:LONGEST_LINE], lines[other].text[:LONGEST_LINE]):
                    marks[one], marks[other] = parts
    return marks


def _blocks(lines: Sequence[Line]) -> Iterator[tuple[list[int], list[int]]]:
    """The places of removed lines and of the added ones that follow them."""
    removed: list[int] = []
    added: list[int] = []
    for place, line in enumerate(lines):
        if (line.side is Side.BOTH or (line.side is Side.OLD and added)) and (removed or added):
            yield removed, added
            removed, added = [], []
        if line.side is Side.OLD:
            removed.append(place)
        elif line.side is Side.NEW:
            added.append(place)
    yield removed, added


def changed_parts(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Where two lines differ: all but their common beginning and end. None if too little is common."""
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    common = (len(old[:start].strip()) + end) / max(1, len(old), len(new))
    if common < LEAST_ALIKE or old == new:
        return None
    return (start, len(old) - end), (start, len(new) - end)


def _markup(pieces: Sequence[Piece], part: tuple[int, int] | None) -> Markup:
    if part is None or part[0] == part[1]:
        return _shown_codes(code.markup(pieces))
    before, inside, after = _cut(pieces, 0, part[0]), _cut(pieces, *part), _cut(pieces, part[1], None)
    return _shown_codes(
        Markup("{}<mark>{}</mark>{}").format(code.markup(before), code.markup(inside), code.markup(after))
    )


def _cut(pieces: Sequence[Piece], start: int, end: int | None) -> list[Piece]:
    found, at = [], 0
    for kind, text in pieces:
        part = text[max(0, start - at) : None if end is None else max(0, end - at)]
        at += len(text)
        found += [(kind, part)] if part else []
    return found


def _shown_codes(html: Markup) -> Markup:
    """What shows a patch writes hidden characters as `<U+202E>`: these get the marks that other texts have."""
    return Markup(re.sub(r"&lt;U\+([0-9A-F]{4,5})&gt;", lambda match: bidi.mark(chr(int(match[1], 16))), html))


def _pairs(lines: Sequence[ShownLine]) -> Iterator[Pair]:
    removed: list[ShownLine] = []
    added: list[ShownLine] = []
    for line in lines:
        if line.side is Side.BOTH or (line.side is Side.OLD and added):
            yield from (Pair(*both) for both in zip_longest(removed, added))
            removed, added = [], []
        if line.side is Side.BOTH:
            yield Pair(line, line)
        else:
            (removed if line.side is Side.OLD else added).append(line)
    yield from (Pair(*both) for both in zip_longest(removed, added))
