"""Whatever is typed, configured or damaged: one sentence with a hint, the right exit code, and nothing lost or left behind."""

from __future__ import annotations

import json
import os
import re
import resource
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, Ended

CLAIMS = ("--command", "echo '<promise>COMPLETE</promise>'")


def assert_said(ended: Ended, code: int, *words: str) -> None:
    """One sentence and a hint on standard error, nothing on standard output, no traceback."""
    lines = ended.errors.splitlines()
    assert ended.code == code, ended.errors
    assert ended.output == ""
    assert len(lines) == 2, ended.errors
    assert re.fullmatch(r"untildone: \S.*", lines[0])
    assert re.fullmatch(r"hint: \S.*", lines[1])
    for word in words:
        assert word in ended.errors


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-r", "0", "x"], "'0'"),
        (["-r", "-3", "x"], "'-3'"),
        (["-r", "5.5", "x"], "'5.5'"),
        (["-r", "many", "x"], "'many'"),
        (["-r", "1000001", "x"], "1,000,000"),
        (["-r", "9" * 400, "x"], "--max-iterations"),
        (["-r"], "-r"),
        (["--max-rounds", "", "x"], "rounds"),
        (["--max-minutes", "0", "x"], "minutes"),
        (["--max-minutes", "nan", "x"], "minutes"),
        (["--max-cost", "inf", "x"], "dollars"),
        (["--max-cost", "1e999", "x"], "dollars"),
        (["--max-cost", "-1", "x"], "dollars"),
        (["--max-tokens", "1.5", "x"], "tokens"),
        (["--iteration-timeout", "soon", "x"], "seconds"),
        (["--check-timeout", "-1", "x"], "seconds"),
        (["--mode", "magic", "x"], "magic"),
        (["--route", "scenic", "x"], "scenic"),
        (["--context", "old", "x"], "old"),
        (["--no-such-flag", "x"], "--no-such-flag"),
        (["--agent", "nobody", "x"], "nobody"),
        (["--agent", "../claude", "x"], "../claude"),
        (["--supervisor", "nobody", "x"], "nobody"),
        (["--fallback-agent", "nobody", "x"], "nobody"),
        (["--agent", "command", "x"], "--command"),
        (["--command", "'unclosed", "x"], "quote"),
        (["--command", "no-such-program-here", "x"], "no-such-program-here"),
        (["--marker", "", "x"], "marker"),
        (["--check", "", "x"], "runs nothing"),
        (["--check", "\\\n", "x"], "runs nothing"),
        (["--check", "pytest -q", "--check", " \t\n", "x"], "checks.1"),
        (["--check", "# pytest -q\n  # later", "x"], "# pytest"),
        ([""], "empty"),
        (["  \n "], "empty"),
        (["--file", "words.txt", "and words"], "two tasks"),
        (["--file", "missing.txt"], "missing.txt"),
        (["--file", "."], "."),
        (["--file", "empty.txt"], "empty"),
        (["--file", "nul.txt"], "NUL"),
        (["--file", "latin.txt"], "UTF-8"),
        (["--dir", "missing", "x"], "missing"),
        (["--dir", "words.txt", "x"], "words.txt"),
    ],
)
def test_a_loop_that_cannot_work_is_refused_and_nothing_is_created(
    cli: CommandLine, arguments: list[str], word: str
) -> None:
    texts = {"words.txt": b"words", "empty.txt": b"\n", "nul.txt": b"a\0b", "latin.txt": "é".encode("latin-1")}
    for name, content in texts.items():
        (cli.workspace / name).write_bytes(content)
    own_agent = "--agent" in arguments or "--command" in arguments
    assert_said(cli.run("run", *([] if own_agent else CLAIMS), *arguments), 2, word)
    assert sorted(path.name for path in cli.workspace.iterdir()) == sorted(texts)


@pytest.mark.parametrize(("given", "word"), [("", "empty"), ("a\0b", "NUL")])
def test_a_task_from_standard_input_is_checked_too(cli: CommandLine, given: str, word: str) -> None:
    assert_said(cli.run("run", *CLAIMS, "-", given=given), 2, word)
    assert list(cli.workspace.iterdir()) == []


def test_an_agent_that_is_not_installed_is_told_before_anything_is_written(cli: CommandLine) -> None:
    cli.environment["PATH"] = "/usr/bin:/bin"
    assert_said(cli.run("run", "--agent", "claude", "x"), 2, "claude", "npm install")
    assert list(cli.workspace.iterdir()) == []


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A file system of its own, as only root can make one."""
    place.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place]).returncode != 0:
        pytest.skip("mounting a file system takes root on Linux")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@contextmanager
def unwritable(place: Path) -> Iterator[Path]:
    """A folder that cannot be written, not even by root."""
    if os.geteuid() == 0:
        with mounted(place, "ro"):
            yield place
    else:
        place.mkdir(mode=0o555)
        yield place


def test_a_folder_that_cannot_be_written_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    with unwritable(tmp_path / "unwritable") as place:
        assert_said(cli.run("run", *CLAIMS, "--dir", str(place), "x"), 2, str(place))
        assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ("mode = ", "untildone.toml"),
        ("speed = 3", "speed"),
        ("max_iterations = 0", "max_iterations"),
        ("mode = 'magic'", "magic"),
        ("max_cost = 'much'", "max_cost"),
        ("checks = ['']", "runs nothing"),
        ("checks = ['true', '# true']", "untildone.toml"),
        ("[profiles.mine]\nagent = 'nobody'", "nobody"),
    ],
)
def test_a_settings_file_that_is_wrong_is_named(cli: CommandLine, settings: str, word: str) -> None:
    (cli.workspace / "untildone.toml").write_text(settings)
    profile = ["--agent", "mine"] if "profiles" in settings else CLAIMS
    assert_said(cli.run("run", *profile, "x"), 2, word)


@pytest.mark.parametrize(
    "variable", ["UNTILDONE_MAX_ITERATIONS=-1", "UNTILDONE_MAX_MINUTES=x", "UNTILDONE_MODE=magic", "UNTILDONE_CHECKS= "]
)
def test_a_variable_that_is_wrong_is_named(cli: CommandLine, variable: str) -> None:
    name, _, value = variable.partition("=")
    cli.environment[name] = value
    assert_said(cli.run("run", *CLAIMS, "x"), 2, value)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["shwo"], "shwo"),
        (["show", "nothing"], "nothing"),
        (["show", "../../etc"], "../../etc"),
        (["log", "last"], "no loops"),
        (["pause", "last"], "no loops"),
        (["wait", "last", "--timeout", "-1"], "seconds"),
        (["say", "last"], "message"),
        (["list", "--status", "sleeping"], "sleeping"),
        (["list", "--dir", "missing"], "missing"),
        (["agents", "check", "nobody"], "nobody"),
        (["completion", "tcsh"], "tcsh"),
        (["stop"], "LOOP"),
    ],
)
def test_commands_refuse_what_there_is_not(cli: CommandLine, arguments: list[str], word: str) -> None:
    assert_said(cli.run(*arguments), 2, word)
    assert list(cli.workspace.iterdir()) == []


@pytest.fixture
def paused(cli: CommandLine) -> str:
    """A loop that is out of rounds."""
    ended = cli.run("run", "-r", "1", "--command", "echo working", "x")
    assert ended.code == 3, ended.errors
    return ended.output.split()[0]


BAD_CHANGES = (
    ["--iterations", "+0"],
    ["--iterations", "-2"],
    ["--iterations", "+1.5"],
    ["--iterations", "++5"],
    ["--iterations", "=x"],
    ["--minutes", "+nan"],
    ["--cost", "=-1"],
    ["--cost", "0"],
    ["--tokens", "+1e3"],
    ["--iteration-timeout", "soon"],
)


def test_changes_of_the_budget_that_make_no_sense_change_nothing(cli: CommandLine, paused: str) -> None:
    before = cli.shown(paused)
    for change in BAD_CHANGES:
        assert_said(cli.run("budget", paused, *change), 2, change[0])
    assert_said(cli.run("resume", paused, "-r", "0"), 2, "'0'")
    assert cli.shown(paused) == before


def test_a_part_of_an_id_must_be_unique(cli: CommandLine, paused: str) -> None:
    cli.run("run", *CLAIMS, "another")
    assert_said(cli.run("show", "loop-"), 2, "2 loops", paused)
    assert cli.shown(paused[5:])["loop_id"] == paused


def test_a_completed_loop_takes_no_control_and_stays_as_it_was(cli: CommandLine) -> None:
    cli.run("run", *CLAIMS, "x")
    before = cli.shown()
    for command in (
        ["resume"],
        ["pause"],
        ["stop", "last"],
        ["say", "last", "more"],
        ["budget", "last", "--cost", "1"],
    ):
        assert_said(cli.run(*command), 2, "completed")
    assert cli.shown() == before


def test_a_defect_is_told_in_a_sentence_and_its_details_are_saved(cli: CommandLine) -> None:
    broken = cli.home / "broken"
    (broken / "untildone").mkdir(parents=True)
    (broken / "sitecustomize.py").write_text(
        "import sys, types\nsys.modules['untildone.operations.stores'] = types.ModuleType('untildone.operations.stores')\n"
    )
    (broken / "untildone").rmdir()
    cli.environment["PYTHONPATH"] = f"{broken}{os.pathsep}{cli.environment['PYTHONPATH']}"
    ended = cli.run("list")
    assert_said(ended, 1, "defect")
    (details,) = re.findall(r"\S+defect-\S+\.txt", ended.errors)
    assert "Traceback" in Path(details).read_text()


# The state on disk.


def flip_byte(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 0x20
    path.write_bytes(content)


def test_a_checkpoint_with_changed_bytes_is_rebuilt_from_the_journal(cli: CommandLine, paused: str) -> None:
    before = cli.shown(paused)
    checkpoint = cli.workspace / ".loop" / f"{paused}.json"
    flip_byte(checkpoint, checkpoint.stat().st_size // 2)
    assert cli.shown(paused) == before
    ended = cli.run("resume", paused, "-r", "+1", "--json")
    assert ended.code == 3, ended.errors
    assert ended.records[-1]["iterations"] == 2
    assert any(record["event"] == "state_repaired" for record in cli.run("log", paused, "--json").records)


def test_a_journal_with_changed_bytes_loses_nothing_that_the_checkpoint_knows(cli: CommandLine, paused: str) -> None:
    before = cli.shown(paused)
    flip_byte(cli.workspace / ".loop" / f"{paused}.progress" / "execution.log.jsonl", 300)
    after = cli.shown(paused)
    assert (after["current_iteration"], after["description"]) == (before["current_iteration"], before["description"])
    ended = cli.run("resume", paused, "-r", "+1", "--json")
    assert (ended.code, ended.records[-1]["iterations"]) == (3, 2), ended.errors


def test_a_loop_whose_state_is_gone_does_not_hide_the_others(cli: CommandLine, paused: str) -> None:
    lost = cli.run("run", "-r", "1", "--command", "echo working", "lost").output.split()[0]
    for path in (cli.workspace / ".loop").glob(f"{lost}.json*"):
        path.write_bytes(b"\0" * 100)
    for name in ("execution.log.jsonl", "created.json"):
        (cli.workspace / ".loop" / f"{lost}.progress" / name).write_bytes(b"nothing\n")
    store = cli.store()
    store.seals.head(store.root, lost).spare.unlink()
    listed = {record["loop_id"]: record["status"] for record in cli.loops}
    assert listed == {lost: "damaged", paused: "paused"}
    ended = cli.run("show", lost)
    assert_said(ended, 6, lost)


def test_a_damaged_receipt_is_told(cli: CommandLine) -> None:
    cli.run("run", *CLAIMS, "--check", "true", "x")
    (receipt,) = (cli.workspace / ".loop" / "history").glob("*/receipt.json")
    receipt.write_text("{")
    assert_said(cli.run("verify"), 2, "receipt")


# A full disk.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", "size=1m") as place:
        yield place


def test_a_full_disk_stops_the_loop_with_a_sentence_and_it_goes_on_when_there_is_room(
    cli: CommandLine, small_disk: Path
) -> None:
    fill = "dd if=/dev/zero of=big bs=64k 2>/dev/null; echo working"
    agent = cli.home / "agent.sh"
    agent.write_text(f"#!/bin/sh\nif [ -e full ]; then rm full; {fill}; else echo '<promise>COMPLETE</promise>'; fi\n")
    agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
    (small_disk / "full").touch()
    ended = cli.run("run", "--dir", str(small_disk), "--command", str(agent), "--json", "x")
    assert ended.code == 6, ended.errors
    assert ended.errors.splitlines()[-2].startswith("untildone: The disk is full")
    assert ended.errors.splitlines()[-1].startswith("hint: ")
    assert (ended.records[-1]["event"], ended.records[-1]["exit_code"]) == ("loop_end", 6)
    (small_disk / "big").unlink()
    resumed = cli.run("resume", "--dir", str(small_disk), "--json")
    assert (resumed.code, resumed.records[-1]["outcome"]) == (0, "claimed"), resumed.errors


def test_a_file_that_may_not_grow_is_told_like_a_full_disk(cli: CommandLine) -> None:
    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))

    ended = cli.run("run", "--command", "echo working", "-r", "9", "--promise", "", "x", preexec_fn=limit_files)
    assert ended.code == 6, ended.errors
    assert "untildone: " in ended.errors
    assert "Traceback" not in ended.errors
    resumed = cli.run("resume", "--json")
    assert (resumed.code, resumed.records[-1]["iterations"]) == (3, 9), resumed.errors


def test_names_with_odd_letters_are_taken_as_they_are(cli: CommandLine) -> None:
    odd = "make 'it' \"work\" $(touch pwned) `touch pwned` \u202e\x1b[31m ünïcödé 🙂 --flag; rm -rf ."
    ended = cli.run("run", *CLAIMS, odd)
    assert ended.code == 0, ended.errors
    assert cli.shown()["description"] == odd
    assert "\x1b" not in ended.errors + cli.run("list").output + cli.run("show").output + cli.run("log").output
    assert [path.name for path in cli.workspace.iterdir()] == [".loop"]


def test_bytes_that_are_no_text_in_an_argument_are_replaced(cli: CommandLine) -> None:
    ended = cli.run("run", *CLAIMS, os.fsdecode(b"caf\xe9"), "--json")
    assert (ended.code, ended.records[-1]["outcome"]) == (0, "claimed"), ended.errors
    assert json.loads(json.dumps(cli.shown()))["description"] == "caf?"
