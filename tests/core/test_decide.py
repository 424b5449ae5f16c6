"""`decide`: what a loop does next, seen as a person sees it: driven in memory, until it rests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from untildone.core.actions import AskAgent, AwaitPerson, Rest, Wait
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    BudgetWarned,
    Event,
    GatesRan,
    LimitReached,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StopRequested,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
)
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Context,
    Failure,
    FailureKind,
    GateResult,
    Outcome,
    Role,
    SessionUse,
    Status,
    Urgency,
    Usage,
)
from untildone.testing.driver import NOON, WORKER, Driver, Reply, fails, looping, passes

DONE = "All of it.\n<promise>COMPLETE</promise>"
AGREED = "[TASK_COMPLETED]"
BARE = AgentChoice("bare", "command")
SPARE = AgentChoice("spare", "scripted", abilities=("resume", "fork"))
LIMIT = Answer(failure=Failure(FailureKind.LIMIT, "usage limit"))
LIMIT_UNTIL_ONE = Answer(failure=Failure(FailureKind.LIMIT, "usage limit", NOON + 3600))


def busy(action: AskAgent, _loop: Loop) -> Reply:
    """Works, and changes something every time; costs a quarter dollar, a hundred tokens and a minute."""
    answer = Answer(f"step {action.iteration}", session_id="s", usage=Usage(0.25, 100))
    return Reply(answer, 60.0, Changes(f"state {action.iteration}"))


def failing(kind: FailureKind) -> Answer:
    return Answer(failure=Failure(kind, f"it was {kind.value}."))


def by_role(worker: str | Answer, supervisor: str | Answer) -> Callable[[AskAgent, Loop], str | Answer]:
    return lambda action, _loop: worker if action.ask.role is Role.WORKER else supervisor


# --- budget ---


@pytest.mark.parametrize(
    ("budget", "iterations", "reason"),
    [
        (Budget(iterations=3), 3, "No remaining rounds. Stopping. 3 of 3 iterations used."),
        (Budget(minutes=2.0), 2, "2 of 2 minutes used."),
        (Budget(cost_usd=1.0), 4, "1 of 1 dollars used."),
        (Budget(tokens=250), 3, "300 of 250 tokens used."),
        (Budget(iterations=2, minutes=2.0, cost_usd=0.5, tokens=200), 2, "2 of 2 iterations used."),
        (Budget(iterations=0), 0, "0 of 0 iterations used."),
    ],
)
def test_each_limit_ends_in_a_pause_that_is_no_success(budget: Budget, iterations: int, reason: str) -> None:
    driver = looping(busy, budget)
    loop = driver.run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.BUDGET)
    assert loop.reason.endswith(reason)
    assert loop.spend.iterations == len(driver.calls()) == iterations


def test_it_goes_on_from_there_when_the_budget_is_raised() -> None:
    driver = looping(busy, Budget(iterations=2))
    driver.run()
    driver.tell("say", MessageSent("[r+2] and the docs"))
    driver.tell("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.BUDGET
    assert [call.iteration for call in driver.calls()] == [1, 2, 3, 4]
    assert "and the docs" in driver.calls()[2].ask.prompt


def test_a_warning_at_three_quarters_once_and_again_after_a_raise() -> None:
    driver = looping(busy, Budget(iterations=4))
    driver.run()
    assert list(driver.events(BudgetWarned)) == [BudgetWarned("iterations", 3, 4)]
    driver.tell("budget", BudgetChanged("iterations", 8))
    driver.tell("resume", ResumeRequested())
    driver.run()
    assert list(driver.events(BudgetWarned)) == [BudgetWarned("iterations", 3, 4), BudgetWarned("iterations", 6, 8)]


@pytest.mark.parametrize(
    ("budget", "limit", "at"),
    [(Budget(minutes=4.0), "minutes", 3), (Budget(cost_usd=1.0), "cost", 3), (Budget(tokens=400), "tokens", 3)],
)
def test_every_limit_warns(budget: Budget, limit: str, at: int) -> None:
    driver = looping(busy, budget)
    driver.run()
    (warned,) = driver.events(BudgetWarned)
    assert isinstance(warned, BudgetWarned)
    assert (warned.limit, warned.used / warned.allowed) == (limit, 0.75)
    before = [entry.event for entry in driver.entries].index(warned)
    assert sum(isinstance(entry.event, TurnStarted) for entry in driver.entries[:before]) == at


def test_budget_is_named_before_a_stall() -> None:
    assert looping(["the same"], Budget(iterations=3)).run().outcome is Outcome.BUDGET
    assert looping(["the same"], Budget(iterations=4)).run().outcome is Outcome.STALLED


def test_a_review_takes_no_iteration_but_costs() -> None:
    agrees = looping(by_role(DONE, AGREED), Budget(iterations=1), review=True)
    assert agrees.run().outcome is Outcome.VERIFIED
    dear = Answer(DONE, usage=Usage(cost_usd=1.0))
    assert looping(by_role(dear, AGREED), Budget(cost_usd=1.0), review=True).run().outcome is Outcome.BUDGET


def test_a_turn_is_told_what_time_and_money_are_left() -> None:
    driver = looping(busy, Budget(iterations=2, minutes=5.0, cost_usd=1.0, iteration_timeout=270.0))
    driver.run()
    assert [(call.timeout, call.max_cost_usd) for call in driver.calls()] == [(270.0, 1.0), (240.0, 0.75)]


# --- claims and gates ---


def test_without_a_gate_a_claim_is_only_a_claim() -> None:
    loop = looping([DONE]).run()
    assert (loop.status, loop.outcome) == (Status.COMPLETED, Outcome.CLAIMED)


def test_a_claim_is_verified_when_every_check_passes() -> None:
    driver = looping([DONE], checks=("make", "make lint"))
    assert driver.run().outcome is Outcome.VERIFIED
    assert driver.gates_run == ["make", "make lint"]


def test_a_failed_check_goes_into_the_next_prompt_and_every_check_is_run_again() -> None:
    results = iter([passes("make"), fails("make lint", tail="E501 at line 3"), passes("make"), passes("make lint")])
    driver = looping([DONE], gates=lambda _command, _loop: next(results), checks=("make", "make lint"))
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.VERIFIED, 2)
    assert "E501 at line 3" in driver.calls()[1].ask.prompt
    assert "`make lint` failed: exit code 1" in driver.calls()[1].ask.prompt


def test_checks_come_before_the_review_and_a_failed_one_saves_it() -> None:
    results = iter([fails("make"), passes("make")])
    driver = looping(by_role(DONE, AGREED), gates=lambda _command, _loop: next(results), checks=("make",), review=True)
    loop = driver.run()
    assert [result.gate for result in loop.gates] == ["check", "review"]
    assert (loop.outcome, len(driver.calls(Role.SUPERVISOR))) == (Outcome.VERIFIED, 1)


def test_a_review_that_asks_for_more_becomes_the_next_prompt() -> None:
    words = iter(["The docs are missing.", AGREED])
    driver = looping(lambda action, _loop: DONE if action.ask.role is Role.WORKER else next(words), review=True)
    assert driver.run().outcome is Outcome.VERIFIED
    assert "The docs are missing." in driver.calls()[1].ask.prompt


def test_a_supervisor_who_says_nothing_has_not_agreed() -> None:
    driver = looping(by_role(DONE, "  "), review=True)
    loop = driver.run()
    assert loop.outcome is Outcome.FAILED
    assert "said nothing" in loop.reason
    assert len(driver.calls(Role.SUPERVISOR)) == 4


def test_a_review_that_fails_never_means_done() -> None:
    loop = looping(by_role(DONE, failing(FailureKind.AUTH)), review=True).run()
    assert (loop.status, loop.outcome) == (Status.FAILED, Outcome.FAILED)


def test_require_change_does_not_believe_a_claim_without_one() -> None:
    idle = looping([DONE], Budget(iterations=2), require_change=True)
    assert idle.run().outcome is Outcome.BUDGET
    assert "nothing changed in the workspace" in idle.calls()[1].ask.prompt
    assert looping([Reply(Answer(DONE), changes=Changes("new"))], require_change=True).run().outcome is Outcome.VERIFIED


def test_once_is_one_run_whatever_it_says() -> None:
    driver = looping(["I looked around."], Budget(iterations=1), once=True)
    loop = driver.run()
    assert (loop.outcome, len(driver.calls())) == (Outcome.CLAIMED, 1)
    assert looping(["I looked."], Budget(iterations=1), once=True, checks=("make",)).run().outcome is Outcome.VERIFIED
    assert looping(["No."], Budget(iterations=1), fails, once=True, checks=("make",)).run().outcome is Outcome.BUDGET


def test_what_the_person_said_during_the_last_turn_is_heard_before_the_loop_is_done() -> None:
    driver = looping([Reply(Answer(DONE), meanwhile=(MessageSent("and the docs"),)), DONE], checks=("make",))
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.VERIFIED, 2)
    assert "and the docs" in driver.calls()[1].ask.prompt
    assert driver.gates_run == ["make"]


# --- control ---


@pytest.mark.parametrize(
    ("order", "outcome"),
    [
        (PauseRequested(), Outcome.PAUSED),
        (PauseRequested(outcome=Outcome.INTERRUPTED), Outcome.INTERRUPTED),
        (StopRequested(), Outcome.STOPPED),
        (StopRequested(outcome=Outcome.ABANDONED), Outcome.ABANDONED),
    ],
)
@pytest.mark.parametrize("text", ["at work", DONE])
def test_an_order_acts_after_the_iteration_whatever_it_brought(order: Event, outcome: Outcome, text: str) -> None:
    driver = looping([Reply(Answer(text), meanwhile=(order,))], checks=("make",))
    loop = driver.run()
    assert (loop.outcome, loop.status, len(driver.calls())) == (outcome, outcome.status, 1)
    assert driver.gates_run == []
    assert loop.last_answer == text


@pytest.mark.parametrize("order", [PauseRequested(Urgency.NOW), StopRequested(Urgency.NOW)])
def test_now_interrupts_the_turn_which_stays_counted(order: Event) -> None:
    driver = looping([Reply(Answer(DONE), meanwhile=(order,))])
    loop = driver.run()
    assert (loop.spend.iterations, loop.last_answer) == (1, "")
    assert list(driver.events(TurnInterrupted)) == [TurnInterrupted(Role.WORKER, 1, "control", 1.0)]


def test_a_pause_while_the_gates_run_is_obeyed_and_resume_runs_them_again() -> None:
    def gate(command: str, _loop: Loop) -> GateResult:
        if len(driver.gates_run) == 1:
            driver.tell("pause", PauseRequested(Urgency.NOW))
        return passes(command)

    driver = looping([DONE], gates=gate, checks=("make", "make lint"))
    assert driver.run().outcome is Outcome.PAUSED
    driver.tell("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.VERIFIED
    assert driver.gates_run == ["make", "make", "make lint"]
    assert len(driver.calls()) == 1


def test_stop_ends_a_loop_that_is_paused_or_never_started() -> None:
    paused = looping([Reply(Answer("x"), meanwhile=(PauseRequested(),))])
    paused.run()
    paused.tell("stop", StopRequested())
    assert paused.run().outcome is Outcome.STOPPED
    created = Driver(busy).create(paused.loop.settings, Budget())
    created.tell("stop", StopRequested())
    assert (created.run().outcome, created.asked) == (Outcome.STOPPED, [])


def test_a_loop_that_was_not_started_or_is_paused_rests() -> None:
    created = Driver(busy).create(looping(busy).loop.settings, Budget())
    assert created.step() == Rest(None)
    paused = looping(busy, Budget(iterations=0))
    paused.run()
    assert paused.step() == Rest(Outcome.BUDGET)


def test_stop_is_stronger_than_pause() -> None:
    driver = looping([Reply(Answer("x"), meanwhile=(PauseRequested(), StopRequested()))])
    assert driver.run().outcome is Outcome.STOPPED


def test_a_person_who_interrupts_is_asked_and_may_leave_and_resume() -> None:
    questions: list[AwaitPerson] = []

    def person(question: AwaitPerson, _loop: Loop) -> str | None:
        questions.append(question)
        return "use sqlite" if len(questions) == 1 else None

    replies = [Reply(interrupted="person"), Reply(interrupted="person"), Reply(Answer(DONE))]
    driver = looping(replies, person=person)
    assert driver.run().outcome is Outcome.INTERRUPTED
    assert "use sqlite" in driver.calls()[1].ask.prompt
    driver.tell("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.CLAIMED
    assert "use sqlite" in driver.calls()[2].ask.prompt


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
    driver.tell("resume", ResumeRequested(skip_wait=True))
    assert isinstance(driver.step(), AskAgent)
    assert driver.clock.now < NOON + 60


def test_a_pause_during_the_wait_is_obeyed_at_once() -> None:
    driver = looping([LIMIT_UNTIL_ONE])
    while not isinstance(driver.step(), Wait):
        pass
    driver.tell("pause", PauseRequested())
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
    assert (forked.session, forked.ask.show_diff) == (SessionUse.FORK, False)
    assert (fresh.session, fresh.ask.show_diff) == (SessionUse.NEW, True)
    assert "All of it." in fresh.ask.prompt


# --- failures ---


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        (FailureKind.AUTH, 1),
        (FailureKind.REFUSED, 1),
        (FailureKind.CONTEXT_FULL, 1),
        (FailureKind.UNAVAILABLE, 1),
        (FailureKind.CRASHED, 4),
        (FailureKind.TIMEOUT, 4),
        (FailureKind.MALFORMED, 4),
        (FailureKind.OVERLOADED, 8),
    ],
)
def test_a_failure_that_stays_ends_the_loop_with_its_reason_and_a_hint(kind: FailureKind, calls: int) -> None:
    driver = looping([failing(kind)])
    loop = driver.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.FAILED, Outcome.FAILED, 1)
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
    assert [(call.session, call.ask.show_diff) for call in driver.calls(Role.SUPERVISOR)] == [
        *((SessionUse.FORK, False), (SessionUse.NEW, True))
    ]


def test_a_retry_stops_at_the_money_but_not_at_the_rounds() -> None:
    crash = Answer(usage=Usage(cost_usd=0.5), failure=Failure(FailureKind.CRASHED, "again"))
    driver = looping([crash], Budget(iterations=1, cost_usd=1.0))
    assert driver.run().outcome is Outcome.BUDGET
    assert len(driver.calls()) == 2
    driver.tell("budget", BudgetChanged("cost", 10.0))
    driver.tell("resume", ResumeRequested())
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
    driver = looping([Reply(session_id="s1", interrupted="crash"), DONE])
    driver.run()
    assert driver.calls()[1].session_id == "s1"


@pytest.mark.parametrize(
    ("supervisor", "use", "session_id"),
    [(None, SessionUse.FORK, "s1"), (BARE, SessionUse.NEW, None), (SPARE, SessionUse.NEW, None)],
)
def test_the_reviewer_is_a_fork_of_the_worker_or_is_shown_everything(
    supervisor: AgentChoice | None, use: SessionUse, session_id: str | None
) -> None:
    options = {"supervisor_prompt": "Be strict."}
    replies = by_role(Answer(DONE, session_id="s1"), AGREED)
    driver = looping(replies, supervisor=supervisor, review=True, options=options)
    assert driver.run().outcome is Outcome.VERIFIED
    (call,) = driver.calls(Role.SUPERVISOR)
    assert (call.session, call.session_id) == (use, session_id)
    assert (call.ask.system_prompt or "").startswith("Be strict.")
    assert ("All of it." in call.ask.prompt) == call.ask.show_diff == (use is SessionUse.NEW)


def test_the_reviewer_hears_the_person_and_no_earlier_feedback() -> None:
    words = iter(["The docs are missing.", AGREED])

    def answers(action: AskAgent, _loop: Loop) -> Reply | str:
        if action.ask.role is Role.SUPERVISOR:
            return next(words)
        return Reply(Answer(DONE, session_id="s1"), changes=Changes(str(action.iteration)))

    driver = looping(answers, review=True, task="Write a parser.")
    driver.tell("say", MessageSent("[r+3] In Rust."))
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
    driver.tell("resume", ResumeRequested())
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


# --- a crash is the ordinary door ---


def test_a_turn_that_nobody_finished_is_written_down_and_stays_counted() -> None:
    driver = looping(["lost", DONE], Budget(iterations=2))
    driver.claim()
    driver.journal.append(TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "prompt"))
    driver.crash()
    assert driver.run().spend.iterations == 2
    assert list(driver.events(TurnInterrupted)) == [TurnInterrupted(Role.WORKER, 1, "crash")]


def test_an_answer_that_was_written_down_is_not_asked_for_again() -> None:
    driver = looping([DONE], checks=("make",))
    driver.claim()
    driver.step()
    driver.crash()
    assert driver.run().outcome is Outcome.VERIFIED
    assert len(driver.calls()) == 1
    assert len(list(driver.events(AnswerRead))) == len(list(driver.events(GatesRan))) == 1
