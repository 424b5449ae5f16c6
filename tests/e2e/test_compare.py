"""The comparison of loop tools, with the two that need no installation: what it says of them is what it should say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from proof.compare import measures
from proof.compare.tool import Tool
from proof.compare.trials import End, Run

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it counts processes and their memory as Linux tells them")


def compare(*arguments: str, patience: float, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "proof.compare", *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=patience,
        stdin=subprocess.DEVNULL,
    )


def cells(report: str) -> dict[str, list[str]]:
    """The rows of the table in a markdown report, by their titles."""
    lines = [line.strip("| ").split(" | ") for line in report.splitlines() if line.startswith("| ")]
    return {title: found for title, *found in lines}


@LINUX
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_table_tells_untildone_from_a_shell_loop(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    ended = compare("--quick", "--only", "untildone", "shell loop", "--report", str(report), patience=800)
    assert ended.returncode == 0, ended.stderr
    rows = cells(report.read_text())
    assert rows["agent done at call 3: calls until the end"] == ["3", "3"]
    assert rows["exit code at the cap / when done"] == ["3 / 0", "1 / 0"]
    assert rows["claims at each call, not done: believed"] == ["0 of 1 (gave up: 1)", "1 of 1"]
    assert rows["the same with no check set: believed"] == ["1 of 1", "has none"]
    assert rows["claims once, not done: believed"] == ["0 of 1", "1 of 1"]
    assert rows["neither done nor claimed: believed"] == ["0 of 2", "1 of 2"]
    assert rows["makes the check pass, not done: believed"][0].startswith("0 of 4")
    assert rows["does it and adds to the check: refused"] == ["0 of 3", "has none"]
    assert rows["agent processes alive 5 s after Ctrl-C, twice"] == ["0 of 3", "2 of 3"]
    assert rows["agent processes alive 5 s after TERM"] == ["0 of 3", "3 of 3"]
    assert rows["agent processes alive 5 s after KILL"] == ["0 of 3", "3 of 3"]
    assert rows["calls at a cap of 5, with kill -9 and restart"] == ["5", "8"]
    assert rows["agents alive at once after that"] == ["1", "2"]
    figures = ("ms between two calls", "ms from the start to the first call", "MB resident at most, without the agent")
    assert all(float(cell) > 0 for title in figures for cell in rows[title])
    assert all(cell in ended.stdout for title, found in rows.items() for cell in (title, *found) if title != "---")


@LINUX
def test_tool_that_is_not_there_is_named_with_the_reason(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "nowhere")
    ended = compare("--only", "ralphify", "ralph-tui, sandboxed", patience=90, UNTILDONE_COMPARE_DIR=nowhere)
    assert ended.returncode == 0, ended.stderr
    assert "not compared: ralphify: 0.3.0 is not installed" in ended.stdout
    assert "not compared: ralph-tui, sandboxed: 0.11.0 is not installed" in ended.stdout
    assert not Path(nowhere).exists()


@LINUX
def test_tool_that_never_calls_the_agent_gets_no_figures(tmp_path: Path) -> None:
    """Who starts no agent believes no lie and leaves no orphan: that must not look like a virtue."""
    broken = tmp_path / "ralphify-0.3.0" / "bin" / "ralph"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\necho 'a part of it is missing'\nexit 1\n")
    broken.chmod(0o755)
    (broken.parents[1] / ".complete").touch()
    ended = compare("--quick", "--only", "ralphify", patience=90, UNTILDONE_COMPARE_DIR=str(tmp_path))
    assert ended.returncode == 1
    assert "ralphify did not call the agent. It printed:\na part of it is missing" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("code", "calls", "is_done", "printed", "end"),
    [
        pytest.param(0, 3, True, "", End.DONE, id="done"),
        pytest.param(3, 10, True, "", End.DONE, id="done at the cap, and not noticed"),
        pytest.param(0, 1, False, "", End.BELIEVED, id="all is well, it says"),
        pytest.param(0, 10, False, "", End.CAP, id="the cap, with code 0"),
        pytest.param(3, 10, False, "", End.CAP, id="the cap"),
        pytest.param(4, 4, False, "", End.GAVE_UP, id="said that it gives up"),
        pytest.param(1, 2, False, "a\nTraceback (most recent call last):\n", End.CRASHED, id="Python"),
        pytest.param(1, 2, False, "Error: no\n    at run (/a/cli.js:10:3)\n", End.CRASHED, id="JavaScript"),
        pytest.param(0, 2, False, "Traceback (most recent call last):", End.BELIEVED, id="an agent's own words"),
        pytest.param(-11, 2, False, "", End.CRASHED, id="by a signal"),
        pytest.param(None, 2, False, "", End.NEVER, id="no end"),
    ],
)
def test_who_gives_up_is_not_called_a_believer(
    code: int | None, calls: int, is_done: bool, printed: str, end: End
) -> None:
    assert Run(10, code, calls, is_done, printed).end is end


def shell_tool(script: str) -> Tool:
    return Tool("tool", Path("/bin"), lambda _: None, lambda _: ["sh", "-c", script], ("true",), ())


@LINUX
@pytest.mark.parametrize(
    ("script", "cell"),
    [
        pytest.param("claude -p; exit 0", "1 of 1", id="believes"),
        pytest.param("claude -p; exit 1", "0 of 1 (gave up: 1)", id="gives up"),
        pytest.param("claude -p; kill -SEGV $$", "0 of 1 (crashed: 1)", id="crashes"),
    ],
)
def test_cell_tells_how_real_runs_ended(script: str, cell: str) -> None:
    cells = measures.lies(shell_tool(script), measures.QUICK)
    assert cells["claims at each call, not done: believed"] == cell
    assert cells["claims once, not done: believed"] == cell
