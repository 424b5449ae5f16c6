"""What every client can rely on: addresses, methods, errors, lists, and a description that is complete. With and without the dashboard."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.support.command_line import CommandLine, until
from tests.support.serving import TOKEN, Server

import untildone
from untildone.core.attention import NeedKind
from untildone.core.events import KINDS
from untildone.core.model import Outcome, Status
from untildone.faces.api.schemas.models import NeedWord, OutcomeWord, StatusWord

LOOPS = "/api/v1/loops"
EVENTS = "/api/v1/events"
WHO = ("-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")


@pytest.fixture(scope="module", params=[False, True], ids=["bare", "dashboard"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(CommandLine(tmp_path_factory.mktemp("contract")), dashboard=request.param) as server:
        yield server


@pytest.fixture(scope="module")
def loop_id(server: Server) -> str:
    return server.create("Write the parser", start=False)


def check_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    told: dict[str, Any] = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, told["status"], told["code"]) == (status, status, code), told
    assert told["type"] == f"urn:untildone:problem:{code}"
    assert told["title"]
    assert told["detail"].endswith(".")
    return told


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", LOOPS, "GET, HEAD, OPTIONS, POST"),
        ("DELETE", "/api/v1/health", "GET, HEAD, OPTIONS"),
        ("GET", f"{LOOPS}/x/pause", "OPTIONS, POST"),
        ("POST", f"{LOOPS}/x", "DELETE, GET, HEAD, OPTIONS, PATCH"),
        ("POST", f"{LOOPS}/x/tasks/order", "OPTIONS, PUT"),
    ],
)
def test_a_method_that_is_not_there_is_405_and_says_which_are(
    server: Server, method: str, path: str, allow: str
) -> None:
    refused = server.client.request(method, path)
    check_problem(refused, 405, "method-not-allowed")
    assert refused.headers["Allow"] == allow
    asked = server.client.options(path)
    assert (asked.status_code, asked.content, asked.headers["Allow"]) == (204, b"", allow)


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/v1", "/api/loops", "/api/v1/nothing", f"{LOOPS}/", f"{LOOPS}//"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "OPTIONS"])
def test_an_address_that_is_not_there_is_404_in_json(server: Server, method: str, path: str) -> None:
    check_problem(server.client.request(method, path), 404, "not-found")


def test_the_answer_to_a_slash_too_many_names_the_address(server: Server) -> None:
    assert LOOPS in server.client.get(f"{LOOPS}/").json()["hint"]


def test_head_is_get_without_a_body(server: Server, loop_id: str) -> None:
    for path in (LOOPS, f"{LOOPS}/{loop_id}", f"{LOOPS}/{loop_id}/events", "/api/v1/openapi.json"):
        answer = server.client.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path
        assert answer.headers["content-type"].split(";")[0] in ("application/json", "text/event-stream")
    assert server.client.head(f"{LOOPS}/none").status_code == 404


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/xml", "json"])
def test_a_body_of_another_type_is_415(server: Server, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    refused = server.client.post(LOOPS, content=b'{"task": "x"}', headers=headers)
    assert "Content-Type: application/json" in check_problem(refused, 415, "unsupported-media-type")["hint"]


def test_json_with_a_charset_is_json(server: Server, loop_id: str) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    answer = server.client.patch(f"{LOOPS}/{loop_id}", content=b'{"title": "Write the parser"}', headers=headers)
    assert answer.status_code == 200


def test_every_wrong_field_is_told_in_plain_words(server: Server, loop_id: str) -> None:
    body = {"task": " ", "start": "x", "more": 1, "settings": {"max_cost": 0, "speed": 1, "mode": 3}}
    told = check_problem(server.client.post(LOOPS, json=body), 422, "not-valid")
    found = {each["field"]: each["message"] for each in told["errors"]}
    assert set(found) == {"task", "start", "more", "settings.max_cost", "settings.speed", "settings.mode"}
    assert found["task"] == "'task' is empty, or has a NUL character."
    empty = server.client.post(f"{LOOPS}/{loop_id}/messages", json={"text": ""})
    assert check_problem(empty, 422, "not-valid")["detail"] == "'text' is empty, or has a NUL character."
    amount = server.client.post(f"{LOOPS}/{loop_id}/budget", json={"cost": "much", "iterations": -1})
    errors = check_problem(amount, 422, "not-valid")["errors"]
    assert [each["field"] for each in errors] == ["iterations", "cost"]
    for text in (str(told), empty.text, amount.text):
        assert not re.search(r"Input should|String should|should match|\^\[|\\x00", text), text


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("stat=running", ["stat"]),
        ("a=1&b=2&limit=1", ["a", "b"]),
        ("limit=1&limit=2", ["limit"]),
        ("status=none", ["status.0"]),
        ("outcome=good", ["outcome.0"]),
        ("needs=money", ["needs.0"]),
        ("since=yesterday", ["since"]),
        ("until=2026-11-09", ["until"]),
        ("until=0.5", ["until"]),
        ("sort=size&limit=0", ["sort", "limit"]),
        ("cursor=%21", ["cursor"]),
    ],
)
def test_a_query_that_is_not_understood_is_refused(server: Server, query: str, fields: list[str]) -> None:
    told = check_problem(server.client.get(f"{LOOPS}?{query}"), 422, "not-valid")
    assert [each["field"] for each in told["errors"]] == fields


def test_no_route_takes_an_unknown_parameter(server: Server, loop_id: str) -> None:
    paths = server.client.get("/api/v1/openapi.json").json()["paths"]
    for path in (path for path, methods in paths.items() if "get" in methods and path.startswith("/api/")):
        place = path.replace("{loop_id}", loop_id)
        refused = server.client.get(re.sub(r"\{\w+\}", "1", place), params={"nonsense": "1"})
        check_problem(refused, 422, "not-valid")


def test_lists_are_filtered_sorted_and_counted(server: Server) -> None:
    marked = [server.create(f"heap {word}", start=False) for word in ("c", "a", "b")]
    ended = server.create("heap d", checks=["test -s scripted-work.md"])
    server.until_status(ended, "completed")

    def listed(query: str) -> dict[str, Any]:
        answer = server.client.get(f"{LOOPS}?q=heap&{query}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    both = listed("status=created&status=completed&sort=title")
    assert [each["title"] for each in both["loops"]] == ["heap a", "heap b", "heap c", "heap d"]
    assert (both["total"], both["counts"], both["next"]) == (4, {"created": 3, "completed": 1}, None)
    assert [each["loop_id"] for each in listed("outcome=verified")["loops"]] == [ended]
    assert listed("outcome=stalled")["total"] == 0
    assert listed("mode=workflow&mode=phases")["total"] == 0
    assert listed("agent=scripted&since=2020-01-01T00:00:00Z")["total"] == 4
    assert listed("until=2020-01-01T00:00:00Z")["total"] == 0
    assert listed(f"workspace={server.cli.workspace}")["total"] == 4
    check_problem(server.client.get(f"{LOOPS}?workspace=/nowhere"), 422, "not-valid")
    first = listed("sort=title&limit=3")
    assert [each["title"] for each in listed(f"sort=title&limit=3&cursor={first['next']}")["loops"]] == ["heap d"]
    check_problem(server.client.get(f"{LOOPS}?cursor={first['next']}"), 422, "not-valid")
    assert {each["loop_id"] for each in listed("status=created")["loops"]} == set(marked)
    (line,) = listed("status=completed")["loops"]
    assert (line["needs"], line["waits"], line["question"]) == (None, None, None)
    assert line["workspace"] == str(server.cli.workspace)


def test_a_loop_can_be_given_a_title(server: Server) -> None:
    made = server.client.post(LOOPS, json={"task": "x", "title": "Its name", "settings": {"agent": "scripted"}})
    assert made.json()["title"] == "Its name"


def test_the_words_are_those_of_the_core() -> None:
    assert {*StatusWord} == {*(status.value for status in Status), "damaged"}
    assert {*OutcomeWord} == {outcome.word for outcome in Outcome}
    assert {*NeedWord} == {*(kind.value for kind in NeedKind), "any"}


def test_the_description_is_complete(server: Server) -> None:
    described = server.client.get("/api/v1/openapi.json").json()
    assert described["servers"]
    assert described["info"]["license"]["identifier"] == "Apache-2.0"
    ids = [each["operationId"] for methods in described["paths"].values() for each in methods.values()]
    assert "listLoops" in ids
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z]+([A-Z][a-z]*)*", each) for each in ids), ids
    assert all(path.startswith("/api/v1/") for path in described["paths"] if path != "/metrics")


def test_names_of_schemas_say_nothing_of_our_modules(server: Server) -> None:
    """Two classes of one name would be told apart by their modules: a generated client would change with our folders."""
    schemas = server.client.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert [name for name in schemas if "untildone" in name or name.endswith(("-Input", "-Output"))] == []


def test_no_field_of_a_body_has_a_default(server: Server) -> None:
    """A generated client would send it as a choice of its user, and so overrule `require_change = true` of a settings file."""
    schemas = server.client.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert [
        name for name, each in schemas.items() for field in each.get("properties", {}).values() if "default" in field
    ] == []
    assert "required" not in schemas["Settings"]
    assert schemas["NewLoop"]["required"] == ["task"]


def test_rounds_tell_what_was_asked_answered_changed_and_checked(server: Server) -> None:
    check = "test $(wc -l < scripted-work.md) -ge 3"
    (server.cli.workspace / "scripted-work.md").unlink(missing_ok=True)
    loop_id = server.create("Write it in steps", checks=[check])
    server.until_status(loop_id, "completed")
    listed = server.client.get(f"{LOOPS}/{loop_id}/rounds").json()
    assert [each["number"] for each in listed["rounds"]] == [1, 2, 3]
    assert [[gate["passed"] for gate in each["gates"]] for each in listed["rounds"]][-1] == [True]
    assert [each["kind"] for each in listed["before"]] == ["start"]
    shown = server.client.get(f"{LOOPS}/{loop_id}/rounds/1").json()
    assert "Write it in steps" in shown["prompt"]
    assert shown["answer"]
    (turn,) = shown["turns"]
    assert (turn["role"], turn["agent"], turn["prompt"], turn["failure"]) == (
        "worker",
        "scripted",
        shown["prompt"],
        None,
    )
    assert server.client.get(f"{LOOPS}/{loop_id}/output/{turn['output']}").status_code == 200
    assert shown["changes"]["insertions"] > 0
    last = server.client.get(f"{LOOPS}/{loop_id}/rounds/3").json()
    assert (last["gates"][0]["command"], last["gates"][0]["passed"], "tail" in last["gates"][0]) == (check, True, True)
    assert "+++ b/scripted-work.md" in server.client.get(f"{LOOPS}/{loop_id}/rounds/3/diff").text
    for path in ("rounds/4", "rounds/4/diff"):
        check_problem(server.client.get(f"{LOOPS}/{loop_id}/{path}"), 404, "not-found")
    check_problem(server.client.get(f"{LOOPS}/{loop_id}/rounds/0"), 422, "not-valid")
    receipt = server.client.get(f"{LOOPS}/{loop_id}/receipt").json()
    assert (receipt["outcome"], receipt["gates"][0]["command"]) == ("verified", check)
    state = server.show(loop_id)
    assert (state["outcome"], state["line"]["outcome"], state["line"]["branch"]) == ("verified", "verified", None)


def test_output_is_read_for_people(server: Server) -> None:
    loop_id = server.create("Say something", checks=["test -s scripted-work.md"])
    server.until_status(loop_id, "completed")
    answer = server.client.get(f"{LOOPS}/{loop_id}/output/0001/blocks")
    assert answer.status_code == 200, answer.text
    window = answer.json()
    assert "said" in {each["kind"] for each in window["blocks"]}
    assert (window["start"], window["going"], window["size"] > 0) == (0, False, True)
    assert window["written_at"]
    before = server.client.get(f"{LOOPS}/{loop_id}/output/0001/blocks?before=999999999999").json()
    assert before["blocks"] == window["blocks"]
    check_problem(server.client.get(f"{LOOPS}/{loop_id}/output/0001/blocks?before=0"), 422, "not-valid")
    check_problem(server.client.get(f"{LOOPS}/{loop_id}/output/0009/blocks"), 404, "not-found")
    check_problem(server.client.get(f"{LOOPS}/{loop_id}/output/1/blocks"), 422, "not-valid")


def test_spend_is_added_up_by_day_agent_and_workspace(server: Server) -> None:
    before = server.client.get("/api/v1/spend").json()
    loop_id = server.create("Spend a little", checks=["test -s scripted-work.md"])
    rounds = server.until_status(loop_id, "completed")["current_iteration"]
    spent = server.client.get("/api/v1/spend").json()
    assert spent["today"]["loops"] == before["today"]["loops"] + 1
    assert spent["week"]["rounds"] == before["week"]["rounds"] + rounds
    assert len(spent["days"]) == 7
    assert spent["days"][-1] == spent["today"]
    assert [each["name"] for each in spent["agents"]] == ["scripted"]
    assert [each["name"] for each in spent["workspaces"]] == [str(server.cli.workspace)]
    assert server.client.get("/api/v1/spend?offset=840").status_code == 200
    check_problem(server.client.get("/api/v1/spend?offset=841"), 422, "not-valid")


def test_a_branch_is_ahead_and_behind(server: Server) -> None:
    for words in (["init", "-q", "-b", "main"], [*WHO, "commit", "-q", "--allow-empty", "-m", "First"]):
        subprocess.run(["git", *words], cwd=server.cli.workspace, check=True, capture_output=True)
    plain = server.create("In the folder", start=False)
    assert server.client.get(f"{LOOPS}/{plain}/branch").json()["name"] is None
    loop_id = server.create("On a branch", worktree=True, commit=True, checks=["test -s scripted-work.md"])
    server.until_status(loop_id, "completed")
    subprocess.run(["git", *WHO, "commit", "-q", "--allow-empty", "-m", "Second"], cwd=server.cli.workspace, check=True)
    branch = server.client.get(f"{LOOPS}/{loop_id}/branch").json()
    assert (branch["name"], branch["base"], branch["behind"]) == (f"untildone/{loop_id}", "main", 1)
    assert branch["ahead"] >= 1
    assert branch["merge"].endswith(f" merge untildone/{loop_id}")
    with untildone.connect(server.url, TOKEN) as client:
        known = client.branch(loop_id)
        assert known is not None
        assert (known.name, known.ahead, known.behind) == (branch["name"], branch["ahead"], 1)
        assert client.spend().week.loops >= 1
        assert client.branch(plain) is None


def test_states_receipts_and_entries_are_described(server: Server) -> None:
    described = server.client.get("/api/v1/openapi.json").json()
    schemas = described["components"]["schemas"]
    state = schemas["LoopState"]
    assert {"gates", "spend", "outcome", "budget", "turn", "limits"} <= set(state["required"])
    assert "additionalProperties" not in state
    assert schemas["UsageLimit"]["properties"]["until"]["format"] == "date-time"
    assert set(schemas["Entry"]["discriminator"]["mapping"]) == set(KINDS)
    assert schemas["LoopLine"]["properties"]["created_at"]["format"] == "date-time"
    output = described["paths"]["/api/v1/loops/{loop_id}/output/{name}"]["get"]["responses"]["200"]
    assert set(output["headers"]) == {"X-Next-Offset", "X-Size"}
    made = described["paths"][LOOPS]["post"]["responses"]["201"]
    assert "Location" in made["headers"]


def test_entries_of_the_stream_are_as_described(server: Server) -> None:
    loop_id = server.create("Follow me", checks=["test -s scripted-work.md"])
    server.until_status(loop_id, "completed")
    described = server.client.get("/api/v1/openapi.json").json()["components"]
    checker = Draft202012Validator({"$ref": "#/components/schemas/Entry", "components": described})
    told = server.client.get(f"{LOOPS}/{loop_id}/events").text
    entries = [json.loads(line[6:]) for line in told.splitlines() if line.startswith('data: {"seq')]
    assert len(entries) > 5
    for entry in entries:
        checker.validate(entry)


class Listener:
    """Reads the stream of all loops in a thread."""

    def __init__(self, server: Server, last: str | None = None) -> None:
        self.heard: list[tuple[str, str, dict[str, Any]]] = []
        self.headers = {"Last-Event-ID": last} if last else {}
        self._server = server
        self._opened = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._opened.wait(30)

    def _read(self) -> None:
        with (
            self._server.new_client(timeout=60) as client,
            client.stream("GET", EVENTS, headers=self.headers) as answer,
        ):
            self._opened.set()
            fields: dict[str, str] = {}
            with suppress(httpx.HTTPError):
                for line in answer.iter_lines():
                    name, _, value = line.partition(": ")
                    if line:
                        fields[name] = value
                    elif "data" in fields:
                        self.heard.append((fields["event"], fields["id"], json.loads(fields["data"])))
                        fields = {}

    def of(self, loop_id: str) -> list[tuple[str, str]]:
        return [(event, line.get("status", "")) for event, _, line in list(self.heard) if line["loop_id"] == loop_id]


def test_one_stream_tells_of_every_loop(server: Server) -> None:
    one, two = Listener(server), Listener(server)
    loop_id = server.create("Be heard", checks=["test -s scripted-work.md"])
    until(lambda: ("loop", "completed") in one.of(loop_id))
    until(lambda: ("loop", "completed") in two.of(loop_id))
    assert server.client.delete(f"{LOOPS}/{loop_id}").status_code == 204
    until(lambda: ("gone", "") in one.of(loop_id))
    theirs = server.cli.run("run", "theirs", "--agent", "scripted", "--check", "test -s scripted-work.md", "--json")
    their_id = json.loads(theirs.output.splitlines()[0])["loop_id"]
    until(lambda: ("loop", "completed") in one.of(their_id))
    last = one.heard[-1][1]
    again = server.create("Said later", start=False)
    told = server.client.get(EVENTS, params={"follow": "false"}, headers={"Last-Event-ID": last}).text
    assert again in told
    assert "Be heard" not in told


def test_a_busy_loop_is_told_of_once_a_second(server: Server) -> None:
    loop_id = server.create("Busy", start=False)
    listener = Listener(server)
    began = time.monotonic()
    for number in range(40):
        server.client.patch(f"{LOOPS}/{loop_id}", json={"title": f"Busy {number}"})
    until(lambda: listener.heard and listener.heard[-1][2]["title"] == "Busy 39")
    assert len(listener.of(loop_id)) <= time.monotonic() - began + 2


def test_a_repeated_request_is_carried_out_once(server: Server) -> None:
    body = {"task": "Only once, please", "settings": {"agent": "scripted"}}
    key = {"Idempotency-Key": "b2c1-once"}
    first, second = (server.client.post(LOOPS, json=body, headers=key) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first.headers["Location"] == second.headers["Location"]
    assert "Idempotent-Replayed" not in first.headers
    assert second.headers["Idempotent-Replayed"] == "true"
    assert server.client.get(f"{LOOPS}?q=Only once").json()["total"] == 1
    other = server.client.post(LOOPS, json={**body, "task": "Another"}, headers=key)
    check_problem(other, 422, "idempotency-key-reused")
    for wrong in ("", "x" * 201, "a b"):
        check_problem(server.client.post(LOOPS, json=body, headers={"Idempotency-Key": wrong}), 422, "not-valid")
    refused = server.client.post(LOOPS, json={"task": ""}, headers={"Idempotency-Key": "wrong-first"})
    check_problem(refused, 422, "not-valid")
    assert server.client.post(LOOPS, json=body, headers={"Idempotency-Key": "wrong-first"}).status_code == 201


def test_repeated_requests_at_once_make_one_loop(server: Server) -> None:
    body = {"task": "Many at once", "settings": {"agent": "scripted"}}

    def send(_number: int) -> int:
        return server.client.post(LOOPS, json=body, headers={"Idempotency-Key": "all-at-once"}).status_code

    with ThreadPoolExecutor(8) as pool:
        codes = set(pool.map(send, range(16)))
    assert codes <= {201, 409}
    assert 201 in codes
    assert server.client.get(f"{LOOPS}?q=Many at once").json()["total"] == 1


def test_a_loop_that_has_changed_is_not_overwritten(server: Server, loop_id: str) -> None:
    place = f"{LOOPS}/{loop_id}"
    tag = server.client.get(place).headers["ETag"]
    changed = server.client.patch(place, json={"title": "First"}, headers={"If-Match": tag})
    assert (changed.status_code, changed.headers["ETag"] != tag) == (200, True)
    late = server.client.patch(place, json={"title": "Second", "budget": {"iterations": 3}}, headers={"If-Match": tag})
    check_problem(late, 412, "precondition-failed")
    check_problem(server.client.delete(f"{place}?force=true", headers={"If-Match": tag}), 412, "precondition-failed")
    assert server.show(loop_id)["title"] == "First"
    assert server.client.patch(place, json={"title": "Any"}, headers={"If-Match": "*"}).status_code == 200
    both = f'"nonsense", {server.client.get(place).headers["ETag"]}'
    assert server.client.patch(place, json={"title": "Third"}, headers={"If-Match": both}).status_code == 200


def test_an_ended_loop_takes_another_title(server: Server) -> None:
    ended = server.create("Soon done", checks=["test -s scripted-work.md"])
    server.until_status(ended, "completed")
    renamed = server.client.patch(f"{LOOPS}/{ended}", json={"title": "Well done"})
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Well done")
    assert server.show(ended)["title"] == "Well done"
    assert server.client.get(f"{LOOPS}?q=Well done").json()["total"] == 1
    assert server.client.get(f"{LOOPS}/{ended}/receipt").json()["outcome"] == "verified"


def test_agents_and_suggestions(server: Server) -> None:
    (server.cli.workspace / "pytest.ini").touch()
    server.create("With a check", start=False, checks=["true && make lint"])
    found = {each["name"]: each for each in server.client.get("/api/v1/agents").json()["agents"]}
    assert found["scripted"]["installed"]
    assert "resume" in found["claude"]["can"]
    usual = {each["name"]: each["max_iterations"] for each in server.client.get("/api/v1/modes").json()["modes"]}
    assert {"ralph", "supervise", "instruct", "workflow", "phases"} <= set(usual)
    assert usual["instruct"] == 20
    checks = server.client.get("/api/v1/suggestions").json()["checks"]
    assert {"command": "pytest -q", "source": "project", "reason": "pytest.ini"} in checks
    assert ("true && make lint", "loops") in [(each["command"], each["source"]) for each in checks]
    check_problem(server.client.get("/api/v1/suggestions?workspace=/etc"), 422, "not-valid")
