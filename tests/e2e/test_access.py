"""Who may do what at a server: scopes of tokens, sessions, limits of wrong tries, the log, and whether it is ready."""

from __future__ import annotations

import http.client
import json
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import TOKEN, Server, welcomed
from tests.support.terminal import Terminal

JOB = {"task": "x", "settings": {"agent": "scripted"}}
KEY = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(CommandLine(tmp_path_factory.mktemp("access"))) as server:
        yield server


@pytest.fixture
def fresh(cli: CommandLine) -> Iterator[Server]:
    with Server(cli) as server:
        yield server


def bearer(server: Server, name: str, scope: str) -> dict[str, str]:
    """The header with a new token."""
    server.client.delete(f"/api/v1/tokens/{name}")
    made = server.client.post("/api/v1/tokens", json={"name": name, "scope": scope})
    assert made.status_code == 201, made.text
    return {"Authorization": f"Bearer {made.json()['token']}"}


def ask(
    server: Server, method: str, path: str, headers: dict[str, str], body: object = None
) -> tuple[int, dict[str, str], bytes]:
    """A request exactly as written: a client library would tidy up its path."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        connection.request(method, path, json.dumps(body or {}), {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()


@contextmanager
def log_in(server: Server, token: str = TOKEN) -> Iterator[httpx.Client]:
    """A browser's session, with its key, without the proofs that a browser sends."""
    with httpx.Client(base_url=server.url, trust_env=False, timeout=30) as visitor:
        visitor.headers["X-Untildone-Key"] = welcomed(visitor.post("/login", data={"token": token}))["key"]
        yield visitor


OURS = {"Sec-Fetch-Site": "same-origin"}


def test_a_scope_allows_what_it_says(either: Server) -> None:
    loop_id = either.create(start=False)
    requests: list[tuple[str, str, Any, str]] = [
        ("GET", "/api/v1/loops", None, "read"),
        ("GET", f"/api/v1/loops/{loop_id}", None, "read"),
        ("GET", "/api/v1/settings", None, "read"),
        ("GET", "/api/v1/metrics", None, "read"),
        ("GET", "/api/v1/sessions/current", None, "read"),
        ("POST", f"/api/v1/loops/{loop_id}/budget", {"iterations": "+1"}, "control"),
        ("POST", f"/api/v1/loops/{loop_id}/reply", {"text": "hello"}, "control"),
        ("POST", "/api/v1/loops", JOB, "control"),
        ("PUT", "/api/v1/settings", {}, "admin"),
        ("GET", "/api/v1/tokens", None, "admin"),
        ("POST", "/api/v1/tokens", {"name": "more"}, "admin"),
        ("DELETE", "/api/v1/tokens/more", None, "admin"),
        ("POST", "/api/v1/login-links", {}, "admin"),
    ]
    for number, scope in enumerate(("read", "control", "admin")):
        client = either.new_client(headers=bearer(either, f"of-{scope}", scope))
        for method, path, body, needed in requests:
            status = client.request(method, path, json=body).status_code
            allowed = number >= ("read", "control", "admin").index(needed)
            assert (status < 300) == allowed, f"{scope}: {method} {path}: {status}"
            assert allowed or status == 403


BYPASSES = [
    ("POST", "/api/v1/loops/", {}),
    ("POST", "/api/v1/loops", {"X-HTTP-Method-Override": "GET"}),
    ("POST", "/api/v1/loops?_method=GET", {}),
    ("GET", "/api/v1/loops", {"X-HTTP-Method-Override": "POST"}),
    ("PUT", "/api/v1/settings/", {}),
    ("PUT", "/api/v1//settings", {}),
    ("PUT", "/api/v1/%73ettings", {}),
    ("PUT", "/api/v1/loops/../settings", {}),
    ("PUT", "/api/v1/loops/%2e%2e/settings", {}),
    ("PUT", "/api/v1/loops%2f..%2fsettings", {}),
    ("PUT", "/API/v1/settings", {}),
    ("GET", "/api/v1/tokens/", {}),
    ("GET", "/api/v1/%74okens", {}),
    ("GET", "/api/v1/loops/../tokens", {}),
    ("HEAD", "/api/v1/tokens", {}),
    ("OPTIONS", "/api/v1/tokens", {}),
    ("POST", "/api/v1/tokens/", {}),
    ("POST", "/api/v1/login-links/", {}),
    ("POST", "/api/v1/login-links%0a", {}),
    ("DELETE", "/api/v1/tokens/of-bypass", {}),
    ("POST", "/assets/../api/v1/loops", {}),
    ("POST", "/assets/x", {}),
    ("BREW", "/api/v1/loops", {}),
    ("GET", "/api/v1/tokens;x", {}),
    ("GET", "/api/v1/tokens%00", {}),
]


@pytest.mark.parametrize(("method", "path", "headers"), BYPASSES, ids=lambda value: str(value)[:40])
def test_no_way_round_a_scope(either: Server, method: str, path: str, headers: dict[str, str]) -> None:
    token = bearer(either, "of-bypass", "read")
    before = (either.client.get("/api/v1/loops").text, either.client.get("/api/v1/tokens").text)
    status, _, content = ask(
        either, method, path, {**token, **headers}, {"task": "x", "name": "evil", "scope": "admin"}
    )
    assert status < 500
    assert b"evil" not in content
    assert b"created_at" not in content or path == "/api/v1/loops"
    assert b"code=" not in content
    assert (either.client.get("/api/v1/loops").text, either.client.get("/api/v1/tokens").text) == before


def test_no_web_socket_is_opened(either: Server) -> None:
    handshake = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x" * 22 + "==",
    }
    with either.new_client(headers={**bearer(either, "socket", "control"), **handshake}) as program:
        assert program.get("/socket").status_code in (403, 404)
    with log_in(either) as visitor:
        assert visitor.get("/socket", headers=handshake).status_code in (403, 404), "no page asked for it"


def test_a_session_may_change_things_from_our_own_pages_only(either: Server) -> None:
    port = either.port
    with log_in(either) as visitor:
        for headers, status in [
            ({}, 403),
            ({"Origin": f"http://127.0.0.1:{port + 1}"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": f"http://127.0.0.1:{port}.evil.example"}, 403),
            ({"Origin": f"http://evil.example@127.0.0.1:{port + 1}"}, 403),
            ({"Sec-Fetch-Site": "same-site"}, 403),
            ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
            ({"Sec-Fetch-Site": "none"}, 403),
            ({"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}, 403),
            ({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 201),
            ({"Sec-Fetch-Site": "same-origin"}, 201),
            ({"Origin": f"http://127.0.0.1:{port}"}, 201),
        ]:
            answer = visitor.post("/api/v1/loops", json=JOB, headers=headers)
            assert answer.status_code == status, headers


def test_a_cookie_without_its_key_may_only_read_and_log_out(either: Server) -> None:
    with log_in(either) as visitor, log_in(either) as other:
        stolen = httpx.Client(base_url=either.url, trust_env=False, cookies=dict(visitor.cookies), headers=OURS)
        with stolen:
            assert stolen.get("/api/v1/loops").status_code == 200
            for key in ({}, {"X-Untildone-Key": "x"}, {"X-Untildone-Key": other.headers["X-Untildone-Key"]}):
                for method, path in (("POST", "/loops"), ("POST", "/login-links"), ("PUT", "/settings")):
                    refused = stolen.request(method, f"/api/v1{path}", json=JOB, headers=key)
                    assert (refused.status_code, refused.json()["code"]) == (403, "session-key"), path
            assert stolen.delete("/api/v1/sessions/current").status_code == 204
            assert stolen.get("/api/v1/loops").status_code == 401
    with httpx.Client(base_url=either.url, trust_env=False, headers=OURS) as program:
        begun = program.post("/api/v1/sessions", json={"token": TOKEN}).json()
        made = program.post("/api/v1/loops", json=JOB, headers={"X-Untildone-Key": begun["key"]})
        assert made.status_code == 201
        assert "key" not in program.get("/api/v1/sessions/current").json()


def test_an_open_stream_ends_when_its_reader_logs_out_or_loses_the_token(server: Server) -> None:
    loop_id = server.create(start=False)
    paths = ("/api/v1/events", f"/api/v1/loops/{loop_id}/events")
    with log_in(server) as visitor, server.new_client(headers=bearer(server, "reader", "read")) as program:
        ends: tuple[tuple[httpx.Client, httpx.Client, str], ...] = (
            (visitor, visitor, "/api/v1/sessions/current"),
            (program, server.client, "/api/v1/tokens/reader"),
        )
        for who, by, ended in ends:
            with who.stream("GET", paths[0]) as first, who.stream("GET", paths[1]) as second:
                assert (first.status_code, second.status_code) == (200, 200)
                assert by.delete(ended, headers=OURS).status_code == 204
                assert all("loop_end" not in answer.read().decode() for answer in (first, second)), "both end"
            assert who.get(paths[0]).status_code == 401
    assert "without completing" not in server.log.read_text()


def test_a_session_does_what_its_token_allows_and_ends_with_it(either: Server) -> None:
    token = bearer(either, "display", "read")["Authorization"].removeprefix("Bearer ")
    with log_in(either, token) as visitor:
        assert visitor.get("/api/v1/sessions/current").json()["name"] == "display"
        refused = visitor.post("/api/v1/loops", json={"task": "x"}, headers=OURS)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert either.cli.run("token", "revoke", "display").code == 0
        assert visitor.get("/api/v1/loops").status_code == 401
        bearer(either, "display", "admin")
        assert visitor.get("/api/v1/loops").status_code == 401, "a new token of the same name is another one"


def test_log_out_ends_the_session_on_the_server(either: Server) -> None:
    with log_in(either) as visitor:
        cookie = dict(visitor.cookies)
        assert visitor.delete("/api/v1/sessions/current").status_code == 403, "no page asked for it"
        assert visitor.delete("/api/v1/sessions/current", headers=OURS).status_code == 204
        assert not visitor.cookies
        assert httpx.get(f"{either.url}/api/v1/loops", cookies=cookie, trust_env=False).status_code == 401
    assert either.client.delete("/api/v1/sessions/current").status_code == 204
    assert either.client.get("/api/v1/loops").status_code == 200


def test_nobody_chooses_the_id_of_a_session(either: Server) -> None:
    name, planted = f"untildone_{either.port}", "A" * 43
    with httpx.Client(base_url=either.url, trust_env=False, cookies={name: planted}) as visitor:
        answer = visitor.post("/login", data={"token": TOKEN})
        (given,) = re.findall(rf"{name}=([^;]+)", answer.headers["Set-Cookie"])
        assert given != planted
    assert httpx.get(f"{either.url}/api/v1/loops", cookies={name: planted}, trust_env=False).status_code == 401
    with log_in(either) as visitor:
        before = visitor.cookies[name]
        assert welcomed(visitor.post("/login", data={"token": TOKEN}))["key"] != visitor.headers["X-Untildone-Key"]
        assert visitor.cookies[name] != before
        again = httpx.get(f"{either.url}/api/v1/loops", cookies={name: before}, trust_env=False)
        assert again.status_code == 401, "a login ends the session before"


def test_a_link_does_not_exchange_the_session_of_a_browser(either: Server) -> None:
    link = either.client.post("/api/v1/login-links", json={"next": "/loops/x?y=1"}).json()
    with log_in(either) as visitor:
        before = dict(visitor.cookies)
        answer = visitor.get(link["path"])
        assert (answer.status_code, answer.headers["Location"]) == (303, "/loops/x?y=1")
        assert dict(visitor.cookies) == before
    with httpx.Client(base_url=either.url, trust_env=False) as other:
        assert welcomed(other.get(link["path"]))["next"] == "/loops/x?y=1", "the link is still unused"
        assert other.get("/api/v1/loops").status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "/\r\nSet-Cookie: x=y",
        "\t//evil.example",
        " //evil.example",
        "http://evil.example",
        "javascript:alert(1)",
        "evil.example",
        "@evil.example",
        "/x" * 2000,
        "/login?next=//evil.example",
        "/ä",
        "",
    ],
)
def test_the_login_leads_to_no_other_site(either: Server, target: str) -> None:
    with httpx.Client(base_url=either.url, trust_env=False) as visitor:
        assert "evil" not in visitor.get("/login", params={"next": target}).text
        assert welcomed(visitor.post("/login", data={"token": TOKEN, "next": target}))["next"] == "/"
        assert "x" not in visitor.cookies


def test_pages_lead_to_the_login_and_the_api_says_401(either: Server) -> None:
    page = {"Accept": "text/html,application/xhtml+xml"}
    with httpx.Client(base_url=either.url, trust_env=False) as visitor:
        asked = visitor.get("/loops/x?tab=a&b=%26", headers=page)
        assert (asked.status_code, asked.headers["Location"]) == (303, "/login?next=%2Floops%2Fx%3Ftab%3Da%26b%3D%2526")
        login = visitor.get(asked.headers["Location"])
        assert 'value="/loops/x?tab=a&amp;b=%26"' in login.text
        then = visitor.post("/login", data={"token": TOKEN, "next": "/loops/x?tab=a&b=%26"})
        assert welcomed(then)["next"] == "/loops/x?tab=a&b=%26"
    with httpx.Client(base_url=either.url, trust_env=False) as visitor:
        assert visitor.get("/api/v1/loops", headers=page).status_code == 401
        assert visitor.post("/loops", headers=page).status_code == 401
        assert visitor.get("/loops").status_code == 401
        assert visitor.get("/%0d%0aSet-Cookie:x=y", headers=page).headers.get("Set-Cookie") is None


def test_wrong_tries_are_limited_and_those_who_are_in_stay_in(fresh: Server) -> None:
    def refused(method: str, path: str, **given: Any) -> httpx.Response:
        """The refusal after many wrong tries: one comes back every three seconds, so that a slow machine needs some more."""
        headers = given.pop("headers", {})
        for number in range(200):
            spoofed = {**headers, "X-Forwarded-For": f"10.0.0.{number}", "X-Real-IP": f"10.1.0.{number}"}
            answer = httpx.request(method, f"{fresh.url}{path}", trust_env=False, timeout=30, headers=spoofed, **given)
            assert answer.status_code in (401, 403, 429)
            if answer.status_code == 429:
                assert 1 <= int(answer.headers["Retry-After"]) <= 60
                return answer
        raise AssertionError(f"{method} {path} is not limited")

    with log_in(fresh) as visitor:
        assert fresh.client.get("/api/v1/loops").status_code == 200
        assert "Try again in" in refused("POST", "/login", data={"token": "wrong"}).text
        assert "Try again in" in refused("GET", "/login?code=wrong").text
        assert refused("POST", "/api/v1/sessions", json={"token": "wrong"}).json()["code"] == "too-many-requests"
        wrong = {"Authorization": "Bearer wrong"}
        assert refused("GET", "/api/v1/loops", headers=wrong).json()["code"] == "too-many-requests"
        assert visitor.get("/api/v1/loops").status_code == 200
        assert fresh.client.get("/api/v1/loops").status_code == 200
        assert httpx.get(f"{fresh.url}/api/v1/health", headers=wrong, trust_env=False).status_code == 200


def test_wrong_tokens_of_replies_are_refused_and_right_ones_are_not(fresh: Server) -> None:
    loop_id = fresh.create(start=False)
    path = f"{fresh.url}/api/v1/loops/{loop_id}/reply"
    for number in range(25):
        headers = {"Authorization": f"Bearer wrong-{number}"}
        assert httpx.post(path, json={"text": "x"}, headers=headers, trust_env=False).status_code == 403
    assert httpx.post(path, json={"text": "x"}, headers=KEY, trust_env=False).status_code == 200


def test_tokens_are_made_and_revoked_at_the_command_line(server: Server) -> None:
    cli = server.cli
    made = cli.run("token", "add", "wall", "--scope", "read", "--json")
    secret = json.loads(made.output)["token"]
    headers = {"Authorization": f"Bearer {secret}"}
    assert httpx.get(f"{server.url}/api/v1/loops", headers=headers, trust_env=False).status_code == 200
    assert "wall: read, since" in cli.run("token", "list").output
    assert secret not in cli.run("token", "list", "--json").output
    again = cli.run("token", "add", "wall")
    assert (again.code, "already a token" in again.errors) == (2, True)
    assert cli.run("token", "revoke", "wall").code == 0
    assert cli.run("token", "revoke", "wall").code == 2
    assert httpx.get(f"{server.url}/api/v1/loops", headers=headers, trust_env=False).status_code == 401
    assert server.client.delete("/api/v1/tokens/wall").status_code == 404
    assert server.client.post("/api/v1/tokens", json={"name": "main"}).status_code == 422


def test_the_journal_names_who_did_what(server: Server) -> None:
    ann = server.new_client(headers=bearer(server, "ann", "control"))
    loop_id = ann.post("/api/v1/loops", json={"task": "x", "settings": {"agent": "scripted"}}).json()["loop_id"]
    assert ann.post(f"/api/v1/loops/{loop_id}/messages", json={"text": "mind the docs"}).status_code < 300
    with log_in(server) as visitor:
        budget = visitor.post(f"/api/v1/loops/{loop_id}/budget", json={"iterations": "+1"}, headers=OURS)
        assert budget.status_code == 200, budget.text
    assert server.cli.run("stop", loop_id).code == 0
    named = {entry["event"]: entry.get("who") for entry in server.cli.run("log", loop_id, "--json").records}
    assert named["loop_created"] == "ann"
    assert named["message"] == "ann"
    assert named["budget_changed"] == "main"
    assert named["stop_requested"] is None
    assert "(by ann)" in server.cli.run("log", loop_id).output


def test_a_link_is_printed_at_any_time(server: Server) -> None:
    asked = server.cli.run("serve", "--link", "--port", str(server.port))
    link = asked.output.strip()
    assert link.startswith(f"{server.url}/login?code=")
    assert "█" not in asked.output, "no picture for a program"
    with httpx.Client(trust_env=False) as visitor:
        assert welcomed(visitor.get(link))["next"] == "/"
        assert visitor.get(f"{server.url}/api/v1/sessions/current").json()["scope"] == "admin"
    as_json = json.loads(server.cli.run("serve", "--link", "--port", str(server.port), "--json").output)
    assert as_json["login"].startswith(server.url)
    nobody = server.cli.run("serve", "--link", "--port", "1")
    assert (nobody.code, "No server of untildone answers" in nobody.errors) == (2, True)


def test_at_a_terminal_the_link_has_a_picture(server: Server) -> None:
    command = [sys.executable, "-m", "untildone", "serve", "--link", "--port", str(server.port)]
    with Terminal(command, server.cli.workspace, server.cli.environment) as terminal:
        terminal.until(lambda: "within 15 minutes" in terminal.text)
        assert "█▀" in terminal.text


def test_no_line_of_the_log_is_forged_and_no_escape_reaches_the_terminal(either: Server) -> None:
    forged = "2026-11-16 00:00:00,000 INFO DELETE /api/v1/loops 204"
    paths = [f"/x%0a{forged.replace(' ', '%20')}", "/x%1b[31m", "/x%0d", "/x%c2%9b31m", "/x%e2%80%ae", "/%ff%00%7f"]
    for path in paths:
        assert ask(either, "GET", path, {})[0] == 401
    ask(either, "GET", "/x", {"Referer": "\x1b[31m", "User-Agent": "\x1b[31m"})
    log = either.log.read_bytes()
    assert log.isascii()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", log)
    assert not any(line.startswith(forged) for line in log.decode().splitlines())
    assert b"\\n2026-11-16" in log


def test_sessions_live_through_a_crash_of_the_server(fresh: Server) -> None:
    with log_in(fresh) as visitor:
        fresh.kill()
        fresh.start()
        assert visitor.get("/api/v1/loops").status_code == 200
    folder = Path(fresh.cli.home) / ".local/state/untildone/sessions"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    fresh.end()
    fresh.cli.environment["UNTILDONE_TOKEN"] = "another-token-of-the-tests"
    fresh.start()
    with httpx.Client(base_url=fresh.url, trust_env=False, cookies=dict(visitor.cookies)) as late:
        assert late.get("/api/v1/loops").status_code == 401, "the token that began it is gone"


def test_behind_tls_the_cookie_is_for_https_only(cli: CommandLine) -> None:
    with Server(cli, "--behind-tls") as server:
        answer = httpx.post(f"{server.url}/login", data={"token": TOKEN}, trust_env=False)
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(f"__Host-untildone_{server.port}=")
        assert {"Secure", "HttpOnly", "Path=/"} <= set(cookie.split("; "))
        link = server.client.post("/api/v1/login-links", json={}).json()
        assert link["url"].startswith("https://")


def test_ready_says_what_is_missing(fresh: Server) -> None:
    told = httpx.get(f"{fresh.url}/api/v1/ready", trust_env=False)
    assert (told.status_code, told.json()["status"]) == (200, "ready")
    assert str(fresh.cli.workspace) not in told.text
    fresh.cli.workspace.rename(fresh.cli.workspace.with_name("moved"))
    until(lambda: fresh.client.get("/api/v1/ready").status_code == 503)
    told = fresh.client.get("/api/v1/ready")
    assert told.json()["status"] == "not-ready"
    assert {part["name"].split()[0] for part in told.json()["parts"] if not part["ready"]} == {"store", "disk"}
    assert "No such file" in told.text


def test_metrics_say_what_they_mean(fresh: Server) -> None:
    loop_id = fresh.create(checks=["true"])
    fresh.until_status(loop_id, "completed")
    text = fresh.client.get("/api/v1/metrics").text
    names = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names == {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    by = 'agent="scripted",mode="ralph"'
    assert re.search(rf"^untildone_rounds{{{by}}} [1-9]", text, re.M)
    assert re.search(rf"^untildone_gate_seconds{{{by}}} 0\.\d*[1-9]", text, re.M)
    assert re.search(rf"^untildone_spend_dollars{{{by}}} ", text, re.M)
    assert 'untildone_loops_by_outcome{outcome="verified"} 1' in text
    assert re.search(
        r'^untildone_http_request_seconds_bucket{method="POST",route="/api/v1/loops",le="\+Inf"} 1$', text, re.M
    )
    assert ask(fresh, "BREW", "/", {})[0] == 401
    assert "BREW" not in fresh.client.get("/api/v1/metrics").text
