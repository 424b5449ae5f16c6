"""Puts back links of the person that programs in a box have replaced, and takes away files that must not exist: the kernel protects files
and folders, and no links and nothing that is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from untildone.system.box.sandbox import Box

REPLACED = "replaced"
"""What stood in its place is kept beside it, under the same name and this."""


def put_back(box: Box | None) -> Iterator[str]:
    """Put back the links that programs in a box have replaced, and move aside what they must not make. Yields a sentence for each."""
    for path, target in (box.links if box is not None else {}).items():
        is_as_it_was = os.readlink(path) == target if os.path.islink(path) else not (target or os.path.lexists(path))
        # A program may have put a link in the place of a folder around it: what is there now is somebody else's.
        if is_as_it_was or os.path.realpath(os.path.dirname(path)) != os.path.dirname(path):
            continue
        with suppress(OSError):
            if not target:
                yield f"The sandbox moved {path} aside, which steers programs outside of it: it is {_moved_aside(path)} now."
                continue
            kept = _moved_aside(path) if os.path.lexists(path) else ""
            os.symlink(target, path)
            beside = f"; what stood there is {kept} now" if kept else ""
            yield f"The sandbox put back the link {path}{beside}."


def _moved_aside(path: str) -> str:
    names = (f"{path}.{REPLACED}{number or ''}" for number in range(100))
    free = next(name for name in names if not os.path.lexists(name))
    os.rename(path, free)
    return free
