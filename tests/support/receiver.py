"""A web server that receives notifications and answers as the test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OK = 200
HANG, TWICE = "hang", "twice"
"""Instead of a status: take the body and never answer; answer two times."""


class Receiver:
    """What arrived. `answers` are taken one after the other; then everything is accepted."""

    def __init__(self, *answers: int | str) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.accepted: list[dict[str, Any]] = []
        """The bodies that were answered with success, or taken without an answer."""
        self.ending = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def kinds(self) -> list[str]:
        return [each["kind"] for each in self.accepted]

    def take(self, body: bytes, headers: dict[str, str]) -> int | str:
        answer = self.answers.pop(0) if self.answers else OK
        self.bodies.append(body)
        self.headers.append(headers)
        if isinstance(answer, str) or answer < 300:
            self.accepted.append(json.loads(body))
        return answer


@contextmanager
def receiving(*answers: int | str, port: int = 0) -> Iterator[Receiver]:
    receiver = Receiver(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer = receiver.take(self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers))
            if answer == HANG:
                receiver.ending.wait(60)
                return
            for _ in range(2 if answer == TWICE else 1):
                self.send_response(answer if isinstance(answer, int) else OK)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        receiver.ending.set()
        server.shutdown()
        server.server_close()
