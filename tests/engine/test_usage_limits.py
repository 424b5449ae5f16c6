"""When a limit lifts, for people who live somewhere."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from untildone.core.model import AgentChoice, Answer, Failure, FailureKind
from untildone.engine.usage_limits import account, in_local_time

NOON_UTC = 1767268800.0


@pytest.fixture(autouse=True)
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()


def limit(message: str, reset_at: float | None) -> Answer:
    return Answer(failure=Failure(FailureKind.LIMIT, message, reset_at))


@pytest.mark.parametrize(
    ("answer", "hours"),
    [
        (limit("You've hit your limit · resets 11pm", NOON_UTC + 11 * 3600), 2),
        (limit("usage limit reached, resets 3pm (UTC)", NOON_UTC + 3 * 3600), 3),
        (limit("You've hit your limit · resets 11pm", NOON_UTC + 60), 60 / 3600),
    ],
)
def test_a_clock_time_is_a_time_of_this_place(answer: Answer, hours: float) -> None:
    failure = in_local_time(answer, NOON_UTC).failure
    assert failure is not None
    assert failure.reset_at == NOON_UTC + hours * 3600


def test_other_answers_stay_as_they_are() -> None:
    for answer in (Answer("fine"), limit("rate limit", None)):
        assert in_local_time(answer, NOON_UTC) is answer


def command(line: str, *args: str, profile: str = "command") -> AgentChoice:
    return AgentChoice(profile, "command", command=line, args=args)


def test_a_limit_is_that_of_the_profile_or_of_the_very_command_line(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        (folder / "agent.sh").touch()
    claude = AgentChoice("mine", "claude", command="left over from the settings")
    assert account(claude, str(here)) == "mine" == account(claude, str(there))
    assert account(command("some-cli -p"), str(here)) == account(command("some-cli  '-p'"), str(there))
    apart = [
        account(command("some-cli -p"), str(here)),
        account(command("other-cli -p"), str(here)),
        account(command("some-cli", "--key=2"), str(here)),
        account(command("some-cli -p", profile="mine"), str(here)),
        account(command("./agent.sh"), str(here)),
        account(command("./agent.sh"), str(there)),
        account(command("'never closed"), str(here)),
    ]
    assert len(set(apart)) == len(apart)
