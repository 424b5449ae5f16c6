"""HTTP helpers: reading a body of limited size, and waits that end when the client leaves or the server closes."""

from __future__ import annotations

import select
import socket
import threading
import time
import zlib
from email.message import Message
from io import BufferedIOBase

BODY_LIMIT = 32 * 1024 * 1024
POLL_INTERVAL = 0.05


class BodyTooLarge(ValueError):
    """The body exceeds the size limit."""


class ClientLeft(ConnectionError):
    """The client hung up before its answer was complete."""


def read_body(source: BufferedIOBase, headers: Message, limit: int) -> bytes:
    """The decoded body."""
    if "chunked" in (headers.get("transfer-encoding") or "").lower():
        raw = _read_chunks(source, limit)
    else:
        raw = source.read(_within(_length(headers), limit))
    return _inflate(raw, limit) if (headers.get("content-encoding") or "").lower() == "gzip" else raw


def _length(headers: Message) -> int:
    return max(0, int(headers.get("content-length") or 0))


def _within(size: int, limit: int) -> int:
    if size > limit:
        raise BodyTooLarge
    return size


def _read_chunks(source: BufferedIOBase, limit: int) -> bytes:
    taken = bytearray()
    while size := int(source.readline(100).split(b";")[0], 16):
        _within(len(taken) + size, limit)
        taken += source.read(size)
        source.readline(100)
    source.readline(100)
    return bytes(taken)


def _inflate(raw: bytes, limit: int) -> bytes:
    inflater = zlib.decompressobj(wbits=31)
    plain = inflater.decompress(raw, limit + 1)
    _within(len(plain), limit)
    return plain


def wait(connection: socket.socket, closing: threading.Event, seconds: float) -> None:
    """Wait; return early if the server closes, raise ClientLeft if the client hangs up."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if closing.wait(min(left, POLL_INTERVAL)):
            return
        if _hung_up(connection):
            raise ClientLeft


def _hung_up(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
