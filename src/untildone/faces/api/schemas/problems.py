"""Errors as responses: every error of a route becomes a problem; and the error responses of each route, for OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from untildone.core.errors import (
    AgentMissing,
    BudgetUsedUp,
    FromInside,
    LoopBusy,
    LoopChanged,
    LoopNotFound,
    NotOurs,
    ReplyRefused,
    StoreError,
    UntilDoneError,
    UsageError,
    WrongMove,
)
from untildone.faces.api.event_streams import TooManyStreams
from untildone.faces.api.schemas.field_errors import field_errors
from untildone.faces.api.schemas.problem_form import MEDIA_TYPE, Code, code_of, problem

_CODES: tuple[tuple[type[UntilDoneError], Code], ...] = (
    (LoopNotFound, Code.LOOP_NOT_FOUND),
    (LoopChanged, Code.PRECONDITION_FAILED),
    (FromInside, Code.FROM_INSIDE),
    (ReplyRefused, Code.REPLY_REFUSED),
    (BudgetUsedUp, Code.BUDGET_USED_UP),
    (WrongMove, Code.WRONG_STATE),
    (LoopBusy, Code.LOOP_BUSY),
    (NotOurs, Code.NOT_OURS),
    (UsageError, Code.NOT_VALID),
    (AgentMissing, Code.AGENT_MISSING),
    (StoreError, Code.UNAVAILABLE),
)
_MEANINGS = {
    400: "The request cannot be parsed.",
    401: "The token is missing or wrong.",
    403: "It came to a foreign name, from a page of another site or a process of a loop, or the token does not allow it.",
    404: "There is no such loop, task or record.",
    408: "The body came too slowly.",
    409: "The loop's status does not allow this, or the first request with this `Idempotency-Key` is still being answered.",
    412: "The loop has changed since the state that `If-Match` names.",
    413: "The body is too large.",
    415: "The body is not of the type `application/json`.",
    422: "Something in the request is wrong; `errors` says what.",
    429: "Too many requests; `Retry-After` says when to try again.",
    503: "Not now: the disk or database cannot be used, or too many streams are open.",
}
ALWAYS = (400, 401, 403, 408, 413, 415, 429)
_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def may_answer(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, with those that every route has."""
    return {code: {"description": _MEANINGS[code], "content": _PROBLEM} for code in (*ALWAYS, *codes)}


def creates(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The responses of a route that creates a loop."""
    location = {"description": "The address of the new loop", "schema": {"type": "string"}}
    return {201: {"headers": {"Location": location}}, **may_answer(*codes)}


def beside_text(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The same for a route that answers with text."""
    return {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **may_answer(*codes)}


def explain_errors(app: FastAPI) -> None:
    """Register handlers that turn every error of a route into an error response."""

    @app.exception_handler(UntilDoneError)
    async def ours(_request: Request, error: UntilDoneError) -> Response:
        code = next((code for kind, code in _CODES if isinstance(error, kind)), Code.DEFECT)
        return problem(code, error.sentence, error.hint)

    @app.exception_handler(TooManyStreams)
    async def crowded(_request: Request, _error: TooManyStreams) -> Response:
        detail, hint = "Too many event streams are open.", "close one, or try again later"
        return problem(Code.TOO_MANY_STREAMS, detail, hint, headers={"Retry-After": "5"})

    @app.exception_handler(RequestValidationError)
    async def unfit(request: Request, error: RequestValidationError) -> Response:
        return _unfit(error, of_settings=request.url.path == "/api/v1/settings")

    @app.exception_handler(HTTPException)
    async def plain(_request: Request, error: HTTPException) -> Response:
        return problem(code_of(error.status_code), f"{error.detail}.", headers=error.headers)

    @app.exception_handler(Exception)
    async def defect(request: Request, _error: Exception) -> Response:
        detail = "This is a defect of untildone, not of your request."
        return problem(Code.DEFECT, detail, f"the server's log says more about {request.state.defect}")


def _unfit(error: RequestValidationError, *, of_settings: bool) -> Response:
    errors = error.errors()
    if errors[0]["type"] == "json_invalid":
        return problem(Code.NOT_VALID, "The body is not JSON.", errors=[("body", "The body is not JSON.")])
    problems = field_errors(errors, of_settings=of_settings)
    more = f" `errors` has {len(problems) - 1} more." if len(problems) > 1 else ""
    messages = [(each.field, each.message) for each in problems]
    return problem(Code.NOT_VALID, f"{problems[0].message}{more}", problems[0].hint, messages)
