"""Loops on many machines: real Temporal, real Postgres, machines that are killed, frozen and drained, and a git remote."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pytest
from tests.support import command_line
from tests.support.boxes import boxes
from tests.support.cluster import HEARTBEAT_TIMEOUT, PATIENCE, Machine, TestCluster, git
from tests.support.postgres import Cluster as Postgres
from tests.support.temporal import Temporal

from untildone.core.events import Entry, RunnerLeased, TurnEnded, TurnInterrupted, TurnStarted
from untildone.core.kinds import Host
from untildone.core.model import Outcome, SessionUse, Status, Urgency
from untildone.operations import control

__all__ = ["boxes"]
Found = TypeVar("Found")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def until(look: Callable[[], Found | None], patience: float = PATIENCE) -> Found:
    return command_line.until(look, patience)


def started(cluster: TestCluster, loop_id: str) -> list[TurnStarted]:
    return [entry.event for entry in cluster.entries(loop_id) if isinstance(entry.event, TurnStarted)]


def leases(cluster: TestCluster, loop_id: str, machine: str) -> list[Entry]:
    return [entry for entry in cluster.entries(loop_id) if machine_of(entry) == machine]


def machine_of(entry: Entry) -> str | None:
    """The machine that leased the loop with this entry; None if the entry is no lease."""
    return entry.event.machine if isinstance(entry.event, RunnerLeased) else None


def turns_since(cluster: TestCluster, loop_id: str, machine: str) -> list[TurnStarted]:
    """The turns that began after that machine leased the loop first."""
    leased = leases(cluster, loop_id, machine)
    since = leased[0].seq if leased else float("inf")
    entries = (entry for entry in cluster.entries(loop_id) if entry.seq > since)
    return [entry.event for entry in entries if isinstance(entry.event, TurnStarted)]


def is_at_work(cluster: TestCluster, loop_id: str, machine: str) -> bool:
    loop = cluster.loop(loop_id)
    return loop.turn is not None and loop.runner is not None and loop.runner.machine == machine


def rounds(cluster: TestCluster, loop_id: str) -> list[int]:
    """The rounds whose work was published, in order."""
    start, *published = cluster.titles(loop_id)
    assert start == "Start"
    return [int(title.removeprefix("Round ").partition(":")[0]) for title in published]


def holds_together(cluster: TestCluster, loop_id: str, steps: int) -> None:
    """Verified; every iteration counted once, begun once and ended once; every round published at most once; no orphan."""
    loop, entries = cluster.loop(loop_id), cluster.entries(loop_id)
    assert loop.outcome is Outcome.VERIFIED, loop.reason
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    begun = [event.iteration for event in started(cluster, loop_id)]
    assert begun == list(range(1, len(begun) + 1))
    assert loop.spend.iterations == len(begun)
    ended = [entry.event.iteration for entry in entries if isinstance(entry.event, TurnEnded | TurnInterrupted)]
    assert ended == begun
    published = rounds(cluster, loop_id)
    assert all(before < after for before, after in pairwise(published))
    steps_done = git(cluster.remote, "show", f"refs/heads/{loop_id}:steps").splitlines()
    assert steps_done == [f"step {number}" for number in range(1, steps + 1)]
    assert cluster.agents(loop_id) == []


def test_a_loop_goes_from_its_start_to_its_receipt(cluster: TestCluster) -> None:
    cluster.machine("one")
    loop_id = cluster.run("loop-a", **cluster.stepping_agent(3, 0))
    cluster.until_rest([loop_id])
    holds_together(cluster, loop_id, 3)
    assert rounds(cluster, loop_id) == [1, 2, 3]
    assert [machine_of(entry) for entry in leases(cluster, loop_id, "one")] == ["one"]
    receipt = until(lambda: cluster.store.receipt(loop_id))
    assert '"path": "steps"' in receipt
    # Nothing but its branch is left of it on the remote.
    until(lambda: not git(cluster.remote, "for-each-ref", "refs/untildone"))


@pytest.mark.usefixtures("boxes")
def test_agents_on_a_machine_run_in_a_box_and_leave_git_no_program(cluster: TestCluster) -> None:
    """The machine calls git in the clone: to commit, and to push."""
    machine = cluster.machine("one")
    escaped, kept = machine.cli.home / "escaped", cluster.parts.folder / "agent.sh"
    settings = ("core.sshCommand", "credential.helper", "filter.x.clean", "core.fsmonitor", "core.pager")
    orders = "\n".join(f"git config {name} 'touch {escaped}; cat'" for name in settings)
    kept.write_text(
        f"touch {escaped}\necho '* filter=x' > .gitattributes\n{orders}\necho '<promise>COMPLETE</promise>'\n"
    )
    chosen = {"agent": "command", "command": f"sh {kept}", "checks": ("test -e .gitattributes",), "allow_write": ()}
    (loop,) = cluster.until_rest([cluster.run("loop-a", **chosen)])
    assert loop.outcome is Outcome.VERIFIED, loop.reason
    assert [held.boxed for held in loop.containments] == [True]
    assert git(cluster.remote, "show", f"refs/heads/{loop.loop_id}:.gitattributes") == "* filter=x"
    assert not escaped.exists()


def test_a_killed_worker_is_replaced_in_mid_iteration(cluster: TestCluster) -> None:
    """`kill -9` of one of two machines that drive six loops."""
    one, two = cluster.machine("one", "--slots", "6"), cluster.machine("two", "--slots", "6")
    agent = cluster.stepping_agent(2, 1)
    loop_ids = [cluster.run(f"loop-{number}", **agent) for number in range(6)]
    at_work = until(lambda: [name for name in loop_ids if is_at_work(cluster, name, "one")])
    one.kill()
    killed_at = time.time()
    until(lambda: not any(cluster.agents(name) for name in at_work if is_at_work(cluster, name, "one")))
    assert two.process is not None
    loops = cluster.until_rest(loop_ids)
    assert {loop.outcome for loop in loops} == {Outcome.VERIFIED}
    for loop_id in loop_ids:
        holds_together(cluster, loop_id, 2)
    left = [name for name in at_work if leases(cluster, name, "two")]
    after = [leases(cluster, name, "two")[0].at - killed_at for name in left]
    print(f"taken over after {[round(each, 1) for each in after]} s; the heartbeat time-out is {HEARTBEAT_TIMEOUT} s")


def test_a_frozen_worker_can_neither_write_nor_publish_when_it_thaws(cluster: TestCluster) -> None:
    one = cluster.machine("one", apart=True)
    loop_id = cluster.run("loop-a", **cluster.stepping_agent(1, 5))
    until(lambda: is_at_work(cluster, loop_id, "one"))
    stale = until(lambda: cluster.agents(loop_id))
    one.signal(signal.SIGSTOP)
    frozen_at = time.time()
    two = cluster.machine("two", apart=True)
    taken = until(lambda: leases(cluster, loop_id, "two"), 120)[0]
    print(f"taken over {taken.at - frozen_at:.1f} s after the freeze; the heartbeat time-out is {HEARTBEAT_TIMEOUT} s")
    one.signal(signal.SIGCONT)
    until(lambda: not set(stale) & set(cluster.agents(loop_id)))
    cluster.until_rest([loop_id])
    holds_together(cluster, loop_id, 1)
    assert len(leases(cluster, loop_id, "one")) == 1
    assert [type(entry.event) for entry in cluster.entries(loop_id)].count(TurnEnded) == 1
    # The round that the frozen machine was in is not among those published.
    assert 1 not in rounds(cluster, loop_id)
    assert (one.process is not None, two.process is not None) == (True, True)


def test_temporal_is_killed_and_comes_back(cluster: TestCluster, temporal: Temporal) -> None:
    cluster.machine("one")
    loop_ids = [cluster.run(f"loop-{name}", **cluster.stepping_agent(3, 1)) for name in "ab"]
    until(lambda: all(is_at_work(cluster, name, "one") for name in loop_ids))
    temporal.kill()
    temporal.start()
    cluster.until_rest(loop_ids)
    for loop_id in loop_ids:
        holds_together(cluster, loop_id, 3)


def test_temporal_loses_its_memory(cluster: TestCluster, temporal: Temporal) -> None:
    """Its database is deleted in mid-iteration: the loops are driven again from what Postgres knows."""
    cluster.machine("one")
    loop_ids = [cluster.run(f"loop-{name}", **cluster.stepping_agent(4, 1)) for name in "ab"]
    until(lambda: all(is_at_work(cluster, name, "one") for name in loop_ids))
    temporal.kill()
    temporal.forget()
    temporal.start()
    # A machine looks for such loops when it starts.
    assert set(cluster.store.running_ids(Host.CLUSTER)) == set(loop_ids)
    cluster.machine("two")
    cluster.client.repair(cluster.store.running_ids(Host.CLUSTER))
    cluster.until_rest(loop_ids)
    for loop_id in loop_ids:
        holds_together(cluster, loop_id, 4)


def test_postgres_crashes_and_comes_back(cluster: TestCluster, postgres: Postgres) -> None:
    cluster.machine("one")
    loop_ids = [cluster.run(f"loop-{name}", **cluster.stepping_agent(3, 1)) for name in "ab"]
    until(lambda: all(is_at_work(cluster, name, "one") for name in loop_ids))
    postgres.crash()
    postgres.start()
    cluster.until_rest(loop_ids)
    for loop_id in loop_ids:
        holds_together(cluster, loop_id, 3)


def test_controls_act_on_a_running_iteration(cluster: TestCluster) -> None:
    cluster.machine("one")
    loop_id = cluster.run("loop-a", iterations=3, **cluster.stepping_agent(9, 60))
    until(lambda: cluster.agents(loop_id))
    said = control.say(cluster.store, loop_id, "[r+5] Mind the gap.")
    cluster.client.poke(loop_id)
    assert said.loop.budget.iterations == 8

    asked_at = time.time()
    control.pause(cluster.store, loop_id, Urgency.NOW)
    cluster.client.poke(loop_id, Urgency.NOW)
    paused = cluster.until(loop_id, lambda loop: loop.outcome is Outcome.PAUSED)
    print(f"pause --now acted after {paused.updated_at - asked_at:.2f} s")
    until(lambda: not cluster.agents(loop_id))

    asked_at = time.time()
    control.resume(cluster.store, loop_id, host=Host.CLUSTER)
    cluster.client.start(loop_id)
    again = until(lambda: started(cluster, loop_id)[1:])[0]
    turn = cluster.loop(loop_id).turn
    assert turn is not None
    print(f"resume acted after {turn.started_at - asked_at:.2f} s")
    assert "Mind the gap." in again.prompt
    until(lambda: cluster.agents(loop_id))

    asked_at = time.time()
    control.stop(cluster.store, loop_id, Urgency.NOW)
    cluster.client.poke(loop_id, Urgency.NOW)
    stopped = cluster.until(loop_id, lambda loop: loop.status is Status.FAILED)
    print(f"stop --now acted after {stopped.updated_at - asked_at:.2f} s")
    assert (stopped.outcome, stopped.spend.iterations) == (Outcome.STOPPED, 2)
    until(lambda: not cluster.agents(loop_id))


def test_a_poke_alone_interrupts_and_nothing_is_counted_twice(cluster: TestCluster) -> None:
    """Temporal's way to interrupt, without a word in the journal: the turn ends, its work is kept, the loop goes on."""
    cluster.machine("one")
    loop_id = cluster.run("loop-a", **cluster.stepping_agent(1, 4))
    until(lambda: cluster.agents(loop_id))
    cluster.client.poke(loop_id, Urgency.NOW)
    until(lambda: len(started(cluster, loop_id)) == 2)
    cluster.until_rest([loop_id])
    holds_together(cluster, loop_id, 1)


def test_a_queued_loop_obeys_at_once(cluster: TestCluster) -> None:
    """Controls take effect even if no machine is running."""
    loop_id = cluster.run("loop-a", **cluster.stepping_agent(1, 0))
    assert control.pause(cluster.store, loop_id).outcome is Outcome.PAUSED
    cluster.machine("one")
    control.resume(cluster.store, loop_id, host=Host.CLUSTER)
    cluster.client.start(loop_id)
    cluster.client.start(loop_id)
    cluster.until_rest([loop_id])
    holds_together(cluster, loop_id, 1)


def test_a_drained_worker_ends_its_turn_and_hands_over(cluster: TestCluster) -> None:
    one = cluster.machine("one")
    loop_id = cluster.run("loop-a", **cluster.stepping_agent(3, 1.5))
    until(lambda: is_at_work(cluster, loop_id, "one"))
    cluster.machine("two")
    assert one.end() == 0
    assert cluster.agents(loop_id) == [] or is_at_work(cluster, loop_id, "two")
    cluster.until_rest([loop_id])
    holds_together(cluster, loop_id, 3)
    assert not any(isinstance(entry.event, TurnInterrupted) for entry in cluster.entries(loop_id))
    assert rounds(cluster, loop_id) == [1, 2, 3]


def test_a_drain_that_takes_too_long_ends_the_turn_and_keeps_its_work(cluster: TestCluster) -> None:
    one = cluster.machine("one", "--drain", "1")
    wrote_half = {"write": {"half.txt": "half done\n"}, "sleep": 600}
    script = cluster.script([wrote_half], [{"say": "Done.", "claim": True}])
    loop_id = cluster.run("loop-a", checks=("test -f half.txt",), **script)
    until(lambda: list(one.folder.glob("work/*/half.txt")))
    assert one.end() == 0
    until(lambda: not cluster.agents(loop_id))
    assert cluster.loop(loop_id).status is Status.RUNNING
    assert git(cluster.remote, "show", f"refs/heads/{loop_id}:half.txt") == "half done"


def test_a_session_stays_on_its_machine(cluster: TestCluster) -> None:
    """On another machine the agent starts a new session, with a prompt that says everything."""
    turns = [{"say": f"Step {number}.", "append": {"log.txt": f"{number}\n"}, "sleep": 0.5} for number in range(1, 9)]
    script = cluster.script(*([turn] for turn in turns))
    one = cluster.machine("one")
    loop_id = cluster.run("loop-a", iterations=30, **script)
    until(lambda: len(started(cluster, loop_id)) == 2)
    cluster.machine("two")
    assert one.end() == 0
    until(lambda: len(turns_since(cluster, loop_id, "two")) >= 2)
    control.stop(cluster.store, loop_id, Urgency.NOW)
    cluster.until_rest([loop_id])
    after = turns_since(cluster, loop_id, "two")
    before = started(cluster, loop_id)[: -len(after)]
    assert [event.session for event in before] == [SessionUse.NEW] + [SessionUse.RESUME] * (len(before) - 1)
    assert [event.session for event in after] == [SessionUse.NEW] + [SessionUse.RESUME] * (len(after) - 1)
    assert "A job" in after[0].prompt


def test_loops_share_a_slot(cluster: TestCluster) -> None:
    """One slot, and loops that would keep it for ever: each gets its share."""
    cluster.machine("one", "--slots", "1", "--share", "1")
    loop_ids = [cluster.run(f"loop-{name}", iterations=100, **cluster.stepping_agent(99, 0.3)) for name in "ab"]
    until(lambda: all(len(leases(cluster, name, "one")) >= 2 for name in loop_ids))
    for loop_id in loop_ids:
        assert not any(isinstance(entry.event, TurnInterrupted) for entry in cluster.entries(loop_id))


def test_a_loop_at_its_limit_leaves_its_slot_and_can_be_woken(cluster: TestCluster) -> None:
    cluster.machine("one", "--slots", "1")
    limited = {"fail": {"kind": "limit", "message": "usage limit reached", "reset_in": 3000}}
    waiting = cluster.run("loop-a", **cluster.script([limited], [{"say": "Done.", "claim": True}], one_place=True))
    cluster.until(waiting, lambda loop: loop.limits)
    other = cluster.run("loop-b", **cluster.stepping_agent(1, 0))
    cluster.until_rest([other])
    assert cluster.loop(waiting).status is Status.RUNNING
    cluster.forget_limits()
    control.resume(cluster.store, waiting, skip_wait=True, host=Host.CLUSTER)
    cluster.client.start(waiting)
    assert cluster.until_rest([waiting])[0].outcome is Outcome.CLAIMED


def test_a_remote_that_is_not_there_pauses_the_loop_and_says_so(cluster: TestCluster) -> None:
    cluster.machine("one")
    there = cluster.remote
    cluster.remote = cluster.parts.folder / "empty.git"
    git(cluster.parts.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(cluster.remote))
    loop_id = cluster.run("loop-a", **cluster.stepping_agent(1, 0))
    (loop,) = cluster.until_rest([loop_id])
    assert (loop.outcome, "has no commit to start from" in loop.reason) == (Outcome.PAUSED, True)
    git(there, "push", "--quiet", str(cluster.remote), "main")
    control.resume(cluster.store, loop_id, host=Host.CLUSTER)
    cluster.client.start(loop_id)
    cluster.until_rest([loop_id])
    holds_together(cluster, loop_id, 1)


def test_a_worker_waits_for_temporal(cluster: TestCluster, temporal: Temporal) -> None:
    temporal.kill()
    machine = Machine(cluster.parts, "one")
    cluster.machines.append(machine)
    process = machine.launch()
    until(lambda: "cannot be reached" in machine.log.read_text())
    temporal.start()
    assert process.stdout is not None
    assert "worker_start" in process.stdout.readline()
    assert machine.end() == 0
