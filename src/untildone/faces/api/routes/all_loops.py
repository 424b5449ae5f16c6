"""The stream of all loops of the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from untildone.faces.api.routes.common import WithFeed, WithStreams
from untildone.faces.api.routes.records import Stream
from untildone.faces.api.schemas.forms import MOMENT
from untildone.faces.api.schemas.problems import may_answer

router = APIRouter(prefix="/api/v1", tags=["loops"])
_MESSAGE = {
    "title": "One message of the stream",
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string", "pattern": MOMENT},
        "event": {"enum": ["loop", "gone"]},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/LoopLine"},
        },
    },
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "`loop`: the line of a loop that changed. `gone`: it was deleted, and `data` has its `loop_id` only.",
        "content": {"text/event-stream": {"schema": _MESSAGE}},
    }
}


@router.get("/events", response_class=EventSourceResponse, responses={**may_answer(422, 503), **_STREAM})
async def stream_loops(
    feed: WithFeed,
    following: WithStreams,
    last_event_id: Annotated[
        str | None,
        Header(pattern=MOMENT, description="The `id` of your last message: loops that changed since then come first"),
    ] = None,
    follow: Annotated[
        bool, Query(description="Wait for what is still to come; else the stream ends after the last message")
    ] = True,
) -> Response:
    """Every loop that changes, as its line, at most once a second each. Open it before you read the list, and nothing is missed."""
    following.reserve()

    async def messages() -> AsyncIterator[ServerSentEvent]:
        newest = float(last_event_id or 0)
        async for each in feed.follow(float(last_event_id) if last_event_id else None, stays=follow):
            newest = max(newest, each.at)
            yield ServerSentEvent(each.data, event=each.event, id=f"{newest:.6f}")

    return Stream(messages(), following)
