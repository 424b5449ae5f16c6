"""Questions about the mounts of a box that are made so far."""

from __future__ import annotations

import os
from collections.abc import Mapping

from untildone.system.box.sandbox import Access, Mount

PRIVATE = ("/tmp", "/var/tmp")
"""Folders of which a box has its own, on disk."""


def is_writable(folder: str, made: Mapping[str, Mount]) -> bool:
    """Whether a folder outside is the same in the box, and writable."""
    topmost = topmost_at(os.path.realpath(folder), made)
    return folder in PRIVATE or (topmost.access is Access.WRITE and not topmost.source)


def is_visible(path: str, made: Mapping[str, Mount]) -> bool:
    """Whether a path outside is the same in the box."""
    topmost = topmost_at(path, made)
    return topmost.access in (Access.READ, Access.READ_IF_THERE, Access.WRITE) and topmost.source in ("", topmost.path)


def by_path(made: tuple[Mount, ...]) -> dict[str, Mount]:
    """The mounts by path: a later one lies on top of an earlier one."""
    return {mount.path: mount for mount in made}


def topmost_at(path: str, made: Mapping[str, Mount]) -> Mount:
    """The mount that decides what lies at an absolute path. One at `/` must be among them."""
    while path not in made and path.strip(os.sep):
        path = os.path.dirname(path)
    return made.get(path) or made[os.sep]


def place_of(path: str) -> str:
    """Where a path is mounted: its own name, in the real folder."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
