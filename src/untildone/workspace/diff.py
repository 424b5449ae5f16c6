"""Differences between two snapshots of a workspace."""

from __future__ import annotations

import re

from untildone.core.errors import UsageError
from untildone.core.receipt import FileChange
from untildone.workspace.git import GitFailed, git, repository_at, root_of
from untildone.workspace.look import look


def patch(path: str, start_tree: str, end_tree: str | None = None, *, stat: bool = False, colour: bool = False) -> str:
    """The patch between two snapshots or commits, or with `stat` a summary of it. Without `end_tree`, the end is the work tree now."""
    root = repository_at(path)
    end = end_tree or look(path).tree or ""
    if not all(re.fullmatch(r"[0-9a-f]{7,64}|HEAD", name) for name in (start_tree, end)):
        raise UsageError(f"There is no snapshot of {path} to compare with.", "was it a git repository from the start?")
    options = ("--stat=100" if stat else "--patch", "--color=always" if colour else "--color=never")
    try:
        shown = git(root, "diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", *options, start_tree, end)
    except GitFailed as error:
        raise UsageError(f"The changes in {path} cannot be shown: {error}.", "git removes old snapshots") from error
    return shown.decode(errors="replace")


def changed_files(path: str, start_tree: str | None, end_tree: str | None) -> tuple[FileChange, ...] | None:
    """The files that differ between two snapshots; None if a snapshot is missing."""
    root = root_of(path)
    if root is None or not start_tree or not end_tree:
        return None
    try:
        listed = git(root, "diff-tree", "-r", "--numstat", "-z", "--no-renames", start_tree, end_tree)
    except GitFailed:
        return None
    rows = (row.split("\t", 2) for row in listed.decode(errors="replace").split("\0") if row)
    return tuple(FileChange(name, _lines(added), _lines(removed)) for added, removed, name in rows)


def _lines(count: str) -> int:
    """Git prints `-` for a binary file."""
    return int(count) if count.isdigit() else 0
