"""Answers by chat bridges: a route that takes a token which is valid for one loop."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Request

from untildone.core.errors import ReplyRefused
from untildone.faces.api.routes.common import LoopId, Serving, WithKeys
from untildone.faces.api.schemas.models import Message, Replied
from untildone.faces.api.schemas.problems import may_answer
from untildone.operations.access import replying
from untildone.operations.access.scopes import Caller, Scope

router = APIRouter(tags=["loops"])


def _check_token(
    loop_id: LoopId, keys: WithKeys, request: Request, authorization: Annotated[str, Header()] = ""
) -> None:
    """Refuse a request without a valid token before its body is looked at."""
    caller: Caller | None = request.state.caller
    if caller is not None and not caller.session and caller.may(Scope.CONTROL):
        return
    if not authorization.strip():
        raise HTTPException(401, "The reply token is missing", {"WWW-Authenticate": "Bearer"})
    kind, _, given = authorization.partition(" ")
    try:
        replying.check(given.strip() if kind.lower() == "bearer" else "", loop_id)
    except ReplyRefused:
        keys.tries.failed(request.client.host if request.client else "")
        raise


@router.post(
    "/api/v1/loops/{loop_id}/reply",
    response_model=Replied,
    responses=may_answer(404, 409, 422, 503),
    dependencies=[Depends(_check_token)],
)
def reply(loop_id: LoopId, message: Message, service: Serving) -> Replied:
    """Send a message with the token of one loop (`reply_token` of a notification), which allows nothing else; for chat bridges."""
    heard = service.say(loop_id, message.text)
    return Replied(status=heard.loop.status, notices=list(heard.notices), goes_on=heard.goes_on)
