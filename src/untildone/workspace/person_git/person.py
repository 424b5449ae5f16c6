"""The person's repository, as far as a look at a workspace reads it: their last commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import time_ns

from untildone.system import disk
from untildone.workspace.git import QUICK_SECONDS, GitFailed, git, git_folders, line_of, never, read_small, root_of
from untildone.workspace.shadow.values import Stamp, stamp_of

_BESIDE = ("packed-refs", os.path.join("reftable", "tables.list"))


class Head:
    """The last commit of the repository that contains a folder. Git is asked again only if the files that name it were touched."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: tuple[object, str | None] | None = None

    def commit(self, wants_out: Callable[[], bool] = never) -> str | None:
        """The last commit; None outside a repository, before the first commit, or if git fails."""
        root = root_of(self._path)
        if root is None:
            return None
        stamps = _stamps(root)
        if self._known is not None and stamps is not None and self._known[0] == stamps:
            return self._known[1]
        command = ("rev-parse", "--verify", "--quiet", "HEAD")
        try:
            answer = git(root, *command, fine=(0, 1), seconds=QUICK_SECONDS, wants_out=wants_out)
        except GitFailed:
            return None
        self._known = (stamps, line_of(answer) or None)
        return self._known[1]


def _stamps(root: str) -> object:
    """The stamps of the files that name the last commit; None if one is unusual, or so new that it may change and keep its stamp."""
    at = time_ns()
    try:
        own, common = (folders := git_folders(root))[0], folders[-1]
        named = read_small(head := os.path.join(own, "HEAD")).removeprefix("ref:").strip()
        watched = (head, os.path.join(common, named), *(os.path.join(common, name) for name in _BESIDE))
        stamps = [_stamp(path) for path in watched]
    except (OSError, ValueError):
        return None
    sure = not any(stamp and disk.is_racy(max(stamp[1], stamp[3]), at) for stamp in stamps)
    return (named, tuple(stamps)) if sure else None


def _stamp(path: str) -> Stamp | None:
    try:
        return stamp_of(os.lstat(path))
    except OSError:
        return None
