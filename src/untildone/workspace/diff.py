"""Differences between two snapshots of a workspace."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping

from untildone.core.errors import UsageError
from untildone.core.receipts.receipt import FileChange
from untildone.workspace.git import GitFailed, git, line_of
from untildone.workspace.shadow import NoSnapshot, Shadow, patch_options

_TREE = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def patch(
    path: str,
    start_tree: str,
    end_tree: str | None = None,
    *,
    loop_id: str = "",
    stat: bool = False,
) -> str:
    """The patch between two snapshots, or with `stat` a summary of it. Without `end_tree`, the end is the work tree now, with the files
    that count for the loop `loop_id`."""
    if not _TREE.fullmatch(start_tree):
        raise UsageError(
            f"There is no snapshot of {path} to compare with.",
            "the loop has not begun, or the folder is too big for snapshots",
        )
    shadow = Shadow(path, loop_id=loop_id)
    try:
        end = end_tree or shadow.take().tree
        if not _TREE.fullmatch(end):
            raise NoSnapshot(f"'{end[:60]}' is not the name of a snapshot.")
        return shadow.patch(start_tree, end, stat=stat)
    except NoSnapshot as problem:
        raise UsageError(
            f"The changes in {path} cannot be shown. {problem}",
            "snapshots are kept for 90 days after a loop ends; the receipt has the rest",
        ) from problem


def published_patch(repository: str, start: str, end: str = "HEAD", *, stat: bool = False) -> str:
    """As `patch`, between two commits or trees of a git repository that untildone itself fetched, on a machine without the snapshots."""
    if not all(_TREE.fullmatch(name) or name == "HEAD" for name in (start, end)):
        raise UsageError("There is no snapshot to compare with.", "there is one once the loop has been started")
    try:
        shown = git(repository, "-c", "core.quotePath=false", "diff-tree", *patch_options(stat=stat), start, end)
    except GitFailed as error:
        raise UsageError(
            f"The changes cannot be shown: {error}.", "the machine that did the work can show them"
        ) from error
    return shown.decode(errors="replace")


def patch_of_new(contents: Mapping[str, bytes], *, stat: bool = False) -> str:
    """The patch that adds files, on a machine without the snapshots. UsageError if git takes one of their paths for no path of a file."""
    with tempfile.TemporaryDirectory(prefix="untildone-") as folder:
        try:
            git(folder, "init", "--quiet", "--bare")
            empty = line_of(git(folder, "mktree", stdin=b""))
            for path, content in contents.items():
                blob = line_of(git(folder, "hash-object", "-w", "--stdin", stdin=content))
                git(folder, "update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
            tree = line_of(git(folder, "write-tree"))
        except GitFailed as error:
            raise UsageError(f"The files cannot be shown: {error}.", "look at the disk") from error
        return published_patch(folder, empty, tree, stat=stat)


def changed_files(path: str, start_tree: str | None, end_tree: str | None) -> tuple[FileChange, ...] | None:
    """The files that differ between two snapshots; None if a snapshot is missing."""
    if not start_tree or not end_tree:
        return None
    try:
        return tuple(FileChange(*row) for row in Shadow(path).line_counts(start_tree, end_tree))
    except NoSnapshot:
        return None
