"""What passes between a client and the application: a bounded body, a stream, and the response with its headers and its log line."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untildone.faces.api.middleware import rights
from untildone.faces.api.middleware.refusals import (
    BODY_WITHIN,
    LARGEST_BODY,
    TOO_LARGE,
    TOO_SLOW,
    Refusal,
)
from untildone.faces.api.middleware.rights import SAFE_METHODS

TAKEN_IN_WITHIN = 2.0


HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Without a referrer, browsers send forms with `Origin: null`.
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""Headers of every response that does not set them itself."""
FOR_DATA = {"cache-control": "no-store"}
"""More headers for responses other than the files of the dashboard, which do not change."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: the upper bounds of the histogram of latencies."""
ALLOWED_EVERY = 2.0
"""Seconds after which an open stream asks again whether its caller may read it."""
METHODS = SAFE_METHODS | {"POST", "PUT", "PATCH", "DELETE"}
"""Those that are counted apart. A client can invent others."""


_log = logging.getLogger("untildone.requests")


@dataclass(slots=True)
class RequestStats:
    """Counts responses, refusals and latencies, for the metrics."""

    answers: Counter[int] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """By the code of the refusal."""
    latencies: Counter[tuple[str, str, float]] = field(default_factory=Counter)
    """How many requests of a method and route took at most the seconds of each bucket."""
    seconds: Counter[tuple[str, str]] = field(default_factory=Counter)

    def took(self, method: str, route: str, seconds: float) -> None:
        self.seconds[method, route] += seconds  # type: ignore[assignment]
        bound = next((bound for bound in BUCKETS if seconds <= bound), float("inf"))
        self.latencies[method, route, bound] += 1


def _http_exception(refusal: Refusal) -> HTTPException:
    """The exception for a refusal while the body is read: the framework passes no other through."""
    return HTTPException(refusal.code.status, refusal.error.rstrip("."), {"connection": "close"})


class Body:
    """The request body, bounded in size and time."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0
        self._deadline = time.monotonic() + BODY_WITHIN
        self._whole = False

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, self._deadline - time.monotonic()))
        except TimeoutError:
            raise _http_exception(TOO_SLOW) from None
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            raise _http_exception(TOO_LARGE)
        self._whole = not message.get("more_body", False)
        return message


async def take_in(receive: Receive, headers: dict[str, str]) -> None:
    """Take in a small body before a refusal closes the connection: else the client is cut off while it sends, and reads no answer."""
    length = headers.get("content-length", "")
    if not length.isdigit() or len(length) > 5 or "expect" in headers:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(TAKEN_IN_WITHIN):
            while (await receive()).get("more_body"):
                pass


class WhileAllowed:
    """A stream, which ends soon after its caller has logged out or lost the token."""

    def __init__(self, receive: Receive, is_allowed: Callable[[], bool]) -> None:
        self._receive = Body(receive).receive
        self._is_allowed = is_allowed
        self._is_over = False

    async def run(self, app: ASGIApp, scope: Scope, send: Send) -> None:
        await app(scope, self._next, send)
        if self._is_over:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> Message:
        """The next message of the client; for the event stream, its disconnection."""
        coming = asyncio.ensure_future(self._receive())
        try:
            while not (await asyncio.wait({coming}, timeout=ALLOWED_EVERY))[0]:
                if not await asyncio.to_thread(self._is_allowed):
                    self._is_over = True
                    return {"type": "http.disconnect"}
            return coming.result()
        finally:
            coming.cancel()


class Answer:
    """The response: adds the headers of every response, and logs the request without its query."""

    def __init__(self, scope: Scope, send: Send, stats: RequestStats) -> None:
        self._scope = scope
        self._send = send
        self._stats = stats
        self._started = time.monotonic()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._note(message["status"])
            message["headers"] = [*message.get("headers", ()), *self._added(message.get("headers", ()))]
        await self._send(message)

    async def refuse(self, refusal: Refusal, *, for_a_person: bool) -> None:
        self._stats.refused["log-in" if refusal.location else refusal.code.word] += 1
        response = refusal.page if for_a_person else refusal.response
        headers = [*response.raw_headers, (b"connection", b"close")]
        await self.send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        await self.send({"type": "http.response.body", "body": response.body})

    def _added(self, present: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        path = self._scope["path"]
        is_data = path.startswith(("/api/", "/reply/", "/login")) or path == rights.MCP
        names = {name.lower() for name, _ in present}
        headers = {**HEADERS, **(FOR_DATA if is_data else {})}
        return [(name.encode(), value.encode()) for name, value in headers.items() if name.encode() not in names]

    def _note(self, status: int) -> None:
        self._stats.answers[status] += 1
        took = time.monotonic() - self._started
        method = self._scope["method"] if self._scope["method"] in METHODS else "other"
        self._stats.took(method, _route(self._scope), took)
        _log.info("%s %s %d %.0f ms", self._scope["method"], escaped(self._scope["path"])[:300], status, took * 1000)


def _route(scope: Scope) -> str:
    """The path of the route that answered, with the names of its parameters. Requests that fit none count together."""
    return str(getattr(scope.get("route"), "path", "") or "other")


def escaped(text: str) -> str:
    """The text on one line of ASCII: no line can be forged with it, and nothing steers a terminal."""
    return text.encode("unicode_escape", "backslashreplace").decode("ascii")
