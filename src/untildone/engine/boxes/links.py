"""Puts back links of the person that programs in a box have replaced: the kernel protects files and folders, and no links."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from untildone.system.box.sandbox import Box

REPLACED = "replaced"
"""What stood in the place of a link is kept beside it, under the name of the link and this."""


def put_back(box: Box | None) -> Iterator[str]:
    """Put back the links that programs in a box have replaced. Yields a sentence for each."""
    for path, target in (box.links if box is not None else {}).items():
        if os.path.islink(path) and os.readlink(path) == target:
            continue
        with suppress(OSError):
            kept = _moved_aside(path) if os.path.lexists(path) else ""
            os.symlink(target, path)
            beside = f"; what stood there is {kept} now" if kept else ""
            yield f"The sandbox put back the link {path}{beside}."


def _moved_aside(path: str) -> str:
    names = (f"{path}.{REPLACED}{number or ''}" for number in range(100))
    free = next(name for name in names if not os.path.lexists(name))
    os.rename(path, free)
    return free
