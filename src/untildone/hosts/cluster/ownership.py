"""Ownership of a loop's branch on the remote, changed by compare-and-swap only.

Beside the loop's branch, the remote has a ref for the owner, the mark. A runner that leases the loop moves the mark to a commit with its
token. A runner that publishes moves branch and mark together, and only from where it left them. So a machine that was thought dead
can no longer publish once another machine has leased the loop, even before that one has published anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from untildone.core.errors import UsageError
from untildone.workspace.git import empty_tree, git, line_of

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
    """The address of a remote. UsageError if git would not accept it, or if it contains a password: the journal records the address."""
    if not remote.strip() or remote.startswith("-"):
        raise UsageError(f"'{remote[:60]}' is not a git remote.", "give its address, as git clone takes it")
    if _PASSWORD.search(remote):
        raise UsageError(
            "The address of the git remote has a password in it.", "use an SSH key or a credential helper of git"
        )
    return remote


def checked_branch(branch: str) -> str:
    """The name of a branch, if it is valid; else UsageError."""
    if not branch or _NO_BRANCH.search(branch):
        raise UsageError(f"'{branch[:60]}' cannot be the name of a branch.", "use letters, digits, -, _ and /")
    return branch


@dataclass(frozen=True, slots=True)
class RemoteRefs:
    """Commits of the remote: of the loop's branch, of the owner's mark, and of HEAD, from which a new branch starts."""

    branch: str | None = None
    mark: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A change of a ref of the remote from one commit to another; None: the ref does not exist."""

    ref: str
    before: str | None
    after: str | None


def remote_refs(repository: str, address: Address) -> RemoteRefs:
    """The refs of a loop on the remote."""
    names = (address.branch_ref, address.mark_ref, "HEAD")
    listed = line_of(git(repository, "ls-remote", "--quiet", address.remote, *names, remote=True)).splitlines()
    commits = {ref: commit for commit, _, ref in (line.partition("\t") for line in listed)}
    return RemoteRefs(*(commits.get(ref) for ref in names))


def fetch(repository: str, remote: str, *specs: str) -> None:
    """Fetch refs of the remote with their commits."""
    git(repository, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", remote, *specs, remote=True)


def push(repository: str, remote: str, moves: Sequence[Move]) -> None:
    """Make all of the moves or none. GitFailed if one of the refs is not at its `before`."""
    leases = (f"--force-with-lease={move.ref}:{move.before or ''}" for move in moves)
    specs = (f"{move.after or ''}:{move.ref}" for move in moves)
    git(repository, "push", "--quiet", "--no-verify", "--atomic", *leases, remote, *specs, remote=True)


def new_mark(repository: str, address: Address, token: str, published: str, start: str | None) -> str:
    """Write a commit that names the owner of the loop. It has no content, and its only parent is the commit that the loop started from: the
    remote keeps that one, even if an agent gives the branch another history, and no earlier mark."""
    message = _MARK.format(loop_id=address.loop_id, token=token, published=published)
    parent = ("-p", start) if start else ()
    words = ("commit-tree", *parent, empty_tree(published))
    return line_of(git(repository, *words, env=_IDENTITY, stdin=message.encode()))


def token_of(repository: str, mark: str) -> str:
    """The token that a mark names; empty if it names none."""
    token = _TOKEN.search(git(repository, "cat-file", "commit", mark).decode(errors="replace"))
    return token[1] if token else ""
