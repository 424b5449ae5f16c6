"""Nothing that an agent writes takes `list`, `show`, `log`, `pause` and `stop` away: settings, database, files and locks."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, finish, until

HOLD_LOCK = """
import fcntl, sys, time
file = open(sys.argv[1], "r+b")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(100)
"""


class Work:
    """A loop whose agent is at work, until somebody ends it."""

    def __init__(self, cli: CommandLine) -> None:
        self.cli = cli
        cli.without_box()  # the agent notes the numbers of its processes, which are others in a box
        (cli.workspace / "agent.sh").write_text("echo $$ >> pids; sleep 100 & echo $! >> pids; wait\n")
        self.runner = cli.start("run", "a job", "--command", "sh agent.sh", "--json")
        until(lambda: self.runner.poll() is not None or len(self.pids()) == 2)
        assert self.runner.poll() is None, self.runner.communicate()

    def pids(self) -> list[int]:
        noted = self.cli.workspace / "pids"
        return [int(word) for word in noted.read_text().split()] if noted.exists() else []

    @property
    def loop_id(self) -> str:
        (entry,) = (self.cli.home / ".local/state/untildone/loops").glob("*.json")
        return entry.stem

    @property
    def root(self) -> Path:
        return self.cli.workspace / ".loop"

    @property
    def journal(self) -> Path:
        return self.root / f"{self.loop_id}.progress" / "execution.log.jsonl"

    def agent_is_gone(self) -> bool:
        return not any(lives(pid) for pid in self.pids())


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.fixture
def work(cli: CommandLine) -> Iterator[Work]:
    at_work = Work(cli)
    try:
        yield at_work
    finally:
        for pid in (at_work.runner.pid, *at_work.pids()):
            if lives(pid):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
        at_work.runner.communicate()


def broken(work: Work) -> None:
    (work.cli.workspace / "untildone.toml").write_text("store = [")


def not_a_file(work: Work) -> None:
    os.mkfifo(work.cli.workspace / "untildone.toml")


def unknown_setting(work: Work) -> None:
    (work.cli.workspace / "untildone.toml").write_text('nonsense = true\nchecks = 7\nstore = ""\n')


@pytest.mark.parametrize("spoil", [broken, not_a_file, unknown_setting])
def test_bad_settings_take_no_control_away(work: Work, spoil: object) -> None:
    assert callable(spoil)
    spoil(work)
    listed = work.cli.run("list", "--json")
    assert [(row["loop_id"], row["status"]) for row in listed.records] == [(work.loop_id, "running")], listed.errors
    shown = work.cli.run("show", "--json")
    assert shown.records[0]["title"] == "a job", shown.errors
    log = work.cli.run("log")
    assert (log.code, "Round 1" in log.output) == (0, True), log.errors
    told = work.cli.run("stop", "last", "--now")
    assert told.code == 0, told.errors
    ended = finish(work.runner)
    assert (ended.code, ended.records[-1]["outcome"]) == (5, "stopped")
    assert work.agent_is_gone()


@pytest.fixture
def silent_address() -> Iterator[str]:
    """The address of a database that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"postgres://127.0.0.1:{listening.getsockname()[1]}/nothing"


@pytest.mark.parametrize("verb", ["pause", "stop"])
def test_a_database_that_does_not_answer_takes_no_control_away(work: Work, silent_address: str, verb: str) -> None:
    (work.cli.workspace / "untildone.toml").write_text(f'store = "{silent_address}"\n')
    assert work.cli.run("show").code == 0, "the settings of an agent do not count"
    work.cli.environment["UNTILDONE_STORE"] = silent_address
    loop_id = work.loop_id
    shown = work.cli.run("show", "--json", patience=60)
    assert (shown.records[0]["loop_id"], shown.records[0]["status"]) == (loop_id, "running"), shown.errors
    assert "Shown are the loops" in shown.errors
    told = work.cli.run(verb, "last", "--now", patience=60)
    assert told.code == 0, told.errors
    ended = finish(work.runner)
    assert ended.records[-1]["status"] == ("paused" if verb == "pause" else "failed"), ended.errors
    assert work.agent_is_gone()


@pytest.mark.parametrize("away", ["moved", "deleted"])
def test_a_runner_whose_files_are_gone_ends_its_agent_and_loses_nothing(work: Work, away: str) -> None:
    loop_id, before = work.loop_id, work.journal.read_bytes()
    moved = work.root.rename(work.cli.home / "away")
    kept = moved / f"{loop_id}.progress" / "execution.log.jsonl"
    if away == "deleted":
        subprocess.run(["rm", "-r", str(moved)], check=True)
    ended = finish(work.runner)
    assert ended.code == 6
    assert "while the loop ran" in ended.errors
    assert work.agent_is_gone()
    if not kept.exists():
        kept = work.cli.home / f".local/state/untildone/kept/{loop_id}.jsonl"
    assert kept.read_bytes().startswith(before)
    listed = work.cli.run("list", "--json")
    assert [(row["loop_id"], row["status"]) for row in listed.records] == [(loop_id, "damaged")]
    work.journal.parent.mkdir(parents=True, exist_ok=True)
    work.journal.write_bytes(kept.read_bytes())
    resumed = work.cli.run("stop", loop_id, "--json")
    assert resumed.records[0]["outcome"] == "stopped", resumed.errors
    assert [row["status"] for row in work.cli.loops] == ["failed"]


@contextmanager
def lock_held(work: Work) -> Iterator[subprocess.Popen[str]]:
    """Another process, not the runner's, holds the lock of the journal."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(work.journal)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "held"
        yield holder
    finally:
        holder.kill()
        holder.communicate()


@pytest.mark.parametrize(("verb", "code"), [("pause", 7), ("stop", 5)])
def test_a_held_lock_takes_no_control_away(work: Work, verb: str, code: int) -> None:
    with lock_held(work):
        assert [row["status"] for row in work.cli.loops] == ["running"]
        told = work.cli.run(verb, "last", "--now", patience=20)
        assert told.code == 0, told.errors
        until(work.agent_is_gone, patience=10)
    ended = finish(work.runner)
    assert ended.code == code, ended.errors
    assert "state_repaired" not in {record["event"] for record in ended.records}


def test_an_order_for_after_the_round_waits_for_the_round(work: Work) -> None:
    with lock_held(work):
        told = work.cli.run("pause", "last", patience=20)
        assert (told.code, "after this round" in told.errors) == (0, True), told.errors
        assert work.runner.poll() is None
        assert not work.agent_is_gone()
    os.kill(work.pids()[1], signal.SIGTERM)
    assert finish(work.runner).code == 7


def test_a_runner_does_not_wait_for_ever_for_a_lock(work: Work) -> None:
    with lock_held(work) as holder:
        os.kill(work.pids()[1], signal.SIGTERM)
        ended = finish(work.runner, patience=40)
        assert ended.code == 6
        assert f"process {holder.pid}" in ended.errors
    shown = work.cli.shown()
    assert (shown["status"], shown["current_iteration"]) == ("running", 1)
    assert work.cli.run("stop", "last").code == 0


def test_a_suspended_runner_does_not_keep_its_agent_from_stop(work: Work) -> None:
    os.kill(work.runner.pid, signal.SIGSTOP)
    told = work.cli.run("stop", "last", "--now", patience=20)
    assert told.code == 0, told.errors
    until(work.agent_is_gone, patience=10)
    os.kill(work.runner.pid, signal.SIGCONT)
    assert finish(work.runner).code == 5


def test_a_killed_runner_leaves_no_entry_behind(work: Work) -> None:
    work.runner.kill()
    work.runner.communicate()
    until(work.agent_is_gone)
    assert [row["driven"] for row in work.cli.loops] == [False]
    assert list((work.cli.home / ".local/state/untildone/loops").iterdir()) == []
