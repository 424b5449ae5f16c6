"""The families of tries, one file each. A file defines `FAMILY`, its name, and `ESCAPES`."""

from __future__ import annotations

from proof.escapes.case import Escape
from proof.escapes.families import (
    afterwards,
    files,
    kernel,
    links,
    network,
    processes,
    programs,
    sockets,
    state,
)

_MODULES = (files, kernel, processes, sockets, network, state, afterwards, links, programs)
ALL: dict[str, tuple[Escape, ...]] = {module.FAMILY: module.ESCAPES for module in _MODULES}
