"""`decide` when things go wrong: limits, failures, sessions of no use, stalls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from untildone.core.actions import AskAgent, Wait
from untildone.core.events import (
    BudgetChanged,
    LimitReached,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    TurnRetried,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Context,
    Failure,
    FailureKind,
    Outcome,
    Role,
    SessionUse,
    Status,
    Usage,
)
from untildone.testing.driver import NOON, WORKER, Reply, fails, looping

DONE = "All of it.\n<promise>COMPLETE</promise>"
AGREED = "[TASK_COMPLETED {word}]"
BARE = AgentChoice("bare", "command")
SPARE = AgentChoice("spare", "scripted", abilities=("resume", "fork"))
LIMIT = Answer(failure=Failure(FailureKind.LIMIT, "usage limit"))
LIMIT_UNTIL_ONE = Answer(failure=Failure(FailureKind.LIMIT, "usage limit", NOON + 3600))


def failing(kind: FailureKind) -> Answer:
    return Answer(failure=Failure(kind, f"it was {kind.value}."))


def by_role(worker: str | Answer, supervisor: str | Answer) -> Callable[[AskAgent, Loop], str | Answer]:
    return lambda action, _loop: worker if action.ask.role is Role.WORKER else supervisor


# --- limits ---


def test_a_limit_waits_until_the_time_that_was_told_and_takes_no_iteration() -> None:
    driver = looping([LIMIT_UNTIL_ONE, DONE], Budget(iterations=1))
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 1)
    assert [call.iteration for call in driver.calls()] == [1, 1]
    assert driver.clock.now >= NOON + 3600


def test_a_limit_without_a_time_is_tried_again_ever_more_seldom() -> None:
    driver = looping([*[LIMIT] * 8, DONE], Budget(iterations=1))
    assert driver.run().spend.iterations == 1
    entries = [entry for entry in driver.entries if isinstance(entry.event, LimitReached)]
    waits = [entry.event.until - entry.at for entry in entries if isinstance(entry.event, LimitReached)]
    assert waits == [60, 120, 240, 480, 960, 1800, 1800, 1800]


def test_a_time_that_has_passed_already_is_not_believed() -> None:
    late = Answer(failure=Failure(FailureKind.LIMIT, "usage limit", NOON - 5))
    driver = looping([late, DONE])
    driver.run()
    (reached,) = driver.events(LimitReached)
    assert isinstance(reached, LimitReached)
    assert reached.until == NOON + 1 + 60


def test_while_it_waits_it_says_so_and_resume_now_asks_again_at_once() -> None:
    driver = looping([LIMIT_UNTIL_ONE, DONE])
    while not isinstance(action := driver.step(), Wait):
        pass
    assert action == Wait(NOON + 3600, "limit: usage limit")
    driver.send("resume", ResumeRequested(skip_wait=True))
    assert isinstance(driver.step(), AskAgent)
    assert driver.clock.now < NOON + 60


def test_a_pause_during_the_wait_is_obeyed_at_once() -> None:
    driver = looping([LIMIT_UNTIL_ONE])
    while not isinstance(driver.step(), Wait):
        pass
    driver.send("pause", PauseRequested())
    assert driver.run().outcome is Outcome.PAUSED
    assert driver.clock.now < NOON + 60


def test_the_fallback_carries_on_meanwhile_in_a_session_of_its_own() -> None:
    def answers(action: AskAgent, _loop: Loop) -> Reply:
        if action.agent is WORKER and len(driver.asked) == 2:
            return Reply(LIMIT_UNTIL_ONE)
        return Reply(Answer("on it", session_id=f"{action.agent.profile}-1"), 1200.0, Changes(str(len(driver.asked))))

    driver = looping(answers, Budget(iterations=6), fallback=SPARE)
    driver.run()
    assert [call.agent.profile for call in driver.calls()] == [
        *("worker", "worker", "spare", "spare", "worker", "worker", "worker")
    ]
    assert [call.iteration for call in driver.calls()] == [1, 2, 2, 3, 4, 5, 6]
    assert [call.session_id for call in driver.calls()] == [
        *(None, "worker-1", None, "spare-1", "worker-1", "worker-1", "worker-1")
    ]


def test_when_both_are_limited_it_waits_for_the_first_that_is_free() -> None:
    sooner = Answer(failure=Failure(FailureKind.LIMIT, "spare limit", NOON + 600))
    driver = looping([LIMIT_UNTIL_ONE, sooner, DONE], fallback=SPARE)
    while not isinstance(action := driver.step(), Wait):
        pass
    assert action == Wait(NOON + 600, "limit: spare limit")
    driver.run()
    assert [call.agent.profile for call in driver.calls()] == ["worker", "spare", "spare"]


def test_a_reviewer_who_stands_in_is_shown_the_work() -> None:
    def answers(action: AskAgent, _loop: Loop) -> Answer:
        if action.ask.role is Role.WORKER:
            return Answer(DONE, session_id="s1")
        return LIMIT_UNTIL_ONE if action.agent is WORKER else Answer(AGREED)

    driver = looping(answers, review=True, fallback=SPARE)
    assert driver.run().outcome is Outcome.VERIFIED
    forked, fresh = driver.calls(Role.SUPERVISOR)
    assert (forked.session, fresh.session) == (SessionUse.FORK, SessionUse.NEW)
    assert all(call.ask.shows_work for call in (forked, fresh))
    assert "All of it." in fresh.ask.prompt


# --- failures ---


@pytest.mark.parametrize(
    ("kind", "calls", "outcome"),
    [
        (FailureKind.AUTH, 1, Outcome.BLOCKED),
        (FailureKind.REFUSED, 1, Outcome.BLOCKED),
        (FailureKind.CONTEXT_FULL, 1, Outcome.FAILED),
        (FailureKind.UNAVAILABLE, 1, Outcome.BLOCKED),
        (FailureKind.CRASHED, 4, Outcome.FAILED),
        (FailureKind.TIMEOUT, 4, Outcome.FAILED),
        (FailureKind.MALFORMED, 4, Outcome.FAILED),
        (FailureKind.RESOURCES, 4, Outcome.BLOCKED),
        (FailureKind.OVERLOADED, 8, Outcome.FAILED),
    ],
)
def test_a_failure_that_stays_makes_the_loop_rest_with_its_reason_and_a_hint(
    kind: FailureKind, calls: int, outcome: Outcome
) -> None:
    driver = looping([failing(kind)])
    loop = driver.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (outcome.status, outcome, 1)
    assert len(driver.calls()) == calls
    assert loop.reason.startswith(f"Worker worker: it was {kind.value}")
    assert "hint: " in loop.reason
    assert ("attempts" in loop.reason) == (calls > 1)


@pytest.mark.parametrize(
    "kind", [FailureKind.CRASHED, FailureKind.TIMEOUT, FailureKind.MALFORMED, FailureKind.OVERLOADED]
)
def test_a_failure_in_passing_is_tried_again_inside_the_iteration(kind: FailureKind) -> None:
    driver = looping([failing(kind), failing(kind), DONE], Budget(iterations=1), retry_delay=2.0)
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 1)
    assert [(call.iteration, call.attempt) for call in driver.calls()] == [(1, 1), (1, 2), (1, 3)]
    assert len({call.ask.prompt for call in driver.calls()}) == 1
    retries = [entry for entry in driver.entries if isinstance(entry.event, TurnRetried)]
    assert [e.event.not_before - e.at for e in retries if isinstance(e.event, TurnRetried)] == [2.0, 4.0]


def test_the_next_iteration_has_all_its_attempts_again() -> None:
    crash, calls = failing(FailureKind.CRASHED), [1, 1, 1, 0, 1, 1, 1, 0]
    driver = looping([crash if call else f"step {n}" for n, call in enumerate(calls)], Budget(iterations=2))
    assert driver.run().outcome is Outcome.BUDGET
    assert [call.attempt for call in driver.calls()] == [1, 2, 3, 4, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [FailureKind.CONTEXT_FULL, FailureKind.UNAVAILABLE])
def test_a_session_of_no_use_is_left_for_a_fresh_one(kind: FailureKind) -> None:
    replies = [Answer("begun", session_id="s1"), failing(kind), Answer(DONE, session_id="s2")]
    driver = looping(replies, Budget(iterations=2))
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 2)
    uses = [(call.session, call.session_id) for call in driver.calls()]
    assert uses == [(SessionUse.NEW, None), (SessionUse.RESUME, "s1"), (SessionUse.NEW, None)]


@pytest.mark.parametrize("kind", [FailureKind.CONTEXT_FULL, FailureKind.UNAVAILABLE])
def test_a_fork_of_no_use_is_left_for_a_fresh_reviewer_who_is_shown_the_work(kind: FailureKind) -> None:
    def answers(action: AskAgent, _loop: Loop) -> Answer:
        if action.ask.role is Role.WORKER:
            return Answer(DONE, session_id="s1")
        return failing(kind) if action.session is SessionUse.FORK else Answer(AGREED)

    driver = looping(answers, review=True)
    assert driver.run(most_steps=60).outcome is Outcome.VERIFIED
    assert [call.session for call in driver.calls(Role.SUPERVISOR)] == [SessionUse.FORK, SessionUse.NEW]


@pytest.mark.parametrize(("set_back", "waits"), [(0.0, True), (30.0, True), (120.0, False), (86_400.0, False)])
def test_a_clock_that_was_set_back_makes_no_retry_wait_for_hours(set_back: float, waits: bool) -> None:
    driver = looping([failing(FailureKind.CRASHED), DONE])
    driver.lease()
    while not isinstance(driver.step(), Wait):
        pass
    driver.clock.now -= set_back
    assert isinstance(driver.step(), Wait) is waits
    assert driver.run().outcome is Outcome.CLAIMED


def test_a_retry_stops_at_the_money_but_not_at_the_rounds() -> None:
    crash = Answer(usage=Usage(cost_usd=0.5), failure=Failure(FailureKind.CRASHED, "again"))
    driver = looping([crash], Budget(iterations=1, cost_usd=1.0))
    assert driver.run().outcome is Outcome.BUDGET
    assert len(driver.calls()) == 2
    driver.send("budget", BudgetChanged(Limit.COST, 10.0))
    driver.send("resume", ResumeRequested())
    driver.run()
    assert [(call.iteration, call.attempt) for call in driver.calls()] == [(1, 1), (1, 2), (1, 3), (1, 4)]


# --- sessions ---


@pytest.mark.parametrize(
    ("context", "abilities", "uses"),
    [
        (Context.CONTINUE, ("resume", "fork"), [None, "s1", "s1"]),
        (Context.FRESH, ("resume", "fork"), [None, None, None]),
        (Context.CONTINUE, ("fork",), [None, None, None]),
        (Context.CONTINUE, (), [None, None, None]),
    ],
)
def test_the_worker_goes_on_in_its_session_if_it_is_able_to(
    context: Context, abilities: tuple[str, ...], uses: list[str | None]
) -> None:
    worker = AgentChoice("worker", "scripted", abilities=abilities)
    replies = [Reply(Answer(f"step {n}", session_id="s1"), changes=Changes(str(n))) for n in range(3)]
    driver = looping(replies, Budget(iterations=3), worker=worker, context=context)
    driver.run()
    assert [call.session_id for call in driver.calls()] == uses
    assert [call.session is SessionUse.RESUME for call in driver.calls()] == [use is not None for use in uses]


def test_a_session_known_before_a_crash_is_taken_up_after_it() -> None:
    driver = looping([Reply(session_id="s1", interrupted=Interruption.CRASH), DONE])
    driver.run()
    assert driver.calls()[1].session_id == "s1"


@pytest.mark.parametrize(
    ("supervisor", "use", "session_id"),
    [(None, SessionUse.FORK, "s1"), (BARE, SessionUse.NEW, None), (SPARE, SessionUse.NEW, None)],
)
def test_the_reviewer_is_a_fork_of_the_worker_or_is_shown_everything(
    supervisor: AgentChoice | None, use: SessionUse, session_id: str | None
) -> None:
    replies = by_role(Answer(DONE, session_id="s1"), AGREED)
    driver = looping(replies, supervisor=supervisor, review=True, supervisor_prompt="Be strict.")
    assert driver.run().outcome is Outcome.VERIFIED
    (call,) = driver.calls(Role.SUPERVISOR)
    assert (call.session, call.session_id) == (use, session_id)
    assert (call.ask.system_prompt or "").startswith("Be strict.")
    assert ("All of it." in call.ask.prompt) == (use is SessionUse.NEW)


def test_the_reviewer_hears_the_person_and_no_earlier_feedback() -> None:
    words = iter(["The docs are missing.", AGREED])

    def answers(action: AskAgent, _loop: Loop) -> Reply | str:
        if action.ask.role is Role.SUPERVISOR:
            return next(words)
        return Reply(Answer(DONE, session_id="s1"), changes=Changes(str(action.iteration)))

    driver = looping(answers, review=True, task="Write a parser.")
    driver.send("say", MessageSent("[r+3] In Rust."))
    driver.run()
    for call in driver.calls(Role.SUPERVISOR):
        assert "Write a parser." in call.ask.prompt
        assert "In Rust." in call.ask.prompt
        assert "docs are missing" not in call.ask.prompt


# --- stalls ---


def test_three_times_the_same_answer_and_nothing_changed_is_a_stall_with_its_evidence() -> None:
    driver = looping(["Which  database?"], Budget(iterations=20))
    loop = driver.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.PAUSED, Outcome.STALLED, 3)
    assert "Which database?" in loop.reason


def test_three_times_the_same_failing_check_and_nothing_changed_is_a_stall() -> None:
    driver = looping(
        lambda action, _loop: f"Try {action.iteration}. {DONE}", Budget(iterations=20), fails, checks=("make",)
    )
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.STALLED, 3)
    assert "make" in loop.reason


def test_different_answers_are_thinking_and_no_stall() -> None:
    driver = looping(lambda action, _loop: f"thought {action.iteration}", Budget(iterations=9))
    assert driver.run().outcome is Outcome.BUDGET


def test_a_change_is_no_stall_and_counts_from_there() -> None:
    replies = [Reply(Answer("same"), changes=Changes("new" if n >= 2 else "old")) for n in range(20)]
    driver = looping([Reply(Answer("same"), changes=Changes("old")), *replies], Budget(iterations=20))
    assert (driver.run().outcome, driver.loop.spend.iterations) == (Outcome.STALLED, 7)


def test_without_a_promise_there_is_no_stall() -> None:
    driver = looping(["the same"], Budget(iterations=7), promise=None)
    assert (driver.run().outcome, driver.loop.spend.iterations) == (Outcome.BUDGET, 7)


def test_resume_gives_a_stalled_loop_three_more() -> None:
    driver = looping(["the same"], Budget(iterations=20))
    driver.run()
    driver.send("resume", ResumeRequested())
    assert (driver.run().outcome, driver.loop.spend.iterations) == (Outcome.STALLED, 6)


def test_an_answer_to_its_question_saves_a_loop_from_a_stall() -> None:
    replies: list[Reply | str] = [
        "Which port?",
        "Which port?",
        Reply(Answer("Which port?"), meanwhile=(MessageSent("5433"),)),
        DONE,
    ]
    driver = looping(replies, Budget(iterations=20))
    assert driver.run().outcome is Outcome.CLAIMED
    assert "5433" in driver.calls()[3].ask.prompt


def test_where_a_person_can_work_by_hand_a_missing_program_is_a_pause() -> None:
    driver = looping([failing(FailureKind.UNAVAILABLE)], mode="workflow")
    loop = driver.run()
    assert (loop.status, loop.outcome, len(driver.calls())) == (Status.PAUSED, Outcome.PAUSED, 1)
    assert "untildone resume" in loop.reason
    driver.send("resume", ResumeRequested())
    driver.run()
    assert len(driver.calls()) == 2
