"""The security middleware: every request and every response passes through it.

It refuses unknown host names (DNS rebinding), requests from pages of other sites, bodies that are too large or too slow, and
requests without a valid token or session, or with one that does not allow them, before any other code reads the request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untildone.faces.api.middleware import rights
from untildone.faces.api.middleware.keys import Keys, TooManyTries
from untildone.faces.api.middleware.refused_page import refused_page
from untildone.faces.api.middleware.rights import SAFE_METHODS
from untildone.faces.api.schemas.problem_form import Code, problem
from untildone.operations.access.scopes import Caller
from untildone.operations.inside import HINT
from untildone.operations.serving import asking

Address = tuple[str, int]
LARGEST_BODY = 1_000_000
BODY_WITHIN = 20.0
TAKEN_IN_WITHIN = 2.0
LONGEST_TARGET = 2000
KEY_HEADER = "X-Untildone-Key"
"""Proves that a request comes from the browser that logged in: other ports of the host are sent the cookie, and never this."""
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
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
"""A name or an address, and a port: links are made of it, so nothing else may be in it."""
_log = logging.getLogger("untildone.requests")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response to a request that is not passed on: a problem, or the way to another page."""

    code: Code
    error: str
    hint: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    location: str = ""

    @property
    def response(self) -> Response:
        if self.location:
            return RedirectResponse(self.location, 303)
        return problem(self.code, self.error, self.hint, headers=dict(self.headers))

    @property
    def page(self) -> Response:
        """The same for a person."""
        return self.response if self.location else refused_page(self.code.status, self.error, self.hint)


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
        checked = self._checked(scope, headers)
        refusal = checked if isinstance(checked, Refusal) else await self._from_inside(scope)
        if scope["type"] == "websocket" and refusal is not None:
            return await send({"type": "websocket.close", "code": 1008, "reason": refusal.error})
        answer = _Answer(scope, send, self._stats)
        if refusal is not None:
            await _take_in(receive, headers)
            return await answer.refuse(refusal, for_a_person=is_for_a_person(scope, headers))
        caller = checked if isinstance(checked, Caller) else None
        scope["state"] = {**scope.get("state", {}), "caller": caller}
        with asking.on_behalf_of(caller.name if caller else "", prompt=not rights.is_stream(scope["path"])):
            if scope["type"] == "websocket":
                return await self._app(scope, receive, send)
            if caller is None or not rights.is_stream(scope["path"]):
                return await self._app(scope, _Body(receive).receive, answer.send)
            return await _WhileAllowed(receive, lambda: self._keys.is_valid(caller)).run(self._app, scope, answer.send)

    def _checked(self, scope: Scope, headers: dict[str, str]) -> Refusal | Caller | None:
        """The caller of the request, None if anybody may send it, or why it is refused."""
        if refusal := self._unfit(scope, headers):
            return refusal
        path, is_open = scope["path"], rights.is_open(_method(scope), scope["path"])
        try:
            caller = self._caller(headers, _client(scope), counts=not rights.is_reply(path))
        except TooManyTries as problem:
            return None if is_open else too_many_tries(problem.wait)
        if is_open:
            return caller
        if caller is None:
            return _to_login(scope, headers) or UNAUTHORIZED
        return self._forbidden(scope, headers, caller) or caller

    def _unfit(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """Why the request is refused, whatever its token."""
        if not self._is_our_name(headers.get("host", "")):
            hint = "call it by the address that `untildone serve` printed, or start it with `--name` and this name"
            return Refusal(Code.WRONG_HOST, "This server has another name.", hint)
        if not _is_same_site(headers, scope):
            return Refusal(Code.CROSS_SITE, "Requests from pages of other sites are refused.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or len(length) > 18 or int(length) > LARGEST_BODY:
            return TOO_LARGE
        return None

    def _caller(self, headers: dict[str, str], client: str, *, counts: bool) -> Caller | None:
        """The caller by its token or else by its cookie. TooManyTries after too many wrong tokens."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            keys, secret = self._keys, token.strip()
            return keys.of_token_within_limit(secret, client, counts=counts)
        session = self._keys.session_in(headers.get("cookie", ""))
        return session.caller if session is not None else None

    def _forbidden(self, scope: Scope, headers: dict[str, str], caller: Caller) -> Refusal | None:
        method = _method(scope)
        if caller.session and method not in SAFE_METHODS and not _is_proven_ours(headers):
            hint = "send the request from a page of this server, or with a token"
            return Refusal(
                Code.CROSS_SITE, "A browser's session may change things from this server's own pages only.", hint
            )
        if caller.session and not rights.needs_no_key(method, scope["path"]) and not self._opens(headers, caller):
            error = f"The session may only read: the request has not its key ('{KEY_HEADER}')."
            return Refusal(Code.SESSION_KEY, error, "log in again")
        needed = rights.needed(method, scope["path"])
        if not caller.may(needed):
            error = (
                f"The token '{caller.name}' allows to {caller.scope.value} only; this needs the scope {needed.value}."
            )
            return Refusal(Code.FORBIDDEN, error, "ask for a token with that scope: `untildone token add`")
        return None

    def _opens(self, headers: dict[str, str], caller: Caller) -> bool:
        session = self._keys.of_session(caller.session)
        return session is not None and session.opens_with(headers.get(KEY_HEADER.lower(), ""))

    async def _from_inside(self, scope: Scope) -> Refusal | None:
        """The refusal of a request that changes something and comes from a process of a loop that is served here. Reading is allowed."""
        client, server = scope.get("client"), scope.get("server")
        if (scope["type"] == "http" and scope["method"] in SAFE_METHODS) or not client or not server or not server[1]:
            return None
        if not _is_loopback(client[0]):
            return None
        name = await asyncio.to_thread(self._around, tuple(client), tuple(server))
        return (
            Refusal(Code.FROM_INSIDE, f"This request comes from inside {name}, which may not steer loops.", HINT)
            if name
            else None
        )

    def _is_our_name(self, host: str) -> bool:
        """Whether the Host header is ours. Only configured names count, since a name can be rebound; an address cannot."""
        written = _HOST.fullmatch(host)
        if written is None:
            return False
        name = written[1].lower()
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return self._remote or address.is_loopback


TOO_LARGE = Refusal(
    Code.TOO_LARGE,
    f"The body is larger than {LARGEST_BODY:,} bytes.",
    "put the details into files that the task names",
)
TOO_SLOW = Refusal(Code.TOO_SLOW, f"The body did not come within {BODY_WITHIN:g} seconds.")
UNAUTHORIZED = Refusal(
    Code.UNAUTHORIZED,
    "The token is missing or wrong.",
    "send Authorization: Bearer TOKEN, or log in: `untildone serve --link` prints a link",
    (("www-authenticate", "Bearer"),),
)


def too_many_tries(wait: int) -> Refusal:
    """The refusal of a client that tried too many wrong tokens."""
    error = "Too many wrong tokens or login links were tried."
    return Refusal(Code.TOO_MANY_REQUESTS, error, f"try again in {wait} seconds", (("retry-after", str(wait)),))


def is_for_a_person(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether a browser asks for a page to show. A script asks for a part of a page, and can show no other page in its place."""
    path, mode = scope["path"], headers.get("sec-fetch-mode", "navigate")
    is_page = _method(scope) in ("GET", "HEAD") and not path.startswith(("/api/", "/fragments/")) and path != "/api"
    return is_page and mode == "navigate" and "text/html" in headers.get("accept", "")


def _to_login(scope: Scope, headers: dict[str, str]) -> Refusal | None:
    """The way to the login page, for a browser that asks for a page."""
    if not is_for_a_person(scope, headers):
        return None
    query = scope.get("query_string", b"")
    asked = scope.get("raw_path", b"") + (b"?" + query if query else b"")
    location = f"/login?next={quote(asked, safe='')}" if login_target(asked.decode("latin-1")) != "/" else "/login"
    return Refusal(Code.UNAUTHORIZED, "Log in first.", location=location)


def login_target(given: str) -> str:
    """A path of this server to go to after the login; the first page if `given` is anything else.

    Browsers drop tabs and line ends, and read `//` and `/\\` at the start as the name of another host.
    """
    is_path = given.startswith("/") and given[1:2] not in ("/", "\\") and len(given) <= LONGEST_TARGET
    is_plain = given.isascii() and given.isprintable() and not set(given) & set('\\ <>"')
    return given if is_path and is_plain and given.partition("?")[0] != "/login" else "/"


def _http_exception(refusal: Refusal) -> HTTPException:
    """The exception for a refusal while the body is read: the framework passes no other through."""
    return HTTPException(refusal.code.status, refusal.error.rstrip("."), {"connection": "close"})


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


async def _take_in(receive: Receive, headers: dict[str, str]) -> None:
    """Take in a small body before a refusal closes the connection: else the client is cut off while it sends, and reads no answer."""
    length = headers.get("content-length", "")
    if not length.isdigit() or len(length) > 5 or "expect" in headers:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(TAKEN_IN_WITHIN):
            while (await receive()).get("more_body"):
                pass


class _WhileAllowed:
    """A stream, which ends soon after its caller has logged out or lost the token."""

    def __init__(self, receive: Receive, is_allowed: Callable[[], bool]) -> None:
        self._receive = _Body(receive).receive
        self._is_allowed = is_allowed
        self._is_over = False

    async def run(self, app: ASGIApp, scope: Scope, send: Send) -> None:
        await app(scope, self._next, send)
        if self._is_over:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> Message:
        """What the client sends; or, for the stream, that the client is gone."""
        coming = asyncio.ensure_future(self._receive())
        try:
            while not (await asyncio.wait({coming}, timeout=ALLOWED_EVERY))[0]:
                if not await asyncio.to_thread(self._is_allowed):
                    self._is_over = True
                    return {"type": "http.disconnect"}
            return coming.result()
        finally:
            coming.cancel()


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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _is_same_site(headers: dict[str, str], scope: Scope) -> bool:
    """Whether the request comes from our own pages or from no page. Other sites may only link to us."""
    site, origin = headers.get("sec-fetch-site", "none"), headers.get("origin")
    if site not in ("none", "same-origin"):
        return _method(scope) in SAFE_METHODS and headers.get("sec-fetch-mode") == "navigate"
    # A page without referrer sends `null`; then the browser itself says whether the page is ours.
    return origin is None or _is_ours(origin, headers) or (origin == "null" and site == "same-origin")


def _is_proven_ours(headers: dict[str, str]) -> bool:
    """Whether the browser says that a page of this very server, name and port, sends the request. A missing header proves nothing."""
    return headers.get("sec-fetch-site") == "same-origin" or _is_ours(headers.get("origin", ""), headers)


def _is_ours(origin: str, headers: dict[str, str]) -> bool:
    try:
        return bool(origin) and urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        return False


def _method(scope: Scope) -> str:
    """The method of a request; that of a web socket, which can steer loops, is none of the safe ones."""
    return str(scope["method"]) if scope["type"] == "http" else "WEBSOCKET"


def _client(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""


def _route(scope: Scope) -> str:
    """The path of the route that answered, with the names of its parameters. Requests that fit none count together."""
    return str(getattr(scope.get("route"), "path", "") or "other")


def escaped(text: str) -> str:
    """The text on one line of ASCII: no line can be forged with it, and nothing steers a terminal."""
    return text.encode("unicode_escape", "backslashreplace").decode("ascii")
