"""What the routes share: how they reach the service, and the parameters that several take."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Path, Request

from untildone.faces.api.models import TASK_ID
from untildone.faces.api.service import Service


async def _service(request: Request) -> Service:
    """Asynchronous although it waits for nothing: another thread for it would cost more than all else of a request."""
    return cast(Service, request.app.state.service)


Serving = Annotated[Service, Depends(_service)]
LoopId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", description="The whole id of a loop", max_length=100)
]
TaskName = Annotated[str, Path(pattern=TASK_ID, description="The id of a task", max_length=100)]
