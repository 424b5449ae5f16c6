"""Commits of the work of a loop: with the identity from git's configuration, without the person's hooks."""

from __future__ import annotations

import os

from untildone.core.errors import UsageError
from untildone.core.value import dataclass
from untildone.workspace.git import GitFailed, Status, add_all, git, git_folder, line_of, repository_at, status_of

UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of a workspace after its changes were committed."""

    head: str | None
    """The last commit."""
    made: bool = False
    """Whether it was made just now."""
    whole: bool = False
    """Whether it contains every change that a look would see."""

    @property
    def all_in(self) -> str | None:
        """The last commit, if it contains every change."""
        return self.head if self.whole else None


def commit(path: str, message: str) -> str | None:
    """Commit every change that is not ignored. None if there is nothing to commit, or a merge or rebase is unfinished."""
    kept = keep(path, message)
    return kept.head if kept.made else None


def keep(path: str, message: str) -> Kept:
    """As `commit`, but returns the state of the workspace."""
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
    # Exit code 1 means that there is nothing to commit after all.
    git(root, "commit", *options, env=_identity(root), stdin=message.encode(errors="replace"), fine=(0, 1))
    head = line_of(git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1))) or None
    made = head != status.head
    return Kept(head, made, whole=made and not any(entry.nested for entry in status.entries))


def _identity(root: str) -> dict[str, str]:
    """Variables for author and committer, as far as neither the environment nor the configuration names them."""
    names = r"^(user|author|committer)\.(name|email)$"
    configured = git(root, "config", "--name-only", "--get-regexp", names, fine=(0, 1)).decode().split()
    missing: dict[str, str] = {}
    for role in ("author", "committer"):
        for part, stand_in in (("name", "untildone"), ("email", "untildone@localhost")):
            variable = f"GIT_{role}_{part}".upper()
            if variable not in os.environ and not {f"user.{part}", f"{role}.{part}"} & set(configured):
                missing[variable] = stand_in
    return missing
