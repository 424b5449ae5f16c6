"""Which control a loop's status allows; the same control twice is fine."""

from __future__ import annotations

import pytest

from untildone.core import moves
from untildone.core.applying.controls import TAKEN_BACK
from untildone.core.errors import BudgetUsedUp, WrongMove
from untildone.core.loop import Loop, PauseOrder, Retry
from untildone.core.model import Budget, Failure, FailureKind, Outcome, Role, Spend, Status, Urgency
from untildone.core.moves import Control
from untildone.core.values.value import replace
from untildone.testing.driver import looping

CONTROLS = tuple(each for each in Control if each not in (Control.RENAME, Control.APPROVE, Control.DELETE))
ALLOWED = {
    Status.CREATED: {Control.START, Control.RESUME, Control.STOP, Control.SAY, Control.BUDGET, Control.SUBTASKS},
    Status.RUNNING: {
        Control.START,
        Control.PAUSE,
        Control.RESUME,
        Control.STOP,
        Control.SAY,
        Control.BUDGET,
        Control.SUBTASKS,
        Control.RETRY,
    },
    Status.PAUSED: {
        Control.PAUSE,
        Control.RESUME,
        Control.STOP,
        Control.SAY,
        Control.BUDGET,
        Control.SUBTASKS,
        Control.RETRY,
        Control.REWIND,
    },
    Status.COMPLETED: {Control.REWIND},
    Status.FAILED: {Control.RETRY, Control.REWIND},
}


def loop_that_is(status: Status, outcome: Outcome | None = None) -> Loop:
    return replace(looping(["at work"]).loop, status=status, outcome=outcome)


@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("status", Status)
def test_a_control_is_allowed_or_refused_with_a_sentence(status: Status, control: Control) -> None:
    loop = loop_that_is(status)
    if control in ALLOWED[status]:
        moves.check(loop, control)
        return
    with pytest.raises(WrongMove) as refused:
        moves.check(loop, control)
    assert f"loop-1 is {status.value}" in refused.value.sentence
    assert refused.value.hint
    assert "`" not in refused.value.hint or "loop-1`" in refused.value.hint
    assert refused.value.exit_code == 2


def test_a_stopped_loop_may_be_stopped_again_and_nothing_else() -> None:
    stopped = loop_that_is(Status.FAILED, Outcome.STOPPED)
    moves.check(stopped, Control.STOP)
    for control in (Control.RESUME, Control.PAUSE, Control.SAY, Control.BUDGET, Control.START):
        with pytest.raises(WrongMove):
            moves.check(stopped, control)


@pytest.mark.parametrize("outcome", [Outcome.STOPPED, Outcome.ABANDONED])
def test_a_loop_that_a_person_ended_may_be_stopped_again(outcome: Outcome) -> None:
    moves.check(loop_that_is(Status.FAILED, outcome), Control.STOP)


@pytest.mark.parametrize("control", CONTROLS)
def test_a_loop_that_is_to_stop_refuses_what_it_would_never_hear(control: Control) -> None:
    loop = replace(loop_that_is(Status.RUNNING), stop=PauseOrder(Urgency.AFTER_ITERATION, Outcome.STOPPED))
    if control in (Control.STOP, Control.BUDGET, Control.SUBTASKS):
        moves.check(loop, control)
        return
    with pytest.raises(WrongMove, match="is being stopped"):
        moves.check(loop, control)


def test_a_loop_that_failed_by_itself_cannot_be_stopped() -> None:
    with pytest.raises(WrongMove):
        moves.check(loop_that_is(Status.FAILED, Outcome.FAILED), Control.STOP)


TRIES_AGAIN = Retry(Role.WORKER, 3, 1, 0.0, Failure(FailureKind.OVERLOADED, "too busy"))


def without_rounds(**changes: object) -> Loop:
    loop = replace(loop_that_is(Status.PAUSED, Outcome.BUDGET), budget=Budget(3), spend=Spend(3))
    return replace(loop, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({}, "untildone resume loop-1 -r +5"),
        ({"inbox": ("mind the docs",)}, "-r +5"),
        ({"outcome": Outcome.PAUSED}, "-r +5"),
        ({"outcome": Outcome.PAUSED, "reason": f"{TAKEN_BACK}2."}, "-r +5"),
        ({"budget": Budget(cost_usd=1.0), "spend": Spend(cost_usd=1.2)}, "untildone budget loop-1 --cost +5"),
        ({"budget": Budget(3, cost_usd=1.0), "spend": Spend(2, cost_usd=1.2), "retry": TRIES_AGAIN}, "--cost +5"),
    ],
)
def test_a_loop_that_would_rest_again_at_once_is_not_resumed(changes: dict[str, object], hint: str) -> None:
    with pytest.raises(BudgetUsedUp, match="loop-1 cannot go on") as refused:
        moves.check_budget(without_rounds(**changes), Role.WORKER)
    assert hint in refused.value.hint
    assert refused.value.exit_code == Outcome.BUDGET.exit_code


@pytest.mark.parametrize(
    ("loop", "leader"),
    [
        (without_rounds(budget=Budget(4)), Role.WORKER),
        (without_rounds(budget=Budget()), Role.WORKER),
        (without_rounds(claimed=True), Role.WORKER),
        (without_rounds(retry=TRIES_AGAIN), Role.WORKER),
        (without_rounds(outcome=Outcome.STALLED), Role.WORKER),
        (without_rounds(inbox=("is it done?",)), Role.INSTRUCTOR),
        (without_rounds(outcome=Outcome.PAUSED), Role.INSTRUCTOR),
    ],
    ids=[
        "more rounds",
        "no limit",
        "gates need none",
        "the same round",
        "other rest",
        "the instructor is told something",
        "the instructor reads the last answer",
    ],
)
def test_a_loop_that_can_do_something_is_resumed(loop: Loop, leader: Role) -> None:
    moves.check_budget(loop, leader)


@pytest.mark.parametrize(
    ("status", "budget", "commands"),
    [
        (Status.PAUSED, Budget(iterations=1), ["resume loop-1 -r +5"]),
        (Status.FAILED, Budget(iterations=1), ["retry loop-1 -r +5"]),
        (Status.PAUSED, Budget(cost_usd=1.0), ["budget loop-1 --cost +5", "resume loop-1"]),
        (Status.FAILED, Budget(cost_usd=1.0), ["retry loop-1", "budget loop-1 --cost +5", "resume loop-1"]),
    ],
)
def test_a_loop_without_budget_is_told_the_commands_that_its_status_allows(
    status: Status, budget: Budget, commands: list[str]
) -> None:
    loop = replace(loop_that_is(status), budget=budget, spend=Spend(iterations=1, cost_usd=1.0))
    with pytest.raises(BudgetUsedUp) as refused:
        moves.check_rounds(loop)
    named = [part.removeprefix("untildone ") for part in refused.value.hint.split("`")[1::2]]
    assert named[:-1] == commands


def test_a_loop_that_was_never_started_is_told_a_command_that_starts_it() -> None:
    created = loop_that_is(Status.CREATED)
    with pytest.raises(WrongMove, match="retried") as refused:
        moves.check(created, Control.RETRY)
    assert refused.value.hint == "`untildone resume loop-1` starts it"
    moves.check(created, Control.RESUME)
