"""Holds requests to the description of the API: its addresses, methods, query parameters and media types.

The API accepts what its OpenAPI document describes and nothing else, with and without a dashboard beside it.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from untildone.faces.api.schemas.problem_form import Code, problem

BELOW = "/api"
_JSON = re.compile(r"application/(json|[\w.-]+\+json)\s*(;.*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of an address."""

    parameters: Mapping[str, bool]
    """Its query parameters; true: it may be given several times."""
    takes_body: bool


@dataclass(frozen=True, slots=True)
class Address:
    """A path of the API, which may have parameters."""

    form: re.Pattern[str]
    operations: Mapping[str, Operation]
    variables: int
    """How many parts of the path are parameters."""


def addresses(description: Mapping[str, Any]) -> tuple[Address, ...]:
    """The addresses of an OpenAPI description."""
    return tuple(
        Address(
            re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/"))),
            {method.upper(): _operation(described) for method, described in methods.items()},
            path.count("{"),
        )
        for path, methods in description["paths"].items()
    )


def _operation(described: Mapping[str, Any]) -> Operation:
    parameters = (each for each in described.get("parameters", ()) if each["in"] == "query")
    return Operation({each["name"]: _is_list(each["schema"]) for each in parameters}, "requestBody" in described)


def _is_list(schema: Mapping[str, Any]) -> bool:
    return any(each.get("type") == "array" for each in (schema, *schema.get("anyOf", ())))


class DescribedRequests:
    """ASGI middleware that answers requests below `/api` which the description does not have."""

    def __init__(self, app: ASGIApp, api: FastAPI) -> None:
        self._app = app
        self._api = api
        self._addresses: tuple[Address, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == BELOW or path.startswith(f"{BELOW}/")):
            return await self._app(scope, receive, send)
        answer = self._answer(path, scope, self._fitting(path))
        if answer is not None:
            return await answer(scope, receive, send)
        if scope["method"] == "HEAD":
            head = _Head(send)
            return await self._app({**scope, "method": "GET"}, head.receive, head.send)
        return await self._app(scope, receive, send)

    def _fitting(self, path: str) -> list[Address]:
        """The addresses that a path may be, the most exact one first: `/tasks/order` is also `/tasks/{task_id}`."""
        if not self._addresses:
            own: dict[str, Any] = {str(self._api.openapi_url): {"get": {}}}
            described = self._api.openapi()
            self._addresses = addresses({"paths": {**own, **described["paths"]}})
        return sorted((each for each in self._addresses if each.form.fullmatch(path)), key=lambda each: each.variables)

    def _answer(self, path: str, scope: Scope, fitting: Sequence[Address]) -> Response | None:
        """The answer to a request that is not passed on."""
        if not fitting:
            stripped = path.rstrip("/")
            slash = f"the address has no slash at its end: {stripped}" if self._fitting(stripped) else ""
            hint = slash or "/api/v1/openapi.json describes every address"
            return problem(Code.NOT_FOUND, f"There is no address {path[:200]}.", hint)
        allowed = {"Allow": ", ".join(sorted({*_operations(fitting[:1]), "OPTIONS"}))}
        if scope["method"] == "OPTIONS":
            return Response(status_code=204, headers=allowed)
        operation = _operations(fitting).get(scope["method"])
        if operation is None:
            detail = f"The address {path[:200]} does not have the method {scope['method'][:20]}."
            return problem(Code.METHOD_NOT_ALLOWED, detail, f"it has: {allowed['Allow']}", headers=allowed)
        return _complaint(scope, operation)


def _operations(fitting: Sequence[Address]) -> dict[str, Operation]:
    operations = {method: operation for each in reversed(fitting) for method, operation in each.operations.items()}
    return operations | ({"HEAD": operations["GET"]} if "GET" in operations else {})


def _complaint(scope: Scope, operation: Operation) -> Response | None:
    headers = {name.lower(): value for name, value in scope["headers"]}
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    kind = headers.get(b"content-type", b"").decode("latin-1").strip()
    if operation.takes_body and has_body and not _JSON.fullmatch(kind):
        given = f"not {kind[:100]}" if kind else "and the request names no type"
        return problem(
            Code.UNSUPPORTED_MEDIA_TYPE,
            f"The body must be JSON, {given}.",
            "send the header Content-Type: application/json",
            headers={"Accept": "application/json"},
        )
    errors = list(_wrong_parameters(scope, operation.parameters))
    if not errors:
        return None
    hint = f"it takes: {', '.join(operation.parameters)}" if operation.parameters else "it takes no query parameters"
    return problem(Code.NOT_VALID, errors[0][1], hint, errors)


def _wrong_parameters(scope: Scope, known: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    for name, times in Counter(name for name, _ in pairs).items():
        if name not in known:
            yield name, f"There is no query parameter '{name[:200]}' here."
        elif times > 1 and not known[name]:
            yield name, f"The query parameter '{name}' can be given once only."


class _Head:
    """A request without a body, and its response without one. Its client is gone once the head was sent, so a stream ends."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._asked = False
        self._sent = asyncio.Event()

    async def receive(self) -> Message:
        if self._asked:
            await self._sent.wait()
            return {"type": "http.disconnect"}
        self._asked = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._send(message)
            await self._send({"type": "http.response.body", "body": b""})
            self._sent.set()
