"""Twenty rounds on a real repository: every round comes back byte for byte, the planted one is found, and `kill -9` harms nothing."""

from __future__ import annotations

import json
import math
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import CommandLine, until
from tests.support.repositories import git

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROUNDS, PLANTED = 20, 13
SOURCE = Path(__file__).parents[2] / "src"
# Every file with its bytes, every link with its target, every program. Folders without files do not count.
MANIFEST = """#!/bin/sh
cd "$1" && find . \\( -name .git -o -name .loop \\) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum
find . \\( -name .git -o -name .loop \\) -prune -o -type l -printf '%p -> %l\\n' | sort
find . \\( -name .git -o -name .loop \\) -prune -o -type f -perm -u+x -print | sort
"""
# Edits, deletes, renames and makes files of the repository; commits now and then; breaks a file for good, or until it is undone.
AGENT = """#!/bin/sh
cat > /dev/null
n=$(($(cat ../n 2>/dev/null || echo 0) + 1)); echo $n > ../n
file=$(find src -name '*.py' | sort | sed -n "$((n * 7))p"); echo "# round $n" >> "$file"
git mv "$(find src -name '*.py' | sort | sed -n "$((n * 11))p")" "src/moved $n.py"
rm "$(find src -name '*.py' | sort | sed -n "$((n * 13))p")"
printf 'round %s\\0\\r\\n' $n > "bytes $n"; ln -sf "bytes $n" newest; chmod $((644 + 111 * (n % 2))) LICENSE
[ $((n % 5)) = 0 ] && git add -A && git -c user.name=A -c user.email=a@example.com commit -qm "round $n"
[ $n = "$PLANTED" ] && echo spoiled >> LICENSE
[ -e ../break ] && rm LICENSE && echo junk > junk
sh ../manifest.sh "$PWD" > ../manifests/$n
echo "did $n"
"""


@pytest.fixture
def repository(cli: CommandLine) -> CommandLine:
    """A workspace with the sources of this project, committed."""
    place, above = cli.workspace, cli.workspace.parent
    shutil.copytree(SOURCE / "untildone", place / "src" / "untildone", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "LICENSE").write_text("free\n")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "all")
    (above / "manifests").mkdir()
    (above / "manifest.sh").write_text(MANIFEST)
    (above / "agent.sh").write_text(AGENT)
    (above / "agent.sh").chmod(0o755)
    (above / "manifests" / "0").write_text(manifest(cli))
    return cli


def manifest(cli: CommandLine) -> str:
    command = ("sh", str(cli.workspace.parent / "manifest.sh"), str(cli.workspace))
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def after_round(cli: CommandLine, number: int) -> str:
    return (cli.workspace.parent / "manifests" / str(number)).read_text()


def run_flags(cli: CommandLine, *more: str) -> tuple[str, ...]:
    return ("--command", str(cli.workspace.parent / "agent.sh"), "--sandbox", "off", "-r", str(ROUNDS), *more, "Do it")


def killed(cli: CommandLine, after: float, *arguments: str) -> None:
    """Run a command, and kill it in its middle."""
    process = cli.start(*arguments)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def killed_in_a_round(cli: CommandLine, after: float, *arguments: str) -> None:
    """Run a command, and kill it some time after the agent's next round began."""
    counter = cli.workspace.parent / "n"
    before = counter.read_text() if counter.exists() else ""
    process = cli.start(*arguments)
    until(lambda: counter.exists() and counter.read_text() not in (before, ""), 60)
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


def test_every_round_comes_back_and_the_planted_one_is_found_over_kill_9(repository: CommandLine) -> None:
    cli = repository
    cli.environment |= {"PLANTED": str(PLANTED), "UNTILDONE_PASS_ENV": "PLANTED"}
    assert cli.run("run", *run_flags(cli), patience=300).code == 3
    check = "! grep -q spoiled LICENSE"
    killed(cli, 0.7, "bisect", "last", "--check", check)
    assert manifest(cli) == after_round(cli, ROUNDS)
    found = cli.run("bisect", "last", "--check", check, "--json", patience=120)
    (record,) = found.records
    assert (record["broke"], record["holds_after"]) == (PLANTED, PLANTED - 1), found.errors
    assert len(record["checked"]) <= math.ceil(math.log2(ROUNDS))
    order = [(number * 8) % (ROUNDS + 1) for number in range(ROUNDS + 1)]
    assert sorted(order) == list(range(ROUNDS + 1))
    for turn, number in enumerate(order):
        if turn % 3 == 0:
            killed(cli, 0.25 + 0.05 * turn, "rewind", "last", "--to", str(number))
        taken = cli.run("rewind", "last", "--to", str(number), patience=120)
        assert taken.code == 0, taken.errors
        assert manifest(cli) == after_round(cli, number), f"round {number}"


def test_the_ratchet_brings_back_what_held_byte_for_byte_over_kill_9(repository: CommandLine) -> None:
    cli, above = repository, repository.workspace.parent
    cli.environment["UNTILDONE_ROOM"] = "plain"
    checks = ("--check", "test -e LICENSE", "--check", "test ! -e junk")
    killed_in_a_round(cli, 0.3, "run", "--ratchet", *run_flags(cli, *checks))
    killed_in_a_round(cli, 0.1, "resume", "last")
    (above / "break").touch()
    for moment in range(4):
        killed_in_a_round(cli, 0.07 * moment, "resume", "last")
    (above / "break").unlink()
    ended = cli.run("resume", "last", patience=300)
    assert ended.code == 3, ended.errors
    held = manifest(cli)
    assert (cli.workspace / "LICENSE").exists()
    assert not (cli.workspace / "junk").exists()
    (above / "break").touch()
    last = cli.run("resume", "last", "-r", "+1", "--json", patience=120)
    assert (last.code, undone(last.records)) == (3, 1), last.errors
    assert manifest(cli) == held, "the round that broke two checks is gone, and nothing else"
    counted = [each["iteration"] for each in log(cli) if each["event"] == "iteration_start"]
    assert counted == list(range(1, ROUNDS + 2)), "each round once"


def log(cli: CommandLine) -> list[dict[str, Any]]:
    return [json.loads(line) for line in cli.run("log", "last", "--json").output.splitlines()]


def undone(records: list[dict[str, Any]]) -> int:
    return sum(record["event"] == "workspace_restored" for record in records)
