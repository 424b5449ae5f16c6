"""Git worktrees: a loop may work in a worktree of its own, on a branch of its own."""

from __future__ import annotations

import os
from pathlib import Path

from untildone.core.errors import UsageError
from untildone.workspace.git import GitFailed, git, repository_at, status_of


def create_worktree(repository: str, loop_id: str, folder: Path) -> str:
    """Create a worktree in `folder` on the branch `untildone/<loop_id>`, from the last commit; keep one that exists.

    Returns the folder to work in: the same relative path in the worktree as `repository` has in its own work tree."""
    root, branch, target = repository_at(repository), f"untildone/{loop_id}", os.path.abspath(folder)
    try:
        if not status_of(root).head:
            raise UsageError(f"The repository {root} has no commit yet.", "commit something: a worktree starts from it")
        if not _is_worktree(root, target):
            known = git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", fine=(0, 1))
            place = ("--force", target, branch) if known else ("-b", branch, target, "HEAD")
            git(root, "worktree", "add", "--quiet", *place)
    except GitFailed as error:
        raise UsageError(f"No worktree can be made in {target}: {error}.", "name an empty folder") from error
    inside = os.path.normpath(os.path.join(target, os.path.relpath(os.path.realpath(repository), root)))
    return inside if os.path.isdir(inside) else target


def _is_worktree(root: str, folder: str) -> bool:
    listed = git(root, "worktree", "list", "--porcelain").splitlines()
    return os.path.isdir(folder) and b"worktree " + os.fsencode(os.path.realpath(folder)) in listed
