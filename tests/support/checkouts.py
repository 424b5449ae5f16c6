"""Checks out snapshots."""

from __future__ import annotations

from pathlib import Path

from untildone.workspace.rooms.contents import copy
from untildone.workspace.shadow import Shadow


def check_out(shadow: Shadow, tree: str, folder: Path) -> Path:
    """Make a folder inside `folder` contain exactly the files of a tree; return it."""
    copied = copy.Copy(shadow, folder)
    copied.become(tree, shadow.files(tree).keys(), copy.nothing)
    return copied.files
