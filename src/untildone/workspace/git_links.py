"""Where the git folder of a work tree leads. An agent may write there, so it may leave links that lead git to files of the person."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from untildone.workspace.git import QUICK_SECONDS, GitFailed, git, git_folders, line_of, read_small

_WRITTEN = (
    *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "index", "packed-refs", "config", "config.worktree"),
    *("info", "info/exclude", "worktrees", "refs", "refs/heads", "logs", "logs/HEAD", "logs/refs", "logs/refs/heads", "objects"),
)  # fmt: skip
"""What git writes, beside objects and the branch."""


def refuse_outward(root: str) -> None:
    """Raise GitFailed if git, in this work tree, would write through a link to somewhere else."""
    bases = (os.path.realpath(root), *folders_outside(os.path.realpath(root)))
    for path in _written(root):
        if not any(_is_below(os.path.realpath(path), base) for base in bases):
            raise GitFailed(f"{path} leads out of the repository, to {os.path.realpath(path)}")


def folders_outside(root: str) -> tuple[str, ...]:
    """The git folder of a linked worktree or a submodule, which lies outside of its root. Only one that itself names this root: the file
    `.git` in the root is the agent's to write."""
    try:
        folders = git_folders(root)
        own, shared = os.path.realpath(folders[0]), os.path.realpath(folders[-1])
        # What lies in the root, or in a cache, can be made up. Only git itself writes into the folder that worktrees share.
        is_part = own == shared or os.path.dirname(own) == os.path.join(shared, "worktrees")
        if _is_below(shared, root) or not is_part or not _names(own, root):
            return ()
        return (shared,)
    except OSError:
        return ()


def _written(root: str) -> Iterator[str]:
    """The files and folders that git writes to when it commits."""
    for folder in dict.fromkeys(git_folders(root)):
        yield from (os.path.join(folder, name) for name in _WRITTEN)
        yield from _links_in(os.path.join(folder, "objects"))
        yield from _of_branch(folder)


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.is_symlink()]
    except FileNotFoundError:
        # The folder of a worktree has no objects of its own.
        return []


def _of_branch(folder: str) -> Iterator[str]:
    """The file of the branch and its log, and the folders on the way to them."""
    with suppress(OSError):
        parts = read_small(os.path.join(folder, "HEAD")).removeprefix("ref:").strip().split("/")
        for number in range(1, len(parts) + 1):
            name = "/".join(parts[:number])
            yield from (os.path.join(folder, name), os.path.join(folder, "logs", name))


def _names(own: str, root: str) -> bool:
    """Whether a git folder says that `root` is its work tree."""
    with suppress(OSError):
        return os.path.realpath(read_small(os.path.join(own, "gitdir")).strip()) == os.path.join(root, ".git")
    with suppress(OSError, GitFailed):
        command = ("config", "--file", os.path.join(own, "config"), "core.worktree")
        said = line_of(git(own, *command, seconds=QUICK_SECONDS))
        return os.path.realpath(os.path.join(own, said)) == root
    return False


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
