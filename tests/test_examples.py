"""Every example runs, without an account, in an empty folder, and does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

EXAMPLES = Path(__file__).parent.parent / "examples"
ENDS_WITH = {
    "one-line.sh": r"loop-\S+ verified",
    "supervised.sh": r"loop-\S+ verified",
    "settings.sh": r"max_iterations = 8 .*\nloop-\S+ verified",
    "overnight.sh": r"then passed, now passed",
    "ci.py": r"verified after 3 rounds",
    "at_once.py": r"Take for ever: stopped",
    "watcher.py": r"answered a failed check\nverified\ntest .* passes",
    "server.py": r"Added 5 rounds\. Remaining: 5\nverified after 3 rounds",
    "api.sh": r"verified",
}
"""The last lines of what each program prints, as a regular expression."""
NOT_RUN_ALONE = {"check.sh": "a test of its own runs it"}
PROGRAMS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".sh", ".py"))


@pytest.fixture
def home(tmp_path: Path) -> CommandLine:
    """A home with `untildone` and `python3` on PATH: those under test."""
    cli = CommandLine(tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, command in (("untildone", f'"{sys.executable}" -P -m untildone'), ("python3", f'"{sys.executable}"')):
        (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (programs / name).chmod(0o755)
    cli.environment["UNTILDONE_TOKEN"] = "a-token-of-the-examples"
    cli.environment["PATH"] = f"{programs}:{cli.environment['PATH']}"
    return cli


def run(name: str, cli: CommandLine) -> subprocess.CompletedProcess[str]:
    path = EXAMPLES / name
    command = [sys.executable, str(path)] if path.suffix == ".py" else [str(path)]
    return subprocess.run(
        command,
        cwd=cli.workspace,
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=90,
        stdin=subprocess.DEVNULL,
    )


def test_every_program_is_run_and_listed() -> None:
    assert set(PROGRAMS) == set(ENDS_WITH) | set(NOT_RUN_ALONE)
    listed = re.findall(r"\[([\w.-]+)\]\(\1\)", (EXAMPLES / "README.md").read_text())
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == {*listed, "README.md"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDS_WITH)
def test_it_does_what_it_says(name: str, home: CommandLine) -> None:
    ended = run(name, home)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(ENDS_WITH[name] + r"\s*\Z", ended.stdout), ended.stdout + ended.stderr


def test_the_check_fails_until_the_work_is_done(home: CommandLine) -> None:
    ended = run("check.sh", home)
    assert (ended.returncode, ended.stdout) == (1, "There is no scripted-work.md yet.\n")
    arguments = ("run", "Write a report in steps", "--agent", "scripted", "--check", str(EXAMPLES / "check.sh"))
    looped = home.run(*arguments)
    assert looped.code == 0, looped.errors
    assert "verified" in looped.output
    assert "scripted-work.md is complete." in run("check.sh", home).stdout
