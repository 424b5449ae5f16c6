"""A short run of chaos: kills, damage, full disks and contradiction, all at once, and every promise holds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
LONGEST = 540
"""Seconds: half a minute of blows, and then everything comes to rest, on a machine that does much else."""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the harness finds processes in /proc")
def test_half_a_minute_of_chaos_breaks_no_promise(tmp_path: Path) -> None:
    told = tmp_path / "report.md"
    chaos = [
        sys.executable,
        "-m",
        "proof.chaos",
        "--seed",
        "1",
        "--minutes",
        "0.6",
        "--together",
        "4",
        "--report",
        str(told),
    ]
    run = subprocess.run(chaos, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, f"{run.stderr[-6000:]}\n{run.stdout[-6000:]}"
    report = told.read_text()
    assert "**all of them held.**" in report
    for promise in (
        "no control is lost or doubled",
        "no orphan is left",
        "no two agents at once",
        "no two runners at once",
        "the sequence has no gap",
        "the budget is exactly the person's",
        "orders are obeyed",
        "what is shown is what is written",
        "a loop that nothing hits comes to its end",
        "damage is told, once, and only where there is some",
    ):
        assert f"| {promise} |" in report
