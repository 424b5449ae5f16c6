"""Notifications about a loop that came to rest: signed, tried again, bounded, and harmless if they fail."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.support.command_line import until

from untildone.core.loop import Loop
from untildone.core.model import Budget, LoopSettings, Outcome, Status
from untildone.engine import notify
from untildone.engine.notify import SIGNATURE, Notifier, NotifySettings, send
from untildone.system import orphans
from untildone.testing.driver import WORKER


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    settings = LoopSettings("ralph", WORKER, str(tmp_path))
    title = 'A "title"; $(touch oops)'
    return Loop(
        "loop-1", title, "task", settings, Budget(), 0.0, 0.0, status=Status.COMPLETED, outcome=Outcome.VERIFIED
    )


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


def test_a_webhook_gets_the_outcome_signed(loop: Loop) -> None:
    with receiving(204) as (receiver, address):
        send(NotifySettings(webhook=address, secret="hush"), loop, os.environ)
    ((signature, body),) = receiver.received
    assert signature == "sha256=" + hmac.new(b"hush", body, hashlib.sha256).hexdigest()
    fields = json.loads(body)
    assert (fields["loop_id"], fields["outcome"], fields["title"]) == ("loop-1", "verified", loop.title)


@pytest.mark.parametrize(("codes", "tries"), [((500, 200), 2), ((404, 200), 1), ((302, 200), 1), ((200,), 1)])
def test_a_webhook_is_tried_again_if_that_may_help(loop: Loop, codes: tuple[int, ...], tries: int) -> None:
    with receiving(*codes) as (receiver, address):
        send(NotifySettings(webhook=address), loop, os.environ)
    assert [signature for signature, _ in receiver.received] == [None] * tries


def test_a_program_is_run_without_a_shell(loop: Loop, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(
        '#!/bin/sh\nprintf "%s|" "$@" "$UNTILDONE_OUTCOME" "$UNTILDONE_TITLE" "$UNTILDONE_TOKEN" > told\ncat > given\n'
    )
    program.chmod(0o755)
    send(
        NotifySettings(command=(str(program), "$HOME")), loop, {"PATH": os.environ["PATH"], "UNTILDONE_TOKEN": "secret"}
    )
    assert (tmp_path / "told").read_text() == f"$HOME|verified|{loop.title}||"
    assert json.loads((tmp_path / "given").read_text())["status"] == "completed"
    assert not (tmp_path / "oops").exists()


def test_the_desktop_is_told_where_there_is_a_way(loop: Loop, tmp_path: Path) -> None:
    program = tmp_path / "notify-send"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@" > told\n')
    program.chmod(0o755)
    send(NotifySettings(desktop=True), loop, {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert f"untildone: verified|{loop.title}|" in (tmp_path / "told").read_text()
    send(NotifySettings(desktop=True), loop, {"PATH": str(tmp_path / "nothing")})


def test_what_fails_is_logged_and_harms_nobody(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    send(NotifySettings(command=("/no/such/program",)), loop, os.environ)
    send(NotifySettings(command=("false",)), loop, os.environ)
    assert ["/no/such/program" in caplog.messages[0], "ended with 1" in caplog.messages[1]] == [True, True]


def test_many_are_told_in_the_background(loop: Loop, tmp_path: Path) -> None:
    notifier = Notifier()
    program = ("sh", "-c", "echo x >> told")
    for _ in range(5):
        notifier.send(NotifySettings(command=program), loop, os.environ)
    notifier.close(10)
    until(lambda: (tmp_path / "told").read_text().count("x") == 5)


FORKS = "for way in setsid 'env -i' env; do $way sleep 100 & echo $! >> pids; done; echo $$ >> pids"


def left(tmp_path: Path) -> list[int]:
    return [int(pid) for pid in (tmp_path / "pids").read_text().split() if int(pid) in orphans.scan()[0]]


@pytest.mark.parametrize("end", ["true", "sleep 100", "trap '' TERM; wait; sleep 100"])
def test_a_program_leaves_nothing_behind(
    loop: Loop, tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notify, "COMMAND_SECONDS", 2.0)
    send(NotifySettings(command=("sh", "-c", f"{FORKS}; {end}")), loop, os.environ)
    assert left(tmp_path) == []
    assert ("took longer than 2 s" in caplog.text) == (end != "true")


def test_a_program_ends_with_the_host_that_runs_it(loop: Loop, tmp_path: Path) -> None:
    host = (
        "import os, sys; from untildone.engine.notify import *;"
        "from untildone.core.loop import Loop; from untildone.core.model import *; from untildone.testing.driver import WORKER;"
        "settings = LoopSettings('ralph', WORKER, sys.argv[1]);"
        "loop = Loop('loop-1', 't', 't', settings, Budget(), 0.0, 0.0, outcome=Outcome.VERIFIED);"
        "send(NotifySettings(command=('sh', '-c', sys.argv[2])), loop, os.environ)"
    )
    script = "setsid sleep 100 & echo $! >> pids; echo $$ >> pids; echo >> told; sleep 100"
    running = subprocess.Popen([sys.executable, "-c", host, str(tmp_path), script])
    until(lambda: (tmp_path / "told").exists(), patience=60)
    running.kill()
    running.wait(60)
    until(lambda: not left(tmp_path), patience=60)
