"""The way of the stop hook out of a box: a socket, behind which the host of the wrapped agent answers in its place.

A wrapped agent in a box starts its hook inside of the box, where the state of loops is out of reach. So the hook sends what the agent
reported through a socket that the box shows. The agent can do that as well: the host decides what such a report may cause.
"""

from __future__ import annotations

import _socket
import os

LARGEST = 8 << 20
"""Bytes of a report and of an answer."""
_LENGTH = 8
PIECE = 1 << 16


def ask(path: str, kind: str, report: bytes) -> bytes:
    """Send a report of this kind through the socket; return the answer. Raises OSError or ValueError."""
    content = kind.encode("ascii") + b"\n" + report
    if len(content) > LARGEST:
        raise ValueError("it is too large")
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    folder = open_folder(path)
    try:
        line.connect(short(path, folder))
        send(line, content)
        return receive(line)
    finally:
        os.close(folder)
        line.close()


def open_folder(path: str) -> int:
    """A descriptor of the folder of a socket, for `short`."""
    return os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)


def short(path: str, folder: int) -> str:
    """A path of the same socket that is short enough for an address: the kernel takes about a hundred characters."""
    return f"/proc/self/fd/{folder}/{os.path.basename(path)}"


def send(line: _socket.socket, content: bytes) -> None:
    line.sendall(len(content).to_bytes(_LENGTH, "big") + content)


def receive(line: _socket.socket) -> bytes:
    """One message. Raises ValueError if it is too large or cut off."""
    received, size_in_all = b"", _LENGTH
    while len(received) < size_in_all:
        piece = line.recv(min(PIECE, size_in_all - len(received)))
        if not piece:
            raise ValueError("it is cut off")
        received += piece
        if len(received) == _LENGTH == size_in_all:
            size = int.from_bytes(received, "big")
            if size > LARGEST:
                raise ValueError("it is too large")
            size_in_all += size
    return received[_LENGTH:]
