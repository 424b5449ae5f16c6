"""A door with TLS before a server that has none: whoever enters shows a certificate that the authority issued."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from tests.support.papers import Papers

CHUNK = 1 << 16
PATIENCE = 60.0


class TlsDoor:
    """`with TlsDoor(address, papers, authority) as door: connect(door.address)`."""

    def __init__(self, target: str, papers: Papers, authority: Path) -> None:
        host, _, port = target.partition(":")
        self._target = (host, int(port))
        self._guarded = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority))
        self._guarded.load_cert_chain(papers.certificate, papers.key)
        self._guarded.verify_mode = ssl.CERT_REQUIRED
        self._guarded.set_alpn_protocols(["h2"])
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.entered = self.refused = 0
        """How many were let in, and how many were not."""

    def __enter__(self) -> TlsDoor:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                found, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(found,), daemon=True).start()

    def _serve(self, found: socket.socket) -> None:
        found.settimeout(PATIENCE)
        with self._guarded.wrap_socket(found, server_side=True, do_handshake_on_connect=False) as client:
            try:
                client.do_handshake()
            except OSError:
                self.refused += 1
                _hear_out(client)
                return
            self.entered += 1
            with suppress(OSError), socket.create_connection(self._target) as server:
                _pass_on(client, server)


def _hear_out(client: ssl.SSLSocket) -> None:
    """Else the reason, which was sent, would be lost with the connection."""
    with suppress(OSError):
        client.shutdown(socket.SHUT_WR)
        while socket.socket.recv(client, CHUNK):
            pass


def _pass_on(client: ssl.SSLSocket, server: socket.socket) -> None:
    while True:
        ready = [client] if client.pending() else select.select([client, server], [], [])[0]
        for source in ready:
            chunk = source.recv(CHUNK)
            if not chunk:
                return
            (server if source is client else client).sendall(chunk)
