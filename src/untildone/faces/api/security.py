"""The security middleware: every request and every response passes through it.

It refuses unknown host names (DNS rebinding), requests from pages of other sites, bodies that are too large or too slow, and
requests without a valid token or cookie, before any other code reads the request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untildone.faces.api.keys import COOKIE, Keys
from untildone.operations.inside import HINT

Address = tuple[str, int]
LARGEST_BODY = 1_000_000
BODY_WITHIN = 20.0
OPEN_TO_ALL = frozenset({"/login", "/api/v1/health"})
_REPLIES = re.compile(r"/api/v1/loops/[^/]+/reply|/reply/[^/]+")
"""Paths whose routes check a token of one loop by themselves."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
"""Headers of every response that does not set them itself."""
FOR_DATA = {"cache-control": "no-store"}
"""More headers for responses other than the files of the dashboard, which do not change."""
_log = logging.getLogger("untildone.requests")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response to a request that is not passed on."""

    status: int
    error: str
    hint: str = ""


@dataclass(slots=True)
class RequestStats:
    """Counts responses and refusals, for the metrics."""

    answers: Counter[int] = field(default_factory=Counter)
    refused: int = 0


class SecurityMiddleware:
    """ASGI middleware around the whole application, including the dashboard and its web sockets."""

    def __init__(
        self,
        app: ASGIApp,
        keys: Keys,
        names: Iterable[str],
        stats: RequestStats,
        *,
        remote: bool,
        around: Callable[[Address, Address], str],
    ) -> None:
        """`around` returns the loop inside which the client of a connection runs; empty: none."""
        self._around = around
        self._app = app
        self._keys = keys
        self._names = frozenset(name.lower() for name in names)
        self._remote = remote
        self._stats = stats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        headers = _headers(scope)
        refusal = self._refusal(scope, headers) or await self._from_inside(scope)
        if scope["type"] == "websocket":
            if refusal is not None:
                return await send({"type": "websocket.close", "code": 1008, "reason": refusal.error})
            return await self._app(scope, receive, send)
        answer = _Answer(scope, send, self._stats)
        if refusal is not None:
            return await answer.refuse(refusal)
        return await self._app(scope, _Body(receive).receive, answer.send)

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        if not self._is_our_name(headers.get("host", "")):
            return Refusal(
                403, "This server has another name.", "call it by the address that `untildone serve` printed"
            )
        if not _is_same_site(headers, scope):
            return Refusal(403, "Requests from pages of other sites are refused.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > LARGEST_BODY:
            return TOO_LARGE
        if scope["path"] not in OPEN_TO_ALL and not _REPLIES.fullmatch(scope["path"]) and not self._has_key(headers):
            return Refusal(
                401,
                "The token is missing or wrong.",
                "send Authorization: Bearer TOKEN, or open the link that `serve` printed",
            )
        return None

    async def _from_inside(self, scope: Scope) -> Refusal | None:
        """The refusal of a request that changes something and comes from a process of a loop that is served here. Reading is allowed."""
        client, server = scope.get("client"), scope.get("server")
        if (scope["type"] == "http" and scope["method"] in SAFE_METHODS) or not client or not server or not server[1]:
            return None
        if not _is_loopback(client[0]):
            return None
        name = await asyncio.to_thread(self._around, tuple(client), tuple(server))
        return (
            Refusal(403, f"This request comes from inside {name}, which may not steer loops.", HINT) if name else None
        )

    def _is_our_name(self, host: str) -> bool:
        """Whether the Host header is ours. Only configured names count, since a name can be rebound; an address cannot."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").lower()
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._remote or address.is_loopback

    def _has_key(self, headers: dict[str, str]) -> bool:
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._keys.is_token(token.strip())
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._keys.is_cookie(cookie.value)


TOO_LARGE = Refusal(
    413, f"The body is larger than {LARGEST_BODY:,} bytes.", "put the details into files that the task names"
)
TOO_SLOW = Refusal(408, f"The body did not come within {BODY_WITHIN:g} seconds.")


def _http_exception(refusal: Refusal) -> HTTPException:
    """The exception for a refusal while the body is read: the framework passes no other through."""
    return HTTPException(refusal.status, refusal.error.rstrip("."), {"connection": "close"})


class _Body:
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


class _Answer:
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

    async def refuse(self, refusal: Refusal) -> None:
        self._stats.refused += 1
        content = json.dumps({"error": refusal.error, "hint": refusal.hint, "field": None}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        headers += [(b"connection", b"close"), *([(b"www-authenticate", b"Bearer")] if refusal.status == 401 else [])]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": content})

    def _added(self, present: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        path = self._scope["path"]
        is_data = path.startswith(("/api/", "/reply/")) or path in ("/login", "/metrics")
        names = {name.lower() for name, _ in present}
        headers = {**HEADERS, **(FOR_DATA if is_data else {})}
        return [(name.encode(), value.encode()) for name, value in headers.items() if name.encode() not in names]

    def _note(self, status: int) -> None:
        self._stats.answers[status] += 1
        took = (time.monotonic() - self._started) * 1000
        path = self._scope["path"].encode("ascii", "backslashreplace").decode()[:300]
        _log.info("%s %s %d %.0f ms", self._scope["method"], path, status, took)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _is_same_site(headers: dict[str, str], scope: Scope) -> bool:
    """Whether the request comes from our own pages or from no page. Other sites may only link to us."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return False
    site = headers.get("sec-fetch-site", "none")
    if site in ("none", "same-origin"):
        return True
    return scope["type"] == "http" and scope["method"] in SAFE_METHODS and headers.get("sec-fetch-mode") == "navigate"
