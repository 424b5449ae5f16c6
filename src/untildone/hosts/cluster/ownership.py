"""Who may publish the work of a loop: the owner's mark on the remote, moved by compare-and-swap only.

Besides the loop's branch, the remote has a ref of the loop's own, the mark. A runner that leases the loop moves it to a commit that names
their token; whoever publishes moves branch and mark together, and only from where they themselves left them. So a machine
that was taken for dead can no longer publish from the moment on that another has leased it, even before that one has published anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from untildone.core.errors import UsageError
from untildone.workspace.git import git, line_of
from untildone.workspace.objects import empty_tree

_MARK = """Loop {loop_id} of untildone

token: {token}
published: {published}
"""
_IDENTITY = {
    f"GIT_{role}_{part}": stand_in
    for role in ("AUTHOR", "COMMITTER")
    for part, stand_in in (("NAME", "untildone"), ("EMAIL", "untildone@localhost"))
}
_PASSWORD = re.compile(r"://[^/@]*:[^/@]*@")
_NO_BRANCH = re.compile(r"^[-/.]|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|[/.]$|^@$")
_TOKEN = re.compile(r"^token: (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the work of one loop is published."""

    remote: str
    branch: str
    loop_id: str

    @property
    def branch_ref(self) -> str:
        return f"refs/heads/{self.branch}"

    @property
    def mark_ref(self) -> str:
        return f"refs/untildone/owner/{self.loop_id}"


def checked_remote(remote: str) -> str:
    """UsageError for what git would not take as an address, and for secrets: the address is written into the journal."""
    if not remote.strip() or remote.startswith("-"):
        raise UsageError(f"'{remote[:60]}' is no git remote.", "give its address, as git clone takes it")
    if _PASSWORD.search(remote):
        raise UsageError(
            "The address of the git remote has a password in it.", "use an SSH key or a credential helper of git"
        )
    return remote


def checked_branch(branch: str) -> str:
    if not branch or _NO_BRANCH.search(branch):
        raise UsageError(f"'{branch[:60]}' cannot be the name of a branch.", "use letters, digits, -, _ and /")
    return branch


@dataclass(frozen=True, slots=True)
class Standing:
    """What the remote says, as commits: the loop's branch, the owner's mark, and what a new branch starts from."""

    branch: str | None = None
    mark: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A ref of the remote is to go from one commit to another; None: it is not there."""

    ref: str
    before: str | None
    after: str | None


def standing(repository: str, address: Address) -> Standing:
    wanted = (address.branch_ref, address.mark_ref, "HEAD")
    listed = line_of(git(repository, "ls-remote", "--quiet", address.remote, *wanted)).splitlines()
    found = {ref: commit for commit, _, ref in (line.partition("\t") for line in listed)}
    return Standing(*(found.get(ref) for ref in wanted))


def fetch(repository: str, remote: str, *specs: str) -> None:
    """Fetch what refs of the remote name."""
    git(repository, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, *specs)


def push(repository: str, remote: str, moves: Sequence[Move]) -> None:
    """All of the moves, or none: GitFailed if one of the refs is not where it was."""
    leases = (f"--force-with-lease={move.ref}:{move.before or ''}" for move in moves)
    specs = (f"{move.after or ''}:{move.ref}" for move in moves)
    git(repository, "push", "--quiet", "--no-verify", "--atomic", *leases, remote, *specs)


def new_mark(repository: str, address: Address, token: str, published: str) -> str:
    """Write a commit that names the loop's owner. It has no content and no parent: the remote keeps only the last one."""
    message = _MARK.format(loop_id=address.loop_id, token=token, published=published)
    return line_of(git(repository, "commit-tree", empty_tree(published), env=_IDENTITY, stdin=message.encode()))


def token_of(repository: str, mark: str) -> str:
    """The token that a mark names; empty if it names none."""
    found = _TOKEN.search(git(repository, "cat-file", "commit", mark).decode(errors="replace"))
    return found[1] if found else ""
