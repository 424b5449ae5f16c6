"""Commits of a whole work tree: with the identity from git's configuration, without the person's hooks.

For clones in which only agents work. In the person's own repository, see `turn_commits`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from untildone.core.errors import UsageError
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import dataclass
from untildone.workspace import leaks
from untildone.workspace.git import (
    GitFailed,
    Interrupted,
    Status,
    add_all,
    git,
    git_folder,
    line_of,
    never,
    repository_at,
    status_of,
)
from untildone.workspace.git_links import refuse_outward

NONE_KNOWN = Redactor(())
_STATES = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
    "sequencer": "a cherry-pick or revert of several commits",
}
UNFINISHED = tuple(_STATES)
"""Files of git that mean that the person is in the middle of something."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of a workspace after its changes were committed."""

    head: str | None
    """The last commit."""
    made: bool = False
    """Whether it was made just now."""
    whole: bool = False
    """Whether it contains every change that a look would see."""
    note: str = ""
    """A sentence about what is not committed, and why."""

    @property
    def all_in(self) -> str | None:
        """The last commit, if it contains every change."""
        return self.head if self.whole else None


def commit(path: str, message: str) -> str | None:
    """Commit every change that is not ignored. None if there is nothing to commit, or a merge or rebase is unfinished."""
    kept = keep(path, message)
    return kept.head if kept.made else None


def keep(path: str, message: str, wants_out: Callable[[], bool] = never, known: Redactor = NONE_KNOWN) -> Kept:
    """As `commit`, but returns the state of the workspace. Once `wants_out` returns True, a commit that takes long is given up: a
    filter of the workspace may never end. HoldsSecret if the commit would contain a secret that `known` knows."""
    root = repository_at(path)
    try:
        refuse_outward(root)
        status = status_of(root, wants_out)
        refuse_leak(root, (entry.path for entry in status.entries if not entry.nested), known)
        return _kept(root, status, message, wants_out)
    except Interrupted:
        return Kept(None)
    except (GitFailed, OSError) as error:
        raise UsageError(f"The changes in {path} cannot be committed: {error}.", "look at: git status") from error


def unfinished(root: str) -> str | None:
    """What the person is in the middle of, such as a merge; None: nothing."""
    folder = git_folder(root)
    return next((what for name, what in _STATES.items() if os.path.lexists(os.path.join(folder, name))), None)


def refuse_leak(root: str, paths: Iterable[bytes], known: Redactor) -> None:
    """Raise HoldsSecret if one of these files holds a secret that `known` knows."""
    leak = leaks.in_files(root, paths, known)
    if leak is not None:
        hint = "take it out, or let git ignore the file; untildone tries again after the next round"
        raise leaks.HoldsSecret(f"The changes in {root} are not committed: {leak.sentence}.", hint)


def _kept(root: str, status: Status, message: str, wants_out: Callable[[], bool]) -> Kept:
    if not status.entries or unfinished(root) is not None:
        return Kept(status.head, whole=not status.entries and status.head is not None)
    add_all(root, status, wants_out)
    options = ("--quiet", "--no-verify", "--allow-empty-message", "--cleanup=verbatim", "--file=-")
    # Exit code 1 means that there is nothing to commit after all.
    text = message.encode(errors="replace")
    git(root, "commit", *options, env=identity(root), stdin=text, fine=(0, 1), wants_out=wants_out)
    head = line_of(git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1))) or None
    made = head != status.head
    return Kept(head, made, whole=made and not any(entry.nested for entry in status.entries))


def signature(root: str) -> dict[str, str]:
    """Variables for author and committer, with the values that git finds for them here: a box may hide where they come from."""
    known = identity(root)
    variables: dict[str, str] = {}
    for role in ("AUTHOR", "COMMITTER"):
        said = os.fsdecode(git(root, "var", f"GIT_{role}_IDENT", env=known))
        name, _, rest = said.partition(" <")
        variables |= {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": rest.partition(">")[0]}
    return variables


def identity(root: str) -> dict[str, str]:
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
