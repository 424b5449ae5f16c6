"""The branch of a worktree, and how far it is ahead of and behind the branch that the person has checked out."""

from __future__ import annotations

from untildone.core.values.value import dataclass
from untildone.workspace.git import QUICK_SECONDS, GitFailed, git


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch beside the one that is checked out in the person's work tree."""

    name: str
    base: str
    """The branch of the person's work tree; empty: none is checked out."""
    ahead: int = 0
    """How many commits only the branch has."""
    behind: int = 0
    """How many commits only the base has."""


def branch_of(repository: str, worktree: str) -> Branch | None:
    """The branch of a worktree of a repository; None if it has none, or if git fails."""
    try:
        name, base = _current(worktree), _current(repository)
        if not name or name == base:
            return None
        counted = _read(repository, "rev-list", "--left-right", "--count", f"HEAD...refs/heads/{name}").split()
        return Branch(name, base, int(counted[1]), int(counted[0]))
    except (GitFailed, OSError, ValueError, IndexError):
        return None


def _current(folder: str) -> str:
    return _read(folder, "branch", "--show-current")


def _read(folder: str, *words: str) -> str:
    return git(folder, *words, seconds=QUICK_SECONDS).decode(errors="replace").strip()
