"""A diff of git as values: files, hunks, lines with their numbers. `lines.py` gives the lines their colours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_ESCAPED = re.compile(r"\\([0-7]{3}|.)")
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_BINARY = ("Binary files ", "GIT binary patch")


class Change(StrEnum):
    """What happened to a file."""

    MODIFIED = "modified"
    ADDED = "added"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"


class Side(StrEnum):
    """Where a line of a diff is: in both versions, only in the new one, only in the old one."""

    BOTH = "both"
    NEW = "new"
    OLD = "old"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a hunk with its numbers in the old and the new file."""

    side: Side
    text: str
    old: int | None
    new: int | None
    ends: bool = True
    """Whether a line end follows; git calls it out where it is missing."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Consecutive lines."""

    old_start: int
    new_start: int
    heading: str
    """What the lines are in, such as a function, as git found it."""
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The changes of one file."""

    path: str
    """Its name now; of a deleted file, the name that it had."""
    old_path: str
    change: Change
    hunks: tuple[Hunk, ...] = ()
    is_binary: bool = False
    old_mode: str = ""
    """Modes, where they changed."""
    new_mode: str = ""

    @property
    def added(self) -> int:
        return sum(line.side is Side.NEW for line in self.lines())

    @property
    def removed(self) -> int:
        return sum(line.side is Side.OLD for line in self.lines())

    @property
    def size(self) -> int:
        """The number of lines, with the heads of hunks."""
        return sum(1 + len(hunk.lines) for hunk in self.hunks)

    def lines(self) -> Iterator[Line]:
        return (line for hunk in self.hunks for line in hunk.lines)


def parsed(diff: str) -> tuple[FileDiff, ...]:
    """The files of a diff, in its order."""
    lines = diff.split("\n")
    files, at = [], 0
    while at < len(lines):
        if lines[at].startswith("diff --git "):
            file, at = _file(lines, at)
            files.append(file)
        else:
            at += 1
    return tuple(files)


def _file(lines: list[str], at: int) -> tuple[FileDiff, int]:
    start = at
    at += 1
    while at < len(lines) and not lines[at].startswith(("diff --git ", "@@ ")):
        at += 1
    head = lines[start:at]
    hunks = []
    while at < len(lines) and (found := _HUNK.match(lines[at])):
        hunk, at = _hunk(lines, at + 1, found)
        hunks.append(hunk)
    return _described(head, tuple(hunks)), at


def _hunk(lines: list[str], at: int, head: re.Match[str]) -> tuple[Hunk, int]:
    """Read a hunk. Its end follows from the counts in its head, so lines of any content are safe."""
    old, new = int(head[1]), int(head[3])
    old_end, new_end = old + int(head[2] or 1), new + int(head[4] or 1)
    hunk_lines: list[Line] = []
    while at < len(lines) and (old < old_end or new < new_end or lines[at].startswith("\\")):
        sign, text = lines[at][:1], lines[at][1:]
        at += 1
        if sign == "+":
            hunk_lines.append(Line(Side.NEW, text, None, new))
            new += 1
        elif sign == "-":
            hunk_lines.append(Line(Side.OLD, text, old, None))
            old += 1
        elif sign == "\\" and hunk_lines:
            last = hunk_lines[-1]
            hunk_lines[-1] = Line(last.side, last.text, last.old, last.new, ends=False)
        else:
            hunk_lines.append(Line(Side.BOTH, text, old, new))
            old, new = old + 1, new + 1
    return Hunk(int(head[1]), int(head[3]), head[5], tuple(hunk_lines)), at


def _described(head: list[str], hunks: tuple[Hunk, ...]) -> FileDiff:
    facts = {key: rest for line in head[1:] for key in _KEYS if (rest := _after(line, key)) is not None}
    old, new = _names(head[0])
    old = _name(facts.get("--- "), "a/") or unquoted(facts.get("rename from ", facts.get("copy from ", ""))) or old
    new = _name(facts.get("+++ "), "b/") or unquoted(facts.get("rename to ", facts.get("copy to ", ""))) or new
    change = next((kind for key, kind in _CHANGES.items() if key in facts), Change.MODIFIED)
    return FileDiff(
        old if change is Change.DELETED else new,
        old,
        change,
        hunks,
        any(line.startswith(_BINARY) for line in head),
        facts.get("old mode ", facts.get("deleted file mode ", "")),
        facts.get("new mode ", facts.get("new file mode ", "")),
    )


_CHANGES = {
    "new file mode ": Change.ADDED,
    "deleted file mode ": Change.DELETED,
    "rename to ": Change.RENAMED,
    "copy to ": Change.COPIED,
}
_KEYS = (*_CHANGES, "rename from ", "copy from ", "old mode ", "new mode ", "--- ", "+++ ")


def _after(line: str, key: str) -> str | None:
    return line.removeprefix(key) if line.startswith(key) else None


def _name(written: str | None, prefix: str) -> str:
    """The name of a `---` or `+++` line; empty for none and for `/dev/null`."""
    if written is None:
        return ""
    name = unquoted(written.rstrip("\t"))
    return "" if name == "/dev/null" else name.removeprefix(prefix)


def _names(first: str) -> tuple[str, str]:
    """Both names of the line `diff --git a/old b/new`. Where they may hold blanks, they are the same name twice."""
    written = first.removeprefix("diff --git ")
    if quoted := re.fullmatch(r'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', written):
        return unquoted(quoted[1]).removeprefix("a/"), unquoted(quoted[2]).removeprefix("b/")
    half = len(written) // 2
    return written[:half].removeprefix("a/"), written[half + 1 :].removeprefix("b/")


def unquoted(name: str) -> str:
    """A name that git wrote in quotes with octal escapes, as it is; other names unchanged."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    out, end, inner = bytearray(), 0, name[1:-1]
    for escape in _ESCAPED.finditer(inner):
        out += inner[end : escape.start()].encode(errors="surrogateescape")
        out.append(int(escape[1], 8) & 255 if len(escape[1]) == 3 else _LETTERS.get(escape[1], ord(escape[1][0]) & 255))
        end = escape.end()
    return bytes(out + inner[end:].encode(errors="surrogateescape")).decode(errors="replace")
