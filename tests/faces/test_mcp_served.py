"""covers: calls of tools over HTTP: the first ones, and those whose client goes away before the answer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from untildone.faces.api.app import create_app
from untildone.faces.api.middleware.keys import Keys
from untildone.faces.mcp import served
from untildone.operations.driving.service import Service

TOKEN = "a-token-of-the-tests-0123456789"
WITHIN = 60.0


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    with Service([tmp_path / "work"]) as service:
        service.create("Never starts", {"agent": "scripted"}, None, "")
        app = create_app(service, Keys(TOKEN))
        served.mount(app, service)
        yield app


def asked(seconds: float) -> bytes:
    call = {"name": "wait", "arguments": {"loop": "last", "seconds": seconds}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()


async def post(app: FastAPI, *received: dict[str, Any]) -> list[dict[str, Any]]:
    """What the server sends to a client that sends this, and then waits."""
    async with app.router.lifespan_context(app), asyncio.timeout(WITHIN):
        return await answer_to(app, *received)


async def answer_to(app: FastAPI, *received: dict[str, Any]) -> list[dict[str, Any]]:
    """What the application, which has started, sends to such a client."""
    headers = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {TOKEN}",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-06-18",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    coming, sent = list(received), []

    async def receive() -> dict[str, Any]:
        if not coming:
            await asyncio.Event().wait()
        return coming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def test_a_client_that_stays_gets_its_answer(app: FastAPI) -> None:
    parts = [{"type": "http.request", "body": each, "more_body": True} for each in (asked(0.1)[:20], asked(0.1)[20:])]
    head, *rest = asyncio.run(post(app, *parts, {"type": "http.request", "body": b"", "more_body": False}))
    assert head["status"] == 200
    assert b"Never starts" in b"".join(each.get("body", b"") for each in rest)


def test_first_calls_that_come_at_once_are_all_answered(app: FastAPI) -> None:
    """The first one loads the package, and the others wait for that."""

    async def all_at_once() -> list[list[dict[str, Any]]]:
        body = {"type": "http.request", "body": asked(0.1), "more_body": False}
        async with app.router.lifespan_context(app), asyncio.timeout(WITHIN):
            return await asyncio.gather(*(answer_to(app, body) for _ in range(4)))

    answers = asyncio.run(all_at_once())
    assert [head["status"] for head, *_ in answers] == [200] * 4
    assert all(b"Never starts" in rest[0]["body"] for _, *rest in answers)


def test_a_first_call_that_is_given_up_does_not_keep_the_next_from_its_answer(app: FastAPI) -> None:
    async def given_up_then_asked() -> list[dict[str, Any]]:
        body = {"type": "http.request", "body": asked(0.1), "more_body": False}
        async with app.router.lifespan_context(app), asyncio.timeout(WITHIN):
            first = asyncio.create_task(answer_to(app, body))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            return await answer_to(app, body)

    head, *_ = asyncio.run(given_up_then_asked())
    assert head["status"] == 200


def test_a_server_starts_without_the_package_of_the_protocol() -> None:
    """It takes a third of the time of a start, and most clients of a server never ask for it."""
    code = "import sys, untildone.faces.api.app, untildone.faces.mcp.served; print([m for m in sys.modules if m in ('mcp', 'mcp_types')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("whole", [True, False])
def test_a_call_ends_when_its_client_is_gone(app: FastAPI, whole: bool) -> None:
    body = {"type": "http.request", "body": asked(600), "more_body": not whole}
    sent = asyncio.run(post(app, body, {"type": "http.disconnect"}))
    assert not any(b"Never starts" in each.get("body", b"") for each in sent)
