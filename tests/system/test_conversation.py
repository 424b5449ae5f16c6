"""covers: `process.run` with a program that converses: its input stays open, its turn is cancelled, and it is reaped."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support import acp_program

from untildone.agents import find
from untildone.core.model import Answer, FailureKind, Permissions, SessionUse
from untildone.core.plugins.agent_io import Conversation, Request
from untildone.system import orphans
from untildone.system.program import listening, process
from untildone.system.program.process import Ended, Open
from untildone.system.program.spawn import Cause, Spawn

PROGRAM = (sys.executable, acp_program.__file__)
QUICK = 20.0
"""Far more seconds than any of these runs needs, and far fewer than the program would stay."""


def run(
    tmp_path: Path,
    *behaviour: str,
    interrupted: Callable[[list[bytes]], bool] = lambda _lines: False,
    prompt: str = "Do it.",
    permissions: Permissions = Permissions.WORK,
    **more: Any,
) -> tuple[list[bytes], Ended, Answer]:
    request = Request(prompt, folder=str(tmp_path), command=" ".join((*PROGRAM, *behaviour)), permissions=permissions)
    agent, lines = find("acp"), list[bytes]()
    talk = agent.reader(request)
    assert isinstance(talk, Conversation)
    mark = dict((orphans.mark(f"test-{os.getpid()}-{time.monotonic_ns()}"),))
    spawn = Spawn(agent.invocation(request).argv, {**os.environ, **mark}, str(tmp_path), conversation=talk, **more)

    def take(line: bytes) -> None:
        lines.append(line)
        talk.feed(line)

    ended = process.run(spawn, take, lambda: interrupted(lines))
    assert not orphans.find(next(iter(mark)))
    return lines, ended, talk.finish(ended.exit_code, ended.stderr_tail, 0.0)


def test_a_turn_is_a_conversation_and_the_program_leaves_at_its_end(tmp_path: Path) -> None:
    _, ended, answer = run(tmp_path)
    assert (ended.cause, ended.exit_code) == (Cause.EXITED, 0)
    assert (answer.text, answer.session_id, answer.failure) == ("prompt 1", "s1", None)


def test_a_prompt_larger_than_a_pipe_arrives(tmp_path: Path) -> None:
    assert run(tmp_path, prompt="x" * 3_000_000 + "<promise>")[2].text == "prompt 1\n<promise>COMPLETE</promise>"


@pytest.mark.parametrize("permissions", Permissions)
def test_a_question_is_answered_by_the_permissions(tmp_path: Path, permissions: Permissions) -> None:
    answer = run(tmp_path, "asks", permissions=permissions)[2]
    assert (tmp_path / "ran.txt").exists() is (permissions is Permissions.WORK)
    assert answer.denials == (() if permissions is Permissions.WORK else ("execute: touch ran.txt",))


def test_a_program_that_does_not_leave_is_ended_and_its_answer_counts(tmp_path: Path) -> None:
    _, ended, answer = run(tmp_path, "lingers")
    assert (ended.cause, ended.exit_code, answer.text) == (Cause.EXITED, 0, "prompt 1")
    assert ended.seconds < QUICK


def test_an_interruption_cancels_the_turn_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "CANCEL_GRACE", QUICK)
    lines, ended, answer = run(tmp_path, "cancels", interrupted=lambda lines: b"working" in b"".join(lines))
    assert ended.cause is Cause.INTERRUPTED
    assert b'"cancelled"' in lines[-1]
    assert answer.failure is not None


@pytest.mark.parametrize("behaviour", ["stuck", "silent"])
def test_a_program_that_takes_no_cancel_is_ended(tmp_path: Path, behaviour: str) -> None:
    started = time.monotonic()
    _, ended, answer = run(tmp_path, behaviour, interrupted=lambda _lines: time.monotonic() - started > 0.5)
    assert (ended.cause, ended.seconds < QUICK) == (Cause.INTERRUPTED, True)
    assert answer.failure is not None


def test_a_turn_at_its_limit_is_cancelled_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "ASK_GRACE", QUICK)
    lines, ended, _ = run(tmp_path, "cancels", timeout=2.0)
    assert ended.cause is Cause.TIMED_OUT
    assert b'"cancelled"' in lines[-1]


def test_a_program_that_opens_no_session_is_given_up(tmp_path: Path) -> None:
    _, ended, answer = run(tmp_path, "silent", open_within=0.3)
    assert (ended.cause, ended.seconds < QUICK) == (Cause.UNANSWERED, True)
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.TIMEOUT
    assert answer.failure.message.endswith("did not open a session within 0.3 s")


def test_a_program_that_ends_in_its_turn_has_crashed(tmp_path: Path) -> None:
    _, ended, answer = run(tmp_path, "dies")
    assert (ended.cause, ended.exit_code) == (Cause.EXITED, 3)
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.CRASHED


def feeding(talk: Conversation) -> Callable[[bytes], None]:
    def take(line: bytes) -> None:
        talk.feed(line)

    return take


def opened(tmp_path: Path, *behaviour: str) -> tuple[Conversation, Open, Spawn]:
    """A program that stays open after its first turn."""
    request = Request("Do it.", folder=str(tmp_path), command=" ".join((*PROGRAM, *behaviour)), stays=True)
    agent = find("acp")
    talk = agent.reader(request)
    assert isinstance(talk, Conversation)
    mark = dict((orphans.mark(f"test-{os.getpid()}-{time.monotonic_ns()}"),))
    argv = agent.invocation(request).argv
    spawn = Spawn(argv, {**os.environ, **mark}, str(tmp_path), conversation=talk, stays=True)
    ended = process.run(spawn, feeding(talk), lambda: False)
    assert ended.open is not None
    return talk, ended.open, spawn


def test_a_program_that_stays_takes_the_next_turn_and_leaves_when_it_is_ended(tmp_path: Path) -> None:
    talk, program, spawn = opened(tmp_path)
    assert program.late() == ()
    resumed = Request("More.", SessionUse.RESUME, session_id=talk.session, folder=str(tmp_path))
    again = talk.next_turn(resumed)
    assert again is not None
    ended = process.run(replace(spawn, conversation=again), feeding(again), lambda: False, program)
    assert again.finish(0, "", 0.0).text == "prompt 2"
    assert ended.open is program
    assert program.end().exit_code == 0
    assert not orphans.find(next(iter(orphans.marks_in(spawn.env) - orphans.marks_in(os.environ))))


@pytest.mark.parametrize(("most", "is_usable"), [(10_000, True), (100, False)])
def test_what_it_prints_between_turns_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_usable: bool
) -> None:
    monkeypatch.setattr(process, "MOST_LATE", most)
    _, program, _ = opened(tmp_path)
    program.pipes.send(b'{"method": "chatter"}\n')
    assert program.child.stdout is not None
    assert select.select([program.child.stdout], [], [], QUICK)[0]
    assert (program.late() is not None) is is_usable
    program.end()


def test_errors_without_end_between_turns_hold_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_LATE", 100)
    _, program, _ = opened(tmp_path)
    program.pipes.send(b'{"method": "flood"}\n')
    assert program.child.stderr is not None
    assert select.select([program.child.stderr], [], [], QUICK)[0]
    assert program.late() is None
    assert program.end().leftover_group is None


def test_one_that_lingers_between_turns_is_ended_with_its_group(tmp_path: Path) -> None:
    _, program, _ = opened(tmp_path, "lingers")
    assert program.end().exit_code == 0
    assert program.child.returncode == -signal.SIGKILL


def test_one_in_the_middle_of_a_line_takes_no_next_turn(tmp_path: Path) -> None:
    _, program, _ = opened(tmp_path)
    program.pipes.send(b'{"method": "half"}\n')
    assert program.child.stdout is not None
    assert select.select([program.child.stdout], [], [], QUICK)[0]
    assert program.late() is None
    program.end()
