"""Dependencies and parameters that several routes share."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path, Request

from untildone.faces.api.event_streams import EventStreams
from untildone.faces.api.feed import LoopFeed
from untildone.faces.api.middleware.keys import Keys
from untildone.faces.api.schemas.forms import LOOP_ID, TASK_ID
from untildone.operations.driving.service import Service
from untildone.operations.showing.following import LoopViews
from untildone.operations.showing.money import SpendTotals
from untildone.operations.showing.outputs import Outputs


# These are asynchronous although they await nothing: a thread for each would cost more than the rest of a request.
async def _service(request: Request) -> Service:
    return cast(Service, request.app.state.service)


async def _keys(request: Request) -> Keys:
    return cast(Keys, request.app.state.keys)


async def _following(request: Request) -> EventStreams:
    return cast(EventStreams, request.app.state.following)


async def _views(request: Request) -> LoopViews:
    return cast(LoopViews, request.app.state.views)


async def _feed(request: Request) -> LoopFeed:
    return cast(LoopFeed, request.app.state.feed)


async def _spend_totals(request: Request) -> SpendTotals:
    return cast(SpendTotals, request.app.state.spend_totals)


async def _outputs(request: Request) -> Outputs:
    return cast(Outputs, request.app.state.outputs)


Serving = Annotated[Service, Depends(_service)]
WithKeys = Annotated[Keys, Depends(_keys)]
WithFeed = Annotated[LoopFeed, Depends(_feed)]
WithViews = Annotated[LoopViews, Depends(_views)]
WithSpendTotals = Annotated[SpendTotals, Depends(_spend_totals)]
WithOutputs = Annotated[Outputs, Depends(_outputs)]
WithStreams = Annotated[EventStreams, Depends(_following)]
LoopId = Annotated[str, Path(pattern=LOOP_ID, description="The whole id of a loop", max_length=100)]
TaskName = Annotated[str, Path(pattern=TASK_ID, description="The id of a task", max_length=100)]
