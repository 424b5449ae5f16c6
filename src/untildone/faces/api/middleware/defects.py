"""Unexpected errors: the client reads that there is a defect, and an id; the log has the id and what happened."""

from __future__ import annotations

import logging
import secrets

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_log = logging.getLogger(__name__)


class DefectsBecomeAnswers:
    """ASGI middleware inside the one for security, so that these responses have the same headers and lines of the log as all others."""

    def __init__(self, app: ASGIApp, api: FastAPI) -> None:
        self._app = app
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if has_begun or scope["type"] != "http":
                raise
            request = Request(scope, receive)
            request.state.defect = secrets.token_hex(4)
            _log.error("Defect %s: %s %s", request.state.defect, request.method, request.url.path, exc_info=error)
            answer = await self._api.exception_handlers[Exception](request, error)  # type: ignore[misc]
            await answer(scope, receive, send)
