"""The published work of a loop, on a machine that has no part in it: a clone for a moment, to compare or to check."""

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
    """A folder with the loop's branch as it is on the remote; before the first turn, with what the branch starts from."""
    address = address_of(loop)
    with tempfile.TemporaryDirectory(prefix="untildone-") as place:
        try:
            git(place, "init", "--quiet")
            found = ownership.standing(place, address)
            ref = address.branch_ref if found.branch else "HEAD"
            ownership.fetch(place, address.remote, f"{ref}:{WORK}")
            git(place, "checkout", "--quiet", "--detach", WORK)
        except GitFailed as problem:
            raise UsageError(
                f"The work of loop {loop.loop_id} cannot be fetched from {address.remote}: {problem}.",
                "can this machine reach it?",
            ) from problem
        yield place


def remote_of(folder: str) -> str:
    """The remote that a folder's own repository calls origin."""
    try:
        found = git(folder, "remote", "get-url", "origin").decode(errors="replace").strip()
    except GitFailed:
        found = ""
    if not found:
        raise UsageError(
            f"{folder} has no git remote named origin.", "name one that every machine can reach with --remote"
        )
    return found


def unpublished(folder: str) -> bool:
    """Whether the folder has work that no remote of it has: a loop of a cluster does not see it."""
    try:
        return bool(
            git(folder, "status", "--porcelain").strip() or git(folder, "rev-list", "-n1", "HEAD", "--not", "--remotes")
        )
    except GitFailed:
        return False
