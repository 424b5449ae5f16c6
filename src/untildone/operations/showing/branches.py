"""The branch of a loop that works in a worktree of its own, with the command that merges it."""

from __future__ import annotations

import shlex
import time
from functools import lru_cache

from untildone.core.loop import Loop
from untildone.operations.stores import Store
from untildone.workspace.person_git.branches import Branch, branch_of

__all__ = ["Branch", "branch", "merge_command", "merge_of"]

FRESH_FOR = 5.0
"""Seconds for which an answer of git is believed."""


def branch(store: Store, loop: Loop) -> Branch | None:
    """The branch of the loop's worktree; None: it works in the folder itself, or on a cluster."""
    if not loop.settings.worktree or loop.settings.remote is not None:
        return None
    return _cached(str(store.home), loop.settings.workspace, loop.seq, int(time.monotonic() / FRESH_FOR))


def merge_of(store: Store, of: Branch) -> str:
    """The command that takes over the work; empty if the branch has nothing that the base lacks."""
    return merge_command(str(store.home), of) if of.ahead else ""


def merge_command(folder: str, of: Branch) -> str:
    """What a person types to take over the work."""
    return f"git -C {shlex.quote(folder)} merge {shlex.quote(of.name)}"


@lru_cache(maxsize=64)
def _cached(repository: str, worktree: str, _seq: int, _moment: int) -> Branch | None:
    return branch_of(repository, worktree)
