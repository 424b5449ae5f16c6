"""Removes snapshots that are no longer needed.

A loop that has not ended keeps its snapshots. A loop that has ended keeps them for `KEPT_DAYS` days, for `untildone diff` and the
dashboard; deleting the loop deletes them at once.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from untildone.system import locks, state_folder
from untildone.workspace.git import GitFailed
from untildone.workspace.shadow.repository import Repository
from untildone.workspace.shadow.shadow import Shadow

KEPT_DAYS = 90
TIDIED_EVERY = 24 * 3600.0
_UNNAMED = "unnamed-"
_DAY = 24 * 3600.0


def loop_ended(shadow: Shadow) -> None:
    """Note that the loop has ended, and tidy up if that is due."""
    with suppress(OSError):
        (shadow.folder / "loops" / shadow.name / "ended").touch()
    tidy(shadow.environment)


def loop_reopened(shadow: Shadow) -> None:
    """Note that the loop goes on after its end: it keeps its snapshots."""
    (shadow.folder / "loops" / shadow.name / "ended").unlink(missing_ok=True)


def loop_deleted(shadow: Shadow) -> None:
    """Delete the snapshots of the loop."""
    _forget_if_free(shadow.folder, shadow.name)


def tidy(environment: Mapping[str, str] = os.environ) -> None:
    """Once a day, delete the snapshots of loops that ended long ago, in all workspaces. Those in use are left for another day."""
    top = Path(state_folder.folder(environment), "snapshots")
    mark = top / "tidied"
    with suppress(OSError):
        if mark.exists() and time.time() - mark.stat().st_mtime < TIDIED_EVERY:
            return
        mark.touch()
        for folder in [each for each in top.iterdir() if each.is_dir()]:
            if old := [each.name for each in (folder / "loops").iterdir() if _is_old(each)]:
                _forget_if_free(folder, *old)


def _is_old(loop: Path) -> bool:
    """Whether a loop, by its folder, needs its snapshots no more."""
    mark, days = (loop, 1) if loop.name.startswith(_UNNAMED) else (loop / "ended", KEPT_DAYS)
    with suppress(OSError):
        return time.time() - mark.stat().st_mtime > days * _DAY
    return False


def _forget_if_free(folder: Path, *loop_ids: str) -> None:
    with suppress(GitFailed, OSError), _locked(folder) as held:
        if held:
            _forget(folder, loop_ids)


def _forget(folder: Path, loop_ids: tuple[str, ...]) -> None:
    for loop_id in loop_ids:
        shutil.rmtree(folder / "loops" / loop_id, ignore_errors=True)
    if not any((folder / "loops").iterdir()):
        shutil.rmtree(folder, ignore_errors=True)
        return
    # The tree that it names may go: the next snapshot reads all files again.
    (folder / "cache.json").unlink(missing_ok=True)
    refs = (
        f"refs/{kind}/{loop_id}"
        for loop_id in loop_ids
        for kind in ("loops", "made", "bases", "starts", "acceptance", "stripped")
    )
    Repository(folder / "repository", str(folder)).forget(*refs)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    descriptor = locks.try_lock(folder / "lock")
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)
