"""A loop runs, verifies, survives and obeys: real runner processes, fake agents on PATH."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import fake_agents

from untildone.system import orphans

PATIENCE = 30.0


class Desk:
    """A workspace with a fake `claude` on PATH, and the command line."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.programs = folder / "programs"
        self.home = folder / "home"
        for place in (self.workspace, self.programs, self.home):
            place.mkdir()
        self.environment = {
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "UNTILDONE_RETRY_DELAY": "0.05",
            # Fake agents keep notes beside the workspace.
            "UNTILDONE_ALLOW_WRITE": str(folder),
            "LANG": "C.UTF-8",
        }

    def start(self, *arguments: str, talk: int = subprocess.PIPE) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "untildone", *arguments],
            cwd=self.workspace,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=talk,
            text=True,
        )

    def run(self, *arguments: str, patience: float = PATIENCE) -> tuple[int, list[dict[str, object]], str]:
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=patience)
        return process.returncode, [json.loads(line) for line in output.splitlines() if line.startswith("{")], errors

    def calls(self) -> int:
        return len(fake_agents.calls(self.programs))

    def shown(self) -> dict[str, object]:
        _, (checkpoint, *_), _ = self.run("show", "last", "--json")
        return checkpoint


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def until(condition: object, what: str, patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    assert callable(condition)
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience} s for {what}"
        time.sleep(0.02)


def test_a_liar_is_never_believed(desk: Desk) -> None:
    fake_agents.write_fake_agent(desk.programs, fake_agents.AlwaysClaims())
    code, events, _ = desk.run("run", "do it", "--check", "false", "-r", "3", "--json")
    assert code == 3
    assert desk.calls() == 3
    assert events[-1]["event"] == "loop_end"
    assert (events[-1]["outcome"], events[-1]["status"], events[-1]["iterations"]) == ("budget", "paused", 3)


@pytest.mark.parametrize(("gate", "outcome"), [(["--check", "true"], "verified"), ([], "claimed")])
def test_a_claim_on_the_third_call(desk: Desk, tmp_path: Path, gate: list[str], outcome: str) -> None:
    fake_agents.write_fake_agent(desk.programs, fake_agents.ClaimsOn(3, tmp_path / "count"))
    code, events, _ = desk.run("run", "do it", *gate, "--json")
    assert (code, events[-1]["outcome"], events[-1]["iterations"]) == (0, outcome, 3)
    assert desk.calls() == 3


def test_one_that_never_claims_uses_its_budget_or_stalls(desk: Desk) -> None:
    fake_agents.write_fake_agent(desk.programs, fake_agents.NeverClaims())
    code, events, _ = desk.run("run", "do it", "-r", "2", "--json")
    assert (code, events[-1]["outcome"]) == (3, "budget")
    code, events, _ = desk.run("run", "do it", "-r", "9", "--json")
    assert (code, events[-1]["outcome"], events[-1]["iterations"]) == (4, "stalled", 3)


def test_a_hanging_agent_is_ended_at_its_timeout(desk: Desk) -> None:
    fake_agents.write_fake_agent(desk.programs, fake_agents.Hangs(ignores_term=True))
    code, events, _ = desk.run("run", "do it", "-r", "2", "--iteration-timeout", "0.5", "--json")
    assert (code, events[-1]["iterations"]) == (3, 2)
    assert desk.calls() == 2


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_hundreds_of_megabytes_of_output_take_no_memory(desk: Desk) -> None:
    peaks = []
    for behaviour in (fake_agents.NeverClaims(), fake_agents.Floods(256 << 20), fake_agents.PrintsHugeLine(200 << 20)):
        fake_agents.write_fake_agent(desk.programs, behaviour)
        process = desk.start("run", "do it", "-r", "1", "--json", talk=subprocess.DEVNULL)
        peak = 0
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text() if process.poll() is None else ""
            peak = max([peak, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
            time.sleep(0.02)
        assert process.returncode in (0, 3)
        process.communicate()
        peaks.append(peak)
    assert max(peaks[1:]) - peaks[0] < 20 * 1024, f"kilobytes at most: {peaks}"


def test_kill_and_resume_spend_the_budget_exactly(desk: Desk, tmp_path: Path) -> None:
    """Cap 5, `kill -9` of the runner in iteration 3, resume: five agent calls in all, and no agent left behind."""
    gate = tmp_path / "gate"
    counting = desk.programs / "agent.sh"
    counting.write_text(
        f"""#!/bin/sh
echo call >> "{tmp_path}/calls"
n=$(wc -l < "{tmp_path}/calls")
[ $n -eq 3 ] && [ ! -e "{gate}" ] && sleep 60
echo "round $n"
"""
    )
    counting.chmod(0o755)
    agent = ("--agent", "command", "--command", str(counting))
    runner = desk.start("run", "do it", "-r", "5", *agent, "--json")
    calls = tmp_path / "calls"
    until(lambda: calls.exists() and len(calls.read_text().splitlines()) == 3, "the third call")
    loop_id = str(desk.shown()["loop_id"])
    mark, _ = orphans.mark(loop_id)
    assert orphans.find(mark)
    runner.send_signal(signal.SIGKILL)
    runner.communicate()
    until(lambda: not orphans.find(mark), "the agent to end", patience=2.0)
    gate.touch()
    code, events, _ = desk.run("resume", "last", "--json")
    assert (code, events[-1]["iterations"]) == (3, 5)
    assert len(calls.read_text().splitlines()) == 5


def test_children_that_leave_the_group_end_with_the_loop(desk: Desk, tmp_path: Path) -> None:
    """Without a box, in which the kernel ends them (`test_sandbox.py`), and processes have other numbers."""
    desk.environment["UNTILDONE_SANDBOX"] = "off"
    pids = tmp_path / "pids"
    fake_agents.write_fake_agent(desk.programs, fake_agents.LeavesChildren(pids, seconds=60))
    code, _, _ = desk.run("run", "do it", "-r", "1", "--json")
    assert code == 0
    left = [int(line) for line in pids.read_text().split()]
    assert left
    until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in left), "the children to end", patience=2.0)


def test_receipt_and_verify(desk: Desk, tmp_path: Path) -> None:
    fake_agents.write_fake_agent(desk.programs, fake_agents.AlwaysClaims())
    flag = tmp_path / "flag"
    flag.touch()
    code, events, _ = desk.run("run", "do it", "--check", f"test -e {flag}", "--json")
    assert code == 0
    (receipt,) = (desk.workspace / ".loop" / "history").glob("*/receipt.json")
    told = json.loads(receipt.read_text())
    assert told["outcome"] == "verified"
    assert told["gates"][0]["exit_code"] == 0
    assert (receipt.parent / "report.md").read_text().startswith("# do it")
    assert desk.run("verify", "last")[0] == 0
    flag.unlink()
    assert desk.run("verify", "last")[0] == 6
    assert str(events[-1]["loop_id"]) in receipt.parent.name
