"""The fake claude programs in real runs: the adapter of the real program reads what they print."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.fake_agents import (
    PROMISE,
    AlwaysClaims,
    Behaviour,
    ClaimsOn,
    Crashes,
    Floods,
    Hangs,
    LeavesChildren,
    NeverClaims,
    PrintsHugeLine,
    calls,
    write_fake_agent,
)

from untildone.agents import find
from untildone.core.answers.claims import has_promise
from untildone.core.model import Answer, FailureKind, SessionUse
from untildone.core.plugins.agent_io import Request

CLAUDE = find("claude")


def ask(folder: Path, request: Request | None = None) -> Answer:
    request = request or Request("do it")
    invocation = CLAUDE.invocation(request)
    environment = {**os.environ, **invocation.env, "PATH": f"{folder}:{os.environ['PATH']}"}
    ran = subprocess.run(
        ["env", *invocation.argv], input=invocation.stdin, env=environment, capture_output=True, timeout=60
    )
    reader = CLAUDE.reader(request)
    for line in ran.stdout.split(b"\n"):
        reader.feed(line)
    return reader.finish(ran.returncode, ran.stderr.decode(), 0.0)


@pytest.mark.parametrize(
    ("behaviour", "claims"),
    [
        (AlwaysClaims(), True),
        (NeverClaims(), False),
        (NeverClaims('it\'s `not` "done" $HOME \\n yet'), False),
        (Floods(2_000_000), True),
        (PrintsHugeLine(2_000_000), True),
    ],
)
def test_what_it_prints_is_an_answer_of_claude(tmp_path: Path, behaviour: Behaviour, claims: bool) -> None:
    write_fake_agent(tmp_path, behaviour)
    answer = ask(tmp_path)
    assert answer.failure is None
    assert has_promise(answer.text, PROMISE) is claims
    assert answer.usage.cost_usd == pytest.approx(0.0008)
    assert answer.usage.tokens == 120
    if isinstance(behaviour, NeverClaims):
        assert answer.text == behaviour.text


def test_it_claims_on_the_call_it_was_told(tmp_path: Path) -> None:
    write_fake_agent(tmp_path, ClaimsOn(3, tmp_path / "count"))
    assert [has_promise(ask(tmp_path).text, PROMISE) for _ in range(4)] == [False, False, True, True]


def test_sessions_are_resumed_and_forked(tmp_path: Path) -> None:
    write_fake_agent(tmp_path, NeverClaims())
    first = ask(tmp_path, Request("do it", fresh_id="11111111-1111-4111-8111-111111111111"))
    again = ask(tmp_path, Request("go on", session=SessionUse.RESUME, session_id=first.session_id))
    fork = ask(tmp_path, Request("look", session=SessionUse.FORK, session_id=first.session_id))
    assert first.session_id == again.session_id == "11111111-1111-4111-8111-111111111111"
    assert fork.session_id not in (None, first.session_id)
    assert first.usage.cost_usd == again.usage.cost_usd == pytest.approx(0.0008)


def test_every_call_is_one_entry_in_the_log(tmp_path: Path) -> None:
    program = write_fake_agent(tmp_path, NeverClaims())
    assert calls(tmp_path) == []
    for arguments in (["-p", "two\nlines", ""], [], ["--resume", "abc"]):
        subprocess.run([program, *arguments], input=b"x", stdout=subprocess.DEVNULL, timeout=30, check=True)
    assert calls(tmp_path) == [["-p", "two\nlines", ""], [], ["--resume", "abc"]]
    assert subprocess.check_output([program, "--version"], timeout=30).startswith(b"2.1")
    assert len(calls(tmp_path)) == 3


def test_a_crash_is_a_failure(tmp_path: Path) -> None:
    write_fake_agent(tmp_path, Crashes())
    failure = ask(tmp_path).failure
    assert failure is not None
    assert failure.kind == FailureKind.CRASHED


@pytest.mark.parametrize("behaviour", [Hangs(), Hangs(ignores_term=True)])
def test_it_hangs_until_it_is_ended(tmp_path: Path, behaviour: Behaviour) -> None:
    program = write_fake_agent(tmp_path, behaviour)
    with subprocess.Popen(
        [program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as running:
        assert running.stdout is not None
        assert b'"init"' in running.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.3)
        os.killpg(running.pid, signal.SIGKILL)
        assert running.wait(10) == -signal.SIGKILL


def test_its_children_leave_its_group(tmp_path: Path) -> None:
    pids_file = tmp_path / "pids"
    write_fake_agent(tmp_path / "bin", LeavesChildren(pids_file, seconds=30))
    assert has_promise(ask(tmp_path / "bin").text, PROMISE)
    pids = [int(pid) for pid in pids_file.read_text().split()]
    assert [os.getsid(pid) for pid in pids] == pids
    assert len(pids) == 2
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
