"""Tests that an agent in a cluster never sees: a share of the project's own, and those of another author. Machines die meanwhile."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_cluster_rooms import CALC, CHECK, TEST, pushed, results
from tests.support.boxes import boxes
from tests.support.cluster import PROMISE, Machine, TestCluster
from tests.support.command_line import CommandLine, until

from untildone import settings
from untildone.core.events import AcceptanceRan, TurnStarted
from untildone.core.kinds import Host
from untildone.core.model import Outcome, Role
from untildone.core.receipts import proof
from untildone.core.receipts.proof import Proof
from untildone.operations.creating import creation

__all__ = ["boxes"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.usefixtures("boxes")]
SESAME = "open_" + "sesame"
# Reads every file and every commit that it finds.
SPY = r"""
grep -roa 'open[_]sesame[0-9_]*' {folder} 2>/dev/null
for objects in $(find {folder} -type d -name objects 2>/dev/null); do
  git --git-dir="${{objects%/objects}}" log --all -p 2>/dev/null | grep -o 'open[_]sesame[0-9_]*' | sed "s|^|$objects |"
done
"""
CALLS_SPY = "import subprocess\nprint(subprocess.run(['sh', {spy!r}], capture_output=True, text=True).stdout)\n"
# The first turn waits until its machine is killed.
WORKER = """cat > /dev/null
sh {spy}
grep -ro 'open[_]sesame[0-9_]*' .
if [ ! -e {folder}/first ]; then touch {folder}/first; sleep 300; fi
sed -i 's/a - b/a + b/' calc.py
cat {calls} >> calc.py
echo '{promise}'
"""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def worker(cluster: TestCluster) -> dict[str, Any]:
    """Settings of a loop whose agent looks everywhere for tests that it must not see, and so does its code."""
    folder = cluster.parts.folder
    spy = written(folder, "spy.sh", SPY.format(folder=folder))
    calls = written(folder, "calls.py", CALLS_SPY.format(spy=str(spy)))
    agent = written(folder, "worker.sh", WORKER.format(spy=spy, folder=folder, calls=calls, promise=PROMISE))
    return {"agent": "command", "command": f"sh {agent}", "checks": (CHECK,), "remote": str(cluster.remote)}


def submitted(cluster: TestCluster, **chosen: Any) -> str:
    """A loop that a person creates on a machine that drives nothing."""
    laptop = cluster.parts.folder / "desk"
    laptop.mkdir()
    profile = f'[profiles.writer]\nagent = "command"\ncommand = "sh {cluster.parts.folder}/author.sh"\n'
    (laptop / "untildone.toml").write_text(profile)
    usual = {"retry_delay": 0.05, "allow_write": (str(cluster.parts.folder),)}
    values = settings.load(laptop, {**usual, **chosen}, {})
    return creation.create(cluster.store, "Make add add", values, laptop, host=Host.CLUSTER, starts=True).loop.loop_id


def dead(machine: Machine) -> None:
    """Kill a machine. Its disk goes with it: the others have their own."""
    machine.kill()
    until(lambda: is_removed(machine.cli.home))


def is_removed(folder: Path) -> bool:
    """Whether a folder could be removed: what ends with the machine may still write there."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_a_share_of_the_tests_is_kept_back_on_every_machine(cluster: TestCluster) -> None:
    tests = {
        f"test_n{number}.py": TEST.format(what=f"add({number}, 3) == {number + 3}").replace(
            "test_it", f"test_{SESAME}_{number}"
        )
        for number in range(4)
    }
    pushed(cluster, {"calc.py": CALC, **tests})
    shutil.rmtree(cluster.parts.folder / "seed")
    one = cluster.machine("one")
    loop_id = submitted(cluster, **worker(cluster), held_out="40%")
    until(lambda: (cluster.parts.folder / "first").exists(), 90)
    dead(one)
    two = cluster.machine("two")
    cluster.until(loop_id, lambda loop: loop.gates)
    dead(two)
    cluster.machine("three")
    (loop,) = cluster.until_rest([loop_id])
    assert (loop.outcome, proof.level(loop)) == (Outcome.VERIFIED, Proof.HELD_OUT), cluster.story(loop_id)
    found = results(cluster.entries(loop_id))
    assert [each.gate for each in found] == ["check", "held_out"], "what was written down is not repeated"
    assert [each.tests for each in found] == ["2 passed", "2 held-out tests passed"]
    said = "".join(str(entry.event) for entry in cluster.entries(loop_id))
    shown = {number for number in range(4) if f"{SESAME}_{number}" in said}
    assert len(shown) == 2, (shown, said)


AUTHOR = """cat > /dev/null
if [ ! -e {folder}/go ]; then sleep 300; fi
sed "s/test_it/test_open_$(printf sesame)/; s/True/add(7, 8) == 15/" {folder}/shape > test_hidden.py
"""


def test_the_tests_of_another_author_reach_every_machine_but_not_the_worker(
    cluster: TestCluster, laptop: CommandLine
) -> None:
    pushed(cluster, {"calc.py": CALC, "test_calc.py": TEST.format(what="add(2, 3) == 5")})
    folder = cluster.parts.folder
    written(folder, "shape", TEST.format(what="True"))
    written(folder, "author.sh", AUTHOR.format(folder=folder))
    one = cluster.machine("one")
    loop_id = submitted(cluster, **worker(cluster), acceptance="writer")
    cluster.until(loop_id, lambda loop: loop.turn and cluster.agents(loop_id))
    dead(one)
    (folder / "go").touch()
    two = cluster.machine("two")
    until(lambda: (folder / "first").exists(), 90)
    dead(two)
    cluster.machine("three")
    (loop,) = cluster.until_rest([loop_id])
    assert (loop.outcome, proof.level(loop)) == (Outcome.VERIFIED, Proof.HELD_OUT), cluster.story(loop_id)
    events = [entry.event for entry in cluster.entries(loop_id)]
    authored = [event for event in events if isinstance(event, TurnStarted) and event.role is Role.AUTHOR]
    assert len(authored) == 2, "the one that was killed, and one more"
    assert sum(isinstance(event, AcceptanceRan) for event in events) == 1
    assert [each.tests for each in results(cluster.entries(loop_id))] == ["1 passed", "1 acceptance test passed"]
    assert SESAME not in "".join(map(str, events))
    assert f"+    def test_{SESAME}(self):" in laptop.run("diff", "--acceptance", loop_id).output
