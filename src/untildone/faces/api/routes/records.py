"""Routes for the records of a loop: its journal as a stream, the agent's output, the diff, the receipt."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from untildone.core.errors import UsageError
from untildone.core.loop import Loop, output_name
from untildone.core.model import Role
from untildone.core.values.codec import timestamp, to_json
from untildone.faces.api.event_streams import EventStreams
from untildone.faces.api.routes.common import LoopId, Serving, WithStreams
from untildone.faces.api.schemas.forms import NUMBER, OUTPUT
from untildone.faces.api.schemas.problems import beside_text, may_answer
from untildone.faces.api.schemas.typed import Receipt
from untildone.operations import look
from untildone.operations.showing import branches

HEARTBEAT = 15
SLOW_READER = 20.0
"""Seconds after which a stream is closed if its client reads nothing."""
MOST_OUTPUT = 1_000_000
MOST_DIFF = 2_000_000
router = APIRouter(prefix="/api/v1/loops/{loop_id}", tags=["records"])
_MESSAGE = {
    "title": "One message of the stream",
    "type": "object",
    "required": ["data"],
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "event": {"type": "string"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {
                "anyOf": [{"$ref": "#/components/schemas/Entry"}, {"$ref": "#/components/schemas/LoopEnd"}]
            },
        },
    },
}
_COUNT = {"schema": {"type": "string", "pattern": "^[0-9]+$"}}
_OUTPUT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/plain": {"schema": {"type": "string"}}},
        "headers": {
            "X-Next-Offset": {"description": "The `offset` of the next part", **_COUNT},
            "X-Size": {"description": "The size of the whole output in bytes", **_COUNT},
        },
    }
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One message an entry: `id` is its number, `data` the entry as JSON. The last has the event `loop_end`.",
        "content": {"text/event-stream": {"schema": _MESSAGE}},
    },
    204: {"description": "The loop has ended, and `Last-Event-ID` was its last entry: do not reconnect."},
}


class Stream(EventSourceResponse):
    """A response that releases its stream when it ends."""

    def __init__(self, content: AsyncIterator[ServerSentEvent], following: EventStreams) -> None:
        super().__init__(content, ping=HEARTBEAT, send_timeout=SLOW_READER, sep="\n")
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._following.release()


@router.get("/events", response_class=EventSourceResponse, responses={**beside_text(404, 422, 503), **_STREAM})
async def stream_events(
    loop_id: LoopId,
    service: Serving,
    following: WithStreams,
    last_event_id: Annotated[
        str | None, Header(pattern=NUMBER, description="The number of the last entry that you have")
    ] = None,
    follow: Annotated[
        bool, Query(description="Wait for what is still to come; else the stream ends after the last message")
    ] = True,
) -> Response:
    """Every entry of the journal, then each new one until the loop ends. Continues after `Last-Event-ID`."""
    after = int(last_event_id or 0)
    store = await run_in_threadpool(service.store_of, loop_id)
    loop = await run_in_threadpool(store.load, loop_id)
    if loop.status.ended and after >= loop.seq:
        return Response(status_code=204)
    following.reserve()

    async def messages() -> AsyncIterator[ServerSentEvent]:
        async for entry, now in following.follow(store, loop_id, after, stays=follow):
            if entry is None:
                yield ServerSentEvent(json.dumps(_end(now)), event="loop_end")
            else:
                yield ServerSentEvent(
                    json.dumps(look.entry_fields(entry, loop_id), ensure_ascii=False), id=str(entry.seq)
                )

    return Stream(messages(), following)


def _end(loop: Loop) -> dict[str, Any]:
    return {
        "event": "loop_end",
        "ts": timestamp(loop.updated_at),
        "loop_id": loop.loop_id,
        "status": loop.status.value,
        "outcome": loop.outcome.word if loop.outcome else None,
        "iterations": loop.spend.iterations,
        "spend": to_json(loop.spend),
        "exit_code": loop.outcome.exit_code if loop.outcome else 0,
    }


@router.get("/output/{name}", response_class=PlainTextResponse, responses={**beside_text(404, 422, 503), **_OUTPUT})
def read_output(
    loop_id: LoopId,
    service: Serving,
    name: Annotated[str, Path(pattern=OUTPUT, description="The number of a round, or the `output` of a turn")],
    role: Annotated[Role, Query(description="Whose output, for the number of a round")] = Role.WORKER,
    offset: Annotated[int, Query(ge=0, le=10**15, description="The first byte to return")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_OUTPUT, description="At most this many bytes")] = 65_536,
) -> Response:
    """What an agent printed in a turn, without secrets."""
    output = output_name(role, int(name)) if name.isdigit() else name
    printed = service.store_of(loop_id).spool(loop_id, output)
    size = printed.size()
    if size is None:
        raise HTTPException(404, f"Loop {loop_id} has no output {output}")
    content = printed.read(min(offset, size), limit)
    headers = {"X-Next-Offset": str(min(offset, size) + len(content)), "X-Size": str(size)}
    return Response(content, media_type="text/plain; charset=utf-8", headers=headers)


@router.get("/diff", response_class=PlainTextResponse, responses=beside_text(404, 422, 503))
def read_diff(
    loop_id: LoopId, service: Serving, stat: Annotated[bool, Query(description="Only how much changed where")] = False
) -> Response:
    """The diff of the loop in its workspace."""
    try:
        diff = look.diff(service.store_of(loop_id), loop_id, stat=stat)
    except UsageError as problem:
        raise HTTPException(404, problem.sentence.rstrip(".")) from None
    return PlainTextResponse(diff.encode("utf-8", "replace")[:MOST_DIFF])


class BranchLine(BaseModel):
    """The branch of a loop that works in a worktree of its own, beside the branch that is checked out in the folder."""

    name: str | None = Field(description="null: the loop works in the folder itself, or on a cluster")
    base: str = Field(description="The branch of the folder; empty: none is checked out")
    ahead: int = Field(description="How many commits only the branch has")
    behind: int = Field(description="How many commits only the base has")
    merge: str = Field(description="The command that takes over the work; empty: there is nothing to take over")


@router.get("/branch", response_model=BranchLine, responses=may_answer(404, 422, 503))
def read_branch(loop_id: LoopId, service: Serving) -> BranchLine:
    """The branch that the work is on, and how far it is ahead and behind. What git says is kept for five seconds."""
    store = service.store_of(loop_id)
    branch = branches.branch(store, store.load(loop_id))
    if branch is None:
        return BranchLine(name=None, base="", ahead=0, behind=0, merge="")
    return BranchLine(**to_json(branch), merge=branches.merge_of(store, branch))


@router.get("/receipt", response_model=Receipt, response_model_exclude_unset=True, responses=may_answer(404, 422, 503))
def read_receipt(loop_id: LoopId, service: Serving) -> Receipt:
    """The receipt of an ended loop."""
    receipt = look.receipt(service.store_of(loop_id), loop_id)
    if receipt is None:
        raise HTTPException(404, f"Loop {loop_id} has no receipt yet: it gets one when it ends")
    try:
        return Receipt.model_validate_json(receipt)
    except ValueError:
        raise HTTPException(404, f"The receipt of loop {loop_id} cannot be read: it was damaged or edited") from None
