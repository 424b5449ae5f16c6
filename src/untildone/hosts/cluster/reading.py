"""The published work of a loop in a temporary clone, on a machine that does not drive the loop: to compare or check it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.hosts.cluster import ownership
from untildone.hosts.cluster.publishing import address_of
from untildone.workspace.git import GitFailed, git

WORK = "refs/fetched/work"


@contextmanager
def published(loop: Loop) -> Iterator[str]:
    """A temporary folder with the loop's branch of the remote; before the first turn, with the commit that the branch starts from."""
    address = address_of(loop)
    with tempfile.TemporaryDirectory(prefix="untildone-") as place:
        try:
            git(place, "init", "--quiet")
            refs = ownership.remote_refs(place, address)
            ref = address.branch_ref if refs.branch else "HEAD"
            ownership.fetch(place, address.remote, f"{ref}:{WORK}")
            git(place, "checkout", "--quiet", "--detach", WORK)
        except GitFailed as problem:
            raise UsageError(
                f"The work of loop {loop.loop_id} cannot be fetched from {address.remote}: {problem}.",
                "can this machine reach it?",
            ) from problem
        yield place


def remote_of(folder: str) -> str:
    """The address of the remote `origin` of a folder's repository."""
    try:
        remote = git(folder, "remote", "get-url", "origin").decode(errors="replace").strip()
    except GitFailed:
        remote = ""
    if not remote:
        raise UsageError(
            f"{folder} has no git remote named origin.", "name one that every machine can reach with --remote"
        )
    return remote


def unpublished(folder: str) -> bool:
    """Whether the folder has work that no remote has. A loop of a cluster would not see it."""
    try:
        return bool(
            git(folder, "status", "--porcelain").strip() or git(folder, "rev-list", "-n1", "HEAD", "--not", "--remotes")
        )
    except GitFailed:
        return False
