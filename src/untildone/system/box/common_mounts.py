"""Mounts that rooms for gates and boxes of agents share: devices, `/run`, and sockets of programs outside."""

from __future__ import annotations

import glob
import os
from collections.abc import Collection, Iterator, Mapping

from untildone.system.box.sandbox import Access, Mount, Network

RUNTIME = "/run"
KEPT_IN_RUNTIME = ("/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/wrappers")
"""Where some systems keep their programs."""
DEVICES = ("/dev/dri", "/dev/kfd", "/dev/kvm", "/dev/nvidia*")
"""Devices for computing. Tests need them; nothing of the loop is behind them."""


def devices() -> Iterator[Mount]:
    """The devices for computing that this machine has."""
    yield from (Mount(Access.DEVICE, path) for pattern in DEVICES for path in glob.glob(pattern))


def runtime(network: Network, environment: Mapping[str, str]) -> Iterator[Mount]:
    """An empty `/run` with what every system keeps there: sockets of programs outside are gone with the rest."""
    if not os.path.isdir(RUNTIME):
        return
    yield Mount(Access.EMPTY, RUNTIME)
    yield from (Mount(Access.READ, path) for path in KEPT_IN_RUNTIME if os.path.isdir(path))
    names = os.path.realpath("/etc/resolv.conf")
    if network is Network.HOST and is_below(names, RUNTIME) and os.path.isfile(names):
        yield Mount(Access.READ, names)
    own = environment.get("XDG_RUNTIME_DIR", "")
    if own != RUNTIME and is_below(own, RUNTIME):
        yield Mount(Access.EMPTY, own)


def sockets(gone: Collection[str], shown: Collection[str] = ()) -> Iterator[str]:
    """Sockets of programs outside, through which a program in a box could reach them.

    Most lie in folders that the box does not show anyway, `gone`; `shown` are folders inside these that it shows."""
    absent = (*gone, "/dev", "/proc")
    for path in sorted(set(_bound_sockets())):
        hidden = any(is_below(path, folder) for folder in absent) and not any(is_below(path, each) for each in shown)
        if not hidden and os.path.realpath(path) == path:
            yield path


def _bound_sockets() -> Iterator[str]:
    try:
        with open("/proc/net/unix", "rb") as table:
            rows = table.read().splitlines()[1:]
    except OSError:
        return
    for row in rows:
        path = row.split(None, 7)[7:]
        if path and path[0].startswith(b"/") and os.path.exists(path[0]):
            yield os.fsdecode(path[0])


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
