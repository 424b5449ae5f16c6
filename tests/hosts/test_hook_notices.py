"""People are told about loops in a session, by a process that the stop hook does not wait for: once each, over any crash."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.hosts.test_hook import Session
from tests.hosts.wrapping import PATIENCE, Person
from tests.support.command_line import CommandLine, until
from tests.support.receiver import HANG, Receiver, receiving

from untildone.hosts.hook import program

NEEDS = "Which database may I use?"
SETTLED = 1.0
"""Seconds for a second message that must not come."""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(CommandLine(tmp_path))


def tells(session: Session, receiver: Receiver) -> None:
    (session.cli.workspace / "untildone.toml").write_text(f'notify_webhook = "{receiver.url}"\n')


def kinds_told(receiver: Receiver, count: int) -> list[str]:
    until(lambda: len(receiver.accepted) >= count)
    time.sleep(SETTLED)
    return receiver.kinds


def test_a_blocked_agent_is_told_once_and_its_answer_does_not_wait_for_that(session: Session) -> None:
    with receiving(HANG) as receiver:
        tells(session, receiver)
        session.say("/until-done Connect it")
        answer = session.stop(f"I cannot.\n<blocked>{NEEDS}</blocked>")
        # The receiver never answers, and the hook has.
        assert NEEDS in answer["systemMessage"]
        session.stop("Again.")
        assert kinds_told(receiver, 1) == ["blocked"]
        assert receiver.accepted[0]["question"] == NEEDS


def test_a_warning_and_the_end_are_told(session: Session) -> None:
    with receiving() as receiver:
        tells(session, receiver)
        session.say("/until-done Do it --max-iterations 4")
        for number in range(4):
            session.stop(f"Step {number}.")
        assert sorted(kinds_told(receiver, 2)) == ["budget", "rest"]
        (rest,) = (each for each in receiver.accepted if each["kind"] == "rest")
        assert (rest["outcome"], rest["iterations"]) == ("budget", 4)


def doctored(session: Session) -> list[dict[str, str]]:
    """What `doctor` says about notifications."""
    looked = session.cli.run("doctor", "--json")
    return [each for each in looked.records if each["area"] == "notify"]


def test_a_notification_that_does_not_arrive_is_seen_by_the_doctor(session: Session) -> None:
    with receiving(403) as receiver:
        tells(session, receiver)
        session.say("/until-done Connect it")
        assert doctored(session) == []
        session.stop(f"I cannot.\n<blocked>{NEEDS}</blocked>")
        (finding,) = until(lambda: doctored(session))
    assert "A notification did not arrive" in finding["sentence"]
    assert "the webhook answered 403" in finding["sentence"]
    assert receiver.url not in json.dumps(finding)


def test_a_notification_that_arrives_at_the_second_attempt_is_no_problem(session: Session) -> None:
    with receiving(503) as receiver:
        tells(session, receiver)
        session.say("/until-done Connect it")
        session.stop(f"I cannot.\n<blocked>{NEEDS}</blocked>")
        assert kinds_told(receiver, 1) == ["blocked"]
    until(lambda: not doctored(session))


def test_what_keeps_the_process_from_telling_is_seen_by_the_doctor(session: Session) -> None:
    with receiving() as receiver:
        tells(session, receiver)
        session.say("/until-done Connect it")
        in_the_way = next(session.cli.home.rglob("noticed")).parent / "folding"
        in_the_way.mkdir()
        session.stop(f"I cannot.\n<blocked>{NEEDS}</blocked>")
        (finding,) = until(lambda: doctored(session))
        assert "notifications cannot be kept" in finding["sentence"]
        in_the_way.rmdir()
        session.cli.run("_tell", "last")
        assert doctored(session) == []
        assert receiver.kinds == ["blocked"]


def test_without_a_channel_nothing_is_kept_and_nothing_is_started(session: Session) -> None:
    session.say("/until-done Connect it")
    session.stop(f"I cannot.\n<blocked>{NEEDS}</blocked>")
    assert not list(session.cli.home.rglob("outbox"))


def test_a_person_who_cancels_the_loop_is_not_told_about_it(session: Session) -> None:
    with receiving() as receiver:
        tells(session, receiver)
        session.say("/until-done Connect it")
        session.say("/until-done-cancel")
        session.stop("Not done.")
        assert kinds_told(receiver, 0) == []


def test_hooks_that_are_killed_tell_everything_once(session: Session) -> None:
    with receiving() as receiver:
        tells(session, receiver)
        session.say("/until-done Do it --max-iterations 4")
        for number in range(12):
            kill_a_stop(session, f"Step {number}.", after=0.02 * number)
        # More stops than there are rounds left. A hook that was killed may have let the loop rest, and said nothing.
        for _ in range(6):
            session.stop("On and on.")
        assert sorted(kinds_told(receiver, 2)) == ["budget", "rest"]


def kill_a_stop(session: Session, message: str, after: float) -> None:
    """Let the hook be killed in the middle of a stop."""
    command = [sys.executable, "-I", "-S", program.__file__, session.agent, "stop", "60"]
    fields = {"session_id": session.session_id, "cwd": str(session.cli.workspace), "last_assistant_message": message}
    hook = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=session.cli.environment,
        cwd="/",
    )
    assert hook.stdin is not None
    hook.stdin.write(json.dumps({**fields, "hook_event_name": "Stop", "stop_hook_active": False}).encode())
    hook.stdin.close()
    time.sleep(after)
    hook.kill()
    hook.wait()


def test_what_a_wrapped_session_came_to_is_told_by_a_channel_that_its_agent_does_not_know(tmp_path: Path) -> None:
    person = Person(CommandLine(tmp_path))
    person.has_agent()
    with receiving() as receiver:
        person.cli.environment["UNTILDONE_NOTIFY_WEBHOOK"] = receiver.url
        with person.wraps("--no-review", "--check", "true") as terminal:
            terminal.shows("session ", PATIENCE)
            terminal.enter("work")
            terminal.shows("every gate agrees", PATIENCE)
            terminal.enter("exit")
            assert terminal.ends(PATIENCE) == 0
        assert kinds_told(receiver, 1) == ["rest"]
        assert receiver.accepted[0]["outcome"] == "verified"
