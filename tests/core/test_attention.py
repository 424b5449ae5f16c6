"""Which loops need a person, and what the person does about it."""

from __future__ import annotations

from typing import Any

import pytest

from untildone.core import attention
from untildone.core.attention import Act, Need, NeedKind
from untildone.core.limits import Limit
from untildone.core.loop import Loop, Retry, UsageLimit
from untildone.core.model import AgentChoice, Answer, Budget, Failure, FailureKind, Outcome, Role, Spend, Status
from untildone.core.values.value import replace
from untildone.testing.driver import NOON, WORKER, Reply, looping

DONE = "<promise>COMPLETE</promise>"
AT_LIMIT = {WORKER.profile: UsageLimit(NOON, "resets 11pm")}
QUESTION = '{"continue": false, "message": "Which database?"}'


def resting(outcome: Outcome, reason: str = "", **changed: Any) -> Loop:
    """A loop that has come to rest in this way."""
    loop = looping([DONE]).loop
    return replace(loop, status=outcome.status, outcome=outcome, reason=reason, **changed)


def failed_turn(kind: FailureKind, message: str = "Please run /login.") -> Retry:
    return Retry(Role.WORKER, 2, 1, 0.0, Failure(kind, message))


LOGIN = Need(NeedKind.LOGIN, Act.RETRY, "The login of worker is not valid: Please run /login.")


@pytest.mark.parametrize(
    ("loop", "need"),
    [
        (resting(Outcome.BLOCKED, "Which port?"), Need(NeedKind.BLOCKED, Act.ANSWER, "Which port?")),
        (
            resting(Outcome.BLOCKED, "No space left. hint: free some"),
            Need(NeedKind.BLOCKED, Act.RESUME, "No space left. hint: free some"),
        ),
        (
            resting(Outcome.BLOCKED, "Worker: cannot start", retry=failed_turn(FailureKind.UNAVAILABLE)),
            Need(NeedKind.BLOCKED, Act.RESUME, "Worker: cannot start"),
        ),
        (resting(Outcome.BLOCKED, "Worker: no", retry=failed_turn(FailureKind.AUTH)), LOGIN),
        (resting(Outcome.FAILED, "Worker: no", retry=failed_turn(FailureKind.AUTH)), LOGIN),
        (resting(Outcome.FAILED, "It crashed."), Need(NeedKind.FAILED, Act.RETRY, "It crashed.")),
        (resting(Outcome.FAILED), Need(NeedKind.FAILED, Act.RETRY, "The loop cannot go on.")),
        (resting(Outcome.STALLED, "3 times the same."), Need(NeedKind.STALLED, Act.ANSWER, "3 times the same.")),
        (resting(Outcome.PAUSED, "Which database?"), Need(NeedKind.ASKS, Act.ANSWER, "Which database?")),
        (
            resting(Outcome.PAUSED, "It changed. hint: `untildone resume`"),
            Need(NeedKind.BLOCKED, Act.RESUME, "It changed. hint: `untildone resume`"),
        ),
        (
            resting(Outcome.CLAIMED),
            Need(NeedKind.CLAIMED, Act.ADD_CHECK, "The agent says it is done; nothing verified it."),
        ),
        (resting(Outcome.PAUSED), None),
        (resting(Outcome.PAUSED, "Taken back to where it was after round 3."), None),
        (resting(Outcome.PAUSED, "The rewind was taken back."), None),
        (resting(Outcome.INTERRUPTED), None),
        (resting(Outcome.STOPPED), None),
        (resting(Outcome.ABANDONED, "The live state file says USER_ABORT."), None),
        (resting(Outcome.VERIFIED), None),
        (resting(Outcome.FAILED, "It crashed.", not_ours="it has no seal"), None),
        (looping([DONE]).loop, None),
    ],
)
def test_why_a_loop_that_rests_needs_a_person(loop: Loop, need: Need | None) -> None:
    assert attention.need_of(loop) == need


@pytest.mark.parametrize(
    ("spend", "text", "limit", "amount"),
    [
        (Spend(iterations=4), "No rounds left. 4 of 4 rounds used.", Limit.ITERATIONS, 5),
        (Spend(seconds=150), "2.5 of 2 minutes used.", Limit.MINUTES, 30),
        (Spend(cost_usd=1.5), "1.5 of 1 dollars used.", Limit.COST, 5),
        (Spend(tokens=100), "100 of 100 tokens used.", Limit.TOKENS, 1_000_000),
    ],
)
def test_a_used_up_limit_is_named_with_what_to_raise_it_by(
    spend: Spend, text: str, limit: Limit, amount: float
) -> None:
    loop = resting(Outcome.BUDGET, spend=spend, budget=Budget(4, 2.0, 1.0, 100))
    need = attention.need_of(loop)
    assert need is not None
    assert need.text.endswith(text.split(". ")[-1])
    assert (need.act, need.limit, need.amount) == (Act.EXTEND, limit, amount)


def test_the_used_up_budget_of_a_group_is_raised_elsewhere() -> None:
    reason = "The group 'night' has spent $5.00 of its $5.00."
    need = attention.need_of(resting(Outcome.BUDGET, reason))
    assert need == Need(NeedKind.BUDGET, Act.RESUME, reason)


def test_a_question_of_a_mode_and_a_block_of_any_agent_are_questions() -> None:
    asks = attention.need_of(looping([QUESTION], Budget(iterations=9), mode="workflow").run())
    assert asks == Need(NeedKind.ASKS, Act.ANSWER, "Which database?")
    blocked = attention.need_of(looping(["<blocked>the password</blocked>"]).run())
    assert blocked == Need(NeedKind.BLOCKED, Act.ANSWER, "the password")


def test_an_expired_login_is_told_from_other_failures() -> None:
    expired = Reply(Answer(failure=Failure(FailureKind.AUTH, "Please run /login.")))
    assert attention.need_of(looping([expired]).run()) == LOGIN


def waiting(**chosen: Any) -> Loop:
    return replace(looping([DONE], **chosen).loop, limits=AT_LIMIT)


def test_a_loop_that_waits_for_a_usage_limit_can_go_on_now() -> None:
    need = attention.need_of(waiting())
    assert need is not None
    assert (need.kind, need.act, need.until) == (NeedKind.LIMIT, Act.RESUME_NOW, NOON)
    assert need.text == "worker is at its usage limit: resets 11pm"


@pytest.mark.parametrize("changed", [{"tries_limits": True}, {"status": Status.PAUSED, "outcome": Outcome.PAUSED}])
def test_a_loop_that_does_not_wait_for_its_limit_needs_nobody(changed: dict[str, Any]) -> None:
    assert attention.need_of(replace(waiting(), **changed)) is None


def test_a_fallback_agent_needs_nobody_until_it_is_at_a_limit_too() -> None:
    other = AgentChoice("other", "scripted")
    loop = waiting(fallback=other)
    assert attention.need_of(loop) is None
    both = replace(loop, limits={**AT_LIMIT, "other": UsageLimit(NOON, "later")})
    assert attention.need_of(both) is not None


def test_the_limit_of_a_supervisor_counts() -> None:
    judge = AgentChoice("judge", "scripted")
    loop = replace(looping([DONE], supervisor=judge).loop, limits={"judge": UsageLimit(NOON, "later")})
    need = attention.need_of(loop)
    assert need is not None
    assert need.text.startswith("judge ")
