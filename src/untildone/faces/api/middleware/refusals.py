"""Refusals: the responses to requests that are not passed on, and the way to the login page."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from untildone.faces.api.middleware.refused_page import refused_page
from untildone.faces.api.schemas.problem_form import Code, problem

LARGEST_BODY = 1_000_000
BODY_WITHIN = 20.0


LONGEST_TARGET = 2000


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
    is_page = method_of(scope) in ("GET", "HEAD") and not path.startswith(("/api/", "/fragments/")) and path != "/api"
    return is_page and mode == "navigate" and "text/html" in headers.get("accept", "")


def to_login(scope: Scope, headers: dict[str, str]) -> Refusal | None:
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


def method_of(scope: Scope) -> str:
    """The method of a request. A web socket, which can steer loops, has one that is not among the safe methods."""
    return str(scope["method"]) if scope["type"] == "http" else "WEBSOCKET"
