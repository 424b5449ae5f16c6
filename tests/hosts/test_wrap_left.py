"""A session that is gone without a word: its loop says so, and goes on or ends like any other that lost its runner."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.hosts.wrapping import PATIENCE, Person
from tests.support.command_line import CommandLine, until
from tests.support.fake_agents import AlwaysClaims, write_fake_agent
from tests.support.terminal import Terminal

from untildone.core.model import Outcome, Status
from untildone.hosts.hook import presence, sessions, status_lines
from untildone.operations import control
from untildone.operations.driving.presence import is_at_work, without_closed_session
from untildone.testing import driver

pytestmark = pytest.mark.timeout(400)
AGREES = "[TASK_COMPLETED {word}]"
NO_RUNNER = "running (no runner: resume goes on)"
IN_SESSION = "running (in a session of the agent)"


@pytest.fixture
def person(tmp_path: Path) -> Person:
    person = Person(CommandLine(tmp_path))
    person.has_agent()
    person.has_supervisor(AGREES)
    return person


def asked(terminal: Terminal, words: str) -> str:
    """A session in which something was asked, at work; its id."""
    terminal.shows("session ", PATIENCE)
    terminal.enter(words)
    terminal.shows("Answer 1.", PATIENCE)
    return terminal.text.split()[1]


def lose_power(terminal: Terminal) -> None:
    """Wrap and all that it started are gone at once, and nobody tidies up."""
    os.kill(terminal.pid, signal.SIGSTOP)
    started = psutil.Process(terminal.pid).children(recursive=True)
    for process in started:
        with suppress(psutil.NoSuchProcess):  # the kernel ends what is in a box, together with its first process
            process.kill()
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.ends(PATIENCE) == -9
    assert psutil.wait_procs(started, PATIENCE)[1] == []


def listed(person: Person) -> str:
    return person.cli.run("list", patience=PATIENCE).output.split("\t")[1]


def loop(person: Person) -> dict[str, Any]:
    return person.cli.loops[0]


def test_a_killed_wrap_leaves_its_loop_at_rest(person: Person) -> None:
    with person.wraps("--supervisor", "judge", "--check", "sleep 300") as terminal:
        asked(terminal, "one")
        until(lambda: listed(person) == IN_SESSION, PATIENCE)
        os.kill(terminal.pid, signal.SIGKILL)
        until(lambda: loop(person)["outcome"] == "interrupted", PATIENCE)
        until(lambda: not person.folders_of_runs, PATIENCE)
    assert (loop(person)["status"], loop(person)["current_iteration"]) == ("paused", 1)


def test_a_wrap_that_is_killed_after_the_job_is_done_leaves_a_receipt(person: Person) -> None:
    with person.wraps("--supervisor", "judge") as terminal:
        asked(terminal, "one")
        terminal.shows("every gate agrees", PATIENCE)
        terminal.shows("your turn", PATIENCE)
        os.kill(terminal.pid, signal.SIGKILL)
        until(lambda: loop(person)["outcome"] == "verified", PATIENCE)
        until(lambda: list(person.cli.workspace.glob(".loop/history/*/receipt.json")), PATIENCE)


@pytest.mark.slow
def test_after_a_power_cut_the_loop_has_no_runner_and_can_be_ended(person: Person) -> None:
    with person.wraps("--supervisor", "judge") as terminal:
        asked(terminal, "one")
        terminal.shows("your turn", PATIENCE)
        assert listed(person) == IN_SESSION
        lose_power(terminal)
    assert listed(person) == NO_RUNNER
    assert NO_RUNNER in person.cli.run("show", "last").output
    waited = person.cli.run("wait", "last", patience=PATIENCE)
    assert (waited.code, "Nothing drives loop" in waited.errors) == (2, True)
    assert person.cli.run("stop", "last").code == 0
    assert loop(person)["outcome"] == "stopped"


@pytest.mark.slow
def test_after_a_power_cut_the_loop_goes_on_in_its_session(person: Person) -> None:
    with person.wraps("--supervisor", "judge") as terminal:
        session_id = asked(terminal, "one")
        terminal.shows("your turn", PATIENCE)
        lose_power(terminal)
    with person.wraps("--supervisor", "judge", "claude", f"--resume={session_id}") as terminal:
        asked(terminal, "two")
        terminal.shows("your turn", PATIENCE)
        assert listed(person) == IN_SESSION, "somebody else has the session now"
        terminal.enter("exit")
        assert terminal.ends(PATIENCE) == 0
    (only,) = person.cli.loops
    assert (only["outcome"], person.cli.shown()["asked"]) == ("verified", ["one", "two"])


def test_after_a_power_cut_nobody_need_go_back_to_the_session(person: Person) -> None:
    with person.wraps("--supervisor", "judge", "--check", "sleep 300") as terminal:
        asked(terminal, "one")
        until(lambda: listed(person) == IN_SESSION, PATIENCE)
        lose_power(terminal)
    store = person.cli.store()
    (loop_id,) = store.live_ids()
    assert not is_at_work(store, loop_id)
    assert control.resume(store, loop_id).host == "terminal"
    assert control.pause(store, loop_id).outcome is Outcome.PAUSED


def test_a_session_of_the_plain_hook_whose_agent_is_gone(tmp_path: Path) -> None:
    """Claude Code tells its hooks who asks them."""
    cli = CommandLine(tmp_path)
    agent = psutil.Popen(["sleep", "600"])
    try:
        env = {**cli.environment, "CLAUDE_PID": str(agent.pid)}
        begun = cli.run("hook", "start", "--session", "s1", "make it", env=env, patience=PATIENCE)
        assert begun.code == 0, begun.errors
        store = cli.store()
        assert without_closed_session(store, store.load(store.find("last"))).works_in_session
    finally:
        agent.kill()
        agent.wait()
    assert not without_closed_session(store, store.load(store.find("last"))).works_in_session
    stopped = control.stop(store, store.find("last"))
    assert (stopped.status, stopped.outcome) == (Status.FAILED, Outcome.STOPPED)


def test_who_has_a_session_is_known_by_more_than_a_number(tmp_path: Path) -> None:
    mine = presence.of_process(os.getpid())
    pid, start, machine = mine.split()
    assert not presence.is_gone(mine)
    assert presence.is_gone(f"{pid} {float(start) + 1:.2f} {machine}"), "another one has the number now"
    assert not presence.is_gone(f"{pid} 1.00 elsewhere"), "nothing is known of other machines"
    assert not any(map(presence.is_gone, ("", "x", "12", "a b c", "-1 2 3")))
    assert presence.environment_of(mine)["PATH"] == os.environ["PATH"]
    assert presence.environment_of(f"{pid} 1.00 {machine}") == {}
    sessions.write(sessions.Note(str(tmp_path), "s", "loop-1", 3, rest_reported=True, holder=mine))
    assert sessions.read(str(tmp_path), "s") == sessions.Note(
        str(tmp_path), "s", "loop-1", 3, rest_reported=True, holder=mine
    )


def test_a_loop_of_a_session_whose_agent_is_gone_goes_on_at_a_terminal(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    write_fake_agent(programs, AlwaysClaims())
    env = {**cli.environment, "PATH": f"{programs}:{cli.environment['PATH']}"}
    agent = psutil.Popen(["sleep", "600"])
    try:
        own = {**env, "CLAUDE_PID": str(agent.pid)}
        begun = cli.run("hook", "start", "--session", "s1", "make it", env=own, patience=PATIENCE)
        assert begun.code == 0, begun.errors
        refused = cli.run("resume", "last", env=env)
        assert (refused.code, "at work in the session" in refused.errors) == (2, True)
    finally:
        agent.kill()
        agent.wait()
    resumed = cli.run("resume", "last", env=env, patience=PATIENCE)
    assert resumed.code == 0, resumed.errors
    assert "claimed" in resumed.output


def test_who_leaves_a_blocked_session_reads_how_to_answer() -> None:
    loop = driver.looping(["<blocked>the password</blocked>"]).run()
    assert f'the password `untildone say {loop.loop_id} "…"` answers' in status_lines.left(loop)
