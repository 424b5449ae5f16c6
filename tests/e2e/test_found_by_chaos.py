"""What `make chaos` has found, each as a test of its own; the seed and the story that found it stand beside it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, finish, until
from tests.support.store_conformance import loop_created

from untildone.core.kinds import Host
from untildone.core.model import Outcome, Status
from untildone.operations import control, look
from untildone.store.files import FileStore
from untildone.system import orphans
from untildone.system.box import sandbox

CLAIM = {"say": "Done.", "claim": True}
boxed = pytest.mark.skipif(bool(sandbox.problem()), reason=str(sandbox.problem()))


def ended_loop(cli: CommandLine) -> tuple[str, Path]:
    """A loop that is verified and in the history: its id, and where it lies."""
    assert cli.run("run", "a job", "--agent", "scripted", "--check", "true", "--", "--scenario", "liar").code == 0
    (folder,) = (cli.workspace / ".loop" / "history").iterdir()
    return folder.name.partition("_")[2], folder


def not_put_away(cli: CommandLine) -> tuple[str, Path]:
    """A loop that has ended, and has no receipt yet: its id, and where it is going to lie."""
    loop_id, folder = ended_loop(cli)
    root = cli.workspace / ".loop"
    for name in ("receipt.json", "report.md"):
        (folder / name).unlink()
    for path in folder.glob(f"{loop_id}.json*"):
        shutil.move(path, root / path.name)
    shutil.move(folder, root / f"{loop_id}.progress")
    return loop_id, folder


@pytest.mark.parametrize("command", [("log",), ("log", "--json"), ("watch", "--plain"), ("show", "--json")])
def test_a_loop_whose_first_line_is_damaged_can_be_looked_at(cli: CommandLine, command: tuple[str, ...]) -> None:
    """Seed 2, story 5: `log` ended with a defect."""
    loop_id, folder = ended_loop(cli)
    journal = folder / "execution.log.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[:105] + bytes([content[105] ^ 16]) + content[106:])
    ended = cli.run(*command, loop_id)
    assert ended.code == 0, ended.errors
    assert "verified" in ended.output + ended.errors


def test_a_loop_whose_runner_died_at_the_very_end_can_be_verified(cli: CommandLine) -> None:
    """Seed 2, story 3: it had ended, and was said to have no receipt yet."""
    loop_id, folder = not_put_away(cli)
    ended = cli.run("verify", loop_id, "--json")
    assert ended.code == 0, ended.errors
    assert [record["agrees"] for record in ended.records] == [True]
    assert (folder / "receipt.json").exists()


def test_the_receipt_of_a_loop_that_is_just_being_put_away_is_waited_for(cli: CommandLine) -> None:
    """Under load, the API said of a loop that it had ended, and that it had no receipt yet."""
    loop_id, folder = not_put_away(cli)
    store = cli.store()
    with ThreadPoolExecutor(1) as hands:
        with store.lease(loop_id):
            asked = hands.submit(look.receipt, cli.store(), loop_id)
            assert wait([asked], timeout=0.3).not_done
        told = asked.result(timeout=30)
    assert told == (folder / "receipt.json").read_text()


def noted(cli: CommandLine, count: int) -> list[int]:
    """The processes that a check noted, once all have."""
    notes = cli.workspace / "pids"
    return [int(pid) for pid in notes.read_text().split()] if notes.exists() and _lines(notes) == count else []


def _lines(notes: Path) -> int:
    return notes.read_text().count("\n")


def lives(pid: int) -> bool:
    return pid in orphans.scan()[0]


def loop_with_check(cli: CommandLine, script: str) -> None:
    """A verified loop, whose check does more from now on: it notes the numbers of its processes, which are others in a box."""
    cli.without_box()
    (cli.workspace / "check.sh").write_text(f"[ -e more ] || exit 0\n{script}\n")
    assert (
        cli.run("run", "a job", "--agent", "scripted", "--check", "sh check.sh", "--", "--scenario", "liar").code == 0
    )
    (cli.workspace / "more").touch()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_killed_verify_leaves_no_check_behind(cli: CommandLine, number: signal.Signals) -> None:
    loop_with_check(cli, "setsid sleep 100 & echo $! >> pids; sleep 100 & echo $! >> pids; echo $$ >> pids; wait")
    verifies = cli.start("verify", "last")
    pids = until(lambda: noted(cli, 3), patience=60)
    os.kill(verifies.pid, number)
    finish(verifies, patience=60)
    until(lambda: not any(lives(pid) for pid in pids), patience=60)


@boxed
@pytest.mark.parametrize("flags", [(), ("--keep-running", "sleep")], ids=["usual", "kept running"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_verify_leaves_no_check_behind_in_a_box(
    cli: CommandLine, number: signal.Signals, flags: tuple[str, ...]
) -> None:
    """With `--keep-running`, the kernel does not end a box together with the process that started it."""
    name = f"300.{os.getpid()}{number.value}{len(flags)}"
    script = f"[ -e more ] || exit 0; setsid env -i sleep {name} & sleep {name} & touch begun; wait"
    (cli.workspace / "check.sh").write_text(script)
    check = ("--check", "sh check.sh", *flags)
    assert cli.run("run", "a job", *check, *cli.script(CLAIM)).code == 0
    (cli.workspace / "more").touch()
    verifies = cli.start("verify", "last")
    until(lambda: (cli.workspace / "begun").exists() and len(sleepers(name)) >= 2, patience=60)
    os.kill(verifies.pid, number)
    finish(verifies, patience=60)
    until(lambda: not sleepers(name), patience=60)


def sleepers(seconds: str) -> list[int]:
    """The processes that sleep for so many seconds, in boxes too."""
    return [pid for pid in orphans.scan()[0] if orphans.command_of(pid)[:2] == ["sleep", seconds]]


@pytest.mark.parametrize("command", ["verify", "run"])
def test_what_a_check_leaves_behind_ends_with_the_command(cli: CommandLine, command: str) -> None:
    loop_with_check(cli, "for way in setsid 'env -i' env; do $way sleep 100 & echo $! >> pids; done")
    again = (
        ("verify", "last") if command == "verify" else ("run", "again", "--check", "sh check.sh", *cli.script(CLAIM))
    )
    ended = cli.run(*again)
    # The check has changed the workspace since, so that a receipt is about another one.
    assert ended.code == (6 if command == "verify" else 0), ended.errors
    pids = noted(cli, 3)
    assert len(pids) == 3
    assert [pid for pid in pids if lives(pid)] == []


@pytest.mark.parametrize("removed", ["", "*.progress"])
@pytest.mark.parametrize("at", ["agent", "check"])
def test_a_loop_whose_files_vanish_ends_with_a_sentence(cli: CommandLine, removed: str, at: str) -> None:
    """Its runner worked on for nobody, out of reach of every control, and ended as if the id had been mistyped."""
    cli.without_box()  # the numbers of processes are others in a box
    stays = "echo $$ >> pids; sleep 100 & echo $! >> pids; wait"
    (cli.workspace / "agent.sh").write_text(stays if at == "agent" else "echo '<promise>COMPLETE</promise>'")
    (cli.workspace / "check.sh").write_text(stays)
    runner = cli.start("run", "a job", "--command", "sh agent.sh", "--check", "sh check.sh")
    pids = until(lambda: noted(cli, 2), patience=60)
    root = cli.workspace / ".loop"
    for number, path in enumerate(list(root.glob(removed)) if removed else [root]):
        # Moved away first: the runner may be writing there at this moment.
        shutil.rmtree(path.rename(cli.home / f"removed-{number}"), ignore_errors=True)
    ended = finish(runner, patience=60)
    assert (ended.code, "while the loop ran" in ended.errors) == (6, True), ended.errors
    assert "defect" not in ended.errors
    assert [pid for pid in pids if lives(pid)] == []


@pytest.mark.parametrize("gone", ["rm -rf .git", "rm -rf .git/objects && mkdir .git/objects", "true"])
def test_a_receipt_says_what_changed_also_where_git_cannot(cli: CommandLine, gone: str) -> None:
    (cli.workspace / "old.txt").write_text("old\n")
    if gone != "true":
        subprocess.run(["git", "init", "-q"], cwd=cli.workspace, check=True)
    agent = cli.home / "agent.sh"
    agent.write_text(f"echo new > new.txt; {gone}; echo '<promise>COMPLETE</promise>'")
    ended = cli.run("run", "a job", "--command", f"sh {agent}")
    assert ended.code == 0, ended.errors
    (folder,) = (cli.workspace / ".loop" / "history").iterdir()
    changed = json.loads((folder / "receipt.json").read_text())["files_changed"]
    assert changed == [{"path": "new.txt", "insertions": 1, "deletions": 0}]
    assert "- Files changed: 1\n" in (folder / "report.md").read_text()


Turn = Mapping[str, object]
REVIEWER: Turn = {"match_system": "You are the supervisor"}
AGREED = "Good.\n\n[TASK_COMPLETED {word}]"


def played(cli: CommandLine, turns: Sequence[Turn], *flags: str) -> dict[str, object]:
    """A loop with this script: how it ended."""
    place = Path(tempfile.mkdtemp(dir=cli.workspace.parent))
    (script := place / "script.json").write_text(json.dumps(turns))
    (cli.workspace / "SUPERVISOR.md").write_text("Be strict.\n")
    words = (
        "run",
        "a job",
        "--json",
        "--agent=scripted",
        *flags,
        "--",
        "--one-place",
        f"--script={script}",
        f"--state={place}",
    )
    return cli.run(*words).records[-1]


def test_a_reviewer_who_repeats_what_it_was_told_has_not_agreed(cli: CommandLine) -> None:
    """Seed 2, story 1: how to agree stood in the echo, on a line of its own, and the loop was verified."""
    claims: Turn = {"say": "Everything is finished.", "claim": True}
    ended = played(cli, [{**REVIEWER, "echo": True}, claims], "--review", "-r1")
    assert ended["outcome"] == "budget"
    ended = played(cli, [{**REVIEWER, "echo": True, "say": AGREED}, claims], "--review", "-r1")
    assert ended["outcome"] == "verified", "who agrees below the echo has agreed"


def test_an_instructor_who_repeats_what_it_was_told_has_not_said_that_all_is_done(cli: CommandLine) -> None:
    """By the same way as the reviewer's echo: the worker was never asked, and the loop was done."""
    leads = {"match_system": "You are the instructor"}
    turns: list[Turn] = [{**leads, "echo": True}, {**leads, "say": "[TASK_COMPLETED]"}, {"say": "I did what I could."}]
    assert played(cli, turns, "--mode=instruct", "-r5")["iterations"] == 1


def test_a_reviewer_changes_nothing_that_was_checked(cli: CommandLine) -> None:
    """Seed 2, story 7: it deleted what the check had found, and agreed; the loop was verified, and was not."""
    works: Turn = {"append": {"proof.txt": "done\n"}, "say": "Done.", "claim": True}
    check = "--check=grep -qx done proof.txt"
    meddles: Turn = {**REVIEWER, "delete": ["proof.txt"], "say": AGREED}
    ended = played(cli, [meddles, works], "--review", check, "-r1")
    assert (ended["outcome"], ended["iterations"]) == ("verified", 1)
    assert (cli.workspace / "proof.txt").exists()


def test_a_damaged_entry_is_missed_aloud(cli: CommandLine) -> None:
    """By reading: `log` passed over what it could not read, as if it had never been there."""
    loop_id, folder = ended_loop(cli)
    assert "cannot be read" not in cli.run("log", loop_id).errors
    journal = folder / "execution.log.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], lines[2].replace(b'"seq":3', b'"seq":7'), *lines[3:]]))
    assert "Entry 3 of the journal cannot be read: damaged or lost." in cli.run("log", "--json", loop_id).errors


def test_a_loop_that_a_server_drives_stays_the_servers_when_a_terminal_resumes_it(tmp_path: Path) -> None:
    """Seed 2, story 26: after a crash the next server did not take it up, and nobody else did."""
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created("loop-1"))
    control.start(store, "loop-1", host=Host.SERVER)
    with store.lease("loop-1", host=Host.SERVER):
        assert control.resume(store, "loop-1").host == "server"
    assert control.resume(store, "loop-1").host == "terminal", "nobody has it: whoever resumes it does"


HIT_LATE = """
import atexit, os, signal, sys
from untildone.faces.cli.entry import enter
from untildone.system.guard import Guard
from untildone.store.files import FileStore

number, moment = signal.Signals(int(sys.argv[1])), sys.argv[2]
close, archive = Guard.close, FileStore.archive

def hit():
    os.kill(os.getpid(), number)

def closes(guard):
    hit()
    close(guard)

def archives(*arguments):
    archive(*arguments)
    hit()

if moment == "put away":
    FileStore.archive = archives
elif moment == "guard":
    Guard.close = closes
else:
    atexit.register(hit)
enter(sys.argv[3:])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("moment", ["put away", "guard", "exit"])
def test_a_signal_after_the_end_of_a_loop_does_not_change_how_it_ended(
    cli: CommandLine, number: signal.Signals, moment: str
) -> None:
    """A loop was verified, its last line of JSON said 0, and its runner ended with 130 or by the signal."""
    command = [sys.executable, "-c", HIT_LATE, str(int(number)), moment]
    run = ["run", "a job", "--json", "--check", "true", *cli.script(CLAIM)]
    late = subprocess.Popen(
        [*command, *run],
        cwd=cli.workspace,
        env=cli.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    ended = finish(late, patience=60)
    assert (ended.code, ended.records[-1]["exit_code"]) == (0, 0), ended.errors


_HOLDS_LEASE = """
import sys
from pathlib import Path
from untildone.store.files import FileStore
from untildone.store.seals import Seals
from untildone.system import state_folder
with FileStore(Path(sys.argv[1]), seals=Seals(state_folder.folder())).lease(sys.argv[2]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_resume_in_the_moment_in_which_the_runner_leaves_is_gone_on_with(cli: CommandLine) -> None:
    """Seed 4, story 16: in the background it was said to be running already, and then nobody drove it."""
    words = ("run", "a job", "--agent=scripted", "-r1", "--", "--scenario", "never")
    assert cli.run(*words).code == Outcome.BUDGET.exit_code
    store = cli.store()
    (loop_id,) = store.ids()
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDS_LEASE, str(cli.workspace / ".loop"), loop_id],
        env=cli.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    resumed = cli.start("resume", loop_id, "-r", "+1", "--detach")
    until(lambda: store.load(loop_id).status is Status.RUNNING)
    holder.communicate(b"\n", timeout=60)
    assert resumed.wait(60) == 0
    assert cli.run("wait", loop_id).code == Outcome.BUDGET.exit_code
    assert store.load(loop_id).spend.iterations == 2


def test_a_stop_ends_what_a_runner_left_that_died_together_with_its_guard(tmp_path: Path) -> None:
    """Seed 6, story 39: the loop was stopped, and its agent lived on."""
    store = FileStore(tmp_path / ".loop")
    store.create(loop_created("loop-1"))
    control.start(store, "loop-1")
    name, value = orphans.mark("loop-1")
    left = subprocess.Popen(["sleep", "600"], env={**os.environ, name: value}, start_new_session=True)
    try:
        control.stop(store, "loop-1")
        assert left.wait(60) != 0
    finally:
        left.kill()
