"""The server: one loopback port for all dialects, which differ by path, and a control plane under `/_`."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterable, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from untildone.testing.modelapi.checking import parse_steps
from untildone.testing.modelapi.exchange import Exchange, SharedState
from untildone.testing.modelapi.record import Record, Request
from untildone.testing.modelapi.script import DEFAULT_TEXT, Script
from untildone.testing.modelapi.steps import Step, Usage
from untildone.testing.modelapi.transport import BODY_LIMIT

LOOPBACK = "127.0.0.1"


class ModelAPI:
    """A model API that plays a script: `with ModelAPI([Step(text="hello")]) as api: …` serves on `api.url`.

    Steps are `Step` values or their JSON form. `requests` holds all requests, `turns` those answered by a step.
    """

    def __init__(
        self,
        steps: Iterable[Step | Mapping[str, Any]] = (),
        *,
        port: int = 0,
        log: Path | None = None,
        default_text: str = DEFAULT_TEXT,
        body_limit: int = BODY_LIMIT,
    ) -> None:
        self._default_text = default_text
        self._shared = SharedState(Script(parse_steps(steps), default_text), Record(log), self.load, body_limit)
        self._http = _Server(port, self._shared)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving and close every open connection."""
        self._shared.closing.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The base address without a path; OpenAI programs need `/v1` appended."""
        return f"http://{LOOPBACK}:{self._http.server_address[1]}"

    def load(self, steps: Iterable[Step | Mapping[str, Any]]) -> None:
        """Replace the script, and clear the recorded requests and tokens."""
        self._shared.script = Script(parse_steps(steps), self._default_text)
        self._shared.record.clear()

    @property
    def requests(self) -> tuple[Request, ...]:
        return self._shared.record.requests

    @property
    def turns(self) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.kind == "turn")

    @property
    def usage_served(self) -> Usage:
        """The sum of the tokens in complete answers. Errors, faults and side answers have none."""
        return self._shared.record.usage

    @property
    def steps_left(self) -> int:
        return self._shared.script.steps_left


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, shared: SharedState) -> None:
        self.shared = shared
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__((LOOPBACK, port), Exchange)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        with self._open_lock:
            for connection in self._open:
                _end(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def _end(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
