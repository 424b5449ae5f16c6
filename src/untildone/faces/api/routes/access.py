"""Routes for access: named tokens, sessions of browsers, and login links."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, Field

from untildone.core.values.codec import timestamp
from untildone.faces.api.login import begin_session, login_path, set_cookie
from untildone.faces.api.middleware.keys import Keys, TooManyTries
from untildone.faces.api.middleware.refusals import UNAUTHORIZED, Refusal, login_target, too_many_tries
from untildone.faces.api.middleware.security import KEY_HEADER
from untildone.faces.api.routes.common import WithKeys
from untildone.faces.api.schemas.models import Body
from untildone.faces.api.schemas.problem_form import Code
from untildone.faces.api.schemas.problems import may_answer
from untildone.operations.access import codes
from untildone.operations.access.scopes import Caller, Scope
from untildone.operations.access.tokens import NAME, NoSuchToken, TokenExists

router = APIRouter(prefix="/api/v1", tags=["access"])


async def _caller(request: Request) -> Caller:
    """The caller, whom the middleware has recognized."""
    return cast(Caller, request.state.caller)


WithCaller = Annotated[Caller, Depends(_caller)]
TokenName = Annotated[str, Path(pattern=f"^{NAME}$", max_length=64, description="The name of a token")]
_REFUSED: Mapping[int, str] = {
    404: "There is no such token.",
    409: "There is already a token of this name.",
}


def _may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    described = may_answer(422, 503)
    problem = described[422]
    return described | {status: {**problem, "description": _REFUSED[status]} for status in statuses}


class NewToken(Body):
    """A token to add."""

    name: str = Field(
        pattern=f"^{NAME}$", max_length=64, description="What the journal calls its holder", examples=["ci"]
    )
    scope: Scope = Field(Scope.READ, description="read: look; control: create and steer loops; admin: everything")


class TokenLine(BaseModel):
    """A token, without its secret."""

    name: str
    scope: Scope
    created_at: str = Field(json_schema_extra={"format": "date-time"})


class TokenMade(TokenLine):
    """A new token. Its secret is shown this once."""

    token: str


class TokenList(BaseModel):
    """The named tokens of this user's servers, oldest first. The server's own token is not among them."""

    tokens: list[TokenLine]


class LogIn(Body):
    """What begins a session."""

    token: str = Field(min_length=1, max_length=500)


class SessionLine(BaseModel):
    """The caller: the name and the scope of its token, and when its session ends."""

    name: str
    scope: Scope
    ends_at: str | None = Field(
        json_schema_extra={"format": "date-time"}, description="null: sent with a token, without a session"
    )


class SessionBegun(SessionLine):
    """A new session. Its key is shown this once."""

    key: str = Field(
        description=f"Sent as `{KEY_HEADER}` with every request of the session that changes something. Keep it from other ports."
    )


class NewLink(Body):
    """A login link to make."""

    next: str = Field("/", max_length=2000, description="The page to which it leads")


class LinkMade(BaseModel):
    """A link that logs a browser in, once."""

    url: str
    path: str = Field(description="The same without scheme and host, for a server that has several names")
    ends_at: str = Field(json_schema_extra={"format": "date-time"})


@router.get("/tokens", response_model=TokenList, responses=_may_answer())
def list_tokens(keys: WithKeys) -> TokenList:
    """The named tokens. Needs the scope admin."""
    lines = [
        TokenLine(name=each.name, scope=each.scope, created_at=timestamp(each.created_at)) for each in keys.tokens.all()
    ]
    return TokenList(tokens=lines)


@router.post("/tokens", status_code=201, response_model=TokenMade, responses=_may_answer(409))
def add_token(new: NewToken, keys: WithKeys, response: Response) -> Any:
    """Add a named token. The response has its secret, which is kept nowhere."""
    try:
        secret = keys.tokens.add(new.name, new.scope)
    except TokenExists as problem:
        return Refusal(Code.TOKEN_EXISTS, problem.sentence, problem.hint).response
    response.headers["Location"] = f"/api/v1/tokens/{new.name}"
    return TokenMade(name=new.name, scope=new.scope, created_at=timestamp(time.time()), token=secret)


@router.delete("/tokens/{name}", status_code=204, responses=_may_answer(404))
def revoke_token(name: TokenName, keys: WithKeys) -> Response:
    """Revoke a token. Sessions that were begun with it end at once."""
    try:
        keys.tokens.revoke(name)
    except NoSuchToken as problem:
        return Refusal(Code.TOKEN_NOT_FOUND, problem.sentence, problem.hint).response
    return Response(status_code=204)


@router.post(
    "/sessions", status_code=201, response_model=SessionBegun, responses=_may_answer(), openapi_extra={"security": []}
)
def begin(given: LogIn, keys: WithKeys, request: Request, response: Response) -> Any:
    """Log a browser in with a token: the response sets its cookie, and has the key without which the cookie may only read."""
    try:
        caller = keys.of_token_within_limit(given.token.strip(), request.client.host if request.client else "")
    except TooManyTries as problem:
        return too_many_tries(problem.wait).response
    if caller is None:
        return UNAUTHORIZED.response
    new = begin_session(keys, request, caller)
    set_cookie(response, keys, new.session_id)
    return SessionBegun(**_line(keys, caller, new.session_id).model_dump(), key=new.key)


@router.get("/sessions/current", response_model=SessionLine, responses=_may_answer())
def current(caller: WithCaller, keys: WithKeys) -> SessionLine:
    """The name and the scopes of the caller."""
    return _line(keys, caller, caller.session)


@router.delete("/sessions/current", status_code=204, responses=_may_answer())
def end(caller: WithCaller, keys: WithKeys) -> Response:
    """Log out: end the session of the cookie. A token without session stays valid."""
    response = Response(status_code=204)
    if caller.session:
        keys.sessions.end(caller.session)
        set_cookie(response, keys, "")
    return response


@router.post("/login-links", status_code=201, response_model=LinkMade, responses=_may_answer())
def make_link(caller: WithCaller, keys: WithKeys, request: Request, new: NewLink | None = None) -> LinkMade:
    """Make a link that logs a browser in once, within 15 minutes, with the caller's own name and scope. Needs the scope admin."""
    target = login_target(new.next if new else "/")
    path = login_path(keys.codes.new(caller), target)
    scheme = "https" if keys.behind_tls else "http"
    return LinkMade(
        url=f"{scheme}://{request.headers['host']}{path}", path=path, ends_at=timestamp(time.time() + codes.LASTS)
    )


def _line(keys: Keys, caller: Caller, session_id: str) -> SessionLine:
    session = keys.of_session(session_id) if session_id else None
    ends_at = timestamp(session.ends_at) if session is not None else None
    return SessionLine(name=caller.name, scope=caller.scope, ends_at=ends_at)
