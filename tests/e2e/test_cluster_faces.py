"""A person and a cluster: the same commands, words and exit codes, from a machine that drives nothing itself."""

from __future__ import annotations

import json
import signal
import time
from itertools import accumulate
from typing import Any

import pytest
from tests.support.cluster import PATIENCE, TestCluster
from tests.support.command_line import CommandLine, finish, until
from tests.support.serving import Server

from untildone.core.events import TurnEnded, TurnStarted
from untildone.core.model import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
DONE = {"say": "Done.", "write": {"ok.txt": "there\n"}, "claim": True}


def flags(chosen: dict[str, Any]) -> tuple[str, ...]:
    """What the settings of a test's agent are on the command line."""
    checks = (word for check in chosen.get("checks", ()) for word in ("--check", check))
    if chosen["agent"] == "command":
        return ("--agent", "command", "--command", chosen["command"], *checks)
    return ("--agent", "scripted", *checks, "--", *chosen["args"])


def begun(cli: CommandLine, chosen: dict[str, Any], *more: str) -> str:
    ended = cli.run("run", "A job", "--cluster", "--detach", *more, *flags(chosen), patience=PATIENCE)
    assert ended.code == 0, ended.errors
    return ended.output.strip()


def test_run_in_a_cluster_and_look_at_it_from_here(cluster: TestCluster, laptop: CommandLine) -> None:
    cluster.machine("one")
    chosen = {**cluster.script([{"say": "Not yet."}], [DONE]), "checks": ("test -f ok.txt",)}
    ended = laptop.run("run", "A job", "--cluster", "--json", *flags(chosen), patience=PATIENCE)
    assert ended.code == 0, ended.errors
    first, last = ended.records[0], ended.records[-1]
    assert first["event"] == "loop_created"
    assert (last["event"], last["outcome"], last["iterations"]) == ("loop_end", "verified", 2)
    loop_id = last["loop_id"]
    assert laptop.shown(loop_id)["loop_id"] == loop_id
    (listed,) = laptop.loops
    assert (listed["status"], listed["host"]) == ("completed", "cluster")
    diff = laptop.run("diff", loop_id, patience=PATIENCE)
    assert "+there" in diff.output, diff.errors
    verified = laptop.run("verify", loop_id, patience=PATIENCE)
    assert verified.code == 0, verified.errors
    log = laptop.run("log", loop_id, "--json")
    assert [entry["event"] for entry in log.records] == [entry["event"] for entry in ended.records[:-1]]
    assert not (laptop.workspace / "ok.txt").exists(), "the work is on the remote, not here"
    assert not (laptop.workspace / ".loop").exists()


def test_controls_from_the_command_line(cluster: TestCluster, laptop: CommandLine) -> None:
    cluster.machine("one")
    loop_id = begun(laptop, cluster.stepping_agent(9, 60), "-r", "3")
    until(lambda: cluster.agents(loop_id), PATIENCE)
    assert "running on one" in laptop.run("list").output
    said = laptop.run("say", loop_id, "[r+5] Mind the gap.")
    assert "Added 5 rounds. Remaining: 7" in said.output
    asked_at = time.time()
    knows_no_temporal = {**laptop.environment, "UNTILDONE_CLUSTER": ""}
    ended = laptop.run("pause", loop_id, "--now", env=knows_no_temporal, patience=PATIENCE)
    assert (ended.code, "Temporal could not be notified" in ended.errors) == (0, True), ended.errors
    paused = cluster.until(loop_id, lambda loop: loop.outcome is Outcome.PAUSED)
    print(f"pause --now acted {paused.updated_at - asked_at:.2f} s after it was typed")
    until(lambda: not cluster.agents(loop_id))
    assert laptop.run("wait", loop_id).code == Outcome.PAUSED.exit_code

    watching = laptop.start("resume", loop_id, "--plain")
    until(lambda: cluster.agents(loop_id), PATIENCE)
    assert laptop.run("budget", loop_id, "--iterations", "=20").code == 0
    assert cluster.loop(loop_id).budget.iterations == 20
    assert laptop.run("stop", loop_id, "--now", patience=PATIENCE).code == 0
    assert finish(watching, patience=PATIENCE).code == Outcome.STOPPED.exit_code
    until(lambda: not cluster.agents(loop_id))
    (machine,) = {each.name for each in cluster.machines}
    assert machine == "one"


@pytest.mark.parametrize("at_work", [False, True])
def test_ctrl_c_leaves_the_loop_alone(cluster: TestCluster, laptop: CommandLine, at_work: bool) -> None:
    """Also in the moment in which the loop exists and the command has not come back from creating it."""
    cluster.machine("one")
    watching = laptop.start("run", "A job", "--cluster", *flags(cluster.stepping_agent(1, 3)))
    loop_id = until(lambda: next(iter(cluster.store.live_ids()), ""), PATIENCE)
    if at_work:
        until(lambda: cluster.agents(loop_id), PATIENCE)
    watching.send_signal(signal.SIGINT)
    ended = finish(watching, patience=PATIENCE)
    assert (ended.code, "goes on in the cluster" in ended.errors) == (130, True), ended.errors
    assert cluster.until_rest([loop_id])[0].outcome is Outcome.VERIFIED


def most_at_once(cluster: TestCluster, loop_ids: list[str]) -> int:
    """How many loops were in a turn at the same time."""
    steps = {TurnStarted: 1, TurnEnded: -1}
    moves = sorted(
        (entry.at, steps[type(entry.event)])
        for loop_id in loop_ids
        for entry in cluster.entries(loop_id)
        if type(entry.event) in steps
    )
    return max(accumulate(step for _, step in moves))


def test_a_group_has_a_total_on_all_machines(cluster: TestCluster, laptop: CommandLine) -> None:
    assert laptop.run("group", "night", "--max-cost", "1", "--at-once", "2", patience=PATIENCE).code == 0
    turns = ([{"say": f"Step {number}.", "usage": {"cost_usd": 0.15}, "sleep": 0.3}] for number in range(20))
    chosen = cluster.script(*turns)
    loop_ids = [begun(laptop, chosen, "--group", "night", "-r", "none") for _ in range(4)]
    cluster.machine("one")
    cluster.machine("two")
    loops = cluster.until_rest(loop_ids)
    assert {loop.outcome for loop in loops} == {Outcome.BUDGET}
    assert most_at_once(cluster, loop_ids) == 2
    group = cluster.store.group("night")
    # A round that was begun while there was something left may go beyond it.
    assert 1 <= group.cost < 1 + 2 * 0.15
    assert "The group 'night' has spent" in loops[0].reason
    told = json.loads(laptop.run("group", "night", "--json", patience=PATIENCE).output)
    assert (told["loops"], told["max_cost"], told["at_once"]) == (4, 1.0, 2)


def test_the_server_shows_and_controls_them(cluster: TestCluster, laptop: CommandLine) -> None:
    cluster.machine("one")
    with Server(laptop, "--cluster") as server:
        chosen = cluster.stepping_agent(9, 60)
        loop_id = server.create(agent="command", command=chosen["command"], max_iterations=3)
        until(lambda: cluster.agents(loop_id), PATIENCE)
        (line,) = server.client.get("/api/v1/loops").json()["loops"]
        assert (line["host"], line["machine"], line["driven"]) == ("cluster", "one", True)
        said = server.client.post(f"/api/v1/loops/{loop_id}/messages", json={"text": "[r+5] Mind the gap."})
        assert said.status_code == 200, said.text
        asked_at = time.time()
        assert server.client.post(f"/api/v1/loops/{loop_id}/pause", json={"now": True}).status_code == 200
        paused = server.until_status(loop_id, "paused", patience=PATIENCE)
        print(f"pause acted {cluster.loop(loop_id).updated_at - asked_at:.2f} s after it was asked for")
        assert (paused["max_iterations"], paused["current_iteration"]) == (8, 1)
        assert server.client.post(f"/api/v1/loops/{loop_id}/resume").status_code == 200
        until(lambda: cluster.agents(loop_id), PATIENCE)
        assert server.client.post(f"/api/v1/loops/{loop_id}/stop", json={"now": True}).status_code == 200
        server.until_status(loop_id, "failed", patience=PATIENCE)
        changed = server.client.put("/api/v1/groups/night", json={"max_cost": 5, "at_once": 2})
        assert (changed.status_code, server.client.get("/api/v1/groups").json()) == (200, [changed.json()])
        until(lambda: not cluster.agents(loop_id))


BAD: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "no database": (("run", "A job", "--cluster"), {"UNTILDONE_STORE": ""}, "Postgres"),
    "no Temporal": (("run", "A job", "--cluster"), {"UNTILDONE_CLUSTER": ""}, "The address of Temporal is not set"),
    "a worktree": (("run", "A job", "--cluster", "--worktree"), {}, "--worktree makes no sense in a cluster"),
    "a share of the tests in no box": (
        ("run", "A job", "--cluster", "--check", "pytest", "--room", "sealed", "--held-out", "20%", "--sandbox", "off"),
        {},
        "--held-out 20% needs a sandbox",
    ),
    "an odd group": (("group", "a b", "--at-once", "2"), {}, "is not a name for a group"),
    "a group of nothing": (("group", "--at-once", "2"), {}, "There is no name of a group"),
    "none at once": (("group", "night", "--at-once", "0"), {}, "is not a number of loops"),
    "a group in files": (("group",), {"UNTILDONE_STORE": ""}, "Groups need loops that are kept in Postgres"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_work_is_said_in_a_sentence(case: str, laptop: CommandLine, cluster: TestCluster) -> None:
    words, environment, sentence = BAD[case]
    laptop.environment |= environment
    ended = laptop.run(*words, patience=PATIENCE)
    assert (ended.code, sentence in ended.errors) == (2, True), ended.errors
    assert "Traceback" not in ended.errors
    assert cluster.store.ids() == ()


def test_temporal_is_away_when_a_loop_is_begun(cluster: TestCluster, laptop: CommandLine, temporal: Any) -> None:
    """The loop is in the journal: a machine finds it when Temporal is back."""
    temporal.kill()
    try:
        ended = laptop.run("run", "A job", "--cluster", "--detach", *flags(cluster.script([DONE])), patience=PATIENCE)
        assert (ended.code, "cannot be reached" in ended.errors) == (0, True), ended.errors
    finally:
        temporal.start()
    cluster.machine("one")
    assert cluster.until_rest([ended.output.strip()])[0].outcome is Outcome.CLAIMED
