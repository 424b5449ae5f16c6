"""Running the application: the socket, the log, patience with slow clients, and a graceful end."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from untildone.core.errors import UsageError

HEADERS_WITHIN = 10.0
"""Seconds in which a client has to say what it wants."""
MOST_CONNECTIONS = 1000
LARGEST_HEAD = 32_768
END_WITHIN = 5
WANTED_FILES = 8192


class PatientForAWhile(H11Protocol):
    """Closes connections whose request does not come, and does not take more than it can bear."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._begin_to_wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._begin_to_wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _begin_to_wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEADERS_WITHIN, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def listen(host: str, port: int) -> socket.socket:
    """The socket, bound: so that a taken port is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0][4]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as problem:
        raise UsageError(
            f"Cannot listen on {host}:{port}: {problem.strerror}.", "choose another with --port or --host"
        ) from None
    return listening


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Until a signal asks for the end."""
    _allow_many_files()
    config = uvicorn.Config(
        app,
        http=PatientForAWhile,
        lifespan="auto",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=END_WITHIN,
        proxy_headers=False,
    )
    # Uvicorn sends itself the signal again when it has ended: which is then no news, and no reason for a bad exit code.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def log_to_standard_error(level: int) -> None:
    """Times, levels and sentences; requests without their queries, which may hold a login code."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    for noisy in ("uvicorn", "uvicorn.error", "asyncio", "sse_starlette"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _allow_many_files() -> None:
    """Each stream and each agent takes some; the usual limit is low, and may be raised by anybody up to a point."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
