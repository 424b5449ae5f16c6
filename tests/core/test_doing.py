"""What a running loop does now."""

from __future__ import annotations

import pytest

from untildone.core.doing import Doing, DoingKind, doing_of
from untildone.core.loop import Loop, Retry, RunningGate, Turn, UsageLimit
from untildone.core.model import Failure, FailureKind, Outcome, Role, SessionUse, Status
from untildone.core.values.value import replace
from untildone.testing.driver import NOON, looping

RUNNING = replace(looping([]).loop, updated_at=NOON)


def turn(role: Role) -> Turn:
    return Turn(role, 3, 1, "claude", SessionUse.NEW, NOON - 60)


@pytest.mark.parametrize(
    ("loop", "doing"),
    [
        (
            replace(RUNNING, turn=turn(Role.WORKER)),
            Doing(DoingKind.WORKS, NOON - 60, "claude", output="0003"),
        ),
        (
            replace(RUNNING, turn=turn(Role.SUPERVISOR)),
            Doing(DoingKind.REVIEWS, NOON - 60, "claude", output="0003-supervisor"),
        ),
        (
            replace(RUNNING, turn=turn(Role.INSTRUCTOR)),
            Doing(DoingKind.INSTRUCTS, NOON - 60, "claude", output="0003-instructor"),
        ),
        (
            replace(RUNNING, gate=RunningGate("pytest -q", NOON - 5)),
            Doing(DoingKind.CHECKS, NOON - 5, "pytest -q"),
        ),
        (
            replace(RUNNING, limits={"worker": UsageLimit(NOON + 60, "resets 11pm")}),
            Doing(DoingKind.AT_LIMIT, NOON, "worker is at its usage limit: resets 11pm", NOON + 60),
        ),
        (
            replace(RUNNING, retry=Retry(Role.WORKER, 1, 1, NOON + 4, Failure(FailureKind.CRASHED, "It fell over."))),
            Doing(DoingKind.RETRIES, NOON, "It fell over.", NOON + 4),
        ),
        (RUNNING, Doing(DoingKind.STARTS, NOON)),
        (replace(RUNNING, status=Status.PAUSED, outcome=Outcome.PAUSED), None),
    ],
)
def test_what_a_running_loop_does(loop: Loop, doing: Doing | None) -> None:
    assert doing_of(loop) == doing
