"""The channels of notifications: signed, bounded, without a shell, and exact about what arrived."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.command_line import until

from untildone.engine.notices import notify
from untildone.engine.notices.notify import SIGNATURE, Attempt, Message, NotifySettings, Result, channels
from untildone.system import orphans

TITLE = 'A "title"; $(touch oops)'


@pytest.fixture
def message(tmp_path: Path) -> Message:
    fields = {"loop_id": "loop-1", "title": TITLE, "outcome": "verified", "workspace": str(tmp_path), "reason": None}
    return Message(fields, f"Verified: {TITLE}", "Done, and every gate agrees.")


def send(settings: NotifySettings, message: Message, environment: Mapping[str, str] = os.environ) -> Attempt:
    (channel,) = channels(settings).values()
    return channel(message, environment)


class Receiver:
    """A webhook that answers as the test says."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.received: list[tuple[str | None, bytes]] = []


@contextmanager
def receiving(*codes: int) -> Iterator[tuple[Receiver, str]]:
    receiver = Receiver(*codes)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append((self.headers.get(SIGNATURE), body))
            code = receiver.codes.pop(0)
            self.send_response(code)
            if code == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver, f"http://127.0.0.1:{server.server_address[1]}/hook"
    finally:
        server.shutdown()
        server.server_close()


def test_a_webhook_gets_the_fields_signed(message: Message) -> None:
    with receiving(204) as (receiver, address):
        assert send(NotifySettings(webhook=address, secret="hush"), message) == notify.SENT
    ((signature, body),) = receiver.received
    assert signature == "sha256=" + hmac.new(b"hush", body, hashlib.sha256).hexdigest()
    assert json.loads(body) == message.fields


@pytest.mark.parametrize(
    ("code", "result"),
    [(500, Result.REFUSED), (429, Result.REFUSED), (404, Result.FAILED), (302, Result.FAILED), (200, Result.SENT)],
)
def test_the_answer_of_a_webhook_decides(message: Message, code: int, result: Result) -> None:
    with receiving(code) as (receiver, address):
        assert send(NotifySettings(webhook=address), message).result is result
    assert [signature for signature, _ in receiver.received] == [None]


def test_a_webhook_that_is_not_there_surely_got_nothing(message: Message) -> None:
    with receiving() as (_, address):
        pass
    assert send(NotifySettings(webhook=address), message).result is Result.REFUSED


def test_a_webhook_that_takes_it_and_hangs_may_have_it(message: Message, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "WEBHOOK_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert send(NotifySettings(webhook=address), message).result is Result.UNKNOWN


def test_a_webhook_that_answers_for_ever_holds_up_no_other_notice(
    message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "LONGEST", 0.5)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while not over.wait(0.05):
                    connection.sendall(b"x")

        threading.Thread(target=drip, daemon=True).start()
        (channel,) = channels(NotifySettings(webhook=f"http://127.0.0.1:{server.getsockname()[1]}/")).values()
        attempt = notify.tried(channel, message, {})
        over.set()
    assert (attempt.result, attempt.problem) == (Result.UNKNOWN, "no answer within 0.5 s")


def test_apprise_sends_to_its_services(message: Message, caplog: pytest.LogCaptureFixture) -> None:
    with receiving(200) as (receiver, address):
        assert send(NotifySettings(apprise=(address.replace("http", "json"),)), message) == notify.SENT
    ((_, body),) = receiver.received
    fields = json.loads(body)
    assert (fields["title"], fields["message"]) == (f"untildone: {message.title}", message.text)
    assert caplog.text == ""


@pytest.mark.parametrize(("codes", "result"), [((503,), Result.REFUSED), ((), Result.REFUSED)])
def test_apprise_says_what_did_not_arrive(message: Message, codes: tuple[int, ...], result: Result) -> None:
    with receiving(*codes) as (_, address):
        if codes:
            assert send(NotifySettings(apprise=(address.replace("http", "json"),)), message).result is result
    if not codes:
        assert send(NotifySettings(apprise=(address.replace("http", "json"),)), message).result is result


def test_apprise_does_not_know_what_a_silent_service_took(message: Message, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "APPRISE_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"json://127.0.0.1:{silent.getsockname()[1]}/"
        assert send(NotifySettings(apprise=(address,)), message).result is Result.UNKNOWN


def test_an_address_never_appears_in_a_problem(message: Message) -> None:
    attempt = send(NotifySettings(apprise=("nosuch://s3cr3t-t0ken-1234",)), message)
    assert attempt.result is Result.FAILED
    assert "s3cr3t" not in attempt.problem
    assert all("s3cr3t" not in name for name in channels(NotifySettings(apprise=("nosuch://s3cr3t-t0ken-1234",))))


def test_a_program_is_run_without_a_shell(message: Message, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(
        '#!/bin/sh\nprintf "%s|" "$@" "$UNTILDONE_OUTCOME" "$UNTILDONE_TITLE" "$UNTILDONE_TOKEN" "$UNTILDONE_NOTIFY_APPRISE" > told\n'
        "cat > given\n"
    )
    program.chmod(0o755)
    private = {"UNTILDONE_TOKEN": "secret", "UNTILDONE_NOTIFY_APPRISE": "slack://secret"}
    send(NotifySettings(command=(str(program), "$HOME")), message, {"PATH": os.environ["PATH"], **private})
    assert (tmp_path / "told").read_text() == f"$HOME|verified|{TITLE}|||"
    assert json.loads((tmp_path / "given").read_text()) == message.fields
    assert not (tmp_path / "oops").exists()


def test_the_desktop_is_told_where_there_is_a_way(message: Message, tmp_path: Path) -> None:
    program = tmp_path / "notify-send"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@" > told\n')
    program.chmod(0o755)
    assert send(NotifySettings(desktop=True), message, {"PATH": f"{tmp_path}:{os.environ['PATH']}"}) == notify.SENT
    assert f"untildone: {message.title}|{message.text}|" in (tmp_path / "told").read_text()
    nowhere = send(NotifySettings(desktop=True), message, {"PATH": str(tmp_path / "nothing")})
    assert nowhere.result is Result.FAILED


def test_a_program_that_fails_is_named(message: Message) -> None:
    assert "/no/such/program" in send(NotifySettings(command=("/no/such/program",)), message).problem
    assert "ended with 1" in send(NotifySettings(command=("false",)), message).problem


FORKS = "for way in setsid 'env -i' env; do $way sleep 100 & echo $! >> pids; done; echo $$ >> pids"


def left(tmp_path: Path) -> list[int]:
    return [int(pid) for pid in (tmp_path / "pids").read_text().split() if int(pid) in orphans.scan()[0]]


@pytest.mark.parametrize("end", ["true", "sleep 100", "trap '' TERM; wait; sleep 100"])
def test_a_program_leaves_nothing_behind(
    message: Message, tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "COMMAND_SECONDS", 2.0)
    attempt = send(NotifySettings(command=("sh", "-c", f"{FORKS}; {end}")), message)
    assert left(tmp_path) == []
    assert ("took longer than 2 s" in attempt.problem) == (end != "true")


def test_a_program_ends_with_the_host_that_runs_it(tmp_path: Path) -> None:
    host = (
        "import os, sys; from untildone.engine.notices.notify import *;"
        "message = Message({'workspace': sys.argv[1]}, 't', 't');"
        "channels(NotifySettings(command=('sh', '-c', sys.argv[2])))['command'](message, os.environ)"
    )
    script = "setsid sleep 100 & echo $! >> pids; echo $$ >> pids; echo >> told; sleep 100"
    running = subprocess.Popen([sys.executable, "-c", host, str(tmp_path), script])
    until(lambda: (tmp_path / "told").exists(), patience=60)
    running.kill()
    running.wait(60)
    until(lambda: not left(tmp_path), patience=60)
