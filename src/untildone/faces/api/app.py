"""`create_app`: the API as one ASGI application. The dashboard is mounted on it, behind the same middleware."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import PlainTextResponse

from untildone.faces.api import access, again, groups, login, loops, records, replies, settings_routes, status, tasks
from untildone.faces.api.event_streams import EventStreams
from untildone.faces.api.keys import Keys
from untildone.faces.api.problems import explain_errors
from untildone.faces.api.security import RequestStats, SecurityMiddleware
from untildone.operations.driving.service import Service

LOOPBACK_NAMES = ("localhost", "untildone.localhost")
"""Browsers resolve every name below `localhost` to this machine. A name of its own keeps the cookie from other servers here."""
SUMMARY = "Keeps coding agents at work until the job is verified done."


def create_app(service: Service, keys: Keys, names: Iterable[str] = LOOPBACK_NAMES, *, remote: bool = False) -> FastAPI:
    """The API. It accepts the host names in `names`, and IP addresses: loopback only, or any with `remote`."""
    app = FastAPI(
        title="untildone",
        summary=SUMMARY,
        version=version("untildone"),
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    app.state.keys = keys
    app.state.following = EventStreams()
    app.state.stats = RequestStats()
    explain_errors(app)
    for module in (records, tasks, again, replies, loops, groups, settings_routes, access, login, status):
        app.include_router(module.router)
    app.add_middleware(
        SecurityMiddleware,
        keys=keys,
        names=tuple(names),
        stats=app.state.stats,
        remote=remote,
        around=service.around_client,
    )
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def greet(app: FastAPI) -> None:
    """Add a root page that points to the API, for a server without dashboard."""

    @app.get("/", include_in_schema=False)
    def root() -> PlainTextResponse:
        return PlainTextResponse("untildone: the API is under /api/v1; /api/v1/openapi.json describes it.\n")


def _described(app: FastAPI) -> dict[str, object]:
    """The OpenAPI description, with the token that every route but the health check needs."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema
