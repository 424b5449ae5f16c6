"""Which control a loop's status allows; the same control twice is fine."""

from __future__ import annotations

import pytest

from untildone.core import moves
from untildone.core.errors import WrongMove
from untildone.core.loop import Loop, PauseOrder
from untildone.core.model import Outcome, Status, Urgency
from untildone.core.value import replace
from untildone.testing.driver import looping

VERBS = ("start", "pause", "resume", "stop", "say", "budget", "tasks")
ALLOWED = {
    Status.CREATED: {"start", "resume", "stop", "say", "budget", "tasks"},
    Status.RUNNING: {"start", "pause", "resume", "stop", "say", "budget", "tasks"},
    Status.PAUSED: {"pause", "resume", "stop", "say", "budget", "tasks"},
    Status.COMPLETED: set[str](),
    Status.FAILED: set[str](),
}


def loop_that_is(status: Status, outcome: Outcome | None = None) -> Loop:
    return replace(looping(["at work"]).loop, status=status, outcome=outcome)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", Status)
def test_a_control_is_allowed_or_refused_with_a_sentence(status: Status, verb: str) -> None:
    loop = loop_that_is(status)
    if verb in ALLOWED[status]:
        moves.check(loop, verb)
        return
    with pytest.raises(WrongMove) as refused:
        moves.check(loop, verb)
    assert f"loop-1 is {status.value}" in refused.value.sentence
    assert refused.value.hint
    assert refused.value.exit_code == 2


def test_a_stopped_loop_may_be_stopped_again_and_nothing_else() -> None:
    stopped = loop_that_is(Status.FAILED, Outcome.STOPPED)
    moves.check(stopped, "stop")
    for verb in ("resume", "pause", "say", "budget", "start"):
        with pytest.raises(WrongMove):
            moves.check(stopped, verb)


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.ABANDONED])
def test_a_loop_that_a_person_ended_may_be_stopped_again(outcome: Outcome) -> None:
    moves.check(loop_that_is(Status.FAILED, outcome), "stop")


@pytest.mark.parametrize("verb", VERBS)
def test_a_loop_that_is_to_stop_refuses_what_it_would_never_hear(verb: str) -> None:
    loop = replace(loop_that_is(Status.RUNNING), stop=PauseOrder(Urgency.AFTER_ITERATION, Outcome.STOPPED))
    if verb in ("stop", "budget", "tasks"):
        moves.check(loop, verb)
        return
    with pytest.raises(WrongMove, match="is being stopped"):
        moves.check(loop, verb)


def test_a_loop_that_failed_by_itself_cannot_be_stopped() -> None:
    with pytest.raises(WrongMove):
        moves.check(loop_that_is(Status.FAILED, Outcome.FAILED), "stop")
