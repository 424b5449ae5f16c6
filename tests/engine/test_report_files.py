"""JUnit reports of a command, read after it ran: only those that it wrote, whatever lies there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from untildone.core.actions import RunCommand
from untildone.engine.verdicts import gating, report_files
from untildone.gates.check import why_failed

FAILED = '<testsuite><testcase classname="t" name="test_a"><failure/></testcase></testsuite>'
LONG = f"<testsuite>{'<testcase/>' * 200_000}{FAILED}</testsuite>"


@pytest.mark.parametrize(
    ("script", "stale", "reason"),
    [
        ("cp source.xml out/r.xml", "", "the exit code is 0, but its JUnit report reports 1 failed"),
        ("cp source.xml out/r.xml", "<testsuite/>", "the exit code is 0, but its JUnit report reports 1 failed"),
        ("cp long.xml out/r.xml", "", "the exit code is 0, but its JUnit report reports 1 failed"),
        ("true", FAILED, ""),
        ("cp huge.xml out/r.xml", "", ""),
        ("rm -f out/r.xml; ln -s ../source.xml out/r.xml", "", ""),
        ("rm -f out/r.xml; mkfifo out/r.xml", "", ""),
    ],
)
def test_only_reports_of_this_run_count(tmp_path: Path, script: str, stale: str, reason: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "source.xml").write_text(FAILED)
    (tmp_path / "long.xml").write_text(LONG)
    (tmp_path / "huge.xml").write_text(f"<testsuites>{FAILED}{' ' * report_files.MOST_BYTES}</testsuites>")
    if stale:
        (tmp_path / "out" / "r.xml").write_text(stale)
    (tmp_path / "run.sh").write_text(f"{script}\n")
    need = RunCommand("sh run.sh --junitxml=out/r.xml", 30.0)
    room = gating.Room(str(tmp_path), {"PATH": os.environ["PATH"]}, lambda: False)
    ran = report_files.watched(need, room, lambda: gating.run_command(need, room))
    assert why_failed(ran, 30.0) == reason
