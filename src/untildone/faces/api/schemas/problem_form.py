"""The form of error responses: `application/problem+json` (RFC 9457) with a stable code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from starlette.responses import JSONResponse

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:untildone:problem:"
FieldMessages = Iterable[tuple[str, str]]
"""The fields that are wrong, each with a sentence."""


class Code(Enum):
    """Why a request fails: the code, the status and the title of the response. Codes never change their meaning."""

    NOT_PARSED = ("not-parsed", 400, "The request cannot be parsed")
    UNAUTHORIZED = ("unauthorized", 401, "The token is missing or wrong")
    FORBIDDEN = ("forbidden", 403, "This request is not allowed")
    WRONG_HOST = ("wrong-host", 403, "The server has another name")
    CROSS_SITE = ("cross-site", 403, "The request comes from a page of another site")
    SESSION_KEY = ("session-key", 403, "The key of the session is missing or wrong")
    FROM_INSIDE = ("from-inside", 403, "A process of a loop may not steer loops")
    REPLY_REFUSED = ("reply-refused", 403, "The reply token is not valid")
    NOT_FOUND = ("not-found", 404, "There is nothing at this address")
    LOOP_NOT_FOUND = ("loop-not-found", 404, "There is no such loop")
    TOKEN_NOT_FOUND = ("token-not-found", 404, "There is no such token")
    METHOD_NOT_ALLOWED = ("method-not-allowed", 405, "This address does not have this method")
    TOO_SLOW = ("too-slow", 408, "The body came too slowly")
    WRONG_STATE = ("wrong-state", 409, "The loop's status does not allow this")
    BUDGET_USED_UP = ("budget-used-up", 409, "A limit of the loop is used up")
    LOOP_BUSY = ("loop-busy", 409, "Another process drives the loop")
    NOT_OURS = ("not-ours", 409, "The loop was not written by this installation")
    TOKEN_EXISTS = ("token-exists", 409, "There is already a token of this name")
    KEY_IN_USE = ("idempotency-key-in-use", 409, "The first request with this key is still being answered")
    PRECONDITION_FAILED = ("precondition-failed", 412, "The loop has changed")
    TOO_LARGE = ("too-large", 413, "The body is too large")
    UNSUPPORTED_MEDIA_TYPE = ("unsupported-media-type", 415, "The body is not of the type application/json")
    NOT_VALID = ("not-valid", 422, "Something in the request is wrong")
    AGENT_MISSING = ("agent-missing", 422, "The program of the agent cannot be used")
    KEY_REUSED = ("idempotency-key-reused", 422, "The key was used for another request")
    TOO_MANY_REQUESTS = ("too-many-requests", 429, "Too many requests")
    DEFECT = ("defect", 500, "A defect of untildone")
    UNAVAILABLE = ("unavailable", 503, "The state cannot be read or written now")
    TOO_MANY_STREAMS = ("too-many-streams", 503, "Too many streams are open")

    def __init__(self, word: str, status: int, title: str) -> None:
        self.word = word
        self.status = status
        self.title = title


def problem_fields(code: Code, detail: str, hint: str = "", errors: FieldMessages = ()) -> dict[str, Any]:
    """The body of an error response. `detail` is a sentence: what, and where; `hint` says what to do."""
    return {
        "type": f"{TYPE}{code.word}",
        "title": code.title,
        "status": code.status,
        "detail": _sound(detail),
        "code": code.word,
        "hint": _sound(hint),
        "errors": [{"field": _sound(field)[:200], "message": _sound(message)} for field, message in errors],
    }


def problem(
    code: Code, detail: str, hint: str = "", errors: FieldMessages = (), headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """An error response."""
    return JSONResponse(problem_fields(code, detail, hint, errors), code.status, dict(headers or {}), MEDIA_TYPE)


def code_of(status: int) -> Code:
    """The most general code of a status."""
    general = {403: Code.FORBIDDEN, 404: Code.NOT_FOUND, 409: Code.WRONG_STATE, 422: Code.NOT_VALID}
    return general.get(status) or next((code for code in Code if code.status == status), Code.DEFECT)


def _sound(text: str) -> str:
    """The text without lone surrogates, which JSON can contain and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
