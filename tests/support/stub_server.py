"""A server of HTTP that answers as a test says, and remembers what it was asked: for clients that must bear anything."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server got. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Reply = bytes | Callable[[BufferedIOBase], object]
"""What is sent: bytes, or a function that writes them as it likes. The connection is closed then."""


def reply(status: int, content: bytes | Mapping[str, Any] = b"", **headers: str) -> bytes:
    """A response; a mapping is sent as JSON, or as problem+json if the status is an error."""
    kind = "application/problem+json" if status >= 400 else "application/json"
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    given = {} if isinstance(content, bytes) else {"content-type": kind}
    given |= {name.replace("_", "-"): value for name, value in headers.items()} | {"content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} X\r\n{head}connection: close\r\n\r\n".encode() + body


class StubServer:
    """`with StubServer(first, second) as stub:` answers the first request with `first`, and all after the second with `second`."""

    def __init__(self, *replies: Reply) -> None:
        self.requests: list[Request] = []
        self._replies = list(replies)
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> StubServer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_reply(self) -> Reply:
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def _handler(self) -> type[socketserver.StreamRequestHandler]:
        stub = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                stub.requests.append(_read(self.rfile))
                chosen = stub.next_reply()
                write = chosen if callable(chosen) else (lambda stream: stream.write(chosen))
                with suppress(OSError):
                    write(self.wfile)

        return Handler


def _read(stream: Any) -> Request:
    method, path, _ = stream.readline().decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while line := stream.readline().decode("latin-1").strip():
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return Request(method, path, headers, stream.read(int(headers.get("content-length", 0))))
