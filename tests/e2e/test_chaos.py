"""A short chaos run: kills, damage, full disks and conflicting controls at once, and every invariant holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LONGEST = 540
"""Seconds for 24 seconds of faults and the end of all loops, on a busy machine."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the harness finds processes in /proc")
def test_some_seconds_of_chaos_violates_no_invariant(tmp_path: Path) -> None:
    report_file = tmp_path / "report.md"
    chaos = [
        sys.executable,
        "-m",
        "proof.chaos",
        "--seed",
        "1",
        "--minutes",
        "0.4",
        "--together",
        "4",
        "--report",
        str(report_file),
    ]
    run = subprocess.run(chaos, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, f"{run.stderr[-6000:]}\n{run.stdout[-6000:]}"
    report = report_file.read_text()
    assert "**all of them held.**" in report
    for invariant in (
        "no control is lost or duplicated",
        "no orphan is left",
        "no two agents at once",
        "no two runners at once",
        "the sequence numbers have no gap",
        "the budget is never exceeded",
        "controls are obeyed",
        "the shown state matches the journal",
        "a loop ends once faults stop",
        "damage is reported once and only if there is any",
        "what the agent wrote into the state is never believed",
        "every entry has a valid seal",
    ):
        assert f"| {invariant} |" in report
