"""Hostile requests: each is refused or bounded, and the others are served meanwhile."""

from __future__ import annotations

import http.client
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import TOKEN, Server, welcomed

KEY = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(CommandLine(tmp_path_factory.mktemp("safety"))) as server:
        yield server


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def is_served(server: Server) -> bool:
    return server.new_client(timeout=5.0).get("/api/v1/loops").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401),
        ({"Authorization": "Bearer ä"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Cookie": f"{{cookie}}={TOKEN}"}, 401),
        ({"Cookie": '{cookie}="; \\x00'}, 401),
        ({"Cookie": "{cookie}=" + "A" * 43}, 401),
        ({"Cookie": "{cookie}=../token"}, 401),
        ({**KEY, "Host": "evil.example"}, 403),
        ({**KEY, "Host": "evil.example:8321"}, 403),
        ({**KEY, "Host": "127.0.0.1.evil.example"}, 403),
        ({**KEY, "Host": "[::1"}, 403),
        ({**KEY, "Host": "192.168.1.7"}, 403),
        ({**KEY, "Host": "evil.example@127.0.0.1"}, 403),
        ({**KEY, "Host": "127.0.0.1:x"}, 403),
        ({**KEY, "Host": "127.0.0.1/evil"}, 403),
        ({**KEY, "Host": "127.0.0.1#evil"}, 403),
        ({**KEY, "Host": "[::1]:8321"}, 200),
        ({**KEY, "Origin": "http://evil.example"}, 403),
        ({**KEY, "Origin": "null"}, 403),
        ({**KEY, "Origin": "http://127.0.0.1:1"}, 403),
        ({**KEY, "Sec-Fetch-Site": "cross-site"}, 403),
        ({**KEY, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 403),
        ({**KEY, "Host": "localhost"}, 200),
        ({**KEY, "Sec-Fetch-Site": "same-origin"}, 200),
        (KEY, 200),
    ],
)
def test_who_may_come_in(either: Server, headers: dict[str, str], status: int) -> None:
    cookie = f"untildone_{either.port}"
    encoded = {name.encode(): value.replace("{cookie}", cookie).encode() for name, value in headers.items()}
    answer = httpx.get(f"{either.url}/api/v1/loops", headers=encoded, trust_env=False)
    assert answer.status_code == status
    assert status == 200 or set(answer.json()) == {"type", "title", "status", "detail", "code", "hint", "errors"}
    assert answer.headers["Content-Type"] == ("application/json" if status == 200 else "application/problem+json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/loops", "/api/v1/settings", "/api/v1/metrics", "/api/v1/tokens", "/api/v1/openapi.json", "/", "/nothing"],
)
def test_nothing_is_told_without_a_token(either: Server, path: str) -> None:
    answer = httpx.get(f"{either.url}{path}", trust_env=False)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "a%00b",
        "-x",
        ".loop",
        "x" * 300,
        "%ff",
        "a%20b",
        "last",
        "loop",
    ],
)
@pytest.mark.parametrize("rest", ["", "/receipt", "/output/1", "/events", "/tasks"])
def test_no_name_leaves_its_folder(either: Server, name: str, rest: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", either.port, timeout=10)
    with closing(connection):
        connection.request("GET", f"/api/v1/loops/{name}{rest}", headers=KEY)
        answer = connection.getresponse()
        assert answer.status in (404, 422)
        assert b"root:" not in answer.read()


def test_iterations_are_numbers(either: Server) -> None:
    loop_id = either.create(start=False)
    for name in ("1.jsonl", "-1", "9" * 30, "%2e%2e%2fexecution.log"):
        assert either.client.get(f"/api/v1/loops/{loop_id}/output/{name}").status_code in (404, 422)


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_a_large_body_is_refused_before_it_is_read(either: Server, chunked: bool) -> None:
    block, blocks = b"x" * 100_000, 1000
    with socket.create_connection(("127.0.0.1", either.port), timeout=20) as connection:
        length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % (len(block) * blocks)
        head = (b"POST /api/v1/loops HTTP/1.1", b"Host: localhost", f"Authorization: Bearer {TOKEN}".encode(), length)
        connection.sendall(b"\r\n".join((*head, b"Content-Type: application/json", b"", b"")))
        sent = 0
        try:
            for _ in range(blocks):
                connection.sendall(b"%x\r\n%s\r\n" % (len(block), block) if chunked else block)
                sent += len(block)
        except OSError:
            pass
        assert sent < len(block) * blocks
    assert is_served(either)


def test_the_answer_to_a_large_body_says_why(either: Server) -> None:
    refused = either.client.post("/api/v1/loops", json={"task": "x" * 1_200_000})
    assert refused.status_code == 413
    assert "larger than" in refused.json()["detail"]


def test_slow_clients_are_closed_and_others_are_served(server: Server) -> None:
    with ExitStack() as stack:
        silent, halfway = (
            [stack.enter_context(socket.create_connection(("127.0.0.1", server.port))) for _ in range(50)]
            for _ in range(2)
        )
        for connection in halfway:
            connection.sendall(b"GET /api/v1/loops HTTP/1.1\r\nHost: loc")
        assert is_served(server)
        deadline = time.monotonic() + 20
        for connection in (*silent, *halfway):
            connection.settimeout(max(0.1, deadline - time.monotonic()))
            assert is_closed(connection)


def test_there_are_only_so_many_streams(server: Server) -> None:
    loop_id = server.create(start=False)
    request = f"GET /api/v1/loops/{loop_id}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    with ExitStack() as stack:
        answers = []
        for _ in range(500):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            connection.sendall(request.encode())
            answers.append(connection.recv(12)[9:])
        assert (answers.count(b"200"), answers.count(b"503")) == (200, 300)
        began = time.monotonic()
        assert is_served(server)
        assert time.monotonic() - began < 5
    until(lambda: "untildone_event_streams 0" in server.client.get("/api/v1/metrics").text)
    with server.client.stream("GET", f"/api/v1/loops/{loop_id}/events") as stream:
        assert stream.status_code == 200


def test_a_link_logs_in_once_and_the_cookie_counts_from_then_on(either: Server) -> None:
    link = either.announced["login"]
    with httpx.Client(trust_env=False) as browser:
        answer = browser.get(link)
        assert welcomed(answer)["next"] == "/"
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Secure" not in cookie
        assert TOKEN not in cookie
        assert browser.get(f"{either.url}/api/v1/loops").status_code == 200
        assert browser.post(f"{either.url}/api/v1/loops", json={"task": "x"}).status_code == 403, (
            "nothing proves the page"
        )
        foreign = browser.post(
            f"{either.url}/api/v1/loops", json={"task": "x"}, headers={"Origin": "http://evil.example"}
        )
        assert foreign.status_code == 403
    assert httpx.get(link, trust_env=False).status_code == 403
    log = either.log.read_text()
    assert "/login" in log
    assert "code=" not in log
    assert TOKEN not in log


def test_a_browser_without_the_link_logs_in_with_the_token(either: Server) -> None:
    with httpx.Client(base_url=either.url, trust_env=False) as browser:
        assert "password" in browser.get("/login").text
        assert browser.post("/login", data={"token": "wrong"}).status_code == 403
        assert welcomed(browser.post("/login", data={"token": TOKEN}))["next"] == "/"
        assert browser.get("/api/v1/loops").status_code == 200


def test_the_token_is_made_once_and_only_its_owner_reads_it(cli: CommandLine) -> None:
    with Server(cli) as server:
        server.end()
        del cli.environment["UNTILDONE_TOKEN"]
        server.start()
        file = cli.home / ".local" / "state" / "untildone" / "token"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        token = file.read_text().strip()
        assert len(token) >= 32
        os.chmod(file, 0o644)
        server.end()
        server.start()
        assert (file.read_text().strip(), stat.S_IMODE(file.stat().st_mode)) == (token, 0o600)
        headers = {"Authorization": f"Bearer {token}"}
        assert httpx.get(f"{server.url}/api/v1/loops", headers=headers, trust_env=False).status_code == 200


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--host", "0.0.0.0"), "Others could reach 0.0.0.0"),
        (("--host", "no.such.name.invalid", "--allow-remote"), "Cannot listen"),
        (("--dir", "nowhere"), "There is no folder"),
        (("--slots", "0"), "--slots"),
    ],
)
def test_what_cannot_be_served_is_said(cli: CommandLine, arguments: tuple[str, ...], says: str) -> None:
    ended = cli.run("serve", "--port", "0", *arguments)
    assert ended.code == 2
    assert says in ended.errors
    assert "Traceback" not in ended.errors


def test_a_taken_port_and_a_served_folder_are_said(server: Server, tmp_path: Path) -> None:
    taken = CommandLine(tmp_path / "taken").run("serve", "--port", str(server.port))
    assert (taken.code, "Cannot listen" in taken.errors) == (2, True)
    served = server.cli.run("serve", "--port", "0", "--no-dashboard")
    assert (served.code, "Another server serves" in served.errors) == (2, True)


def test_agents_do_not_see_the_token(server: Server) -> None:
    loop_id = server.create(agent="command", command="env", max_iterations=1, promise="")
    server.until_status(loop_id, "paused", "completed")
    output = server.client.get(f"/api/v1/loops/{loop_id}/output/1").text
    assert "UNTILDONE_LOOP_ID" in output
    assert TOKEN not in output
