"""When a limit lifts, for people who live somewhere."""

from __future__ import annotations

import time

import pytest

from untildone.core.model import Answer, Failure, FailureKind
from untildone.hosts.limits import in_local_time

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
