"""Another agent writes acceptance tests before the work: when it is asked, once, and what happens if it writes none."""

from __future__ import annotations

import pytest

from untildone.core.actions import AskAgent
from untildone.core.events import AcceptanceRan, RunnerLeased, TurnEnded
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.core.model import (
    AcceptanceTests,
    AcceptanceTried,
    AgentChoice,
    Answer,
    BeforeWork,
    Budget,
    Failure,
    FailureKind,
    Outcome,
    Role,
    Usage,
)
from untildone.testing.driver import Driver, Reply, looping

DONE = "All of it.\n<promise>COMPLETE</promise>"
AUTHOR = AgentChoice("writer", "scripted")
TESTS = AcceptanceTests("writer", "tree-with-tests", ("test_more.py",), "abc")
ROUNDS = Budget(iterations=3)


def driver(*replies: Reply, checks: tuple[str, ...] = ("make test",), budget: Budget = ROUNDS) -> Driver:
    """A loop whose author gives these replies, and whose worker says that it is done."""
    left = list(replies)

    def answers(action: AskAgent, _loop: Loop) -> Reply:
        return left.pop(0) if action.ask.role is Role.AUTHOR else Reply(Answer(DONE))

    return looping(answers, budget, checks=checks, acceptance=AUTHOR)


def roles(made: Driver) -> list[Role]:
    return [action.ask.role for action in made.asked]


def test_the_author_is_asked_before_the_worker_from_the_task_alone() -> None:
    made = driver(Reply(Answer("written", usage=Usage(cost_usd=0.5)), tests=TESTS))
    loop = made.run()
    assert roles(made)[:2] == [Role.AUTHOR, Role.WORKER]
    assert loop.acceptance == TESTS
    assert (loop.spend.cost_usd, loop.spend.iterations) == (0.5, 1)
    [asked] = made.calls(Role.AUTHOR)
    assert "Make the tests pass." in asked.prompt
    assert "make test" in asked.prompt
    assert "BLOCKED" not in asked.prompt


def test_without_a_check_there_is_nothing_to_write() -> None:
    made = driver(checks=())
    made.run()
    assert Role.AUTHOR not in roles(made)


def test_an_author_that_writes_nothing_blocks_the_loop_and_is_asked_again_after_a_resume() -> None:
    made = driver(Reply(Answer("I would rather not.")), Reply(Answer("written"), tests=TESTS))
    loop = made.run()
    assert (loop.outcome, roles(made)) == (Outcome.BLOCKED, [Role.AUTHOR])
    assert "writer wrote no acceptance tests" in loop.reason


def test_a_failed_turn_of_the_author_is_tried_again() -> None:
    broken = Reply(Answer(failure=Failure(FailureKind.CRASHED, "exit code 1")), tests=TESTS)
    made = driver(broken, Reply(Answer("written"), tests=TESTS))
    loop = made.run()
    assert roles(made)[:3] == [Role.AUTHOR, Role.AUTHOR, Role.WORKER]
    assert loop.acceptance == TESTS


def test_a_crash_after_the_authors_turn_does_not_ask_again() -> None:
    made = driver(Reply(Answer("written"), tests=TESTS))
    made.lease()
    while not any(isinstance(entry.event, TurnEnded) for entry in made.entries):
        made.step()
    made.crash()
    assert made.loop.acceptance == TESTS
    made.run()
    assert roles(made).count(Role.AUTHOR) == 1


@pytest.mark.parametrize(
    ("said", "is_kept"),
    [
        ((BeforeWork.FAILS,), True),
        ((BeforeWork.PASSES,), True),
        ((BeforeWork.NOT_RUN, BeforeWork.FAILS), True),
        ((BeforeWork.NOT_RUN, BeforeWork.NOT_RUN), False),
    ],
)
def test_tests_that_no_check_runs_do_not_count(said: tuple[BeforeWork, ...], is_kept: bool) -> None:
    made = driver(Reply(Answer("written"), tests=TESTS))
    made.lease()
    while made.loop.acceptance is None:
        made.step()
    made.journal.append(AcceptanceRan(tuple(AcceptanceTried(f"check {each}", each) for each in said), 2.0))
    assert (made.loop.acceptance is not None) == is_kept
    assert made.loop.gate_seconds == 2.0


def test_in_a_persons_own_session_the_author_is_asked_at_the_claim() -> None:
    made = driver(Reply(Answer("written"), tests=TESTS))
    made.lease()
    made.journal.append(RunnerLeased("hook", 1, "here", Host.HOOK))
    while made.loop.acceptance is None:
        made.step()
    assert roles(made) == [Role.WORKER, Role.AUTHOR]
    assert made.loop.claimed
