"""The API as its documentation promises it: a real server, real loops, and the command line beside it."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.command_line import CommandLine, until
from tests.support.serving import Server

from untildone.core.values.codec import epoch

SLOW = ["--scenario", "slow", "--seconds", "60"]
HANGS = ["--scenario", "hang"]


@pytest.fixture(scope="module", params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["bare", "dashboard"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests that look at their own loops only."""
    with Server(CommandLine(tmp_path_factory.mktemp("api")), dashboard=request.param) as server:
        yield server


@pytest.fixture
def fresh(cli: CommandLine) -> Iterator[Server]:
    """One with no loops and no settings."""
    with Server(cli) as server:
        yield server


def wrong_field(refused: httpx.Response) -> str | None:
    """The first field that an error response names."""
    errors = refused.json()["errors"]
    return str(errors[0]["field"]) if errors else None


def at_work(shown: dict[str, Any]) -> bool:
    return bool(shown["turn"])


def messages(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """The messages of an event stream."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if line:
            fields[name] = value
        elif fields:
            yield fields
            fields = {}


def test_a_loop_from_its_creation_to_its_receipt(server: Server) -> None:
    check = "test $(wc -l < scripted-work.md) -ge 3"
    body = {"task": "[r=4] Write it", "settings": {"agent": "scripted", "checks": [check]}}
    created = server.client.post("/api/v1/loops", json=body)
    assert created.status_code == 201
    line = created.json()
    assert (line["status"], line["max_iterations"], line["title"]) == ("created", 4, "Write it")
    path = created.headers["Location"]
    assert server.client.get(path).json()["description"] == "Write it"
    assert server.client.get(f"{path}/receipt").status_code == 404
    assert server.client.post(f"{path}/start").json()["status"] == "running"
    shown = server.until_status(line["loop_id"], "completed")
    assert (shown["outcome"], shown["current_iteration"]) == ("verified", 3)
    receipt = server.client.get(f"{path}/receipt").json()
    assert [gate["command"] for gate in receipt["gates"]] == [check]
    output = server.client.get(f"{path}/output/2")
    assert output.headers["Content-Type"].startswith("text/plain")
    assert "I did step 2" in output.text
    assert server.cli.run("verify", line["loop_id"]).code == 0


def test_the_checks_of_an_ended_loop_run_again_where_the_person_says(server: Server) -> None:
    loop_id = server.create(room="restored", checks=["test -s scripted-work.md"])
    assert server.client.post(f"/api/v1/loops/{loop_id}/verify").status_code in (409, 422)
    server.until_status(loop_id, "completed")
    path = f"/api/v1/loops/{loop_id}/verify"
    for body in (None, {}, {"room": "plain"}, {"room": "restored"}):
        verified = server.client.post(path, json=body).json()
        assert (verified["holds"], verified["same_workspace"], verified["differs"]) == (True, True, [])
        (check,) = verified["checks"]
        assert (check["agrees"], check["before"]["passed"], check["now"]["passed"]) == (True, True, True)
        if body and "room" in body:
            assert check["now"]["room"] == body["room"]
    assert server.client.post(path, json={"room": "cellar"}).status_code == 422
    (server.cli.workspace / "scripted-work.md").write_text("")
    verified = server.client.post(path, json={"room": "plain"}).json()
    assert (verified["holds"], verified["same_workspace"], verified["differs"]) == (False, False, ["scripted-work.md"])


def test_the_output_is_read_in_parts(server: Server) -> None:
    loop_id = server.create(max_iterations=1)
    server.until_status(loop_id, "paused", "completed")
    path = f"/api/v1/loops/{loop_id}/output/1"
    whole = server.client.get(path).content
    parts, offset = b"", 0
    while offset < len(whole):
        answer = server.client.get(path, params={"offset": offset, "limit": 100})
        assert int(answer.headers["X-Size"]) == len(whole)
        parts, offset = parts + answer.content, int(answer.headers["X-Next-Offset"])
    assert parts == whole
    assert server.client.get(path, params={"offset": 10**9}).content == b""
    assert server.client.get(path, params={"role": "supervisor"}).status_code == 404
    assert server.client.get(path, params={"limit": 10**9}).status_code == 422


def test_every_control_twice_is_fine_and_a_wrong_move_is_409_with_a_sentence(server: Server) -> None:
    loop_id = server.create(start=False, args=HANGS)
    path = f"/api/v1/loops/{loop_id}"
    refused = server.client.post(f"{path}/pause")
    assert (refused.status_code, refused.json()["detail"]) == (409, f"Loop {loop_id} is created: it cannot be paused.")
    steps: list[tuple[str, dict[str, Any] | None]]
    steps = [("start", None), ("pause", {"now": True}), ("resume", None), ("stop", {"now": True})]
    for verb, body in steps:
        for _ in range(2):
            answer = server.client.post(f"{path}/{verb}", json=body)
            assert answer.status_code == 200, answer.text
        if verb in ("start", "resume"):
            server.until(loop_id, at_work)
        else:
            server.until_status(loop_id, {"pause": "paused", "stop": "failed"}[verb])
    for verb in ("start", "pause", "resume", "messages", "budget"):
        wanted = {"messages": {"text": "x"}, "budget": {"iterations": "+1"}}.get(verb)
        refused = server.client.post(f"{path}/{verb}", json=wanted)
        assert (refused.status_code, bool(refused.json()["hint"])) == (409, True), verb
        assert f"Loop {loop_id} is failed: it cannot" in refused.json()["detail"]


def test_a_pause_after_the_iteration_waits_for_it(server: Server) -> None:
    loop_id = server.create(args=["--scenario", "slow", "--seconds", "0.5"], max_iterations=50, promise="never")
    server.until(loop_id, at_work)
    server.client.post(f"/api/v1/loops/{loop_id}/pause")
    shown = server.until_status(loop_id, "paused")
    events = [entry["event"] for entry in journal(server.cli, loop_id)]
    assert (shown["outcome"], "iteration_interrupted" in events) == ("paused", False)


def journal(cli: CommandLine, loop_id: str) -> list[dict[str, Any]]:
    return cli.run("log", loop_id, "--json").records


def test_messages_and_budget(server: Server) -> None:
    loop_id = server.create(args=["--scenario", "never"], max_iterations=2)
    path = f"/api/v1/loops/{loop_id}"
    assert server.until_status(loop_id, "paused")["outcome"] == "budget"
    heard = server.client.post(f"{path}/messages", json={"text": "mind [r+1] it"}).json()
    assert heard["goes_on"] is False
    assert "belong at the start" in heard["notices"][0]
    for verb in ("resume", "retry"):
        refused = server.client.post(f"{path}/{verb}", json={})
        assert (refused.status_code, refused.json()["code"]) == (409, "budget-used-up"), refused.text
        assert "2 of 2 rounds used" in refused.json()["detail"]
    previewed = server.client.get(f"{path}/messages/preview", params={"text": "[r+2] go on"}).json()
    heard = server.client.post(f"{path}/messages", json={"text": "[r+2] go on"}).json()
    assert (heard["goes_on"], heard["notices"]) == (True, ["Added 2 rounds. Remaining: 2"])
    assert previewed["notices"] == heard["notices"]
    shown = server.until(loop_id, lambda shown: shown["current_iteration"] == 4 and not shown["driven"])
    assert shown["asked"][1:] == ["mind [r+1] it", "go on"]
    changed = server.client.post(f"{path}/budget", json={"iterations": "+6", "cost": 2.5, "minutes": "=30"}).json()
    assert (changed["budget"]["iterations"], changed["budget"]["cost_usd"], changed["budget"]["minutes"]) == (
        10,
        2.5,
        30,
    )
    changed = server.client.patch(path, json={"title": "Another", "budget": {"cost": "none", "iterations": 4}}).json()
    assert (changed["title"], changed["budget"]["cost_usd"], changed["max_iterations"]) == ("Another", None, 4)
    resumed = server.client.post(f"{path}/resume", json={"budget": {"iterations": "+1"}})
    assert (resumed.status_code, resumed.json()["max_iterations"]) == (200, 5), resumed.text
    server.until(loop_id, lambda shown: shown["current_iteration"] == 5 and not shown["driven"])


def test_an_answer_on_an_open_connection_waits_for_no_acknowledgement(server: Server) -> None:
    """A client delays acknowledgements for 40 ms, but for the first ones. The quickest of the others tells, also on a busy machine."""

    def seconds() -> float:
        began = time.perf_counter()
        server.client.get("/api/v1/loops?limit=25").raise_for_status()
        return time.perf_counter() - began

    assert min([seconds() for _ in range(30)][15:]) < 0.035


def test_tasks(server: Server) -> None:
    loop_id = server.create(start=False)
    path = f"/api/v1/loops/{loop_id}/tasks"
    ids = []
    for text in ("one", "two", "three"):
        answer = server.client.post(path, json={"text": text})
        assert answer.status_code == 201
        ids.append(answer.json()["task_id"])
    one, two, three = ids
    assert server.client.post(path, json={"text": "x", "task_id": one}).status_code == 409
    changed = server.client.patch(
        f"{path}/{two}", json={"text": "2", "status": "completed", "depends_on": [one]}
    ).json()
    assert changed == {"task_id": two, "text": "2", "status": "completed", "depends_on": [one]}
    refused = server.client.patch(f"{path}/{one}", json={"depends_on": [one]})
    assert (refused.status_code, "could never start" in refused.json()["detail"]) == (422, True)
    ordered = server.client.put(f"{path}/order", json={"order": [three, one]}).json()["tasks"]
    assert [task["task_id"] for task in ordered] == [three, one, two]
    assert server.client.put(f"{path}/order", json={"order": ["nobody"]}).status_code == 422
    assert server.client.delete(f"{path}/{one}").status_code == 204
    assert server.client.delete(f"{path}/{one}").status_code == 404
    left = server.client.get(path).json()["tasks"]
    assert [(task["task_id"], task["depends_on"]) for task in left] == [(three, []), (two, [])]


def test_the_list_is_filtered_and_paged(fresh: Server) -> None:
    loop_ids = [fresh.create(start=False) for _ in range(5)]
    paused = fresh.create(args=["--scenario", "never"], max_iterations=1)
    fresh.until_status(paused, "paused")
    found, cursor = [], None
    while True:
        query = {"limit": "2", "status": "created"} | ({"cursor": cursor} if cursor else {})
        page = fresh.client.get("/api/v1/loops", params=query).json()
        found += [line["loop_id"] for line in page["loops"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert found == loop_ids[::-1]
    (line,) = fresh.client.get("/api/v1/loops", params={"status": "paused"}).json()["loops"]
    assert (line["loop_id"], line["outcome"], line["driven"]) == (paused, "budget", False)
    assert fresh.client.get("/api/v1/loops", params={"status": "lost"}).status_code == 422


def listed(server: Server, status: str | None = None) -> dict[str, str]:
    """The status of each loop, as the list says."""
    answer = server.client.get("/api/v1/loops", params={"status": status} if status else {})
    return {loop["loop_id"]: loop["status"] for loop in answer.json()["loops"]}


def test_what_was_answered_is_in_the_very_next_list(fresh: Server) -> None:
    assert listed(fresh) == {}
    for _ in range(3):
        loop_id = fresh.create(start=False, args=SLOW)
        assert listed(fresh)[loop_id] == "created"
        assert fresh.client.post(f"/api/v1/loops/{loop_id}/start").json()["status"] == "running"
        assert listed(fresh, "running") == {loop_id: "running"}
        fresh.client.post(f"/api/v1/loops/{loop_id}/pause", json={"now": True})
        fresh.until(loop_id, lambda shown: shown["status"] == "paused")
        assert (listed(fresh, "running"), listed(fresh, "paused")) == ({}, {loop_id: "paused"})
        fresh.until(loop_id, lambda shown: not shown["driven"])
        assert fresh.client.post(f"/api/v1/loops/{loop_id}/stop").json()["status"] == "failed"
        assert listed(fresh) == {loop_id: "failed"}
        assert fresh.client.delete(f"/api/v1/loops/{loop_id}").status_code == 204
        assert listed(fresh) == {}


def test_what_other_processes_do_gets_into_the_list(fresh: Server) -> None:
    assert listed(fresh) == {}
    ended = fresh.cli.run("run", "A job", "--agent", "scripted", "--json").records[-1]["loop_id"]
    until(lambda: listed(fresh) == {ended: "completed"})
    going = fresh.cli.run("run", "A job", "--agent", "scripted", "--detach", "--", *SLOW).output.strip()
    until(lambda: listed(fresh, "running") == {going: "running"})
    fresh.cli.run("pause", "--now", going)
    until(lambda: listed(fresh, "paused") == {going: "paused"})
    fresh.cli.run("stop", going)
    until(lambda: listed(fresh, "failed") == {going: "failed"})
    shutil.rmtree(fresh.cli.workspace / ".loop" / "history")
    until(lambda: listed(fresh) == {})


def test_delete_wants_an_end_or_force(fresh: Server) -> None:
    running, ended = fresh.create(args=HANGS), fresh.create()
    fresh.until_status(ended, "completed")
    fresh.until(running, at_work)
    refused = fresh.client.delete(f"/api/v1/loops/{running}")
    assert (refused.status_code, refused.json()["hint"]) == (409, "stop it first")
    for loop_id, query in [(ended, {}), (running, {"force": "true"})]:
        assert fresh.client.delete(f"/api/v1/loops/{loop_id}", params=query).status_code == 204
        assert fresh.client.get(f"/api/v1/loops/{loop_id}").status_code == 404
    assert fresh.client.get("/api/v1/loops").json()["loops"] == []
    assert not list((fresh.cli.workspace / ".loop").glob(f"**/*{running}*"))


def test_events_go_on_where_they_were_cut(server: Server) -> None:
    loop_id = server.create()
    path = f"/api/v1/loops/{loop_id}/events"
    with server.client.stream("GET", path) as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        first = [message for message, _ in zip(messages(stream.iter_lines()), range(4), strict=False)]
    assert [json.loads(message["data"])["event"] for message in first[:2]] == ["loop_created", "start_requested"]
    with server.client.stream("GET", path, headers={"Last-Event-ID": first[-1]["id"]}) as stream:
        rest = list(messages(stream.iter_lines()))
    *entries, end = rest
    numbers = [int(message["id"]) for message in (*first, *entries)]
    assert numbers == list(range(1, len(numbers) + 1))
    told = json.loads(end["data"])
    assert (end["event"], told["status"], told["exit_code"]) == ("loop_end", "completed", 0)
    assert told["ts"] == json.loads(entries[-1]["data"])["ts"]
    assert [json.loads(message["data"])["seq"] for message in entries] == [
        entry["seq"] for entry in journal(server.cli, loop_id)
    ][4:]
    again = server.client.get(path, headers={"Last-Event-ID": str(numbers[-1])})
    assert again.status_code == 204


def test_a_stream_shows_what_happens_while_it_is_open(server: Server) -> None:
    loop_id = server.create(start=False)
    heard = threading.Event()

    def follow() -> list[str]:
        with server.new_client().stream("GET", f"/api/v1/loops/{loop_id}/events") as stream:
            found = []
            for message in messages(stream.iter_lines()):
                found.append(json.loads(message["data"])["event"])
                heard.set()
            return found

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        assert heard.wait(30)
        server.client.post(f"/api/v1/loops/{loop_id}/messages", json={"text": "hello"})
        server.client.post(f"/api/v1/loops/{loop_id}/start")
        found = following.result(30)
    assert found[:3] == ["loop_created", "message", "start_requested"]
    assert found[-2:] == ["task_complete", "loop_end"]


def test_settings_are_read_checked_and_kept_as_toml(fresh: Server) -> None:
    file = fresh.cli.workspace / "untildone.toml"
    wanted = {
        "max_iterations": 7,
        "checks": ['say "it"'],
        "notify_secret": "hush",
        "store": "postgresql://me:hush@127.0.0.1/mine",
        "profiles": {"mine": {"agent": "scripted", "env": {"KEY": "abc"}}},
    }
    kept = fresh.client.put("/api/v1/settings", json=wanted)
    assert kept.status_code == 200, kept.text
    assert tomllib.loads(file.read_text()) == wanted
    shown = fresh.client.get("/api/v1/settings", params={"scope": "project"}).json()
    hidden = {"notify_secret": "…", "store": "postgres://…"}
    assert shown == {**wanted, **hidden, "profiles": {"mine": {"agent": "scripted", "env": {"KEY": "…"}}}}
    effective = fresh.client.get("/api/v1/settings").json()
    assert (effective["max_iterations"], effective["store"]) == (7, "postgres://…")
    assert fresh.client.put("/api/v1/settings", json={**shown, "max_iterations": 8}).status_code == 200
    assert tomllib.loads(file.read_text()) == {**wanted, "max_iterations": 8}
    wrong_values: list[dict[str, object]] = [
        {"max_minutes": -1},
        {"nonsense": 1},
        {"max_tokens": True},
        {"max_tokens": "1"},
        {"commit": 1},
        {"children": -1},
    ]
    for wrong in wrong_values:
        refused = fresh.client.put("/api/v1/settings", json=wrong)
        assert (refused.status_code, [wrong_field(refused)]) == (422, list(wrong))
    assert fresh.client.put("/api/v1/settings", json={"mode": "no"}).status_code == 422
    assert tomllib.loads(file.read_text())["max_iterations"] == 8
    assert (
        fresh.client.get("/api/v1/settings/schema").json()["properties"]["max_iterations"]["title"] == "Max Iterations"
    )


def test_settings_that_are_saved_keep_their_comments(fresh: Server) -> None:
    file = fresh.cli.workspace / "untildone.toml"
    file.write_text("# Ours.\nmax_iterations = 7  # enough\n\n# How we test.\nchecks = ['true']\n")
    said = fresh.client.get("/api/v1/settings", params={"scope": "project"}).json()
    kept = fresh.client.put("/api/v1/settings", json={**said, "max_iterations": 9, "review": True})
    assert kept.status_code == 200, kept.text
    assert file.read_text() == (
        "# Ours.\nmax_iterations = 9  # enough\n\n# How we test.\nchecks = ['true']\nreview = true\n"
    )


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by the server", "by another process"])
def test_a_check_that_runs_is_shown(cli: CommandLine, elsewhere: bool) -> None:
    flag = cli.home / "go on"
    check = f"while ! test -e '{flag}'; do sleep 0.05; done"
    with Server(cli) as server:
        if elsewhere:
            words = ("run", "A job", "--agent", "scripted", "--check", "true", "--check", check)
            runner = cli.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            loop_id = until(lambda: next((line["loop_id"] for line in cli.loops), None))
        else:
            loop_id = server.create(checks=["true", check])
        shown = server.until(loop_id, lambda shown: shown["gate"] is not None and shown["gate"]["command"] == check)
        assert shown["driven"]
        assert epoch(shown["created_at"]) < epoch(shown["gate"]["started_at"]) <= epoch(shown["updated_at"])
        (line,) = (line for line in cli.run("show", loop_id).output.splitlines() if line.startswith("gate "))
        assert "runs since" in line
        flag.touch()
        assert server.until_status(loop_id, "completed")["gate"] is None
        if elsewhere:
            assert runner.wait(30) == 0
        events = [entry["event"] for entry in journal(cli, loop_id)]
        at = events.index("gates_ran")
        assert events[at - 2 : at + 1] == ["gate_start", "gate_start", "gates_ran"]


def test_a_stream_that_does_not_stay_ends_with_what_is_there(server: Server) -> None:
    loop_id = server.create(start=False)
    with server.client.stream("GET", f"/api/v1/loops/{loop_id}/events", params={"follow": "false"}) as stream:
        (only,) = messages(stream.iter_lines())
    assert (only["id"], json.loads(only["data"])["event"]) == ("1", "loop_created")


def test_several_workspaces(cli: CommandLine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with Server(cli, "--dir", str(cli.workspace), "--dir", str(other)) as server:
        body = {"task": "x", "settings": {"agent": "scripted"}, "workspace": str(other), "start": True}
        loop_id = server.client.post("/api/v1/loops", json=body).json()["loop_id"]
        server.until_status(loop_id, "completed")
        assert (other / "scripted-work.md").exists()
        refused = server.client.post("/api/v1/loops", json={**body, "workspace": str(tmp_path)})
        assert (refused.status_code, str(tmp_path) in refused.json()["detail"]) == (422, True)
        server.create(start=False)
        assert len(server.client.get("/api/v1/loops").json()["loops"]) == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "task"),
        ({"task": " "}, "task"),
        ({"task": "a\0b"}, "task"),
        ({"task": "x", "start": "yes"}, "start"),
        ({"task": "x", "settings": {"max_cost": "much"}}, "settings.max_cost"),
        ({"task": "x", "settings": {"checks": [" "]}}, "settings.checks.0"),
        ({"task": "x", "unknown": 1}, "unknown"),
        ({"task": "x", "settings": {"agent": "nobody"}}, None),
        ({"task": "x", "settings": {"agent": "command", "command": "no-such-program"}}, None),
        ({"task": "[r+5]", "settings": {"agent": "scripted"}}, None),
    ],
)
def test_a_wrong_body_is_422_and_says_what(server: Server, body: dict[str, Any], field: str | None) -> None:
    refused = server.client.post("/api/v1/loops", json=body)
    assert (refused.status_code, wrong_field(refused)) == (422, field)
    assert len(refused.json()["detail"]) > 10


def test_the_command_line_and_the_server_control_each_others_loops(server: Server) -> None:
    cli = server.cli
    ours = server.create(args=HANGS)
    server.until(ours, at_work)
    assert cli.run("pause", ours, "--now").code == 0
    assert server.until_status(ours, "paused")["outcome"] == "paused"
    theirs = cli.run("run", "a job", "--agent", "scripted", "--detach", "--", *HANGS).output.strip()
    server.until(theirs, at_work)
    assert server.client.post(f"/api/v1/loops/{theirs}/pause", json={"now": True}).status_code == 200
    shown = server.until_status(theirs, "paused")
    assert (shown["outcome"], shown["host"]) == ("paused", "terminal")
    assert server.client.post(f"/api/v1/loops/{theirs}/resume").status_code == 200
    assert server.until(theirs, at_work)["host"] == "server"
    assert server.show(theirs)["runner"]["pid"] == server.announced["pid"]
    assert cli.run("stop", theirs, "--now").code == 0
    assert server.until_status(theirs, "failed")["outcome"] == "stopped"


def test_a_message_on_the_command_line_makes_a_loop_of_the_server_go_on_there(server: Server) -> None:
    loop_id = server.create(args=["--scenario", "never"], max_iterations=1)
    server.until_status(loop_id, "paused")
    assert "Added 1 rounds" in server.cli.run("say", loop_id, "[r+1] go on").output
    shown = server.until(loop_id, lambda shown: shown["current_iteration"] == 2 and shown["status"] == "paused")
    assert shown["host"] == "server"
    runners = [entry["pid"] for entry in journal(server.cli, loop_id) if entry["event"] == "runner_claimed"]
    assert runners == [server.announced["pid"]] * 2


def test_health_metrics_and_description(fresh: Server) -> None:
    fresh.create(start=False)
    assert httpx.get(f"{fresh.url}/api/v1/health", trust_env=False).json()["status"] == "ok"
    told = fresh.client.get("/api/v1/metrics")
    assert told.headers["Content-Type"].startswith("text/plain")
    assert 'untildone_loops{status="created"} 1' in told.text
    described = fresh.client.get("/api/v1/openapi.json").json()
    assert {"/api/v1/loops", "/api/v1/loops/{loop_id}/events", "/api/v1/settings/schema"} <= set(described["paths"])


def test_outcomes_are_told_to_a_program(fresh: Server) -> None:
    told = fresh.cli.home / "told.json"
    command = ["sh", "-c", f'cat > {told}.draft; printf %s "$UNTILDONE_OUTCOME" > {told}.word; mv {told}.draft {told}']
    assert fresh.client.put("/api/v1/settings", json={"notify_command": command}).status_code == 200
    loop_id = fresh.create()
    until(told.exists)
    message = json.loads(told.read_text())
    assert (message["loop_id"], message["outcome"], message["status"]) == (loop_id, "claimed", "completed")
    assert Path(f"{told}.word").read_text() == "claimed"
