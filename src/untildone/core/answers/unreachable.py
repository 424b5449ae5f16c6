"""Recognises in the output of a failed check that it could not reach a service or the network, and says what a person can do."""

from __future__ import annotations

import re

from untildone.core.model import RoomKind

_REFUSED = re.compile(
    r"connection refused|\beconnrefused\b|actively refused|connectionrefused|couldn't connect to server|could not connect to server"
    r"|connection to \S+ refused|errno 111\b|os error 111\b",
    re.IGNORECASE,
)
_NO_NETWORK = re.compile(
    r"network is unreachable|\benetunreach\b|temporary failure in name resolution|name or service not known|\beai_again\b|\benotfound\b"
    r"|could not resolve host|no such host|unknownhostexception|failed to lookup address|nodename nor servname|name resolution failed",
    re.IGNORECASE,
)
_SOCKET = re.compile(r"(?<![\w.])/(?!/)[\w./@:+-]*(?:\.sock(?:et)?|\.s\.PGSQL\.\d+)\b")
_NOT_THERE = re.compile(
    r"no such file|enoent|refused|can ?not connect|can't connect|could not connect|failed|is the server running",
    re.IGNORECASE,
)
_HOST = r"(?P<host>\[[0-9a-f:]+\]|::1|\d{1,3}(?:\.\d{1,3}){3}|localhost"
_ADDRESS = (
    # `127.0.0.1:5432`, `[::1]:5432`, `db.local:6379`
    re.compile(rf"{_HOST}|[a-z0-9-]+(?:\.[a-z0-9-]+)+):(?P<port>\d{{2,5}})\b", re.IGNORECASE),
    # `"127.0.0.1", port 5432`, `host='localhost', port=8000`, `localhost port 8080`, `('127.0.0.1', 5432)`
    re.compile(rf"{_HOST})[\"')]*(?: \([^)]*\))?,? *(?:port[ =]*)?(?P<port>\d{{2,5}})\b", re.IGNORECASE),
)
_BOTH_SIDES = 3
"""Lines around the complaint in which an address is looked for."""


def why(output: str, room: RoomKind, *, has_network: bool) -> str:
    """A sentence about the first service that a failed command could not reach, and what to do about it; empty if there is none."""
    lines = output.splitlines()
    is_sealed = room is RoomKind.SEALED
    for number, line in enumerate(lines):
        socket = _SOCKET.search(line) if is_sealed else None
        if socket and _NOT_THERE.search(line):
            return _no_socket(socket[0])
        if _REFUSED.search(line):
            around = lines[max(0, number - _BOTH_SIDES) : number + _BOTH_SIDES + 1]
            return _refused(_address([line, *around]), cut_off=is_sealed and not has_network)
        if is_sealed and not has_network and (complaint := _NO_NETWORK.search(line)):
            return _no_network(complaint[0])
    return ""


def _address(lines: list[str]) -> str:
    matches = (pattern.search(line) for line in lines for pattern in _ADDRESS)
    return next((f"{match['host']}:{match['port']}" for match in matches if match), "")


def _refused(address: str, *, cut_off: bool) -> str:
    where = f"Connection refused{f' to {address}' if address else ''}"
    if cut_off:
        return f"{where} in a room without network: start the loop with --room-net if the check needs it, or with --room plain."
    return f"{where}: what an agent starts is ended before checks run; --keep-running NAME spares a program that they need."


def _no_network(complaint: str) -> str:
    said = complaint.lower()
    return f"The check needs the network ({said}), and a sealed room has none: start the loop with --room-net, or with --room plain."


def _no_socket(path: str) -> str:
    return (
        f"The socket {path} cannot be reached from a sealed room: start the loop with --room restored or --room plain, "
        "or let the check use an address of 127.0.0.1 with --room-net."
    )
