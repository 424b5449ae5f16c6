"""Machines that lack the agent, groups that are full, and the password of the database: nothing fails, starves or leaks."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

import pytest
from tests.support.cluster import PROMISE, Machine, TestCluster
from tests.support.command_line import until

from untildone.core.events import MachineLacked, TurnStarted
from untildone.core.model import Outcome
from untildone.operations.driving.cluster import change_group

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SECRET = "pgpass-3f9a1c77e0b2"


def program(folder: Path, name: str, content: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(content)
    path.chmod(0o755)
    return path


def test_a_machine_without_the_agent_leaves_loops_to_one_that_has_it(
    cluster: TestCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = cluster.parts.folder / "tools"
    program(tools, "onlyhere", f"#!/bin/sh\ncat > /dev/null\necho step >> steps\necho 'Done. {PROMISE}'\n")
    cluster.machine("lacks")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    chosen = {"agent": "command", "command": "onlyhere", "checks": ("test -s steps",)}
    loop_ids = [cluster.run(f"loop-{number}", **chosen) for number in range(4)]
    until(lambda: all(cluster.loop(name).lacking == ("lacks",) for name in loop_ids))
    assert not any(cluster.loop(name).outcome for name in loop_ids), "it waits for another machine"
    has = Machine(cluster.parts, "has")
    cluster.machines.append(has)
    has.start()
    for loop in cluster.until_rest(loop_ids, 200):
        assert (loop.outcome, loop.spend.iterations, loop.lacking) == (Outcome.VERIFIED, 1, ()), loop.reason
    events = [entry.event for name in loop_ids for entry in cluster.entries(name)]
    assert [event.machine for event in events if isinstance(event, MachineLacked)] == ["lacks"] * len(loop_ids)
    assert sum(isinstance(event, TurnStarted) for event in events) == len(loop_ids)


def test_loops_of_a_full_group_cost_nothing_and_starve_nobody(cluster: TestCluster) -> None:
    cluster.store.change_group("night", max_cost=None, at_once=1)
    machine = cluster.machine("one", "--slots", "2")
    slow = cluster.run("loop-slow", group="night", **cluster.stepping_agent(1, 8))
    until(lambda: cluster.loop(slow).turn is not None)
    quick = cluster.stepping_agent(1, 0)
    waiting = [cluster.run(f"loop-{number}", group="night", **quick) for number in range(10)]
    until(lambda: machine.log.read_text().count("its group is full") >= len(waiting))
    began = time.monotonic()
    outside = cluster.run("loop-outside", **quick)
    cluster.until_rest([outside])
    alone = time.monotonic() - began
    assert cluster.loop(slow).turn is not None, "the group is still full"
    time.sleep(2)
    assert machine.log.read_text().count("its group is full") == len(waiting), "nobody asks again meanwhile"
    loops = cluster.until_rest([slow, *waiting])
    assert {loop.outcome for loop in loops} == {Outcome.VERIFIED}
    print(
        f"a loop outside of the group rested after {alone:.1f} s; all {len(loops)} after {time.monotonic() - began:.1f} s"
    )


def test_a_group_that_may_have_more_goes_on_at_once(cluster: TestCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.store.change_group("night", max_cost=None, at_once=1)
    machine = cluster.machine("one")
    slow = cluster.run("loop-slow", group="night", **cluster.stepping_agent(1, 20))
    until(lambda: cluster.loop(slow).turn is not None)
    quick = cluster.run("loop-quick", group="night", **cluster.stepping_agent(1, 0))
    until(lambda: "its group is full" in machine.log.read_text())
    monkeypatch.setenv("UNTILDONE_STORE", cluster.parts.database)
    change_group(cluster.store, "night", os.environ, max_cost=None, at_once=2)
    cluster.until_rest([quick], 15)
    assert cluster.loop(slow).turn is not None


def test_the_password_of_the_database_reaches_no_agent_output_or_journal(cluster: TestCluster) -> None:
    shows = program(
        cluster.parts.folder / "tools",
        "shows",
        f"#!/bin/sh\ncat > /dev/null\nenv | sort\necho done > steps\necho 'Done. {PROMISE}'\n",
    )
    one = Machine(cluster.parts, "one")
    one.cli.environment |= {"PGPASSWORD": SECRET, "PGAPPNAME": "worker"}
    cluster.machines.append(one)
    one.start()
    check = f"env > env.txt; ! grep -q {SECRET[:10]} env.txt && ! grep -q ^PG env.txt"
    loop_id = cluster.run("loop-a", agent="command", command=shlex.quote(str(shows)), checks=(check,))
    (loop,) = cluster.until_rest([loop_id])
    assert loop.outcome is Outcome.VERIFIED, loop.gates
    spool = cluster.store.spool(loop_id, "0001")
    output = spool.read(0, spool.size() or 0).decode()
    assert "PATH=" in output
    assert "PGPASSWORD" not in output
    assert "PGAPPNAME" not in output
    assert SECRET not in output + repr(cluster.entries(loop_id))
