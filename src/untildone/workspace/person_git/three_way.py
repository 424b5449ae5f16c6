"""Applies the changes between two versions of a text to a third one, line by line, as `git merge-file` does."""

from __future__ import annotations

import os
import tempfile

from untildone.workspace.git import GitFailed, git


def merged(root: str, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """`ours` with the changes from `base` to `theirs`; None: both changed the same lines, or one is no text."""
    if ours in (base, theirs):
        return theirs
    if base == theirs:
        return ours
    with tempfile.TemporaryDirectory(prefix="untildone-") as folder:
        names = [_written(folder, name, text) for name, text in (("ours", ours), ("base", base), ("theirs", theirs))]
        try:
            # The exit code is the number of conflicts.
            return git(root, "merge-file", "--quiet", "--stdout", *names)
        except GitFailed:
            return None


def _written(folder: str, name: str, text: bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(text)
    return path
