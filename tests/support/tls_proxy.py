"""A TLS proxy in front of a server without TLS. Clients need a certificate issued by the authority."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

from tests.support.certificates import KeyPair

CHUNK = 1 << 16
PATIENCE = 60.0


class TlsProxy:
    """`with TlsProxy(address, key_pair, authority) as proxy: connect(proxy.address)`."""

    def __init__(self, target: str, key_pair: KeyPair, authority: Path) -> None:
        host, _, port = target.partition(":")
        self._target = (host, int(port))
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority))
        self._context.load_cert_chain(key_pair.certificate, key_pair.key)
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._context.set_alpn_protocols(["h2"])
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.accepted = self.rejected = 0
        """Numbers of completed and of failed handshakes."""

    def __enter__(self) -> TlsProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        with self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False) as client:
            try:
                client.do_handshake()
            except OSError:
                self.rejected += 1
                _drain(client)
                return
            self.accepted += 1
            with suppress(OSError), socket.create_connection(self._target) as server:
                _forward(client, server)


def _drain(client: ssl.SSLSocket) -> None:
    """Read until the client closes: a reset would discard the TLS alert that tells it the reason."""
    with suppress(OSError):
        client.shutdown(socket.SHUT_WR)
        while socket.socket.recv(client, CHUNK):
            pass


def _forward(client: ssl.SSLSocket, server: socket.socket) -> None:
    while True:
        ready = [client] if client.pending() else select.select([client, server], [], [])[0]
        for source in ready:
            chunk = source.recv(CHUNK)
            if not chunk:
                return
            (server if source is client else client).sendall(chunk)
