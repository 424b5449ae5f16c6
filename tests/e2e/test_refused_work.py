"""Work that was refused is named when the next loop starts on it; a dirty start is said in one line."""

from __future__ import annotations

import json
import shutil
import subprocess

from tests.support.command_line import CommandLine

CLAIM = "echo '<promise>COMPLETE</promise>'"


def repository(cli: CommandLine) -> None:
    (cli.workspace / "test_calc.py").write_text("def test_it():\n    assert 1 + 1 == 3\n")
    (cli.workspace / "SUPERVISOR.md").write_text("Look at the tests.\n")
    (cli.workspace / "untildone.toml").write_text('[profiles.no]\nagent = "command"\ncommand = "echo No."\n')
    steps = (("init", "-q"), ("add", "-A"), ("-c", "user.email=a@b.example", "-c", "user.name=a", "commit", "-qm", "x"))
    for step in steps:
        subprocess.run(["git", *step], cwd=cli.workspace, check=True, capture_output=True, timeout=30)


def test_refused_tests_are_named_by_the_next_loop(cli: CommandLine) -> None:
    repository(cli)
    weaken = f"sh -c \"echo '# nothing' > test_calc.py; {CLAIM}\""
    first = cli.run("run", "fix it", "-r", "1", "--review", "--supervisor", "no", "--command", weaken, "--json")
    assert first.code == 3, first.errors
    loop_id = first.records[-1]["loop_id"]
    second = cli.run("run", "go on", "--check", "true", "--command", CLAIM)
    sentence = f"changes of loop {loop_id} that were refused: test_calc.py"
    assert (second.code, sentence in second.errors) == (0, True), second.errors
    assert "1 file differs from the last commit at the start" in second.errors
    assert sentence in cli.run("show").output
    assert cli.shown()["refused"] == [{"loop_id": loop_id, "paths": ["test_calc.py"], "unknown": False}]
    (receipt,) = (cli.workspace / ".loop/history").glob("*/receipt.json")
    assert loop_id in json.dumps(json.loads(receipt.read_text()))


def test_a_clean_start_is_not_mentioned(cli: CommandLine) -> None:
    repository(cli)
    ended = cli.run("run", "x", "--command", CLAIM)
    assert "from the last commit" not in ended.errors


def test_deleting_the_state_of_untildone_launders_nothing(cli: CommandLine) -> None:
    repository(cli)
    state = cli.home / ".local/state/untildone"
    first = cli.run("run", "fix it", "--check", "true", "-r", "1", "--command", CLAIM)
    assert first.code == 0, first.errors
    assert state.is_dir()
    (cli.workspace / "test_calc.py").write_text("# nothing\n")
    shutil.rmtree(state)
    second = cli.run("run", "go on", "--check", "true", "--command", CLAIM)
    assert "state was deleted or replaced since loop" in second.errors
    assert "since the last commit: test_calc.py" in second.errors
