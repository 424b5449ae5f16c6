"""Committing the work of a loop, as whoever the configuration of git names, and without the person's hooks."""

from __future__ import annotations

import os

from untildone.core.errors import UsageError
from untildone.core.value import dataclass
from untildone.workspace import git_settings
from untildone.workspace.git import (
    GitFailed,
    Status,
    add_all,
    git,
    git_folder,
    line_of,
    root_of,
    status_of,
)
from untildone.workspace.git_objects import head_of

UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a workspace stands after its changes were committed."""

    head: str | None
    """The last commit."""
    made: bool = False
    """Whether that was made just now."""
    whole: bool = False
    """Whether it holds everything: nothing was left out that a look would see."""

    @property
    def all_in(self) -> str | None:
        """The commit that holds everything, if one does."""
        return self.head if self.whole else None


def commit(path: str, message: str) -> str | None:
    """Commit all that changed and is not ignored. None: nothing to commit, or a merge or rebase is not finished."""
    kept = keep(path, message)
    return kept.head if kept.made else None


def keep(path: str, message: str) -> Kept:
    """As `commit`; and where the workspace stands then."""
    root = repository_at(path)
    try:
        return _kept(root, status_of(root), message)
    except (GitFailed, OSError) as error:
        raise UsageError(f"The changes in {path} cannot be committed: {error}.", "look at: git status") from error


def _kept(root: str, status: Status, message: str) -> Kept:
    state = git_folder(root)
    if not status.entries or any(os.path.exists(os.path.join(state, name)) for name in UNFINISHED):
        return Kept(status.head, whole=not status.entries and status.head is not None)
    add_all(root, status)
    options = ("--quiet", "--no-verify", "--allow-empty-message", "--cleanup=verbatim", "--file=-")
    # It ends with 1 if there is nothing to commit after all.
    git(root, "commit", *options, env=_identity(root), stdin=message.encode(errors="replace"), fine=(0, 1))
    head = head_of(root) if status.head else _first_commit(root)
    made = head != status.head
    return Kept(head, made, whole=made and not any(entry.nested for entry in status.entries))


def _first_commit(root: str) -> str | None:
    """Of a repository that had none before, and may have none now."""
    return line_of(git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1))) or None


def _identity(root: str) -> dict[str, str]:
    """Who commits, as far as neither the environment nor the configuration says so."""
    configured = {name for name, _ in git_settings.matching(root, r"^(user|author|committer)\.(name|email)$")}
    found: dict[str, str] = {}
    for role in ("author", "committer"):
        for part, stand_in in (("name", "untildone"), ("email", "untildone@localhost")):
            variable = f"GIT_{role}_{part}".upper()
            if variable not in os.environ and not {f"user.{part}", f"{role}.{part}"} & configured:
                found[variable] = stand_in
    return found


def repository_at(path: str) -> str:
    root = root_of(path)
    if root is None:
        raise UsageError(f"The folder {path} is not in a git repository.", "make it one with: git init")
    return root
