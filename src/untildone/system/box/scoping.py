"""What namespaces leave open between a box and what starts it, which Landlock closes from Linux 6.12 on.

- The first process of a box belongs to bubblewrap, and the kernel ends it with the runner. A program in the box that takes it over by the
  means of debuggers could take that order back, and live on.
- Abstract sockets belong to the network, so a box with that of the machine would reach those of programs outside.

A program in the box, `box_listeners`, asks the kernel for that before it becomes the real one.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from untildone.system.box.box_listeners import CREATE_RULES, SCOPED
from untildone.system.box.common_mounts import is_below
from untildone.system.box.proxy import interpreter
from untildone.system.box.proxy import launcher as _launcher
from untildone.system.box.sandbox import Access, Box, Mount

_ASKS_FOR_VERSION, _WITH_SCOPES = 1, 6


@cache
def is_possible() -> bool:
    """Whether the kernel can do it."""
    if not sys.platform.startswith("linux"):
        return False
    version = ctypes.CDLL(None).syscall(CREATE_RULES, None, ctypes.c_size_t(0), _ASKS_FOR_VERSION)
    return int(version) >= _WITH_SCOPES


def scoped(box: Box) -> Box:
    """The box, kept from its own first process and from abstract sockets outside, where the kernel can do that."""
    if not is_possible():
        return box
    return replace(box, launcher=(*_launcher(SCOPED), *box.launcher), mounts=(*box.mounts, *interpreter_for(box)))


def interpreter_for(box: Box) -> Iterator[Mount]:
    """The Python of the launcher, if the box does not show it."""
    path = interpreter()
    around = [mount for mount in box.mounts if is_below(path, mount.path)]
    nearest = max(around, key=lambda mount: len(mount.path), default=None)
    if nearest is None or nearest.access in (Access.HIDDEN, Access.EMPTY) or nearest.source not in ("", nearest.path):
        yield Mount(Access.READ, os.path.realpath(sys.base_prefix))
