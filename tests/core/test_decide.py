"""`decide`: what a loop does next, driven in memory until it rests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from untildone.core.actions import AskAgent, AwaitPerson, Rest
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    BudgetWarned,
    Event,
    GatesRan,
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StopRequested,
    TurnInterrupted,
    TurnStarted,
    WorkspaceSeen,
)
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import (
    Answer,
    Budget,
    Changes,
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
from untildone.testing.driver import Driver, Reply, fails, looping, passes
from untildone.testing.journal_laws import check_laws

DONE = "All of it.\n<promise>COMPLETE</promise>"
AGREED = "[TASK_COMPLETED {word}]"


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
        (Budget(iterations=3), 3, "No remaining rounds. Stopping. 3 of 3 rounds used."),
        (Budget(minutes=2.0), 2, "2 of 2 minutes used."),
        (Budget(cost_usd=1.0), 4, "1 of 1 dollars used."),
        (Budget(tokens=250), 3, "300 of 250 tokens used."),
        (Budget(iterations=2, minutes=2.0, cost_usd=0.5, tokens=200), 2, "2 of 2 rounds used."),
        (Budget(iterations=0), 0, "0 of 0 rounds used."),
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
    driver.send("say", MessageSent("[r+2] and the docs"))
    driver.send("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.BUDGET
    assert [call.iteration for call in driver.calls()] == [1, 2, 3, 4]
    assert "and the docs" in driver.calls()[2].ask.prompt


@pytest.mark.parametrize(("reason", "words"), [("budget", "There is more budget now"), ("timeout", "in smaller steps")])
def test_the_worker_is_told_that_its_turn_was_cut_off_until_it_has_answered(reason: str, words: str) -> None:
    def answers(action: AskAgent, _loop: Loop) -> Reply:
        cut_off = Reply(interrupted=Interruption(reason))
        return cut_off if action.iteration in (2, 3) else busy(action, _loop)

    driver = looping(answers, Budget(iterations=5))
    driver.run()
    assert [words in call.prompt for call in driver.calls()] == [False, False, True, True, False]


def test_a_warning_at_three_quarters_once_and_again_after_a_raise() -> None:
    driver = looping(busy, Budget(iterations=4))
    driver.run()
    assert list(driver.events(BudgetWarned)) == [BudgetWarned(Limit.ITERATIONS, 3, 4)]
    driver.send("budget", BudgetChanged(Limit.ITERATIONS, 8))
    driver.send("resume", ResumeRequested())
    driver.run()
    assert list(driver.events(BudgetWarned)) == [
        BudgetWarned(Limit.ITERATIONS, 3, 4),
        BudgetWarned(Limit.ITERATIONS, 6, 8),
    ]


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


def test_a_warning_can_be_set_to_an_iteration() -> None:
    driver = looping(busy, Budget(iterations=20), warn_from=15)
    driver.run()
    assert list(driver.events(BudgetWarned)) == [BudgetWarned(Limit.ITERATIONS, 15, 20)]


def test_budget_is_named_before_a_stall() -> None:
    assert looping(["the same"], Budget(iterations=3)).run().outcome is Outcome.BUDGET
    assert looping(["the same"], Budget(iterations=4)).run().outcome is Outcome.STALLED


def test_a_review_takes_no_iteration_but_costs() -> None:
    agrees = looping(by_role(DONE, AGREED), Budget(iterations=1), review=True)
    assert agrees.run().outcome is Outcome.VERIFIED
    dear = Answer(DONE, usage=Usage(cost_usd=1.0))
    assert looping(by_role(dear, AGREED), Budget(cost_usd=1.0), review=True).run().outcome is Outcome.BUDGET


def test_a_turn_is_told_what_money_is_left() -> None:
    driver = looping(busy, Budget(iterations=2, cost_usd=1.0))
    driver.run()
    assert [call.max_cost_usd for call in driver.calls()] == [1.0, 0.75]


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
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.BLOCKED)


@pytest.mark.parametrize(("second", "outcome"), [(True, Outcome.VERIFIED), (False, Outcome.BUDGET)])
def test_what_a_supervisor_changed_is_checked_again(second: bool, outcome: Outcome) -> None:
    def answers(action: AskAgent, _loop: Loop) -> Reply:
        worker = action.ask.role is Role.WORKER
        return Reply(Answer(DONE if worker else AGREED), changes=Changes(f"left by the {action.ask.role.value}"))

    passing = iter([True, second])
    ran = looping(
        answers,
        Budget(iterations=1),
        gates=lambda command, _loop: passes(command) if next(passing) else fails(command),
        checks=("make",),
        review=True,
    )
    assert ran.run().outcome is outcome
    assert ran.gates_run == ["make", "make"]
    assert len(ran.calls(Role.SUPERVISOR)) == 1, "its word is about what it left"


def test_a_supervisor_who_changes_nothing_costs_no_second_check() -> None:
    ran = looping(by_role(DONE, AGREED), checks=("make",), review=True)
    assert ran.run().outcome is Outcome.VERIFIED
    assert ran.gates_run == ["make"]


@pytest.mark.parametrize(("now", "times"), [("as it was", 1), ("edited meanwhile", 2)])
def test_what_changed_while_nobody_drove_the_loop_is_judged_anew(now: str, times: int) -> None:
    ran = looping(by_role(DONE, Answer(AGREED)), checks=("make",), review=True)
    ran.lease()
    while not ran.gates_run:
        ran.step()
    ran.send("pause", PauseRequested())
    assert ran.run().outcome is Outcome.PAUSED
    ran.send("resume", ResumeRequested())
    if now != ran.loop.last_seen:
        ran.journal.append(WorkspaceSeen(Changes(now)))
    assert ran.run().outcome is Outcome.VERIFIED
    assert (ran.gates_run, len(ran.calls(Role.SUPERVISOR))) == (["make"] * times, 1)
    assert ran.loop.start.fingerprint == "as it was", "how the loop found the workspace stays known"


def test_require_change_does_not_believe_a_claim_without_one() -> None:
    idle = looping([DONE], Budget(iterations=2), require_change=True)
    assert idle.run().outcome is Outcome.BUDGET
    assert "nothing changed in the workspace" in idle.calls()[1].ask.prompt
    changed = Reply(Answer(DONE), changes=Changes("new"))
    assert looping([changed], require_change=True).run().outcome is Outcome.CLAIMED  # a condition proves nothing
    assert looping([changed], require_change=True, checks=("true",)).run().outcome is Outcome.VERIFIED


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
    assert list(driver.events(TurnInterrupted)) == [TurnInterrupted(Role.WORKER, 1, Interruption.CONTROL, 1.0)]


def test_a_pause_while_the_gates_run_is_obeyed_and_resume_runs_them_again() -> None:
    def gate(command: str, _loop: Loop) -> GateResult:
        if len(driver.gates_run) == 1:
            driver.send("pause", PauseRequested(Urgency.NOW))
        return passes(command)

    driver = looping([DONE], gates=gate, checks=("make", "make lint"))
    assert driver.run().outcome is Outcome.PAUSED
    driver.send("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.VERIFIED
    assert driver.gates_run == ["make", "make", "make lint"]
    assert len(driver.calls()) == 1


def test_stop_ends_a_loop_that_is_paused_or_never_started() -> None:
    paused = looping([Reply(Answer("x"), meanwhile=(PauseRequested(),))])
    paused.run()
    paused.send("stop", StopRequested())
    assert paused.run().outcome is Outcome.STOPPED
    created = Driver(busy).create(paused.loop.settings, Budget())
    created.send("stop", StopRequested())
    assert (created.run().outcome, created.asked) == (Outcome.STOPPED, [])


def test_a_loop_that_was_not_started_or_is_paused_rests() -> None:
    created = Driver(busy).create(looping(busy).loop.settings, Budget())
    assert created.step() == Rest(None)
    paused = looping(busy, Budget(iterations=0))
    paused.run()
    assert paused.step() == Rest(Outcome.BUDGET)


PAUSE, STOP = PauseRequested(), StopRequested()
ABANDON = StopRequested(outcome=Outcome.ABANDONED)
INTERRUPT = PauseRequested(Urgency.NOW, Outcome.INTERRUPTED)
RESUME, SAY, MORE = ResumeRequested(), MessageSent("and the docs"), BudgetChanged(Limit.ITERATIONS, 1, add=True)
ORDERS: dict[str, Event] = {
    "pause": PAUSE,
    "pause --now": PauseRequested(Urgency.NOW),
    "interrupt": INTERRUPT,
    "resume": RESUME,
    "stop": STOP,
    "stop --now": StopRequested(Urgency.NOW),
    "abandon": ABANDON,
    "say": SAY,
    "budget": MORE,
}


def expected(first: str, second: str) -> Outcome:
    """Giving up is final, a stop nearly so; else the last word about going on counts; else the two rounds run out."""
    both = (first, second)
    if "abandon" in both:
        return Outcome.ABANDONED
    if any(each.startswith("stop") for each in both):
        return Outcome.STOPPED
    about_going_on = [each for each in both if each not in ("say", "budget")]
    last = about_going_on[-1] if about_going_on else "resume"
    return {"resume": Outcome.BUDGET, "interrupt": Outcome.INTERRUPTED}.get(last, Outcome.PAUSED)


@pytest.mark.parametrize("first", ORDERS)
@pytest.mark.parametrize("second", ORDERS)
def test_two_orders_at_once_come_to_one_legal_end(first: str, second: str) -> None:
    """Both are in the journal before the loop looks again."""
    turns = iter([Reply(Answer("one"), changes=Changes("a"), meanwhile=(ORDERS[first], ORDERS[second]))])
    ran = looping(
        lambda action, _loop: next(turns, Reply(Answer(f"{action.iteration}"), changes=Changes(f"{action.iteration}"))),
        Budget(iterations=2),
    )
    ran.run()
    loop = check_laws(ran)
    assert loop.outcome is expected(first, second)
    assert loop.status is loop.outcome.status
    assert (loop.pause, loop.stop) == (None, None), "no order is left over"
    if "say" in (first, second):
        heard = any("and the docs" in call.ask.prompt for call in ran.calls())
        assert heard or loop.status is Status.FAILED or "and the docs" in loop.inbox


def test_stop_is_stronger_than_pause() -> None:
    driver = looping([Reply(Answer("x"), meanwhile=(PauseRequested(), StopRequested()))])
    assert driver.run().outcome is Outcome.STOPPED


def test_a_person_who_interrupts_is_asked_and_may_leave_and_resume() -> None:
    questions: list[AwaitPerson] = []

    def person(question: AwaitPerson, _loop: Loop) -> str | None:
        questions.append(question)
        return "use sqlite" if len(questions) == 1 else None

    replies = [Reply(interrupted=Interruption.PERSON), Reply(interrupted=Interruption.PERSON), Reply(Answer(DONE))]
    driver = looping(replies, person=person)
    assert driver.run().outcome is Outcome.INTERRUPTED
    assert "use sqlite" in driver.calls()[1].ask.prompt
    driver.send("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.CLAIMED
    assert "use sqlite" in driver.calls()[2].ask.prompt


# --- a crash is the ordinary door ---


def test_a_turn_that_nobody_finished_is_written_down_and_stays_counted() -> None:
    driver = looping(["lost", DONE], Budget(iterations=2))
    driver.lease()
    driver.journal.append(TurnStarted(Role.WORKER, 1, 1, "worker", SessionUse.NEW, "prompt"))
    driver.crash()
    assert driver.run().spend.iterations == 2
    assert list(driver.events(TurnInterrupted)) == [TurnInterrupted(Role.WORKER, 1, Interruption.CRASH)]


def test_an_answer_that_was_written_down_is_not_asked_for_again() -> None:
    driver = looping([DONE], checks=("make",))
    driver.lease()
    driver.step()
    driver.crash()
    assert driver.run().outcome is Outcome.VERIFIED
    assert len(driver.calls()) == 1
    assert len(list(driver.events(AnswerRead))) == len(list(driver.events(GatesRan))) == 1
