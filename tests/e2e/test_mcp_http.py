"""covers: MCP over HTTP on the port of `untildone serve`: tools, scopes of tokens, killed servers, hostile requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import LATEST_MODERN_VERSION
from tests.support.command_line import PATIENCE, CommandLine
from tests.support.serving import TOKEN, Server

CHECK = "test -e work.txt"
WORKS = {"write": {"work.txt": "done\n"}, "claim": True}
READS: dict[str, dict[str, Any]] = {
    "list": {},
    "show": {"loop": "last"},
    "wait": {"loop": "last"},
    "diff": {"loop": "last"},
}
STEERS: dict[str, dict[str, Any]] = {
    "start": {"task": "x"},
    "say": {"loop": "last", "text": "[r+9] go"},
    "budget": {"loop": "last", "rounds": "+9"},
    "verify": {"loop": "last"},
    "approve": {"loop": "last", "paths": ["a"]},
    "stop": {"loop": "last"},
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
ALLOWED = {**HEADERS, "Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with one loop, which is verified."""
    cli = CommandLine(tmp_path_factory.mktemp("mcp"))
    cli.project(WORKS, checks=[CHECK])
    with Server(cli) as server:
        server.until_status(server.create("Write work.txt", checks=[CHECK]), "completed")
        yield server


@asynccontextmanager
async def connected(server: Server, token: str = TOKEN, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http,
        Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def played(server: Server, play: Callable[[Client], Awaitable[None]], token: str = TOKEN, mode: str = "auto") -> None:
    async def whole() -> None:
        async with connected(server, token, mode) as client:
            await play(client)

    asyncio.run(asyncio.wait_for(whole(), 2 * PATIENCE))


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


def token_of(server: Server, scope: str) -> str:
    server.client.delete(f"/api/v1/tokens/{scope}")
    made = server.client.post("/api/v1/tokens", json={"name": scope, "scope": scope})
    return str(made.json()["token"])


def call(tool: str, given: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": given}}


def test_a_handle_answers_after_the_server_was_killed(cli: CommandLine) -> None:
    cli.project({"sleep": 1.5, **WORKS}, checks=[CHECK])
    with Server(cli) as server:

        async def whole() -> None:
            async with connected(server) as client:
                started = await answer(client, "start", task="Write work.txt", rounds=3)
                handle = started["loop_id"]
                assert (started["status"], started["checks"]) == ("running", [CHECK])
                assert (await answer(client, "wait", loop=handle, seconds=0.2))["status"] == "running"
                server.kill()
                server.start()
                rested = await answer(client, "wait", loop=handle, seconds=60)
                assert (rested["loop_id"], rested["outcome"]) == (handle, "verified")
                (receipt,) = (await client.read_resource(f"loop://{handle}/receipt")).contents
                assert json.loads(getattr(receipt, "text", ""))["loop_id"] == handle
                server.kill()
                server.start()
                assert await answer(client, "show", loop=handle) == rested
                assert len((await answer(client, "list"))["result"]) == 1

        asyncio.run(asyncio.wait_for(whole(), 3 * PATIENCE))


@pytest.mark.parametrize("mode", ["legacy", LATEST_MODERN_VERSION])
def test_a_token_that_reads_steers_by_no_tool(server: Server, mode: str) -> None:
    """In both forms of the protocol: with a handshake, and without."""

    async def play(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == {*READS, *STEERS}
        (before,) = (await answer(client, "list"))["result"]
        for tool, given in READS.items():
            await answer(client, tool, **given)
        for tool, given in STEERS.items():
            refused = await client.call_tool(tool, given)
            assert refused.is_error
            assert "needs the scope control" in str(refused.content), tool
        assert (await answer(client, "list"))["result"] == [before]

    played(server, play, token_of(server, "read"), mode)


def test_a_token_that_controls_steers_and_is_named_in_the_journal(cli: CommandLine) -> None:
    cli.project({"say": "not yet"}, checks=[CHECK])
    with Server(cli) as server:

        async def play(client: Client) -> None:
            other = await client.call_tool("start", {"task": "x", "folder": "/etc"})
            assert other.is_error
            assert "is not served" in str(other.content)
            handle = (await answer(client, "start", task="Write work.txt", rounds=1))["loop_id"]
            assert (await answer(client, "wait", loop=handle, seconds=60))["outcome"] == "budget"
            await answer(client, "budget", loop=handle, rounds="+1")
            assert (await answer(client, "stop", loop=handle))["status"] == "failed"
            named = {entry["event"]: entry.get("who") for entry in cli.run("log", handle, "--json").records}
            assert named["stop_requested"] == "control", named

        played(server, play, token_of(server, "control"))


def test_requests_that_are_not_allowed_reach_no_tool(server: Server) -> None:
    refusals = (
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong-token-0123456789"}, 401),
        ({"Host": "rebound.example"}, 403),
        ({"Origin": "http://other.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    )
    for headers, status in refusals:
        refused = httpx.post(
            f"{server.url}/mcp", json=call("list", {}), headers={**ALLOWED, **headers}, trust_env=False
        )
        assert refused.status_code == status, headers
        assert "loop_id" not in refused.text
    for method in ("GET", "DELETE", "PUT"):
        assert server.client.request(method, "/mcp").status_code == 405, method


HOSTILE = (
    b"",
    b"\xff\xfe",
    b"{",
    b"[]",
    b"[" * 100_000,
    b'{"a": "' + b"x" * 900_000 + b'"}',
    b'{"jsonrpc": "1.0", "id": 5, "method": "initialize"}',
    b'{"jsonrpc": "2.0", "id": 4, "result": {}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}',
    json.dumps({"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": 7}).encode(),
    json.dumps(call("show", "x")).encode(),
    json.dumps(call("show", {"loop": {"a": [1]}})).encode(),
    json.dumps(call("show", {"loop": "../../etc\n\u001b[31m forged"})).encode(),
    json.dumps(call("wait", {"loop": "last", "seconds": 1e300})).encode(),
    json.dumps([call("list", {})] * 1000).encode(),
)


def test_malformed_huge_and_out_of_order_messages_end_nothing(server: Server) -> None:
    """No handshake came before, each gets an answer that is no defect of the server, and the log keeps its lines."""
    for version in ("2025-06-18", LATEST_MODERN_VERSION, "nonsense"):
        for body in HOSTILE:
            headers = {**ALLOWED, "MCP-Protocol-Version": version, "MCP-Session-Id": "../x", "Mcp-Method": "x"}
            got = httpx.post(f"{server.url}/mcp", content=body, headers=headers, timeout=PATIENCE, trust_env=False)
            assert got.status_code < 500, (version, body[:80], got.text[:200])
    too_large = httpx.post(f"{server.url}/mcp", content=b"x" * 1_000_001, headers=ALLOWED, trust_env=False)
    assert too_large.status_code == 413
    played(server, lambda client: answer(client, "show", loop="last"))
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "\x1b" not in log
    assert "forged" not in log
    assert "POST /mcp" in log
    assert 'route="/mcp"' in server.client.get("/api/v1/metrics").text


def test_a_server_without_the_package_says_so(cli: CommandLine) -> None:
    (cli.home / "sitecustomize.py").write_text(
        "import importlib.util\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: None if name == 'mcp' else find(name, *more)\n"
    )
    cli.environment["PYTHONPATH"] = f"{cli.home}:{cli.environment['PYTHONPATH']}"
    with Server(cli) as server:
        answered = server.client.post("/mcp", json={})
        assert answered.status_code == 404
        assert "extra `mcp`" in answered.json()["hint"]
