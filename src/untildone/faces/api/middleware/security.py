"""The security middleware: every request and every response passes through it.

It refuses unknown host names (DNS rebinding), requests from pages of other sites, bodies that are too large or too slow, and
requests without a valid token or session, or with one that does not allow them, before any other code reads the request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from untildone.faces.api.middleware import rights
from untildone.faces.api.middleware.exchange import Answer, Body, RequestStats, WhileAllowed, take_in
from untildone.faces.api.middleware.keys import Keys, TooManyTries
from untildone.faces.api.middleware.refusals import (
    LARGEST_BODY,
    TOO_LARGE,
    UNAUTHORIZED,
    Refusal,
    is_for_a_person,
    method_of,
    to_login,
    too_many_tries,
)
from untildone.faces.api.middleware.rights import SAFE_METHODS
from untildone.faces.api.schemas.problem_form import Code
from untildone.operations.access.scopes import Caller
from untildone.operations.inside import HINT
from untildone.operations.serving import asking

Address = tuple[str, int]
KEY_HEADER = "X-Untildone-Key"
"""Proves that a request comes from the browser that logged in: other ports of the host are sent the cookie, and never this."""
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
"""A name or an address, and a port: links are made of it, so nothing else may be in it."""


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
        answer = Answer(scope, send, self._stats)
        if refusal is not None:
            await take_in(receive, headers)
            return await answer.refuse(refusal, for_a_person=is_for_a_person(scope, headers))
        caller = checked if isinstance(checked, Caller) else None
        scope["state"] = {**scope.get("state", {}), "caller": caller}
        with asking.on_behalf_of(caller.name if caller else "", prompt=not rights.is_stream(scope["path"])):
            if scope["type"] == "websocket":
                return await self._app(scope, receive, send)
            if caller is None or not rights.is_stream(scope["path"]):
                return await self._app(scope, Body(receive).receive, answer.send)
            return await WhileAllowed(receive, lambda: self._keys.is_valid(caller)).run(self._app, scope, answer.send)

    def _checked(self, scope: Scope, headers: dict[str, str]) -> Refusal | Caller | None:
        """The caller of the request; None if it needs none; or why it is refused."""
        if refusal := self._unfit(scope, headers):
            return refusal
        path, is_open = scope["path"], rights.is_open(method_of(scope), scope["path"])
        try:
            caller = self._caller(headers, _client(scope), counts=not rights.is_reply(path))
        except TooManyTries as problem:
            return None if is_open else too_many_tries(problem.wait)
        if is_open:
            return caller
        if caller is None:
            return to_login(scope, headers) or UNAUTHORIZED
        return self._forbidden(scope, headers, caller) or caller

    def _unfit(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """Why the request is refused regardless of its token."""
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
        method = method_of(scope)
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
        return method_of(scope) in SAFE_METHODS and headers.get("sec-fetch-mode") == "navigate"
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


def _client(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""
