"""A private copy of the person's git index, in which git stages the whole work tree for a snapshot."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from untildone.system.disk import COARSEST_NANOSECONDS
from untildone.workspace.git import GitFailed, Status, add_all, git, git_folder, line_of
from untildone.workspace.glance import Stamp, stamp_of


class PrivateIndex:
    """An index file outside the repository. It is kept between snapshots, so that git only reads files that changed."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._copied: tuple[str, Stamp | None] | None = None
        """The person's index at the time of the copy."""
        self._staged: dict[bytes, bool] = {}
        """Paths whose entry differs from the person's index, and whether the file existed."""

    def write_tree(self, root: str, status: Status, left_out: Collection[bytes]) -> tuple[str, bool]:
        """Write the work tree as a git tree. Returns its name, and whether git could read every file."""
        staged_paths = {entry.path for entry in status.entries}.difference(left_out, status.foreign)
        env, complete = {"GIT_INDEX_FILE": self._prepared(root, staged_paths)}, True
        try:
            add_all(root, status, left_out=left_out, env=env)
        except GitFailed:
            add_all(root, status, "--ignore-errors", left_out=left_out, env=env)
            complete = False
        self._staged = {path: _exists(root, path) for path in staged_paths}
        tree = line_of(git(root, "write-tree", "--missing-ok", env=env))
        _round_time_down(env["GIT_INDEX_FILE"])
        return tree, complete

    def forget(self) -> None:
        """Start with a new copy at the next snapshot."""
        self._copied = None

    def _prepared(self, root: str, staged_paths: AbstractSet[bytes]) -> str:
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="untildone-", ignore_cleanup_errors=True)
        own, theirs = os.path.join(self._folder.name, "index"), os.path.join(git_folder(root), "index")
        current = (theirs, stamp_of(theirs))
        if self._copied != current or self._is_stale(root, staged_paths):
            Path(own).unlink(missing_ok=True)
            if current[1]:
                # With its modification time: git compares it with those of the files to know which of them it must read.
                shutil.copy2(theirs, own)
            self._copied = current
        return own

    def _is_stale(self, root: str, staged_paths: AbstractSet[bytes]) -> bool:
        """Whether it contains a file that is now ignored or too big, or lacks a file that exists again: git looks for an
        ignored file only if the index contains it."""
        return any(
            _exists(root, path) for path, existed in self._staged.items() if not existed or path not in staged_paths
        )


def _round_time_down(index: str) -> None:
    """Git reads files again that are not older than its index. The index may be on a file system with finer times."""
    with suppress(FileNotFoundError):
        written = os.stat(index).st_mtime_ns
        coarse = written - written % COARSEST_NANOSECONDS
        os.utime(index, ns=(coarse, coarse))


def _exists(root: str, path: bytes) -> bool:
    return os.path.lexists(os.path.join(os.fsencode(root), path))
