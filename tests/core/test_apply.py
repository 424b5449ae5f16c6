"""`apply`: what each event changes, in each status, and that reading one twice changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.actions import Record
from untildone.core.apply import apply
from untildone.core.applying.sessions import usage_of, with_total
from untildone.core.applying.turns import KEPT_ANSWER
from untildone.core.decide import decide
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    BudgetWarned,
    Entry,
    Event,
    GatesRan,
    GateStarted,
    HookTriggered,
    LimitReached,
    LiveStateSeen,
    LoopCreated,
    LoopRenamed,
    MessageSent,
    PauseRequested,
    PromptReinjected,
    Rested,
    ResumeRequested,
    RunnerLeased,
    SessionOpened,
    SessionRead,
    StartRequested,
    StateRepaired,
    StopRequested,
    SubtasksChanged,
    TurnEnded,
    TurnInterrupted,
    TurnRetried,
    TurnStarted,
    UsageSeen,
    WorkspaceSeen,
)
from untildone.core.kinds import Host, Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop, Runner, Stall, UsageLimit
from untildone.core.model import (
    Answer,
    Budget,
    Changes,
    Failure,
    FailureKind,
    GateResult,
    LoopSettings,
    Outcome,
    Role,
    Session,
    SessionUse,
    SoFar,
    Spend,
    Status,
    SubtaskChange,
    Urgency,
    Usage,
)
from untildone.core.values.value import replace
from untildone.gates import gates_of
from untildone.modes import find
from untildone.testing.driver import NOON, WORKER

SETTINGS = LoopSettings(mode="ralph", worker=WORKER, workspace="/workspace")
CREATED = LoopCreated("loop-1", "a title", "the task", SETTINGS, Budget(iterations=5))
CRASHED = Failure(FailureKind.CRASHED, "it fell over")
PASSED, FAILED = GateResult("check", "make", passed=True), GateResult("check", "make", passed=False, tail="no")


def after(*events: Event, of: Loop | None = None) -> Loop:
    loop = of or apply(None, Entry(1, NOON, CREATED))
    for event in events:
        loop = apply(loop, Entry(loop.seq + 1, loop.updated_at + 1, event))
    return loop


def begins(
    iteration: int = 1,
    attempt: int = 1,
    role: Role = Role.WORKER,
    session: SessionUse = SessionUse.NEW,
    messages: int = 0,
    profile: str = "worker",
) -> TurnStarted:
    return TurnStarted(role, iteration, attempt, profile, session, "prompt", messages)


def ends(text: str = "", iteration: int = 1, role: Role = Role.WORKER, **answer: object) -> TurnEnded:
    return TurnEnded(role, iteration, Answer(text, **answer), 2.0)  # type: ignore[arg-type]


RUNNING = after(StartRequested())
LOOPS = {
    Status.CREATED: after(),
    Status.RUNNING: RUNNING,
    Status.PAUSED: after(Rested(Outcome.PAUSED), of=RUNNING),
    Status.COMPLETED: after(AnswerRead(claimed=True), Rested(Outcome.CLAIMED), of=RUNNING),
    Status.FAILED: after(Rested(Outcome.FAILED), of=RUNNING),
}
EVERY_EVENT: tuple[Event, ...] = (
    RunnerLeased("token", 7, "here"),
    StartRequested(),
    PauseRequested(),
    ResumeRequested(skip_wait=True),
    StopRequested(),
    MessageSent("[r+2] more"),
    BudgetChanged(Limit.COST, 5.0),
    WorkspaceSeen(Changes("seen")),
    begins(),
    SessionOpened(Role.WORKER, "worker", "s1"),
    UsageSeen(Role.WORKER, 1, SoFar(Usage(0.25, 5), 2.0, "2026-01-01")),
    ends("text", session_id="s1", usage=Usage(0.5, 10)),
    TurnInterrupted(Role.WORKER, 1, Interruption.CRASH, 3.0),
    TurnRetried(Role.WORKER, 1, 1, CRASHED, NOON + 5),
    LimitReached("worker", NOON + 60, "limit"),
    AnswerRead(claimed=True, skill_state={"a": 1}),
    GateStarted("pytest -q"),
    GatesRan((FAILED,), 1.0),
    BudgetWarned(Limit.COST, 4.0, 5.0),
    SubtasksChanged((SubtaskChange("1", "write it"),)),
    LoopRenamed("another title"),
    LiveStateSeen("# state"),
    Rested(Outcome.BUDGET, "used up"),
    StateRepaired("a line"),
    HookTriggered("s1", stop_hook_active=True),
    SessionRead(("before", "the task")),
    PromptReinjected(2),
)


@pytest.mark.parametrize(
    "over",
    [GatesRan((FAILED,)), begins(), Rested(Outcome.PAUSED), RunnerLeased("t", 1, "here")],
    ids=["spoke", "next turn", "rest", "new runner"],
)
def test_a_check_runs_until_it_speaks_or_nobody_waits_for_it(over: Event) -> None:
    running = after(StartRequested(), AnswerRead(claimed=True), GateStarted("pytest -q"))
    assert running.gate is not None
    assert (running.gate.command, running.gate.started_at) == ("pytest -q", running.updated_at)
    assert after(over, of=running).gate is None


def test_the_first_entry_makes_the_loop() -> None:
    loop = after()
    assert (loop.loop_id, loop.title, loop.description) == ("loop-1", "a title", "the task")
    assert (loop.status, loop.outcome, loop.seq) == (Status.CREATED, None, 1)
    assert loop.asked == ("the task",)
    assert (loop.created_at, loop.updated_at) == (NOON, NOON)


def test_a_journal_that_does_not_begin_with_the_creation_is_refused() -> None:
    with pytest.raises(ValueError, match="loop_created"):
        apply(None, Entry(1, NOON, StartRequested()))


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda event: type(event).__name__)
def test_reading_an_entry_twice_changes_nothing(event: Event) -> None:
    entry = Entry(9, NOON + 9, event)
    once = apply(after(begins(), of=RUNNING), entry)
    assert apply(once, entry) == once
    assert apply(once, Entry(2, NOON + 99, CREATED)) == once
    assert (once.seq, once.updated_at) == (9, NOON + 9)


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda event: type(event).__name__)
def test_nothing_but_its_title_changes_of_a_loop_that_has_ended(status: Status, event: Event) -> None:
    ended = LOOPS[status]
    changed = after(event, of=ended)
    kept = replace(changed, seq=ended.seq, updated_at=ended.updated_at, runner=None, host=ended.host, title=ended.title)
    assert kept == ended


CONTROLS: dict[str, tuple[Event, dict[Status, Status]]] = {
    "start": (StartRequested(), {Status.CREATED: Status.RUNNING}),
    "pause": (PauseRequested(), {}),
    "resume": (ResumeRequested(), {Status.CREATED: Status.RUNNING, Status.PAUSED: Status.RUNNING}),
    "stop": (StopRequested(), {}),
}


@pytest.mark.parametrize("verb", CONTROLS)
@pytest.mark.parametrize("status", Status)
def test_control_in_each_status_and_said_twice(status: Status, verb: str) -> None:
    event, becomes = CONTROLS[verb]
    once = after(event, of=LOOPS[status])
    twice = after(event, of=once)
    assert once.status is becomes.get(status, status)
    assert replace(twice, seq=once.seq, updated_at=once.updated_at) == once


@pytest.mark.parametrize("status", Status)
def test_a_pause_order_stands_only_while_the_loop_runs_and_a_stop_order_until_it_ended(status: Status) -> None:
    loop = LOOPS[status]
    assert (after(PauseRequested(), of=loop).pause is not None) == (status is Status.RUNNING)
    assert (after(StopRequested(), of=loop).stop is not None) == (not status.ended)


def test_resume_takes_back_a_pause_that_was_not_obeyed_yet_but_not_a_stop() -> None:
    loop = after(PauseRequested(), StopRequested(), ResumeRequested(), of=RUNNING)
    assert loop.pause is None
    assert loop.stop is not None


@pytest.mark.parametrize("order", [PauseRequested, StopRequested])
def test_now_said_again_without_now_stays_now(order: type[PauseRequested] | type[StopRequested]) -> None:
    assert after(order(Urgency.NOW), order(), of=RUNNING).interrupts_now
    assert after(order(), order(Urgency.NOW), of=RUNNING).interrupts_now
    assert not after(order(), order(), of=RUNNING).interrupts_now


def test_resume_forgets_outcome_stall_and_the_question_to_the_person() -> None:
    stuck = replace(RUNNING, stall=Stall("x", 3, "y", 3, unchanged=True))
    rested = after(TurnInterrupted(Role.WORKER, 1, Interruption.PERSON), Rested(Outcome.STALLED, "again"), of=stuck)
    resumed = after(ResumeRequested(), of=rested)
    assert (rested.asks_person, rested.outcome, rested.reason) == (True, Outcome.STALLED, "again")
    assert (resumed.asks_person, resumed.outcome, resumed.reason, resumed.stall) == (False, None, "", Stall())


def test_rest_clears_orders_runner_and_turn_and_gives_back_what_the_turn_carried() -> None:
    loop = after(MessageSent("hello"), RunnerLeased("t", 1, "here"), begins(messages=1), PauseRequested(), of=RUNNING)
    rested = after(Rested(Outcome.FAILED, "no key"), of=loop)
    assert (rested.turn, rested.pause, rested.stop, rested.runner) == (None, None, None, None)
    assert rested.inbox == ("hello",)


@pytest.mark.parametrize("outcome", Outcome)
def test_an_outcome_leaves_its_status(outcome: Outcome) -> None:
    checked = replace(RUNNING, settings=replace(SETTINGS, checks=("make",)))
    claimed = after(AnswerRead(claimed=True), of=RUNNING if outcome is Outcome.CLAIMED else checked)
    judged = after(GatesRan((PASSED,)), of=claimed) if outcome is Outcome.VERIFIED else claimed
    rested = after(Rested(outcome, "why"), of=judged)
    assert (rested.status, rested.outcome, rested.reason) == (outcome.status, outcome, "why")


OPEN = (Status.CREATED, Status.RUNNING, Status.PAUSED)
MESSAGES = [
    ("also the docs", 5, ("also the docs",)),
    ("[r+3] also the docs", 8, ("also the docs",)),
    ("[R=2][r+1]  also the docs ", 3, ("also the docs",)),
    ("[r+10]", 15, ()),
    ("the docs [r+3]", 5, ("the docs [r+3]",)),
    ("[r+1.5] docs", 5, ("[r+1.5] docs",)),
    ("", 5, ()),
    ("  \n", 5, ()),
]


@pytest.mark.parametrize("status", OPEN)
@pytest.mark.parametrize(("text", "iterations", "inbox"), MESSAGES)
def test_a_message_with_round_control_in_each_status(
    status: Status, text: str, iterations: int, inbox: tuple[str, ...]
) -> None:
    loop = after(MessageSent(text), of=LOOPS[status])
    assert (loop.status, loop.budget.iterations, loop.inbox) == (status, iterations, inbox)
    assert loop.asked == ("the task", *inbox)


def test_rounds_are_counted_from_what_is_spent() -> None:
    spent = replace(RUNNING, spend=Spend(iterations=4))
    assert after(MessageSent("[r=3]"), of=spent).budget.iterations == 7
    assert after(MessageSent("[r+3]"), of=spent).budget.iterations == 8
    beyond = replace(spent, budget=Budget(iterations=2))
    assert after(MessageSent("[r+3]"), of=beyond).budget.iterations == 7


def test_without_a_limit_rounds_can_be_set_but_not_added() -> None:
    free = replace(RUNNING, budget=Budget(), spend=Spend(iterations=4))
    assert after(MessageSent("[r+3] on"), of=free).budget.iterations is None
    assert after(MessageSent("[r=3] on"), of=free).budget.iterations == 7


def test_a_message_is_news_to_an_agent_that_repeats_itself() -> None:
    stuck = replace(RUNNING, stall=Stall("x", 3))
    assert after(MessageSent("use port 5433"), of=stuck).stall == Stall()
    assert after(MessageSent("[r+3]"), of=stuck).stall == stuck.stall


@pytest.mark.parametrize(
    "comes_to_nothing",
    [
        TurnInterrupted(Role.WORKER, 1, Interruption.CONTROL, 3.0),
        TurnRetried(Role.WORKER, 1, 1, CRASHED, NOON + 5),
        LimitReached("worker", NOON + 60, "limit"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_turn_consumes_the_inbox_and_gives_it_back_when_it_comes_to_nothing(comes_to_nothing: Event) -> None:
    instructed = after(MessageSent("one"), MessageSent("two"), of=RUNNING)
    at_work = after(begins(messages=2), MessageSent("three"), of=instructed)
    assert at_work.inbox == ("three",)
    back = after(comes_to_nothing, of=at_work)
    assert back.inbox == ("one", "two", "three")
    assert back.turn is None
    assert after(ends("ok"), AnswerRead(claimed=False), of=at_work).inbox == ("three",)


def test_an_interrupted_iteration_stays_counted_and_a_limited_one_is_given_back() -> None:
    at_work = after(begins(3), of=RUNNING)
    assert after(TurnInterrupted(Role.WORKER, 3, Interruption.CRASH, 4.0), of=at_work).spend == Spend(
        iterations=3, seconds=4.0
    )
    assert after(LimitReached("worker", NOON, "limit"), of=at_work).spend.iterations == 2
    assert after(LimitReached("another", NOON, "limit"), of=at_work).spend.iterations == 3
    consulted = after(begins(3, role=Role.SUPERVISOR), of=replace(RUNNING, spend=Spend(iterations=3)))
    assert after(LimitReached("worker", NOON, "limit"), of=consulted).spend.iterations == 3


def test_a_retry_keeps_its_iteration_and_only_a_fresh_one_drops_the_session() -> None:
    at_work = after(begins(2), SessionOpened(Role.WORKER, "worker", "s1"), of=RUNNING)
    retried = after(TurnRetried(Role.WORKER, 2, 1, CRASHED, NOON + 5), of=at_work)
    assert (retried.next_iteration, retried.spend.iterations) == (2, 2)
    assert retried.session_of(Role.WORKER, "worker") == Session("s1")
    again = after(begins(2, attempt=2, session=SessionUse.RESUME), of=retried)
    assert (again.retry, again.spend.iterations) == (None, 2)
    fresh = after(TurnRetried(Role.WORKER, 2, 1, CRASHED, NOON, fresh_session=True), of=at_work)
    assert fresh.session_of(Role.WORKER, "worker") is None


def test_an_answer_is_kept_until_it_is_read_and_only_its_end_after_that() -> None:
    long = "a" * KEPT_ANSWER + "the end"
    answered = after(begins(), ends(long, agent_version="1.2"), of=RUNNING)
    assert answered.answer is not None
    assert answered.agent_version == "1.2"
    read = after(AnswerRead(claimed=False, skill_state={"phase": "plan"}), of=answered)
    assert (read.turn, read.answer, read.skill_state) == (None, None, {"phase": "plan"})
    assert read.last_answer == long[-KEPT_ANSWER:]
    assert after(AnswerRead(claimed=False), of=read).skill_state == {"phase": "plan"}


def test_a_new_claim_begins_with_no_gate_and_a_failed_gate_takes_it_back() -> None:
    claimed = after(AnswerRead(claimed=True), of=replace(RUNNING, gates=(FAILED,)))
    assert (claimed.claimed, claimed.gates) == (True, ())
    agreed = after(GatesRan((PASSED,), 1.5), of=claimed)
    assert (agreed.claimed, agreed.gates, agreed.spend.seconds) == (True, (PASSED,), 1.5)
    refused = after(GatesRan((FAILED,)), of=agreed)
    assert (refused.claimed, refused.failed_gates) == (False, (FAILED,))
    assert after(AnswerRead(claimed=False), of=refused).failed_gates == (FAILED,)


def test_a_worker_at_work_again_claims_nothing_and_a_supervisor_at_work_leaves_the_claim() -> None:
    claimed = after(AnswerRead(claimed=True), of=RUNNING)
    assert not after(begins(), of=claimed).claimed
    assert after(begins(role=Role.SUPERVISOR), of=claimed).claimed


def test_an_answer_of_an_agent_lifts_its_limit_and_no_other() -> None:
    limits = {"worker": UsageLimit(NOON, "a", 3), "other": UsageLimit(NOON, "b")}
    at_work = after(begins(), of=replace(RUNNING, limits=limits))
    assert after(ends("ok"), of=at_work).limits == {"other": UsageLimit(NOON, "b")}
    assert after(ends(failure=CRASHED), of=at_work).limits == limits


def test_resume_now_forgets_every_wait() -> None:
    limited = after(begins(), LimitReached("worker", NOON + 900, "limit"), of=RUNNING)
    retried = after(begins(), TurnRetried(Role.WORKER, 1, 1, CRASHED, NOON + 900), of=limited)
    at_once = after(ResumeRequested(skip_wait=True), of=retried)
    assert at_once.limits == {}
    assert at_once.retry is not None
    assert at_once.retry.not_before == 0.0
    later = after(ResumeRequested(), of=retried)
    assert (later.limits, later.retry) == (retried.limits, retried.retry)


def test_a_warning_is_due_again_once_the_budget_was_raised() -> None:
    warned = after(BudgetWarned(Limit.ITERATIONS, 4, 5), of=replace(RUNNING, spend=Spend(iterations=4)))
    assert warned.warned == ("iterations",)
    assert after(BudgetChanged(Limit.ITERATIONS, 5, add=True), of=warned).warned == ()
    assert after(MessageSent("[r+5]"), of=warned).warned == ()
    assert after(BudgetChanged(Limit.COST, 5.0), of=warned).warned == ("iterations",)
    assert after(BudgetChanged(Limit.ITERATIONS, 5), of=warned).warned == ("iterations",)


def test_who_drives_what_was_seen_and_what_tasks_there_are() -> None:
    loop = after(
        RunnerLeased("token", 7, "here"),
        WorkspaceSeen(Changes("seen", head="abc")),
        SubtasksChanged((SubtaskChange("1", "write it"), SubtaskChange("2", "test it"))),
        LiveStateSeen("# state"),
        of=RUNNING,
    )
    assert loop.runner == Runner("token", 7, "here")
    assert loop.start == loop.changes == Changes("seen", head="abc")
    assert [task.text for task in loop.tasks] == ["write it", "test it"]
    assert loop.live_state == "# state"
    assert after(AnswerRead(claimed=False), of=loop).live_state is None


@pytest.mark.parametrize(
    ("events", "host"),
    [
        ((), ""),
        ((StartRequested(Host.SERVER),), "server"),
        ((StartRequested(Host.SERVER), RunnerLeased("t", 1, "here", Host.SERVER), Rested(Outcome.BUDGET)), "server"),
        ((StartRequested(Host.SERVER), RunnerLeased("t", 1, "here")), "terminal"),
        ((StartRequested(Host.SERVER), RunnerLeased("t", 1, "here", Host.NONE)), "server"),
        ((StartRequested(), ResumeRequested(host=Host.SERVER)), "server"),
        ((StartRequested(Host.SERVER), StartRequested()), "server"),
        ((StartRequested(Host.SERVER), ResumeRequested()), "server"),
    ],
)
def test_which_kind_of_host_a_loop_belongs_to(events: tuple[Event, ...], host: str) -> None:
    assert after(*events).host == host


def test_a_loop_takes_another_title_also_when_it_has_ended() -> None:
    renamed = after(LoopRenamed("another"), of=RUNNING)
    assert renamed.title == "another"
    assert after(Rested(Outcome.STOPPED), LoopRenamed("third"), of=renamed).title == "third"


def test_text_that_is_no_valid_unicode_does_no_harm() -> None:
    assert after(begins(), ends("half a \ud83d face"), of=RUNNING).stall.answers == 1


# --- what an agent used, where it tells only the totals of its session ---


class Codex:
    """An agent program whose sessions count up, and whose forks begin with the count of what they copy."""

    def __init__(self) -> None:
        self.totals: dict[str, int] = {}
        self.used = 0

    def run(self, session: SessionUse, session_id: str | None, tokens: int) -> Answer:
        mine = session_id if session is SessionUse.RESUME and session_id else f"s{len(self.totals)}"
        base = self.totals.get(session_id or "", 0) if session is not SessionUse.NEW else 0
        self.totals[mine] = base + tokens
        self.used += tokens
        return Answer("ok", session_id=mine, session_total=Usage(tokens=self.totals[mine]))


turns = st.lists(
    st.tuples(st.sampled_from(["new", "resume", "fork"]), st.integers(0, 10_000), st.booleans()), max_size=12
)


@given(turns=turns)
def test_session_totals_over_resume_and_fork_give_exactly_what_each_run_used(
    turns: list[tuple[str, int, bool]],
) -> None:
    codex, loop = Codex(), RUNNING
    for word, tokens, opened in turns:
        use = SessionUse(word)
        role = Role.SUPERVISOR if use is SessionUse.FORK else Role.WORKER
        known = loop.session_of(Role.WORKER, "worker")
        use = use if known else SessionUse.NEW
        loop = after(begins(role=role, session=use), of=loop)
        answer = codex.run(use, known.session_id if known else None, tokens)
        if opened and answer.session_id:
            loop = after(SessionOpened(role, "worker", answer.session_id), of=loop)
        loop = after(TurnEnded(role, 1, answer, 1.0), AnswerRead(claimed=False), of=loop)
        assert loop.spend.tokens == codex.used


def test_totals_that_an_interrupted_turn_ran_up_are_counted_with_the_next_answer() -> None:
    first = after(begins(), ends("a", session_id="s1", session_total=Usage(1.0, 100)), of=RUNNING)
    cut = after(
        begins(2, session=SessionUse.RESUME), TurnInterrupted(Role.WORKER, 2, Interruption.TIMEOUT, 9.0), of=first
    )
    again = after(begins(3, session=SessionUse.RESUME), of=cut)
    assert after(ends("b", session_id="s1", session_total=Usage(1.75, 180)), of=again).spend.tokens == 180


CUT = TurnInterrupted(Role.WORKER, 1, Interruption.BUDGET, 9.0, Usage(tokens=300), session_total=Usage(tokens=300))


@pytest.mark.parametrize(
    ("before", "total", "messages", "spent"),
    [
        pytest.param((), 480, 180, 480, id="as the messages say"),
        pytest.param((), 480, None, 480, id="nobody read the messages"),
        pytest.param((), 480, 200, 500, id="an agent of the agent used some"),
        pytest.param((), 480, 100, 480, id="a message was not read"),
        pytest.param((), 280, 180, 480, id="the program forgot its last message"),
        pytest.param(
            (begins(), ends("a", session_id="s1", session_total=Usage(tokens=100))), 480, 180, 580, id="later"
        ),
    ],
)
def test_what_a_turn_used_that_was_cut_off_is_not_counted_again_with_the_next(
    before: tuple[Event, ...], total: int, messages: int | None, spent: int
) -> None:
    first = after(*before, begins(), SessionOpened(Role.WORKER, "worker", "s1"), CUT, of=RUNNING)
    again = after(begins(2, session=SessionUse.RESUME), of=first)
    answer = ends("b", session_id="s1", usage=Usage(tokens=messages), session_total=Usage(tokens=total))
    assert after(answer, of=again).spend.tokens == spent


def test_a_turn_whose_runner_died_counts_with_what_was_seen_of_it_and_once() -> None:
    opened = SessionOpened(Role.WORKER, "worker", "s1")
    known = [UsageSeen(Role.WORKER, 1, SoFar(Usage(None, n), n / 100, "", Usage(None, n))) for n in (100, 300)]
    at_work = after(begins(), opened, *known, of=RUNNING)
    assert at_work.spend.tokens == 0
    action = decide(at_work, NOON, find("ralph"), gates_of)
    assert isinstance(action, Record)
    cut = after(*action.events, of=at_work)
    assert (cut.spend.tokens, cut.spend.seconds, cut.spend.iterations) == (300, 3.0, 1)
    again = after(begins(2, session=SessionUse.RESUME), of=cut)
    total = ends("b", session_id="s1", usage=Usage(tokens=50), session_total=Usage(tokens=350))
    assert after(total, of=again).spend.tokens == 350


@pytest.mark.parametrize(
    "late", [UsageSeen(Role.SUPERVISOR, 1, SoFar(Usage(tokens=9))), UsageSeen(Role.WORKER, 2, SoFar())]
)
def test_usage_of_another_turn_is_none_of_this_one(late: UsageSeen) -> None:
    at_work = after(begins(), UsageSeen(Role.WORKER, 1, SoFar(Usage(tokens=100))), of=RUNNING)
    assert after(late, of=at_work).turn == at_work.turn


def test_a_run_without_a_report_adds_its_messages_to_the_total_of_the_session() -> None:
    first = after(begins(), ends("a", session_id="s1", session_total=Usage(tokens=100)), of=RUNNING)
    again = after(begins(2, session=SessionUse.RESUME), of=first)
    answer = with_total(again, Answer(usage=Usage(tokens=70), failure=CRASHED), Usage(tokens=50))
    assert (answer.session_total, usage_of(again, answer)) == (Usage(tokens=150), Usage(tokens=70))
    reported = Answer(session_total=Usage(tokens=160))
    assert with_total(again, reported, Usage(tokens=50)) is reported
    assert with_total(again, Answer(), Usage()).session_total is None


def test_totals_that_were_counted_anew_are_not_negative() -> None:
    first = after(begins(), ends("a", session_id="s1", session_total=Usage(tokens=100)), of=RUNNING)
    again = after(begins(2, session=SessionUse.RESUME), of=first)
    assert after(ends("b", session_id="s2", session_total=Usage(tokens=30)), of=again).spend.tokens == 130


def test_a_total_told_without_a_session_id_is_not_counted_twice() -> None:
    first = after(begins(), ends("a", session_id="s1", session_total=Usage(tokens=100)), of=RUNNING)
    unnamed = after(
        begins(2, session=SessionUse.RESUME), ends(failure=CRASHED, session_total=Usage(tokens=150)), of=first
    )
    again = after(begins(2, attempt=2, session=SessionUse.RESUME), of=unnamed)
    done = after(ends("b", session_id="s1", session_total=Usage(tokens=170)), of=again)
    assert (unnamed.spend.tokens, done.spend.tokens) == (150, 170)


def test_a_fallback_agent_has_a_session_and_totals_of_its_own() -> None:
    loop = after(begins(), ends("a", session_id="s1", session_total=Usage(tokens=100)), of=RUNNING)
    loop = after(begins(2, profile="spare"), ends("b", session_id="x", session_total=Usage(tokens=40)), of=loop)
    loop = after(begins(3, session=SessionUse.RESUME), of=loop)
    loop = after(ends("c", session_id="s1", session_total=Usage(tokens=110)), of=loop)
    assert loop.spend.tokens == 150
    assert loop.sessions == {
        "worker:worker": Session("s1", Usage(tokens=110)),
        "worker:spare": Session("x", Usage(tokens=40)),
    }


def test_plain_usage_adds_up_and_silence_costs_nothing() -> None:
    loop = after(begins(), ends("a", usage=Usage(0.25, 100)), begins(2), ends("b"), begins(3), of=RUNNING)
    loop = after(ends("c", usage=Usage(0.5, None)), of=loop)
    assert loop.spend == Spend(iterations=3, seconds=6.0, cost_usd=0.75, tokens=100)


# --- how often in a row the same ---


def answers(*turns: tuple[str, str], of: Loop = RUNNING) -> Loop:
    for text, fingerprint in turns:
        loop = after(begins(), of=of)
        of = after(
            TurnEnded(Role.WORKER, 1, Answer(text), 1.0, Changes(fingerprint)), AnswerRead(claimed=False), of=loop
        )
    return of


@pytest.mark.parametrize(
    ("turns", "count"),
    [
        ([("a", "")], 1),
        ([("a", ""), (" a\n", ""), ("a", "")], 3),
        ([("a", ""), ("b", ""), ("a", "")], 1),
        ([("a", ""), ("a", ""), ("a", "changed")], 0),
        ([("a", "x"), ("a", "x"), ("a", "x")], 2),
        ([("a", "x"), ("a", "y"), ("a", "z")], 0),
    ],
)
def test_answers_are_the_same_only_while_nothing_changes(turns: list[tuple[str, str]], count: int) -> None:
    assert answers(*turns).stall.answers == count


@pytest.mark.parametrize(
    ("turns", "tails", "count"),
    [
        ([("a", ""), ("b", ""), ("c", "")], ["no", "no", "no"], 3),
        ([("a", ""), ("b", ""), ("c", "")], ["no", "no", "other"], 1),
        ([("a", "x"), ("b", "x"), ("c", "x")], ["no", "no", "no"], 2),
        ([("a", "x"), ("b", "y"), ("c", "z")], ["no", "no", "no"], 0),
    ],
)
def test_the_same_failing_check_counts_only_while_nothing_changes(
    turns: list[tuple[str, str]], tails: list[str], count: int
) -> None:
    loop = RUNNING
    for turn, tail in zip(turns, tails, strict=True):
        loop = after(AnswerRead(claimed=True), GatesRan((replace(FAILED, tail=tail),)), of=answers(turn, of=loop))
    assert loop.stall.checks == count


def test_what_an_interrupted_turn_used_is_counted() -> None:
    loop = after(begins(), TurnInterrupted(Role.WORKER, 1, Interruption.TIMEOUT, 3.0, Usage(0.25, 120)))
    assert (loop.spend.cost_usd, loop.spend.tokens, loop.spend.iterations) == (0.25, 120, 1)


def test_what_was_asked_in_the_session_stands_before_what_is_asked_since() -> None:
    began = after(StartRequested(), MessageSent("two"))
    read = after(SessionRead(("before", "the task", "two")), MessageSent("three"), of=began)
    assert began.everything_asked == began.asked
    assert read.everything_asked == ("before", "the task", "two", "three")
    assert read.asked[-2:] == ("two", "three")


def test_what_is_written_after_the_end_does_not_move_the_end() -> None:
    loop = apply(None, Entry(1, 100.0, CREATED))
    ended = apply(loop, Entry(2, 200.0, Rested(Outcome.STOPPED, "")))
    later = apply(apply(ended, Entry(3, 300.0, StateRepaired("damage"))), Entry(4, 400.0, RunnerLeased("t", 1, "m")))
    assert (ended.updated_at, later.updated_at, later.seq) == (200.0, 200.0, 4)
