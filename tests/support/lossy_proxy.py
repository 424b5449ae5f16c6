"""A database proxy that can drop an answer: the server executes the statement, but the client gets a broken connection."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

CHUNK = 1 << 16


class LossyProxy:
    """`with LossyProxy(address) as proxy: PostgresStore(proxy.address)`.

    `proxy.lose(b"INSERT")` drops the answer to the next request that contains these bytes.
    """

    def __init__(self, address: str) -> None:
        self._parts = urlsplit(address)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._to_lose: list[bytes] = []
        self.lost = 0
        """Number of dropped answers."""

    @property
    def address(self) -> str:
        user = self._parts.netloc.rpartition("@")[0]
        port = self._listening.getsockname()[1]
        return f"postgresql://{user}@127.0.0.1:{port}{self._parts.path}?sslmode=disable&gssencmode=disable"

    def lose(self, request: bytes) -> None:
        """Drop the answer to the next request that contains these bytes."""
        self._to_lose.append(request)

    def __enter__(self) -> LossyProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection((self._parts.hostname or "", self._parts.port or 0))
                doomed = threading.Event()
                threading.Thread(target=self._requests, args=(client, server, doomed), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server, doomed), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while chunk := client.recv(CHUNK):
                match = next((request for request in self._to_lose if request in chunk), None)
                if match is not None:
                    self._to_lose.remove(match)
                    doomed.set()
                server.sendall(chunk)
        _close(client, server)

    def _answers(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while chunk := server.recv(CHUNK):
                if doomed.is_set():
                    self.lost += 1
                    break
                client.sendall(chunk)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
