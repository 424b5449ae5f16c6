"""A door to the database that can lose an answer: the server did what it was told, and nobody hears of it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

CHUNK = 1 << 16


class LossyProxy:
    """`with LossyProxy(address) as door: PostgresStore(door.address)`. `door.lose(b"INSERT")` cuts the next such question off."""

    def __init__(self, address: str) -> None:
        self._parts = urlsplit(address)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._to_lose: list[bytes] = []
        self.lost = 0

    @property
    def address(self) -> str:
        user = self._parts.netloc.rpartition("@")[0]
        port = self._listening.getsockname()[1]
        return f"postgresql://{user}@127.0.0.1:{port}{self._parts.path}?sslmode=disable&gssencmode=disable"

    def lose(self, question: bytes) -> None:
        self._to_lose.append(question)

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
                threading.Thread(target=self._questions, args=(client, server, doomed), daemon=True).start()
                threading.Thread(target=self._answers, args=(client, server, doomed), daemon=True).start()

    def _questions(self, client: socket.socket, server: socket.socket, doomed: threading.Event) -> None:
        with suppress(OSError):
            while chunk := client.recv(CHUNK):
                found = next((question for question in self._to_lose if question in chunk), None)
                if found is not None:
                    self._to_lose.remove(found)
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
