"""MCP over HTTP on the port of `untildone serve`, behind its middleware.

Every request is whole in itself: there are no sessions, so that a client which polls a loop does not notice that the server was killed
and started again. A token of the scope `read` may call the tools that only look.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from fastapi import FastAPI
from starlette.requests import ClientDisconnect
from starlette.requests import Request as StarletteRequest
from starlette.routing import Route
from starlette.types import Message, Receive, Send
from starlette.types import Scope as Request

from untildone import settings
from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.faces.mcp.loops import with_checks
from untildone.operations.access.scopes import Caller, Scope
from untildone.operations.control import Heard
from untildone.operations.creating.creation import Created
from untildone.operations.driving.service import Service
from untildone.operations.stores import Store

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)
"""The sender of the request whose tool runs."""


def mount(app: FastAPI, service: Service) -> None:
    """Add the address to the application that has the API, whose middleware authenticates every request."""
    answering = _Answering(service)
    app.router.routes.append(Route(PATH, _Endpoint(answering), methods=["POST"]))
    before = app.router.lifespan_context

    @asynccontextmanager
    async def running(host: FastAPI) -> AsyncIterator[Any]:
        async with before(host) as state, answering.until_left():
            yield state

    app.router.lifespan_context = running


def _manager(service: Service) -> StreamableHTTPSessionManager:
    from mcp.server.transport_security import TransportSecuritySettings

    from untildone.faces.mcp.server import server

    made = server(ServedLoops(service), _need_control)
    # The middleware of the server has checked names, origins and sizes.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    made.streamable_http_app(stateless_http=True, json_response=True, transport_security=unchecked)
    return made.session_manager


class _Answering:
    """Answers requests of MCP. Its package is loaded by the first one: that takes a third of the time in which a server starts."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: TaskGroup | None = None
        self._ready: StreamableHTTPSessionManager | None = None
        self._loading = anyio.Lock()

    @asynccontextmanager
    async def until_left(self) -> AsyncIterator[None]:
        """Answer requests until the application ends."""
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def manager(self) -> StreamableHTTPSessionManager:
        """The manager that answers requests. The first call loads it in a thread, so that the application does not block."""
        async with self._loading:
            if self._ready is None:
                assert self._tasks is not None, "the application has not started"
                manager = await anyio.to_thread.run_sync(_manager, self._service)
                await self._tasks.start(self._run, manager)
                self._ready = manager
            return self._ready

    async def _run(self, manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None]) -> None:
        async with manager.run():
            task_status.started()
            await anyio.sleep_forever()


class _Endpoint:
    """An ASGI application that notes the caller for the tools."""

    path = PATH
    """For the metrics, which read it from the route of a request."""

    def __init__(self, answering: _Answering) -> None:
        self._answering = answering

    async def __call__(self, scope: Request, receive: Receive, send: Send) -> None:
        scope["route"] = self
        noted = _caller.set(scope["state"]["caller"])
        try:
            body = await StarletteRequest(scope, receive).body()
            manager = await self._answering.manager()
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_when_gone, receive, group.cancel_scope)
                await manager.handle_request(scope, _again(body), send)
                group.cancel_scope.cancel()
        except ClientDisconnect:
            pass  # nobody reads an answer
        finally:
            _caller.reset(noted)


async def _cancel_when_gone(receive: Receive, answering: anyio.CancelScope) -> None:
    """Cancel the answer when its client is gone. Else a call of `wait` would occupy a slot for minutes after its client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    answering.cancel()


def _again(body: bytes) -> Receive:
    """A receiver that yields the body once more, and then nothing."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await anyio.sleep_forever()
        return messages.pop()

    return receive


def _need_control(tool: str) -> None:
    caller = _caller.get()
    if caller is None or not caller.may(Scope.CONTROL):
        name = f"The token '{caller.name}'" if caller else "This request"
        raise UsageError(
            f"{name} may look only; `{tool}` needs the scope control.", "ask for a token: `untildone token add`"
        )


class ServedLoops:
    """The loops of the folders of a server, which drives them."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def environment(self) -> Mapping[str, str]:
        return self._service.environment

    def find(self, name: str) -> tuple[Store, str]:
        return self._service.find(name)

    def newest(self, most: int) -> Sequence[Loop]:
        rows = sorted(self._service.table.rows(), key=lambda row: row.loop_id, reverse=True)
        readable = [row for row in rows if row.status is not None][:most]
        return [self._service.stores[row.workspace].load(row.loop_id) for row in readable]

    def start(self, task: str, given: Mapping[str, Any], checks: Sequence[str], folder: str | None) -> Created:
        place, _ = self._service.workspace(folder)
        own = settings.load(place, {}, self.environment).checks
        created = self._service.create_with_notices(task, with_checks(own, checks, given), folder)
        return Created(self._service.start(created.loop.loop_id), created.notices)

    def say(self, name: str, text: str) -> Heard:
        return self._service.say(self.find(name)[1], text)
