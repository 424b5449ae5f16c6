"""Adopts orphans: a daemon that leaves its session, its parents and its environment becomes a child of this process.

Without this, `setsid env -i program &` outlives its loop: it carries no mark, and its parent is gone. Linux only.
"""

from __future__ import annotations

import os
import sys

from untildone.system import orphans

_PR_SET_CHILD_SUBREAPER = 36


class Adoption:
    """From its creation on, orphaned descendants of this process become its children, and `adopted` finds them.

    Only for a process that drives one loop: nothing says which of several loops an orphan belongs to.
    """

    def __init__(self) -> None:
        self._own = _children()
        self._works = _become_subreaper()

    def adopted(self, *own: int | None) -> frozenset[int]:
        """The pids of adopted processes: children that were not there at the beginning and are not among `own`."""
        return _children() - self._own - {pid for pid in own if pid is not None} if self._works else frozenset()

    def reap(self, pids: frozenset[int]) -> None:
        """Let adopted processes that have ended disappear from the process table."""
        for pid in pids:
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                continue


def _children() -> frozenset[int]:
    running, _ = orphans.scan()
    me = os.getpid()
    return frozenset(pid for pid, process in running.items() if process.parent == me)


def _become_subreaper() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        return int(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0
    except (OSError, AttributeError):
        return False
