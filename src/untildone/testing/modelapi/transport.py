"""The HTTP side: reading a bounded body, and waiting without holding up the end."""

from __future__ import annotations

import select
import socket
import threading
import time
import zlib
from email.message import Message
from io import BufferedIOBase

BODY_LIMIT = 32 * 1024 * 1024
GLANCE = 0.05


class BodyTooLarge(ValueError):
    """The request's body is larger than the server takes."""


class ClientLeft(ConnectionError):
    """The client hung up before its answer was complete."""


def read_body(source: BufferedIOBase, headers: Message, limit: int) -> bytes:
    """The body, with its transfer and content coding undone."""
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
    """Let time pass, but not after the client has left or the server is closing."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if closing.wait(min(left, GLANCE)):
            return
        if _hung_up(connection):
            raise ClientLeft


def _hung_up(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
