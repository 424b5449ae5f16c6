"""Bodies that are sent to the API: done, or refused with one sentence and without a trace in the loop's journal."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import check_sentence, damaged_bytes, deeply_nested, misshapen, tried
from tests.support.command_line import CommandLine
from tests.support.serving import Server

BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/messages"): {"text": "[r+1] mind the tests"},
    ("POST", "/budget"): {"iterations": "+5", "cost": 10, "minutes": "none", "tokens": "=9", "iteration_timeout": 5.5},
    ("PATCH", ""): {"title": "Another title", "budget": {"iterations": 20}},
    ("POST", "/tasks"): {"text": "Write the parser", "depends_on": ["t1"], "position": 0},
    ("PUT", "/tasks/order"): {"order": ["t1", "t2"]},
    ("POST", "/pause"): {"now": True},
}
CREATED = {"task": "A job", "settings": {"agent": "scripted", "checks": ["true"], "max_iterations": 3}, "start": False}


@dataclass(frozen=True)
class Desk:
    """A server, and a loop that rests."""

    server: Server
    loop_id: str

    @property
    def journal(self) -> Path:
        return self.server.cli.workspace / ".loop" / f"{self.loop_id}.progress" / "execution.log.jsonl"

    def send(self, method: str, path: str, content: bytes, kind: str = "application/json") -> httpx.Response:
        headers = {"content-type": kind}
        return self.server.client.request(method, f"/api/v1/loops{path}", content=content, headers=headers)


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory() as folder, Server(CommandLine(Path(folder)), "--quiet") as server:
        yield Desk(server, server.create("One that rests", start=False, mode="workflow"))
        assert "Traceback" not in server.log.read_text()


def check_answer(answer: httpx.Response) -> None:
    assert answer.status_code < 500, answer.text
    if answer.status_code < 400:
        return
    told = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert told["status"] == answer.status_code
    check_sentence(told["detail"])


contents = st.sampled_from(sorted(BODIES)).flatmap(
    lambda place: st.tuples(
        st.just(place),
        misshapen(BODIES[place]).map(lambda body: json.dumps(body).encode("utf-8", "replace"))
        | damaged_bytes(json.dumps(BODIES[place]).encode()),
    )
)


@tried(0.5)
@given(sent=contents, kind=st.sampled_from(("application/json", "application/json", "text/plain", "")))
@example(sent=(("POST", "/messages"), deeply_nested(100_000)), kind="application/json")
@example(sent=(("POST", "/messages"), b'{"text": "\\ud800"}'), kind="application/json")
@example(sent=(("POST", "/budget"), b'{"cost": 1e999}'), kind="application/json")
@example(sent=(("POST", "/budget"), b'{"tokens": ' + b"9" * 5000 + b"}"), kind="application/json")
def test_a_body_is_done_or_refused_without_a_trace(desk: Desk, sent: tuple[tuple[str, str], bytes], kind: str) -> None:
    (method, path), content = sent
    before = desk.journal.read_bytes()
    answer = desk.send(method, f"/{desk.loop_id}{path}", content, kind)
    check_answer(answer)
    after = desk.journal.read_bytes()
    assert after.startswith(before), "what was written stays"
    assert answer.status_code < 400 or after == before, "what was refused leaves no trace"
    assert desk.server.show(desk.loop_id)["loop_id"] == desk.loop_id


@tried(0.2)
@given(content=misshapen(CREATED).map(lambda body: json.dumps(body).encode("utf-8", "replace")))
@example(content=b'{"task": "A job", "settings": {"a\\nb": 1}}')
def test_a_new_loop_comes_about_or_is_refused(desk: Desk, content: bytes) -> None:
    answer = desk.send("POST", "", content)
    check_answer(answer)
    if answer.status_code == 201:
        loop_id = answer.json()["loop_id"]
        assert desk.server.show(loop_id)["status"] in ("created", "running", "paused", "completed", "failed")
        check_answer(desk.server.client.delete(f"/api/v1/loops/{loop_id}?force=true"))


@tried(0.5)
@given(name=st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text("./%\\a-_0\x00", max_size=8))
@example(name="../../etc/passwd")
@example(name="..%2f..%2fx")
def test_no_id_leaves_its_folder(desk: Desk, name: str) -> None:
    answer = desk.server.client.get(f"/api/v1/loops/{quote(name, safe='./%')}")
    check_answer(answer)
    assert answer.status_code in (307, 404, 405, 422) or "loops" in answer.json(), (
        "nothing is found by it, or all are listed"
    )
