"""Routes of the server itself: whether it is alive, whether it can do its work, and metrics."""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse

from untildone.faces.api import metrics
from untildone.faces.api.routes.common import Serving, WithStreams
from untildone.faces.api.schemas.models import Health
from untildone.faces.api.schemas.problems import beside_text, may_answer

router = APIRouter(prefix="/api/v1", tags=["server"])
_VERSION = version("untildone")


class ReadyPart(BaseModel):
    """Something that the server depends on."""

    name: str = Field(examples=["store of /home/me/project"])
    ready: bool
    problem: str = Field(description="What is wrong; empty: nothing, or the caller has no token")


class Ready(BaseModel):
    """Whether the server can do its work. Callers without a token see the kinds of the parts only."""

    status: Literal["ready", "not-ready"]
    parts: list[ReadyPart]


@router.get("/health", response_model=Health, responses=may_answer(422), openapi_extra={"security": []})
async def health() -> Health:
    """Whether the server is alive: it answers. No token is needed. `ready` asks what it depends on."""
    return Health(status="ok", version=_VERSION)


@router.get(
    "/ready",
    response_model=Ready,
    responses={
        **may_answer(422),
        503: {"model": Ready, "description": "A store, a disk or the cluster is not usable."},
    },
    openapi_extra={"security": []},
)
async def ready(service: Serving, request: Request, response: Response) -> Ready:
    """Whether the server can do its work: its stores, disks and cluster answer. Takes at most 5 seconds; 503 if one does not."""
    # Not in the threads of other routes: these may all wait for a database that hangs.
    asked = await asyncio.to_thread(service.readiness.ask)
    parts = [ReadyPart(name=part.name, ready=not part.problem, problem=part.problem) for part in asked]
    is_ready = all(part.ready for part in parts)
    response.status_code = 200 if is_ready else 503
    return Ready(
        status="ready" if is_ready else "not-ready",
        parts=parts if request.state.caller else [_without_names(each) for each in parts],
    )


@router.get("/metrics", response_class=PlainTextResponse, responses=beside_text(422, 503))
def show_metrics(service: Serving, following: WithStreams, request: Request) -> Response:
    """Metrics for Prometheus. In a cluster, loops are counted in the store, whichever machine drives them."""
    text = metrics.text(service, following.streams, request.app.state.stats)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _without_names(part: ReadyPart) -> ReadyPart:
    """The part as strangers see it: which kind, and no folder or address."""
    return ReadyPart(name=part.name.partition(" ")[0], ready=part.ready, problem="")
