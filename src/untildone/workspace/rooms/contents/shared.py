"""The copy of a workspace that sealed rooms show. The loops of a workspace share one, so that a room writes only what differs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone.system import locks
from untildone.workspace.rooms.contents import copy
from untildone.workspace.rooms.room import Site

KEPT_DAYS = 7
"""A copy that no room has shown for so long is removed."""
_LOCK = ".lock"


@contextmanager
def held(site: Site) -> Iterator[Path]:
    """Hold the folder of the workspace's copy. While another loop holds it, the folder of the loop's own rooms is given instead."""
    site.copies.mkdir(parents=True, exist_ok=True, mode=0o700)
    # The lock lies beside the folder, because the folder may be removed.
    path = site.copy.with_suffix(_LOCK)
    lock = locks.try_lock(path)
    if lock is None:
        yield site.folder
        return
    try:
        os.utime(path)
        site.copy.mkdir(exist_ok=True, mode=0o700)
        yield site.copy
    finally:
        os.close(lock)


def tidy(site: Site) -> None:
    """Remove the copies of workspaces in which no claim was judged lately. Their locks stay: another process may wait for one."""
    with suppress(OSError):
        for path in site.copies.glob(f"*{_LOCK}"):
            if path.with_suffix("").is_dir() and time.time() - path.stat().st_mtime > KEPT_DAYS * 24 * 3600:
                _remove(path)


def _remove(path: Path) -> None:
    if (lock := locks.try_lock(path)) is None:
        return
    try:
        copy.remove(path.with_suffix(""))
    finally:
        os.close(lock)
