"""The process at the other end of a connection over the loopback interface, on Linux: by its list of sockets."""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterable

Address = tuple[str, int]
_LOCAL, _REMOTE, _INODE = 1, 2, 9
"""Columns of /proc/net/tcp."""


def process_at(client: Address, server: Address, among: Iterable[int]) -> int | None:
    """The process among these that has the client's side of the connection open; None: none of them has, or that is not known."""
    inode = _inode(client, server)
    if inode is None:
        return None
    return next((pid for pid in among if _has_open(pid, f"socket:[{inode}]")), None)


def _inode(client: Address, server: Address) -> str | None:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as file:
                rows = [line.split() for line in file][1:]
        except OSError:
            continue
        for row in rows:
            if (_decoded(row[_LOCAL]), _decoded(row[_REMOTE])) == (_plain(client), _plain(server)):
                return row[_INODE]
    return None


def _plain(address: Address) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    parsed = ipaddress.ip_address(address[0].partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped or parsed, address[1]


def _decoded(text: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]:
    """An address of the table: words of 32 bits in the byte order of the machine, then the port."""
    host, _, port = text.partition(":")
    words = (bytes.fromhex(host[place : place + 8]) for place in range(0, len(host), 8))
    packed = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return _plain((str(ipaddress.ip_address(packed)), int(port, 16)))


def _has_open(pid: int, target: str) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        return any(_link(f"{folder}/{name}") == target for name in os.listdir(folder))
    except OSError:
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
