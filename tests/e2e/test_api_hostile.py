"""Every route, and every place in it where a hostile client can put something: refused or bounded, and the others are served."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest
from tests.support.command_line import CommandLine
from tests.support.serving import TOKEN, Server

KEY = {"Authorization": f"Bearer {TOKEN}"}
BODY = json.dumps({"task": "x", "text": "x", "order": [], "max_iterations": 3})
PATIENCE = 60
OPEN = {"/api/v1/health", "/api/v1/ready", "/api/v1/sessions", "/login"}
OUTSIDE = (
    "..",
    "%2e%2e",
    "..%2f..%2foutside",
    "%2e%2e%2foutside",
    "%00",
    "a%00b",
    "-x",
    ".loop",
    "~",
    "%ff",
    "x" * 300,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(CommandLine(tmp_path_factory.mktemp("hostile")), "--quiet") as server:
        yield server


@pytest.fixture(scope="module")
def routes(server: Server) -> list[tuple[str, str]]:
    """Every method of every path."""
    paths: dict[str, dict[str, Any]] = server.client.get("/api/v1/openapi.json").json()["paths"]
    found = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    assert len(found) > 20
    return found


def ask(server: Server, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
        body = BODY if method not in ("GET", "DELETE") else None
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()


def is_served(server: Server) -> bool:
    return ask(server, "GET", "/api/v1/loops", KEY)[0] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({**KEY, "Host": "evil.example"}, 403),
        ({**KEY, "Origin": "http://evil.example"}, 403),
        ({**KEY, "Sec-Fetch-Site": "cross-site"}, 403),
    ],
    ids=["no token", "wrong token", "part of the token", "foreign host", "foreign origin", "foreign site"],
)
def test_no_route_is_open_to_strangers(
    either: Server, routes: list[tuple[str, str]], headers: dict[str, str], status: int
) -> None:
    loop_id = either.create(start=False)
    before = either.show(loop_id)["seq"]
    for method, path in routes:
        if status == 401 and path in OPEN:
            continue
        place = path.replace("{loop_id}", loop_id).replace("{task_id}", "t").replace("{iteration}", "1")
        # A token that no loop gave out is refused where tokens of loops are taken.
        expected = 403 if path.endswith("/reply") and headers else status
        # Wrong tokens are limited: after some tries, nothing is looked at.
        limited = {429} if "Authorization" in headers and expected == 401 else set()
        assert ask(either, method, place, headers)[0] in {expected} | limited, f"{method} {path}"
    assert ask(either, "GET", f"/api/v1/loops?token={TOKEN}", {})[0] == 401
    assert either.show(loop_id)["seq"] == before


def test_no_name_in_any_route_leaves_its_folder(either: Server, routes: list[tuple[str, str]]) -> None:
    outside = either.cli.workspace / "outside"
    outside.mkdir()
    (outside / "receipt.json").write_text('{"found": "outside"}')
    loop_id = either.create(start=False)
    for method, path in routes:
        for place in hostile_places(path, loop_id):
            status, told = ask(either, method, place, KEY)
            assert (status in (404, 405, 422), b'"found"' in told) == (True, False), place
    assert [each.name for each in outside.iterdir()] == ["receipt.json"]
    assert either.show(loop_id)["status"] == "created"


def hostile_places(path: str, loop_id: str) -> Iterator[str]:
    """The path with something hostile at one place."""
    usual = {"{loop_id}": loop_id, "{task_id}": "t", "{iteration}": "1"}
    for place in (each for each in usual if each in path):
        for name in OUTSIDE:
            hostile = path.replace(place, name)
            for other, value in usual.items():
                hostile = hostile.replace(other, value)
            yield hostile


def raw(server: Server, head: bytes, then: bytes = b"") -> bytes:
    """The answer to these very bytes; empty if there is none."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(head + then)
            return connection.recv(65536)
        except ConnectionError:
            return b""


HEAD = b"POST /api/v1/loops HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
OURS = HEAD + f"Authorization: Bearer {TOKEN}\r\n".encode()


@pytest.mark.parametrize(
    ("head", "statuses"),
    [
        (OURS + b"Content-Length: -5\r\n\r\n", (b"400", b"413")),
        (OURS + b"Content-Length: 1e3\r\n\r\n", (b"400", b"413")),
        (OURS + b"Content-Length: %s\r\n\r\n" % (b"9" * 40), (b"400", b"413")),
        (OURS + b"Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}", (b"400",)),
        (OURS + b"Transfer-Encoding: gzip, chunked\r\n\r\n", (b"400", b"501")),
        (OURS + b"Transfer-Encoding: chunked\r\n\r\nno number\r\n", (b"400",)),
        (HEAD + b"X: " + b"x" * 200_000 + b"\r\n\r\n", (b"400", b"431")),
        (b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n\r\n", (b"400", b"414")),
        (b"GET /api/v1/loops HTTP/1.1\r\n\r\n", (b"400",)),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 300 + b"\r\n\r\n", (b"400",)),
    ],
    ids=[
        "negative",
        "no number",
        "huge",
        "two lengths",
        "coded",
        "bad chunk",
        "huge header",
        "huge path",
        "no host",
        "tls",
    ],
)
def test_what_is_no_request_is_refused(either: Server, head: bytes, statuses: tuple[bytes, ...]) -> None:
    answer = raw(either, head)
    assert answer == b"" or answer.split(b" ", 2)[1] in statuses, answer[:200]
    assert answer == b"" or b"application/problem+json" in answer.split(b"\r\n\r\n")[0].lower(), answer[:400]
    assert is_served(either)


def test_a_hundred_megabytes_from_a_stranger_are_not_read(server: Server) -> None:
    block, blocks = b"x" * 100_000, 1000
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        try:
            for _ in range(blocks):
                connection.sendall(b"%x\r\n%s\r\n" % (len(block), block))
                sent += 1
        except OSError:
            pass
        assert sent < blocks
    assert is_served(server)


@pytest.mark.parametrize("opening", ["[", '{"a":'], ids=["lists", "objects"])
def test_a_deep_body_is_an_error_and_not_a_crash(either: Server, opening: str) -> None:
    answer = either.client.post(
        "/api/v1/loops", content=opening * 100_000, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert is_served(either)


@pytest.mark.slow
def test_bodies_that_come_a_byte_at_a_time_are_cut_off_and_others_are_served(server: Server) -> None:
    with ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            for _ in range(100)
        ]
        for connection in slow:
            connection.sendall(OURS + b"Content-Length: 1000\r\n\r\n{")
        for _ in range(10):
            for connection in slow:
                connection.sendall(b" ")
            assert is_served(server)
            time.sleep(0.2)
        answers = [connection.recv(65536) for connection in slow]
    assert [answer.split(b" ", 2)[1] for answer in answers] == [b"408"] * len(slow)


def test_five_hundred_streams_of_a_running_loop_are_bounded_and_its_controls_work(server: Server) -> None:
    loop_id = server.create(args=["--scenario", "hang"])
    server.until(loop_id, lambda shown: bool(shown["turn"]))
    request = f"GET /api/v1/loops/{loop_id}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    with ExitStack() as stack:
        statuses = []
        for _ in range(500):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
            connection.sendall(request.encode())
            statuses.append(connection.recv(12)[9:])
        assert (statuses.count(b"200"), statuses.count(b"503")) == (200, 300)
        assert server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True}).status_code == 200
        server.until_status(loop_id, "failed", patience=PATIENCE)


def test_a_flood_of_strangers_keeps_nobody_out(server: Server) -> None:
    with ThreadPoolExecutor(8) as pool:
        flood = [pool.submit(ask, server, "POST", "/login", {"Authorization": "Bearer wrong"}) for _ in range(400)]
        assert all(is_served(server) for _ in range(10))
        assert {strangers.result()[0] for strangers in flood} <= {401, 403, 415, 422, 429}
