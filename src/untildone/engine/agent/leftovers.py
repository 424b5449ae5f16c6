"""Ends what a turn or a gate left running."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Set

from untildone.engine.surroundings import Surroundings
from untildone.system import orphans
from untildone.system.program import apart

INSTALLED = ("/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/", "/usr/local/", "/opt/", "/nix/store/", "/snap/")
"""Where package managers put programs: servers often lie in a folder that is not on PATH."""


def end(loop_id: str, around: Surroundings, groups: Set[int] = frozenset(), keep: Collection[str] = ()) -> None:
    """End every process of the loop: marked ones, members of `groups`, adopted ones, and all that they started.

    Programs named in `keep` live on, with what they started.
    """
    adopted = _adopted(around)
    mark, _ = orphans.mark(loop_id)
    orphans.end_all(mark, _kept(keep), groups=frozenset(groups) | adopted)
    if around.adoption:
        around.adoption.reap(adopted)


def _adopted(around: Surroundings) -> frozenset[int]:
    """Adopted processes. A program that notifies people is a child of this process as well, and no leftover of the loop."""
    if not around.adoption:
        return frozenset()
    # In this order: what starts in between is not among the children.
    children = around.adoption.adopted(around.guard.pid)
    return children - apart.pids()


def _kept(names: Collection[str]) -> frozenset[int]:
    """The processes that run a program of one of these names."""
    if not names:
        return frozenset()
    on_path = {os.path.realpath(found) for name in names if (found := shutil.which(name))}
    return frozenset(pid for pid in orphans.scan()[0] if _is_kept(_program(pid), names, on_path))


def _is_kept(program: str, names: Collection[str], on_path: Set[str]) -> bool:
    """Whether a program file is meant: the one of that name on PATH, or one of that name that a package manager installed.

    A name alone proves nothing: a process chooses what it calls itself, and an agent can copy a program under any name."""
    return program in on_path or (os.path.basename(program) in names and program.startswith(INSTALLED))


def _program(pid: int) -> str:
    """The file that a process executes; empty: that is not known."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""
