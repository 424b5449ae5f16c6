"""Reads what clients say to the proxy: the head of a request, and the host name in the beginning of a TLS connection. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.core.protection import hosts

LARGEST_HEAD = 32 << 10
"""Bytes of a request's head."""
LARGEST_HELLO = 64 << 10
"""Bytes at the beginning of a TLS connection in which the host's name must be."""
_HOP_BY_HOP = frozenset((b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host"))
"""Headers that are for the proxy alone, or that it writes itself."""


class BadRequest(ValueError):
    """The client does not speak as programs speak to a proxy."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client wants of the proxy."""

    name: str
    """The host's name, as `hosts.host_of` returns it."""
    port: int
    tunnel: bool
    """CONNECT: bytes are passed on as they are."""
    head: bytes = b""
    """The head for the host, with one request a connection; for a tunnel, empty."""
    rest: bytes = b""
    """What the client has sent after the head."""
    path: bytes = b""


def read(received: bytes) -> Request | None:
    """The request; None: its head is not complete yet. Raises BadRequest."""
    head, end, rest = received.partition(b"\r\n\r\n")
    if not end:
        if len(received) > LARGEST_HEAD:
            raise BadRequest("the head of the request is too long")
        return None
    if len(head) > LARGEST_HEAD:
        raise BadRequest("the head of the request is too long")
    line, *headers = head.split(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        raise BadRequest("the first line is not a request")
    method, target, _ = words
    if method == b"CONNECT":
        name, port = _place(target, None)
        return Request(name, port, tunnel=True, rest=rest)
    return _plain(method, target, headers, rest)


def read_inner(received: bytes, name: str) -> Request | None:
    """The request in a tunnel to port 80, for the same host; None: its head is not complete yet. Raises BadRequest."""
    line, _, rest = received.partition(b"\r\n")
    words = line.split(b" ")
    if rest and len(words) == 3 and words[1].startswith(b"/"):
        # As a client would say it to a proxy.
        received = b"%s http://%s%s %s\r\n%s" % (words[0], _host_header(rest), words[1], words[2], rest)
    request = read(received)
    if request is not None and (request.tunnel or request.name != name):
        raise BadRequest("the request in the tunnel is for another host")
    return request


def _host_header(headers: bytes) -> bytes:
    lines = (header.partition(b":") for header in headers.split(b"\r\n"))
    return next((value.strip() for header, _, value in lines if header.strip().lower() == b"host"), b"")


def _plain(method: bytes, target: bytes, headers: list[bytes], rest: bytes) -> Request:
    scheme, found, place = target.partition(b"://")
    if not found or scheme.lower() != b"http":
        raise BadRequest("this is a proxy: it takes CONNECT and addresses that begin with http://")
    end = min((place.find(sign) for sign in (b"/", b"?", b"#") if sign in place), default=len(place))
    if b"@" in place[:end]:
        raise BadRequest("the address contains a user")
    name, port = _place(place[:end], 80)
    path = place[end:] if place[end : end + 1] == b"/" else b"/" + place[end:]
    if any(
        not header.partition(b":")[1] or header[:1] in b" \t" or b"\n" in header or b"\r" in header
        for header in headers
    ):
        raise BadRequest("a header is malformed")
    kept = [header for header in headers if header.partition(b":")[0].strip().lower() not in _HOP_BY_HOP]
    host = hosts.shown(name, port).encode("ascii")
    lines = (method + b" " + path + b" HTTP/1.1", b"Host: " + host, *kept, b"Connection: close", b"", b"")
    return Request(name, port, tunnel=False, head=b"\r\n".join(lines), rest=rest, path=path)


def _place(text: bytes, usual_port: int | None) -> tuple[str, int]:
    """Host and port. Raises BadRequest."""
    try:
        name, port = hosts.split(text.decode("ascii"))
    except ValueError as problem:
        raise BadRequest(f"the host is malformed: {problem}") from None
    host, port = hosts.host_of(name), port or usual_port
    if host is None or port is None:
        raise BadRequest("the host is no name, or there is no port")
    return host, port


def hello_name(received: bytes) -> str | None:
    """The host that the beginning of a TLS connection names, empty if none; None: it is not complete yet. Raises BadRequest."""
    message = bytearray()
    rest = received
    while rest:
        if rest[0] != 0x16:
            raise BadRequest("the connection does not begin as TLS does")
        if len(rest) < 5:
            break
        size = int.from_bytes(rest[3:5])
        message += rest[5 : 5 + size]
        rest = rest[5 + size :]
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4]):
            return _server_name(bytes(message))
    if len(received) > LARGEST_HELLO:
        raise BadRequest("the beginning of the TLS connection is too long")
    return None


def _server_name(hello: bytes) -> str:
    """The server name in a ClientHello: after version, random, session, cipher suites and compressions come extensions."""
    if hello[0] != 1:
        raise BadRequest("the connection does not begin as TLS does")
    at = 4 + 2 + 32
    for width in (1, 2, 1):
        at += width + int.from_bytes(hello[at : at + width])
    extensions = hello[at + 2 : at + 2 + int.from_bytes(hello[at : at + 2])]
    while len(extensions) >= 4:
        kind, size = int.from_bytes(extensions[:2]), int.from_bytes(extensions[2:4])
        if kind == 0:
            return _only_name(extensions[4 : 4 + size])
        extensions = extensions[4 + size :]
    return ""


def _only_name(names: bytes) -> str:
    """The name in a list with one entry: two bytes of its length, one byte for "host name", two bytes of the name's length."""
    size = len(names) - 5
    if size < 0 or names[:5] != (size + 3).to_bytes(2) + b"\0" + size.to_bytes(2):
        raise BadRequest("the name in the TLS connection is malformed")
    return names[5:].decode("ascii", "replace").lower()
