"""`create_app`: the API as one ASGI application. The dashboard is mounted on it, behind the same middleware."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.responses import PlainTextResponse, Response

from untildone.faces.api import login
from untildone.faces.api.event_streams import EventStreams
from untildone.faces.api.feed import LoopFeed
from untildone.faces.api.middleware.defects import DefectsBecomeAnswers
from untildone.faces.api.middleware.described import DescribedRequests
from untildone.faces.api.middleware.exchange import RequestStats
from untildone.faces.api.middleware.idempotency import HEADER, IdempotentRequests, takes_key
from untildone.faces.api.middleware.keys import Keys
from untildone.faces.api.middleware.rights import MCP
from untildone.faces.api.middleware.security import SecurityMiddleware
from untildone.faces.api.routes import (
    access,
    again,
    all_loops,
    choices,
    groups,
    loops,
    outputs,
    records,
    replies,
    rounds,
    settings_routes,
    spending,
    status,
    tasks,
)
from untildone.faces.api.schemas.models import Problem
from untildone.faces.api.schemas.problem_form import Code, problem
from untildone.faces.api.schemas.problems import explain_errors
from untildone.faces.api.schemas.typed import entry_schemas
from untildone.operations.driving.service import Service
from untildone.operations.serving.repeated import RepeatedRequests
from untildone.operations.showing.following import LoopViews
from untildone.operations.showing.money import SpendTotals
from untildone.operations.showing.outputs import Outputs

LOOPBACK_NAMES = ("localhost", "untildone.localhost")
"""Browsers resolve every name below `localhost` to this machine. A name of its own keeps the cookie from other servers here."""
DESCRIPTION = (
    "Loops, their rounds, controls and records. What a body leaves out comes from the settings files, or stays as it is. "
    "Agents that speak MCP find the same as tools at /mcp."
)
SUMMARY = "Keeps coding agents at work until the job is verified done."


_KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
    "description": "Sent again with the same key within a day, the request is not carried out again but answered alike",
}


def create_app(service: Service, keys: Keys, names: Iterable[str] = LOOPBACK_NAMES, *, remote: bool = False) -> FastAPI:
    """The API. It accepts the host names in `names`, and IP addresses: loopback only, or any with `remote`."""
    app = FastAPI(
        title="untildone",
        summary=SUMMARY,
        version=version("untildone"),
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        description=DESCRIPTION,
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
        separate_input_output_schemas=False,
    )
    app.state.service = service
    app.state.keys = keys
    app.state.following = EventStreams()
    app.state.feed = LoopFeed(service)
    app.state.views = LoopViews(lambda loop_id: service.fleet.problems.get(loop_id, ""), lambda _entry, _loop: ())
    app.state.spend_totals = SpendTotals(service)
    app.state.outputs = Outputs()
    app.state.stats = RequestStats()
    explain_errors(app)
    app.add_middleware(IdempotentRequests, answers=RepeatedRequests(service.environment))
    app.add_middleware(DescribedRequests, api=app)
    routers = (
        all_loops,
        choices,
        records,
        outputs,
        rounds,
        tasks,
        again,
        replies,
        loops,
        groups,
        spending,
        settings_routes,
        access,
        login,
        status,
    )
    for module in routers:
        app.include_router(module.router)
    app.add_middleware(DefectsBecomeAnswers, api=app)
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


def refuse_mcp(app: FastAPI) -> None:
    """Answer clients of MCP on a server that lacks the package."""

    @app.api_route(MCP, methods=["GET", "POST"], include_in_schema=False)
    def lacks_mcp() -> Response:
        detail = "This server does not speak MCP: the package mcp is not installed."
        return problem(Code.NOT_FOUND, detail, "install untildone with the extra `mcp`, and start the server again")


def _operation_id(route: APIRoute) -> str:
    """`list_loops` becomes `listLoops`."""
    first, *rest = route.name.split("_")
    return "".join((first, *(word.title() for word in rest)))


def _described(app: FastAPI) -> dict[str, object]:
    """The OpenAPI description, with the token that every route but the health check needs."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            license_info=app.license_info,
            servers=[{"url": "/", "description": "This server"}],
            routes=app.routes,
        )
        schemas = schema["components"]["schemas"]
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= problem.pop("$defs") | {"Problem": problem}
        schemas |= {name: each for name, each in entry_schemas().items() if name not in schemas}
        for each in schemas.values():
            _take_defaults_away(each)
        for methods in schema["paths"].values():
            for operation in methods.values():
                for parameter in operation.get("parameters", ()):
                    _take_null_away(parameter["schema"])
        for path, methods in schema["paths"].items():
            if takes_key(path) and "post" in methods:
                methods["post"].setdefault("parameters", []).append(_KEY_PARAMETER)
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema


def _take_defaults_away(schema: dict[str, Any]) -> None:
    """Generated clients send the defaults of a body as if the caller had chosen them, which would overrule settings files."""
    for field in schema.get("properties", {}).values():
        field.pop("default", None)


def _take_null_away(schema: dict[str, Any]) -> None:
    """Remove null from the types of query parameters and headers: they are left out, and `null` in them is an ordinary text."""
    kinds = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(kinds) == 1:
        del schema["anyOf"]
        schema.update(kinds[0])
