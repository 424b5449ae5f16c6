"""What is in the trees of a shadow repository, and trees made from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from untildone.workspace.beside import Beside
from untildone.workspace.git import GitFailed
from untildone.workspace.shadow.repository import Repository
from untildone.workspace.shadow.values import Change, File, NoSnapshot

MOST_LISTED = 4
"""How many trees are remembered by their files: those of one claim are asked for again and again."""


class Trees:
    """Reads, compares and writes trees. Paths are relative to the top of the tree."""

    def __init__(self, repository: Repository, name: str) -> None:
        """`name` belongs to trees that are written."""
        self.repository = repository
        self.name = name
        self._listed: dict[str, Mapping[str, File]] = {}

    @property
    def git_dir(self) -> str:
        """The bare repository with all snapshots of the workspace."""
        return str(self.repository.folder)

    def files(self, tree: str) -> Mapping[str, File]:
        """Every file of a tree, by path. The last trees are remembered: what has the same name is the same."""
        known = self._listed
        if tree not in known:
            with as_no_snapshot(f"The snapshot {tree} cannot be read"):
                listed = {os.fsdecode(path): file for path, file in self.repository.files(tree).items()}
            known = {**dict([*known.items()][1 - MOST_LISTED :]), tree: MappingProxyType(listed)}
            self._listed = known
        return known[tree]

    def read(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        """The content of files, by the names in `File.blob`. One process for all."""
        with as_no_snapshot("Files of a snapshot cannot be read"):
            return self.repository.read(blobs)

    def contents(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """As `read`, one after the other."""
        with as_no_snapshot("Files of a snapshot cannot be read"):
            yield from self.repository.contents(blobs)

    def changed(self, before: str, after: str) -> tuple[Change, ...]:
        """The paths that differ between two trees. A renamed file is one path that is gone and one that is new."""
        with as_no_snapshot("Two snapshots cannot be compared"):
            return self.repository.changed(before, after)

    def patch(self, before: str, after: str, *, stat: bool = False) -> str:
        """The patch between two trees, or with `stat` a summary of it. Control characters of files are shown as they are."""
        with as_no_snapshot("The changes cannot be shown"):
            self.repository.check(before, after)
            shown = self.repository.git("diff-tree", *patch_options(stat=stat), before, after)
            return shown.decode(errors="replace")

    def patch_of(self, before: str, after: str, paths: Iterable[str]) -> str:
        """The patch of some files, in order of path. A renamed file is one that is gone and one that is new."""
        form = ("-r", "--patch", "--no-renames", "--no-ext-diff", "--no-textconv", "--color=never")
        names = (f":(literal){path}" for path in paths)
        with as_no_snapshot("The changes cannot be shown"):
            self.repository.check(before, after)
            return self.repository.git("diff-tree", *form, before, after, "--", *names).decode(errors="replace")

    def line_counts(self, before: str, after: str) -> tuple[tuple[str, int, int], ...]:
        """Path, added and removed lines of each file that differs between two trees. A binary file has none."""
        if before == after:
            return ()
        with as_no_snapshot("Two snapshots cannot be compared"):
            form = ("-r", "--numstat", "-z", "--no-renames")
            counted = Beside(lambda: self.repository.git("diff-tree", *form, before, after))
            self.repository.check(before, after)
            listed = counted.result()
        rows = (row.split(b"\t", 2) for row in listed.split(b"\0") if row)
        return tuple((name.decode(errors="replace"), _lines(added), _lines(removed)) for added, removed, name in rows)

    def counts(self, before: str, after: str) -> tuple[int, int, int]:
        """How many files differ between two trees, and how many lines were added and removed."""
        rows = self.line_counts(before, after)
        return len(rows), sum(row[1] for row in rows), sum(row[2] for row in rows)


def patch_options(*, stat: bool) -> tuple[str, ...]:
    """Options of `git diff-tree` for a patch, or for a summary of it."""
    return ("-r", "-M", "--no-ext-diff", "--no-textconv", "--color=never", "--stat=100" if stat else "--patch")


def _lines(count: bytes) -> int:
    """Git prints `-` for a binary file."""
    return int(count) if count.isdigit() else 0


@contextmanager
def as_no_snapshot(sentence: str) -> Iterator[None]:
    try:
        yield
    except (GitFailed, OSError, ValueError) as error:
        raise NoSnapshot(f"{sentence}: {error}.") from error
