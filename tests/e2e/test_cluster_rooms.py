"""Trust in a cluster: claims are judged in sealed rooms with the files of the start, on every machine, whichever of them dies."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.cluster import PROMISE, TestCluster, git

from untildone import settings
from untildone.core.events import BaselineRan, Entry, GatesRan, StartKept
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import GateResult, Outcome, RoomKind
from untildone.core.receipts import proof
from untildone.core.receipts.proof import Proof
from untildone.operations.creating import creation

__all__ = ["boxes"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.usefixtures("boxes")]
CALC = "def add(a, b):\n    return a - b\n"
TEST = "import unittest\nfrom calc import add\n\n\nclass Test(unittest.TestCase):\n    def test_it(self):\n        assert {what}\n"
CHECK = f"{sys.executable} -m unittest"
FIX, WEAKEN = {"write": {"calc.py": CALC.replace("-", "+")}}, {"write": {"test_calc.py": TEST.format(what="True")}}
CLAIM = {"say": "Done.", "claim": True}


def pushed(cluster: TestCluster, files: dict[str, str]) -> None:
    """Publish files on the default branch of the remote."""
    seed = cluster.parts.folder / "seed"
    for name, content in files.items():
        (seed / name).write_text(content)
    git(seed, "add", "--all")
    git(seed, "commit", "--quiet", "--message", "Project")
    git(seed, "push", "--quiet", str(cluster.remote), "main")


def without_history(cluster: TestCluster, branch: str) -> None:
    """Make a branch of the remote one commit with the same files."""
    commit = git(cluster.remote, "commit-tree", f"refs/heads/{branch}^{{tree}}", "-m", "No history")
    git(cluster.remote, "update-ref", f"refs/heads/{branch}", commit)


def results(entries: Iterable[Entry]) -> list[GateResult]:
    return [each for entry in entries if isinstance(entry.event, GatesRan) for each in entry.event.results]


WEAKENS_THEN_WORKS = f"""cat > /dev/null
if grep -q True test_calc.py
then sed -i 's/a - b/a + b/' calc.py
else sed -i 's/add(2, 3) == 5/True/' test_calc.py; git -c user.name=A -c user.email=a@b commit -qa --amend -m 'Another history'
fi
echo '{PROMISE}'
"""


def test_a_claim_is_judged_with_the_tests_of_the_start_on_another_machine(cluster: TestCluster) -> None:
    """The first machine dies while it judges a claim. The second finds weakened tests and a new history on the branch: only the mark still
    holds the commit that the loop started from."""
    pushed(cluster, {"calc.py": CALC, "test_calc.py": TEST.format(what="add(2, 3) == 5")})
    one, go, agent = cluster.machine("one"), cluster.parts.folder / "go", cluster.parts.folder / "agent.sh"
    agent.write_text(WEAKENS_THEN_WORKS)
    chosen = {
        "agent": "command",
        "command": f"sh {agent}",
        "checks": (f"git log -1 && until test -e {go}; do sleep 0.05; done; {CHECK}",),
    }
    loop_id = cluster.run("loop-a", room=None, **chosen)
    cluster.until(loop_id, lambda loop: loop.gate)
    one.kill()
    go.touch()
    without_history(cluster, "main")
    cluster.machine("two")
    (loop,) = cluster.until_rest([loop_id])
    assert (loop.outcome, loop.spend.iterations, proof.level(loop)) == (Outcome.VERIFIED, 2, Proof.CLEAN), loop.reason
    first, *_, last = results(cluster.entries(loop_id))
    assert (first.passed, first.room, first.tampered) == (False, RoomKind.SEALED, ("test_calc.py",))
    assert (last.passed, last.room) == (True, RoomKind.SEALED)
    kept = [entry.event for entry in cluster.entries(loop_id) if isinstance(entry.event, StartKept)]
    assert [(event.machine.split()[0], event.problem, bool(event.record)) for event in kept] == [
        ("one", "", True),
        ("two", "", True),
    ]
    assert kept[0].record != kept[1].record, "each machine has its own"


def test_proofs_hold_in_a_cluster_and_are_not_repeated_when_a_machine_dies(cluster: TestCluster) -> None:
    pushed(cluster, {"calc.py": CALC, "test_calc.py": TEST.format(what="add(2, 3) == 5")})
    one, held = cluster.machine("one"), cluster.parts.folder / "held"
    held.mkdir()
    (held / "test_held.py").write_text(TEST.format(what="add(7, 8) == 15"))
    loop = submitted(cluster, held)
    cluster.until(loop.loop_id, lambda loop: loop.gates)
    one.kill()
    held.joinpath("test_held.py").write_text("raise SystemExit('not the held-out tests of the start')\n")
    cluster.machine("two")
    (loop,) = cluster.until_rest([loop.loop_id])
    assert (loop.outcome, proof.level(loop)) == (Outcome.VERIFIED, Proof.HELD_OUT), (loop.reason, loop.gates)
    entries = cluster.entries(loop.loop_id)
    assert sum(isinstance(entry.event, BaselineRan) for entry in entries) == 1
    gates = [each.gate for each in results(entries)]
    assert sorted(gates) == sorted(set(gates)), "what was written down is not repeated"
    assert set(gates) == {"check", "repeat", "canary", "causal", "red_first", "held_out", "mutants"}


def submitted(cluster: TestCluster, held_out: Path) -> Loop:
    """A loop with all proofs, created as a person does it, on a machine that drives nothing."""
    script = cluster.script([FIX, CLAIM])
    chosen = {"agent": script["agent"], "args": script["args"], "checks": (CHECK,), "remote": str(cluster.remote)}
    options = {"prove": True, "held_out": str(held_out), "repeat": 2}
    laptop = cluster.parts.folder / "laptop"
    laptop.mkdir()
    values = settings.load(laptop, {**chosen, **options, "allow_write": (str(cluster.parts.folder),)}, {})
    return creation.create(cluster.store, "Fix it", values, laptop, host=Host.CLUSTER, starts=True).loop


def test_a_machine_that_cannot_get_the_start_judges_nothing(cluster: TestCluster) -> None:
    """The remote lost the commit that the loop started from: an agent that can push may have done so, to be judged in place."""
    pushed(cluster, {"calc.py": CALC, "test_calc.py": TEST.format(what="add(2, 3) == 5")})
    one = cluster.machine("one")
    go = cluster.parts.folder / "go"
    check = f"until test -e {go}; do sleep 0.05; done; {CHECK}"
    loop_ids = [
        cluster.run(f"loop-{room}", checks=(check,), room=room, **cluster.script([FIX, CLAIM]))
        for room in (None, "sealed", "plain")
    ]
    for loop_id in loop_ids:
        cluster.until(loop_id, lambda loop: loop.gate)
    one.kill()
    go.touch()
    for loop_id in loop_ids:
        without_history(cluster, loop_id)
        git(cluster.remote, "update-ref", "-d", f"refs/untildone/owner/{loop_id}")
    without_history(cluster, "main")
    git(cluster.remote, "gc", "--quiet", "--prune=now")
    cluster.machine("two")
    loops = cluster.until_rest(loop_ids)
    assert [(loop.outcome, proof.level(loop)) for loop in loops] == [
        (Outcome.PAUSED, Proof.NONE),
        (Outcome.PAUSED, Proof.NONE),
        (Outcome.VERIFIED, Proof.CHECKED),
    ], [loop.reason for loop in loops]
    assert "two does not have the start of the loop: the remote has no such commit" in loops[0].reason
    assert "this machine judges none" in loops[0].reason
    assert f"give the remote commit {(loops[0].start.head or '')[:12]} back, then resume" in loops[0].reason
    assert "It cannot judge a claim in a room." in loops[1].reason
