"""`create_app`: the API as one ASGI application. The dashboard is mounted on it, behind the same middleware."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import PlainTextResponse

from untildone.faces.api import configuration, groups, loops, records, running, tasks
from untildone.faces.api.answers import explain_errors
from untildone.faces.api.following import Following
from untildone.faces.api.keys import Keys
from untildone.faces.api.safety import RequestStats, SecurityMiddleware
from untildone.operations.service import Service

LOOPBACK_NAMES = ("localhost",)
SUMMARY = "Keeps coding agents at work until the job is verified done."


def create_app(service: Service, keys: Keys, names: Iterable[str] = LOOPBACK_NAMES, *, remote: bool = False) -> FastAPI:
    """`names` are the host names that the server accepts, besides addresses: of this machine, or, with `remote`, any."""
    app = FastAPI(
        title="untildone",
        summary=SUMMARY,
        version=version("untildone"),
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    app.state.keys = keys
    app.state.following = Following()
    app.state.stats = RequestStats()
    explain_errors(app)
    for room in (records, tasks, loops, groups, configuration, running):
        app.include_router(room.router)
    app.add_middleware(SecurityMiddleware, keys=keys, names=tuple(names), stats=app.state.stats, remote=remote)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def greet(app: FastAPI) -> None:
    """What the root says where no dashboard is."""

    @app.get("/", include_in_schema=False)
    def root() -> PlainTextResponse:
        return PlainTextResponse("untildone: the API is under /api; /api/openapi.json describes it.\n")


def _described(app: FastAPI) -> dict[str, object]:
    """OpenAPI, with the token that everything but the health wants."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
        app.openapi_schema = found
    return app.openapi_schema
