"""Links of a tree that lead out of it: what they lead to is in no snapshot, so an agent could change it unseen."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.refusal import RoomRefused, named
from untildone.workspace.rooms.room import File
from untildone.workspace.rooms.toolchain.caches import is_below

LINK = "120000"
MOST_STEPS = 40
MOST_FILES = 5000


def refuse(
    files: Mapping[str, File],
    at_start: Callable[[str], File | None],
    folder: str,
    root: str,
    began: int,
    is_judge: Callable[[str], bool],
) -> None:
    """Raise RoomRefused for a judge file that became a link out of the tree, and for a link to something that changed since the start.

    `folder` is the copy of the tree that stands for `root`."""
    links = {path: file for path, file in files.items() if file.mode == LINK}
    leading_out = {path: target for path in links if (target := _outside(path, folder, root))}
    judges = [path for path in leading_out if is_judge(path) and at_start(path) != files[path]]
    if judges:
        raise RoomRefused(
            f"A file that decides what a check means is a link out of the workspace: {named(judges)}.",
            "put the file itself into the workspace",
            judges,
        )
    changed = [path for path, target in leading_out.items() if _has_changed(target, began)]
    if changed:
        raise RoomRefused(
            f"A link leads out of the workspace, to something that was changed since the loop began: {named(changed)}.",
            "put what it leads to into the workspace",
            changed,
        )


def _outside(path: str, folder: str, root: str) -> str | None:
    """What a link leads to, if it lies outside of the tree; None if it lies inside."""
    place = os.path.join(folder, path)
    for _ in range(MOST_STEPS):
        place = os.path.realpath(place)
        if is_below(place, folder):
            return None
        if not is_below(place, root):
            return place
        # An absolute link into the workspace means the copy.
        place = os.path.join(folder, os.path.relpath(place, root))
    return place


def _has_changed(path: str, began: int) -> bool:
    return next(iter(stamps.changed_since(os.fsencode(path), began, MOST_FILES)), None) is not None
