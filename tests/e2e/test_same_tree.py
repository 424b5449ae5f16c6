"""The tree that the gates judge is the tree of the receipt: leftovers of the agent end first, a restless workspace is refused."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine, until

PATIENCE = 60.0
PROMISE = "echo '<promise>COMPLETE</promise>'"
DAEMONS = {
    "in the background": "sh {program} &",
    "in a session of its own": "setsid sh {program} &",
    "without environment": "setsid env -i PATH=$PATH sh {program} &",
    "forked twice, without environment": "(setsid env -i PATH=$PATH sh {program} &) &",
}


def books(cli: CommandLine) -> Path:
    """A folder outside of workspace and home folder that the box of an agent lets it write."""
    folder = cli.workspace.parent / "books"
    folder.mkdir(exist_ok=True)
    return folder


def agent(cli: CommandLine, script: str) -> tuple[str, ...]:
    path = books(cli) / "agent.sh"
    path.write_text(f"cat > /dev/null\n{script}\n{PROMISE}\n")
    return ("--agent", "command", "--command", f"sh {path}")


@pytest.fixture(params=["auto", "off"])
def any_cli(request: pytest.FixtureRequest, cli: CommandLine) -> CommandLine:
    """With and without a box around the agent."""
    cli.environment["UNTILDONE_SANDBOX"] = request.param
    return cli


@pytest.fixture
def unboxed(cli: CommandLine) -> CommandLine:
    """Without a box. In one, a turn leaves nothing, and its processes have other numbers."""
    cli.environment["UNTILDONE_SANDBOX"] = "off"
    return cli


def running(program: Path) -> bool:
    """Whether a process with this file in its command line runs, in a box or outside."""
    return subprocess.run(("pgrep", "-f", f"^\\S*sh {program}"), capture_output=True).returncode == 0


@pytest.mark.parametrize("start", DAEMONS.values(), ids=DAEMONS)
def test_a_process_that_the_agent_left_cannot_change_what_gates_see(any_cli: CommandLine, start: str) -> None:
    """It would swap the failing test for a good one while the check runs, and put it back."""
    cli = any_cli
    (cli.workspace / "test.sh").write_text("exit 1\n")
    pid, ran, program = (books(cli) / name for name in ("pid", "ran", "daemon.sh"))
    program.write_text(
        f"echo $$ > {pid}.new; mv {pid}.new {pid}\ncd {cli.workspace}\n"
        f"while ! [ -e {ran} ]; do sleep 0.02; done\necho exit 0 > test.sh; sleep 2; echo exit 1 > test.sh\n"
    )
    left = f"{start.format(program=program)}\nwhile ! [ -e {pid} ]; do sleep 0.02; done"
    check = f"touch {ran}; sleep 0.5; sh test.sh"
    ended = cli.run("run", "Fix it", *agent(cli, left), "--check", check, "-r", "1", "--json", patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    until(lambda: not running(program), PATIENCE)


def test_a_program_that_is_named_lives_on_through_the_gates_and_ends_with_the_loop(any_cli: CommandLine) -> None:
    cli = any_cli
    beat, server = books(cli) / "beat", books(cli) / "fixture-server"
    server.write_text(f"#!/bin/sh\nwhile :; do touch {beat}; sleep 0.1; done\n")
    server.chmod(0o755)
    left = f"{server} &\nwhile ! [ -e {beat} ]; do sleep 0.02; done"
    check = f"rm -f {beat}; for i in $(seq 100); do sleep 0.05; [ -e {beat} ] && exit 0; done; exit 1"
    kept = ("--keep-running", "sh")
    refused = cli.run("run", "Serve", *agent(cli, left), "--check", check, "-r", "1", "--json", patience=PATIENCE)
    assert refused.records[-1]["outcome"] == "budget", refused.output
    ended = cli.run("run", "Serve", *agent(cli, left), "--check", check, "-r", "1", *kept, "--json", patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output
    until(lambda: not running(server), PATIENCE)


@pytest.mark.parametrize(
    "disguise", ["exec -a sleep {program}", "cp {shell} {home}/sleep; exec {home}/sleep {program}"]
)
def test_a_process_that_only_calls_itself_by_a_kept_name_is_ended(unboxed: CommandLine, disguise: str) -> None:
    cli = unboxed
    pid, program = cli.home / "pid", cli.home / "daemon.sh"
    program.write_text(
        f"#!/bin/bash\necho $$ > {pid}.new; mv {pid}.new {pid}\nwhile :; do read -t 1 < /dev/null; done\n"
    )
    program.chmod(0o755)
    start = disguise.format(program=program, shell=os.path.realpath("/bin/bash"), home=cli.home)
    left = f"bash -c '{start}' &\nwhile ! [ -e {pid} ]; do sleep 0.02; done"
    flags = ("--check", f"! kill -0 $(cat {pid})", "--keep-running", "sleep", "-r", "1", "--room", "plain", "--json")
    ended = cli.run("run", "Serve", *agent(cli, left), *flags, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "verified", ended.output


def test_a_workspace_that_does_not_keep_still_is_never_verified(cli: CommandLine) -> None:
    """What writes there is no process of the loop, so it is not ended, and no verdict would be about the files that are there."""
    stop = cli.home / "stop"
    writer = os.fork()
    if not writer:
        deadline = time.monotonic() + PATIENCE
        while not stop.exists() and time.monotonic() < deadline:
            # Renamed, so that it is never empty: two looks that find it empty would see the same workspace.
            (cli.home / "clock").write_text(str(time.monotonic_ns()))
            (cli.home / "clock").rename(cli.workspace / "clock")
            time.sleep(0.001)
        os._exit(0)
    try:
        ended = cli.run("run", "Wait", *agent(cli, "true"), "--check", "true", "-r", "1", "--json", patience=PATIENCE)
    finally:
        stop.touch()
        os.waitpid(writer, 0)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    gates = [record for record in ended.records if record["event"] == "gates_ran"]
    assert "keeps changing" in json.dumps(gates)


@pytest.mark.parametrize("room", ["", "plain", "restored"])
def test_work_of_which_there_is_no_snapshot_is_never_verified(unboxed: CommandLine, room: str) -> None:
    """The agent breaks the repository of the snapshots: nobody would know what it changed."""
    cli = unboxed
    (cli.workspace / "test.sh").write_text("exit 1\n")
    del cli.environment["UNTILDONE_ROOM"]
    objects = f"{cli.home}/.local/state/untildone/snapshots/*/repository/objects"
    work = f"echo exit 0 > test.sh; for it in {objects}; do rm -r $it; touch $it; done"
    flags = ("--check", "sh test.sh", "--require-change", "-r", "1", "--json", *(("--room", room) if room else ()))
    ended = cli.run("run", "Fix it", *agent(cli, work), *flags, patience=PATIENCE)
    assert ended.records[-1]["outcome"] == "budget", ended.output
    [gates] = [record for record in ended.records if record["event"] == "gates_ran"]
    assert all("no snapshot of the work" in result["reason"] for result in gates["results"])


@pytest.mark.parametrize(("ends", "left"), [("kill -9 $$", "gone"), ("exit 3", "gone"), ("exit 0", "there")])
def test_what_a_killed_agent_left_is_ended_before_the_next_attempt_and_a_server_of_a_good_one_is_not(
    unboxed: CommandLine, ends: str, left: str
) -> None:
    """A launcher that is killed leaves the agent itself: the next attempt must not work beside it."""
    cli = unboxed
    pid, seen = cli.home / "pid", cli.home / "seen"
    first = (
        f"setsid sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 300' >/dev/null 2>&1 &\n"
        f"while ! [ -e {pid} ]; do sleep 0.02; done\necho working\n{ends}"
    )
    second = f"if kill -0 $(cat {pid}) 2>/dev/null; then echo there > {seen}; else echo gone > {seen}; fi\n{PROMISE}"
    path = cli.home / "agent.sh"
    path.write_text(f"cat > /dev/null\nif ! [ -e {pid} ]; then\n{first}\nelse\n{second}\nfi\n")
    ended = cli.run("run", "x", "--agent", "command", "--command", f"sh {path}", "-r", "2", patience=PATIENCE)
    assert (ended.code, seen.read_text().strip()) == (0, left), ended.errors
