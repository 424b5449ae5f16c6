"""Runs the application: socket, log, time-outs for slow clients, graceful shutdown."""

from __future__ import annotations

import asyncio
import json
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
from untildone.faces.api.middleware.exchange import escaped
from untildone.faces.api.schemas.problem_form import MEDIA_TYPE, Code, problem_fields

HEADERS_WITHIN = 10.0
"""Seconds in which a client must send its request."""
MOST_CONNECTIONS = 1000
LARGEST_HEAD = 32_768
END_WITHIN = 5
MOST_FILES = 8192


class BoundedProtocol(H11Protocol):
    """Closes connections whose request does not come in time, and limits the number of connections."""

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

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is not HTTP, or whose head is too large, in the form of all errors."""
        detail = f"This is not an HTTP request, or its address and headers are larger than {LARGEST_HEAD:,} bytes."
        body = json.dumps(problem_fields(Code.NOT_PARSED, detail, "put what is long into the body")).encode()
        headers = [("content-type", MEDIA_TYPE), ("content-length", str(len(body))), ("connection", "close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason="Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _begin_to_wait(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEADERS_WITHIN, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def listen(host: str, port: int) -> socket.socket:
    """The bound socket. UsageError if the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        address = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0][4]
        # With the protocol named, asyncio sends small parts of an answer at once. Else each waits for the client's delayed acknowledgement.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError as problem:
        raise UsageError(
            f"Cannot listen on {host}:{port}: {problem.strerror}.", "choose another with --port or --host"
        ) from None
    return listening


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve until a signal ends the process."""
    _allow_many_files()
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
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
    # Uvicorn raises the signal again after its shutdown, which would make the exit code non-zero.
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class OneLine(logging.Formatter):
    """A record is one line, and nothing in it steers the terminal: paths, titles and errors come from clients and agents.

    The lines of a traceback follow, indented, so that none of them can be taken for a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        head, *rest = super().format(record).split("\n")
        return "\n".join([_harmless(head), *(f"    {_harmless(line)}" for line in rest)])

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.replace("\n", "\\n")
        return super().formatMessage(record)


def _harmless(line: str) -> str:
    """The line with control characters and other invisible ones written as escapes."""
    return "".join(letter if letter.isprintable() else escaped(letter) for letter in line)


def log_to_standard_error(level: int) -> None:
    """Configure the log. Requests are logged without their query, which may hold a login code."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level)
    for noisy in ("uvicorn", "uvicorn.error", "asyncio", "sse_starlette"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # It warns about what clients send, and quotes it.
    logging.getLogger("mcp").setLevel(logging.ERROR)


def _allow_many_files() -> None:
    """Raise the soft limit of open files up to the hard one: each stream and each agent needs some."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
