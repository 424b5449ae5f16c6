"""Finds the dialect and the kind of a request."""

from __future__ import annotations

from dataclasses import dataclass

from untildone.testing.modelapi.anthropic import Anthropic
from untildone.testing.modelapi.gemini import Gemini
from untildone.testing.modelapi.openai_chat import OpenAIChat
from untildone.testing.modelapi.openai_responses import OpenAIResponses
from untildone.testing.modelapi.record import Kind
from untildone.testing.modelapi.steps import Json
from untildone.testing.modelapi.wire import Call, Dialect

DIALECTS: tuple[Dialect, ...] = (Anthropic(), OpenAIResponses(), OpenAIChat(), Gemini())
MODEL = "scripted-model"


@dataclass(frozen=True, slots=True)
class Route:
    """How to answer a request: `reply` for a lookup, `dialect` for a request to the model."""

    kind: Kind
    dialect: Dialect | None = None
    reply: Json | None = None


def route(method: str, call: Call) -> Route:
    for dialect in DIALECTS:
        if dialect.owns(method, call.path):
            return Route("side" if dialect.is_side_request(call) else "turn", dialect)
        if (reply := dialect.lookup(method, call)) is not None:
            return Route("lookup", dialect, reply)
    common = _common_lookup(method, call.path)
    return Route("lookup" if common is not None else "unknown", reply=common)


def _common_lookup(method: str, path: str) -> Json | None:
    """The reply to a health check or a list of models, which belong to no single dialect; else None."""
    if path.endswith("/models"):
        return _MODELS
    return {} if method == "HEAD" or path in ("/", "/api/hello") else None


_MODELS: Json = {
    "object": "list",
    "data": [
        {"id": MODEL, "object": "model", "type": "model", "created": 0, "owned_by": "scripted", "display_name": MODEL}
    ],
    "has_more": False,
    "first_id": MODEL,
    "last_id": MODEL,
    "models": [],
}
