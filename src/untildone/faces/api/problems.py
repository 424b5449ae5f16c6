"""Errors as responses: a status, a sentence and a hint, in one form; and the error responses of each route, for OpenAPI."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match

from untildone.core.errors import (
    AgentMissing,
    FromInside,
    LoopBusy,
    LoopNotFound,
    NotOurs,
    ReplyRefused,
    StoreError,
    UntilDoneError,
    UsageError,
    WrongMove,
)
from untildone.faces.api.event_streams import TooManyStreams
from untildone.faces.api.models import Problem
from untildone.settings import complaints

_log = logging.getLogger(__name__)
_STATUS: tuple[tuple[type[UntilDoneError], int], ...] = (
    (LoopNotFound, 404),
    (FromInside, 403),
    (ReplyRefused, 403),
    (WrongMove, 409),
    (LoopBusy, 409),
    (NotOurs, 409),
    (UsageError, 422),
    (AgentMissing, 422),
    (StoreError, 503),
)
_MEANINGS = {
    400: "The request cannot be parsed.",
    401: "The token is missing or wrong.",
    403: "The token does not allow this; or the request was sent to a foreign name, "
    "by a page of a foreign site, by a process of a loop, or with a bad reply token.",
    404: "There is no such loop, task or record.",
    408: "The body came too slowly.",
    409: "The loop's status does not allow this.",
    413: "The body is too large.",
    422: "Something in the request is wrong; `field` says what.",
    429: "Too many wrong tokens were tried; `Retry-After` says how many seconds to wait.",
    503: "Not now: the disk cannot be used, or too many streams are open.",
}
ALWAYS = (400, 401, 403, 408, 413, 429)


def may_answer(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, with those that every route has."""
    return {code: {"model": Problem, "description": _MEANINGS[code]} for code in (*ALWAYS, *codes)}


def beside_text(*codes: int) -> dict[int | str, dict[str, Any]]:
    """The same for a route that answers with text."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    errors: dict[int | str, dict[str, Any]] = {
        code: {"description": _MEANINGS[code], "content": content} for code in (*ALWAYS, *codes)
    }
    return {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **errors}


def problem(status: int, error: str, hint: str = "", field: str | None = None, **headers: str) -> JSONResponse:
    """An error response."""
    return JSONResponse(Problem(error=error, hint=hint, field=field).model_dump(), status, headers)


def explain_errors(app: FastAPI) -> None:
    """Register handlers that turn every error of a route into an error response."""

    @app.exception_handler(UntilDoneError)
    async def ours(_request: Request, error: UntilDoneError) -> JSONResponse:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        return problem(status, _sound(error.sentence), _sound(error.hint))

    @app.exception_handler(TooManyStreams)
    async def crowded(_request: Request, _error: TooManyStreams) -> JSONResponse:
        headers = {"Retry-After": "5"}
        return problem(503, "Too many event streams are open.", "close one, or try again later", **headers)

    @app.exception_handler(RequestValidationError)
    async def unfit(request: Request, error: RequestValidationError) -> JSONResponse:
        return _unfit(error, of_settings=request.url.path == "/api/v1/settings")

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["Allow"] = ", ".join(sorted(_methods(request)))
        return problem(error.status_code, f"{error.detail}.", **headers)

    @app.exception_handler(Exception)
    async def defect(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "This is a defect of untildone, not of your request.", "the server's log says more")


def _methods(request: Request) -> set[str]:
    """The methods that the path of the request allows. The framework reports those of one route only."""
    fitting = (route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE)
    return {method for route in fitting for method in getattr(route, "methods", None) or ()}


def _unfit(error: RequestValidationError, *, of_settings: bool) -> JSONResponse:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return problem(422, "The body is not JSON.", field="body")
    place = tuple(part for part in first["loc"] if not str(part).startswith(("function-", "constrained", "literal[")))
    field = ".".join(map(str, place[1:])) or str(place[0])
    context = first.get("ctx") or {}
    if (setting := _in_settings(place, whole_body=of_settings)) is not None:
        complaint = complaints.about(setting, first["type"], first["input"], context)
        return problem(422, _sound(complaint.sentence), _sound(complaint.hint), _sound(field))
    sentence = " ".join(f"'{_sound(field)[:200]}' {_reason(first['type'], context)}.".splitlines())
    return problem(422, sentence, "see /api/v1/openapi.json", _sound(field))


def _in_settings(place: tuple[str | int, ...], *, whole_body: bool) -> tuple[str | int, ...] | None:
    """The place of a value within the settings of a body; None if it is elsewhere."""
    inside = place[1:] if whole_body else place[2:] if place[:2] == ("body", "settings") else ()
    return inside if place[0] == "body" and inside else None


_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "is not text",
    "string_too_short": "is shorter than {min_length} characters",
    "string_too_long": "is longer than {max_length} characters",
    "string_pattern_mismatch": "does not have the form {pattern}",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_parsing_size": "is too large a number",
    "int_from_float": "is not a whole number",
    "float_type": "is not a number",
    "float_parsing": "is not a number",
    "finite_number": "is not a finite number",
    "greater_than": "is not above {gt}",
    "greater_than_equal": "is below {ge}",
    "less_than": "is not below {lt}",
    "less_than_equal": "is above {le}",
    "list_type": "is not a list",
    "too_long": "has more than {max_length} entries",
    "dict_type": "is not a JSON object",
    "model_type": "is not a JSON object",
    "model_attributes_type": "is not a JSON object",
    "enum": "is not one of: {expected}",
    "literal_error": "is not one of: {expected}",
}
"""The end of the sentence about a field, by the error type of pydantic."""


def _reason(kind: str, context: Mapping[str, Any]) -> str:
    return _REASONS.get(kind, "cannot be used").format(**context)


def _sound(text: str) -> str:
    """The text without lone surrogates, which JSON can contain and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
