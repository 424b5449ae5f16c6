"""The families of tries, one file each. A file defines `FAMILY`, its name, and `ESCAPES`."""

from __future__ import annotations

from proof.escapes.case import Escape
from proof.escapes.families import (
    afterwards,
    calls,
    children,
    files,
    kernel,
    links,
    network,
    processes,
    programs,
    rooms,
    sockets,
    state,
)

_MODULES = (files, kernel, calls, processes, sockets, network, state, afterwards, links, programs, rooms, children)
ALL: dict[str, tuple[Escape, ...]] = {module.FAMILY: module.ESCAPES for module in _MODULES}
