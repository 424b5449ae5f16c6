"""The changes of a loop or a round as a page: a tree of files, each with its lines or a page of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from untildone.faces.web.render import diff_lines, file_tree
from untildone.faces.web.render.diff_lines import ShownHunk
from untildone.faces.web.render.diffs import FileDiff
from untildone.faces.web.render.file_tree import Folder

PAGE = 400
"""Lines of a file on one page."""
OPEN_UP_TO = 600
"""Files are shown open as long as all of them together have so few lines."""


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file of the page. Without `hunks` its lines are fetched when it is opened."""

    place: int
    file: FileDiff
    opened: bool
    hunks: tuple[ShownHunk, ...] = ()
    start: int = 0
    rest: int | None = None
    """Where the next page of its lines begins; None: this is the last."""


@dataclass(frozen=True, slots=True)
class ShownChanges:
    """A page of changes."""

    files: tuple[ShownFile, ...]
    tree: Folder
    added: int
    removed: int


def shown(files: Sequence[FileDiff]) -> ShownChanges:
    """The page of all files; the first ones are open."""
    left, found = OPEN_UP_TO, []
    for place, file in enumerate(files):
        opened = min(file.size, PAGE) <= left
        left -= min(file.size, PAGE) if opened else 0
        found.append(shown_file(place, file) if opened else ShownFile(place, file, opened=False))
    return ShownChanges(
        tuple(found), file_tree.tree(files), sum(each.added for each in files), sum(each.removed for each in files)
    )


def shown_file(place: int, file: FileDiff, start: int = 0) -> ShownFile:
    """One file with a page of its lines."""
    count = sum(len(hunk.lines) for hunk in file.hunks)
    rest = start + PAGE if start + PAGE < count else None
    return ShownFile(place, file, opened=True, hunks=diff_lines.shown(file, start, PAGE), start=start, rest=rest)
