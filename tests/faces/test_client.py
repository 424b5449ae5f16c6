"""The client of a server against servers that break off, send garbage, too much or nothing, redirect, or are not there."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from io import BufferedIOBase

import pytest
from tests.support.stub_server import Reply, StubServer, reply

import untildone
from untildone.core import errors
from untildone.core.errors import LoopNotFound, ServerError, StoreError, UntilDoneError, UsageError, WrongMove
from untildone.core.events import Entry, LoopRenamed
from untildone.faces.client import sse, transport
from untildone.faces.client.sse import Message
from untildone.operations import look

TOKEN = "a-secret-of-the-tests"
DELETED = reply(200, {"deleted": ["loop-1"]})
BREAKS_OFF = b""


def connect(stub: StubServer, patience: float = 20.0, timeout: float = 20.0) -> untildone.Client:
    return untildone.connect(stub.url, TOKEN, patience=patience, timeout=timeout)


def test_a_request_whose_answer_is_lost_is_sent_again_with_the_same_key() -> None:
    with StubServer(DELETED, BREAKS_OFF, DELETED) as stub, connect(stub) as client:
        for _ in range(2):
            assert client.clean("30d") == ("loop-1",)
    first, lost, again = stub.requests
    assert lost == again
    assert lost.headers["idempotency-key"] != first.headers["idempotency-key"]
    assert (lost.path, json.loads(lost.body)) == ("/api/v1/clean", {"older_than": "30d"})


@pytest.mark.parametrize(
    "busy",
    [
        reply(502, b"<html>bad gateway</html>"),
        reply(503, b"starting"),
        reply(429, {"detail": "Too many requests.", "code": "too-many-requests"}, retry_after="0"),
        reply(503, {"detail": "Too many streams.", "code": "too-many-streams"}, retry_after="1"),
        reply(409, {"detail": "The key is in use.", "code": "idempotency-key-in-use"}, retry_after="1"),
    ],
)
def test_a_server_that_is_busy_is_asked_again(busy: bytes) -> None:
    with StubServer(busy, DELETED) as stub, connect(stub) as client:
        assert client.clean("30d") == ("loop-1",)
    first, again = stub.requests
    assert first.headers["idempotency-key"] == again.headers["idempotency-key"]


def test_a_deletion_whose_answer_is_lost_is_one() -> None:
    gone = reply(404, {"detail": "There is no loop 'loop-1'.", "code": "loop-not-found"})
    with StubServer(reply(200, {"deleted": []}), BREAKS_OFF, gone) as stub, connect(stub) as client:
        client.clean("30d")
        client.delete("loop-1")
        with pytest.raises(LoopNotFound, match="There is no loop 'loop-1'"):
            client.delete("loop-1")


def drip(stream: BufferedIOBase) -> None:
    for _ in range(600):
        stream.write(b"H")
        time.sleep(0.1)


def flood(stream: BufferedIOBase) -> None:
    stream.write(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\n\r\n")
    for _ in range(200):
        stream.write(b'"' + b"x" * (1 << 20))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (reply(200, b"<html>hello</html>"), "it is not JSON"),
        (reply(200, b"[1, 2]"), "it is not a JSON object"),
        (reply(200, b"\xff\xfe\x00"), "it is not JSON"),
        (reply(200, b"[" * 200_000), "it is not JSON"),
        (reply(200, {}), "the deleted loops cannot be read"),
        (reply(200, {"deleted": [1]}), "the deleted loops cannot be read"),
        (reply(500, b"Internal Server Error"), "its status is 500"),
        (reply(404, b"<html>not found</html>"), "its status is 404"),
        (reply(418, {"detail": ""}), "its status is 418"),
        (reply(404, b"[]", content_type="application/problem+json"), "its status is 404"),
        (flood, "more than 64 MB"),
        (drip, "does not answer within 1 s"),
        (lambda _: time.sleep(3), "does not answer within 1 s"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "cannot be reached"),
        (BREAKS_OFF, "cannot be reached"),
        (reply(503, b"never"), "its status is 503"),
    ],
)
def test_nonsense_is_one_sentence_and_soon(answer: Reply, sentence: str) -> None:
    timeout = 1 if "within 1 s" in sentence else 60
    with StubServer(answer) as stub, connect(stub, patience=0.5, timeout=timeout) as client:
        with pytest.raises(ServerError, match=sentence) as caught:
            client.clean("30d")
        assert stub.url in str(caught.value)
        assert caught.value.hint
        assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"loop_id": "loop-1"},
        {"loop_id": 5, "driven": True},
        {"loops": [{}], "next": None},
        {"loops": 5},
        {"broke": ""},
    ],
)
def test_values_that_are_no_loops_are_refused(fields: dict[str, object]) -> None:
    with StubServer(reply(200, fields)) as stub, connect(stub) as client:
        for ask in (
            client.show,
            client.rounds,
            client.wait,
            client.start,
            client.bisect,
            client.verify,
            client.duplicate,
        ):
            with pytest.raises(ServerError, match="does not answer as untildone does"):
                ask("loop-1")
        with pytest.raises(ServerError):
            client.list()
        with pytest.raises(ServerError):
            client.create("A job")
        with pytest.raises(ServerError):
            client.say("loop-1", "hello")


def test_an_endless_list_ends_with_its_limit() -> None:
    with StubServer(reply(200, {"loops": [], "next": "more"})) as stub, connect(stub) as client:
        assert client.list() == ()
        assert len(stub.requests) == 1


def test_a_redirect_is_not_followed_and_the_token_goes_nowhere_else() -> None:
    with StubServer(DELETED) as thief:
        moved = reply(307, b"", location=f"{thief.url}/api/v1/clean")
        with StubServer(moved) as stub, connect(stub) as client:
            with pytest.raises(ServerError, match=f"redirects to {thief.url[7:]}"):
                client.clean("30d")
            with pytest.raises(ServerError, match="redirects"):
                client.show("loop-1")
        assert thief.requests == []


def test_a_proxy_of_the_environment_does_not_read_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    with StubServer(DELETED) as proxy, StubServer(DELETED) as stub:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("all_proxy", proxy.url)
        with connect(stub) as client:
            assert client.clean("30d") == ("loop-1",)
        assert (len(proxy.requests), len(stub.requests)) == (0, 1)
    assert stub.requests[0].headers["authorization"] == f"Bearer {TOKEN}"


def test_the_token_is_in_no_text(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with StubServer(DELETED, reply(401, {"detail": "The token is wrong.", "code": "unauthorized"})) as stub:
        with connect(stub) as client:
            client.clean("30d")
            with pytest.raises(UsageError, match=r"The token is wrong\.") as caught:
                client.clean("30d")
        shown = (
            client,
            untildone.connect_async(stub.url, TOKEN),
            caught.value,
            caught.getrepr(showlocals=True, style="long"),
        )
        assert TOKEN not in caplog.text + "".join(map(str, shown)) + "".join(map(repr, shown))
        assert stub.url in repr(client)


def test_a_server_that_was_never_there_is_told_at_once() -> None:
    with StubServer(DELETED) as stub:
        url = stub.url
    with (
        untildone.connect(url, TOKEN, patience=600) as client,
        pytest.raises(ServerError, match="cannot be reached") as caught,
    ):
        client.list()
    assert url in str(caught.value)


@pytest.mark.parametrize(
    ("url", "token", "sentence"),
    [
        ("127.0.0.1:8321", TOKEN, "The URL of the server"),
        ("ftp://127.0.0.1", TOKEN, "The URL of the server"),
        ("http://", TOKEN, "The URL of the server"),
        ("http://[::1", TOKEN, "The URL of the server"),
        ("http://host:99999", TOKEN, "The URL of the server"),
        ("http://host/?a=b", TOKEN, "The URL of the server"),
        (f"http://me:{TOKEN}@host", TOKEN, "name or password"),
        ("http://host", "", "is missing"),
        ("http://host", f"{TOKEN}\r\nX: y", "special characters"),
        ("http://host", f"{TOKEN}é", "special characters"),
    ],
)
def test_an_address_that_cannot_be_one(url: str, token: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        untildone.connect(url, token)
    assert TOKEN not in str(caught.value)


def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNTILDONE_TOKEN", "of-the-environment")
    with StubServer(DELETED) as stub, untildone.connect(stub.url + "/") as client:
        client.clean("30d")
    assert stub.requests[0].headers["authorization"] == "Bearer of-the-environment"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (404, "loop-not-found", LoopNotFound),
        (409, "wrong-state", WrongMove),
        (409, "loop-busy", errors.LoopBusy),
        (409, "not-ours", errors.NotOurs),
        (403, "from-inside", errors.FromInside),
        (422, "agent-missing", errors.AgentMissing),
        (503, "unavailable", StoreError),
        (409, "idempotency-key-in-use", UsageError),
        (422, "not-valid", UsageError),
        (401, "unauthorized", UsageError),
        (499, "of-a-later-version", UsageError),
        (500, "defect", ServerError),
    ],
)
def test_an_error_is_the_exception_of_its_code(status: int, code: str, kind: type[UntilDoneError]) -> None:
    problem = {"detail": "It \x1b[31mcannot be\n done.", "hint": "do another thing", "code": code, "errors": []}
    with StubServer(reply(status, problem)) as stub, connect(stub) as client:
        with pytest.raises(UntilDoneError) as caught:
            client.clean("30d")
        assert type(caught.value) is kind
        assert (caught.value.sentence, caught.value.hint) == ("It  [31mcannot be  done.", "do another thing")
        assert len(stub.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_token_that_something_before_the_server_refuses(status: int) -> None:
    refused = pytest.raises(UsageError, match="does not accept the token")
    with StubServer(reply(status, b"<html>log in</html>")) as stub, connect(stub) as client, refused:
        client.list()


def test_all_wrong_fields_are_named() -> None:
    wrong = [{"field": name, "message": f"'{name}' is wrong."} for name in ("one", "two")]
    problem = {"detail": "'one' is wrong. `errors` has 1 more.", "code": "not-valid", "hint": "", "errors": wrong}
    named = pytest.raises(UsageError, match=r"^'one' is wrong\. 'two' is wrong\.$")
    with StubServer(reply(422, problem)) as stub, connect(stub) as client, named:
        client.create("A job")


@pytest.mark.parametrize("name", ["../tokens", "a/b", "", "x" * 101, "loop 1", "last\n", "%2e%2e"])
def test_a_name_that_no_loop_has_is_not_sent(name: str) -> None:
    with StubServer(DELETED) as stub, connect(stub) as client:
        for verb in (client.show, client.delete, client.diff, client.pause, client.wait):
            with pytest.raises(LoopNotFound):
                verb(name)
        assert stub.requests == []


def message(seq: int) -> bytes:
    fields = look.entry_fields(Entry(seq, 0.0, LoopRenamed(f"title {seq}")), "loop-1")
    return f"id: {seq}\ndata: {json.dumps(fields)}\n\n".encode()


def stream(*parts: bytes) -> bytes:
    return b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n\r\n" + b"".join(parts)


def state(seq: int, status: str = "running") -> bytes:
    """The answer about a loop, as the server gives it."""
    from untildone.core.loop import Loop
    from untildone.core.model import AgentChoice, Budget, LoopSettings

    settings = LoopSettings(mode="ralph", worker=AgentChoice("scripted", "scripted"), workspace="/nowhere")
    loop = Loop("loop-1", "A job", "A job", settings, Budget(), 0.0, 0.0, seq=seq)
    return reply(
        200, {**look.checkpoint_fields(loop), "status": status, "driven": False, "queued": False, "problem": ""}
    )


def test_a_broken_stream_goes_on_where_it_was() -> None:
    replies = (
        state(9),
        stream(message(1), message(2), message(3)[:20]),
        stream(message(2), message(3)),
        BREAKS_OFF,
        reply(503, b"starting"),
        stream(b": ping\n\n", message(4), b'event: loop_end\ndata: {"status": "completed"}\n\n'),
    )
    with StubServer(*replies) as stub, connect(stub) as client:
        assert [entry.seq for entry in client.follow("loop-1")] == [1, 2, 3, 4]
    assert [request.headers.get("last-event-id") for request in stub.requests] == [None, "0", "2", "3", "3", "3"]


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (stream(), "breaks off"),
        (stream(b"data: {}\n\n"), "an entry of the journal cannot be read"),
        (stream(b"data: [1]\n\n"), "an entry of the journal cannot be read"),
        (stream(message(1).replace(b"loop-1", b"loop-2")), "an entry of the journal cannot be read"),
        (stream(b"data: " + b"x" * (65 << 20)), "does not end"),
        (reply(404, {"detail": "There is no loop.", "code": "loop-not-found"}), "There is no loop"),
        (reply(302, b"", location="http://elsewhere.invalid/"), "redirects to elsewhere.invalid"),
        (reply(503, b"never"), "breaks off"),
    ],
)
def test_a_stream_of_nonsense_is_one_sentence_and_soon(broken: bytes, sentence: str) -> None:
    with (
        StubServer(state(9), broken) as stub,
        connect(stub, patience=0.5) as client,
        pytest.raises(UntilDoneError, match=sentence),
    ):
        list(client.follow("loop-1"))


def test_a_stream_that_falls_silent_is_opened_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "SILENCE", 0.3)
    released = threading.Event()

    def silent(connection: BufferedIOBase) -> None:
        connection.write(stream(message(1)))
        connection.flush()
        released.wait(60)

    with (
        StubServer(state(9), silent, stream(message(2), b"event: loop_end\ndata: {}\n\n")) as stub,
        connect(stub) as client,
    ):
        assert [entry.seq for entry in client.follow("loop-1")] == [1, 2]
        released.set()


def test_a_client_that_is_closed_says_so() -> None:
    with StubServer(DELETED) as stub:
        client = connect(stub)
        client.close()
        client.close()
        with pytest.raises(UsageError, match="is closed"):
            client.list()


def test_several_threads_may_use_a_client() -> None:
    with StubServer(DELETED) as stub, connect(stub) as client:
        found: list[tuple[str, ...]] = []
        threads = [threading.Thread(target=lambda: found.append(client.clean("30d"))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert found == [("loop-1",)] * 8
        assert len({request.headers["idempotency-key"] for request in stub.requests}) == 8


def test_without_httpx_the_extra_is_named_and_help_works() -> None:
    program = """
import pydoc, sys
sys.modules["httpx"] = None
import untildone
assert " connect(" in pydoc.plain(pydoc.render_doc(untildone))
try:
    untildone.connect("http://127.0.0.1:8321", "token")
except untildone.UntilDoneError as problem:
    print(problem.sentence, problem.hint)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "httpx, which is not installed" in ended.stdout, ended.stderr
    assert "extra `client`" in ended.stdout


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_messages_are_found_however_the_stream_is_cut(size: int) -> None:
    text = b": ping\r\n\r\nid: 1\ndata: one\ndata:two\n\nevent: loop_end\ndata: \xc3\xa4\n\nretry: 5\n\nunknown\n\ndata: never ended"
    found: list[Message] = []
    parser = sse.Parser()
    for place in range(0, len(text), size):
        found += parser.feed(text[place : place + size])
    assert found == [Message(), Message("", "one\ntwo"), Message("loop_end", "ä")]
