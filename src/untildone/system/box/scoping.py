"""Abstract sockets belong to the network, so a box with that of the machine would reach those of programs outside. Landlock prevents it.

The first program in the box, `box_listeners`, asks the kernel for that. Linux has it from 6.12 on.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

from untildone.system.box.box_listeners import CREATE_RULES, SCOPED
from untildone.system.box.proxy import launcher as _launcher

_ASKS_FOR_VERSION, _WITH_SCOPES = 1, 6


@cache
def is_possible() -> bool:
    """Whether the kernel can do it."""
    if not sys.platform.startswith("linux"):
        return False
    version = ctypes.CDLL(None).syscall(CREATE_RULES, None, ctypes.c_size_t(0), _ASKS_FOR_VERSION)
    return int(version) >= _WITH_SCOPES


def launcher() -> tuple[str, ...]:
    """A program for the box, with its arguments, that gives up abstract sockets outside of the box and becomes the command that follows."""
    return _launcher(SCOPED)
