"""`decide`: what to do next. Budget, gates and control live here, so that no mode can skip them."""

from __future__ import annotations

from untildone.core import budget as budgets
from untildone.core.actions import (
    Action,
    Ask,
    AskAgent,
    AskSupervisor,
    AwaitPerson,
    GateStep,
    Record,
    Rest,
    RestoreWorkspace,
    RunGates,
    RunTrials,
    Wait,
)
from untildone.core.answers import blocked, rounds
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    BudgetWarned,
    Escalated,
    Event,
    GatesRan,
    LimitReached,
    Rested,
    TurnInterrupted,
    TurnRetried,
)
from untildone.core.kinds import Host, Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop, Turn
from untildone.core.model import AgentChoice, Answer, Failure, FailureKind, Outcome, Role, SessionUse, Status
from untildone.core.plugins.mode import Mode
from untildone.core.retries import SESSION_IS_UNUSABLE, needs_fork, needs_new_session
from untildone.core.values.codec import moment
from untildone.core.values.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.plugins.gate import Gate, GatesOf

SAME_AGAIN = 3
"""How many equal answers or equal gate failures in a row, with an unchanged workspace, are a stall."""
ATTEMPTS = {FailureKind.OVERLOADED: 8}
"""How often a turn is tried, by kind of failure; other kinds: USUAL_ATTEMPTS."""
USUAL_ATTEMPTS = 4
LONGEST_RETRY_DELAY = 60.0
RETRIED = frozenset(
    (
        FailureKind.OVERLOADED,
        FailureKind.CRASHED,
        FailureKind.TIMEOUT,
        FailureKind.MALFORMED,
        FailureKind.RESOURCES,
        FailureKind.SESSION_BUSY,
    )
)
NEEDS_PERSON = frozenset(
    (
        FailureKind.AUTH,
        FailureKind.REFUSED,
        FailureKind.UNAVAILABLE,
        FailureKind.RESOURCES,
        FailureKind.SESSION_BUSY,
    )
)
"""Failures after which the loop is blocked: it goes on when a person has logged in, permitted, installed or freed something."""
MOST_CONSULTATIONS = 10
"""How many answers of other roles in a row, without a turn of the worker, are a stall."""
FIRST_LIMIT_WAIT, LONGEST_LIMIT_WAIT = 60.0, 1800.0


def decide(loop: Loop, now: float, mode: Mode, gates_of: GatesOf) -> Action:
    """The next action of the loop. `gates_of` is called only when the agent claims to be done."""
    if loop.status.ended:
        return Rest(loop.outcome)
    if loop.turn is not None:
        return _understand(loop, loop.turn, now, mode, gates_of)
    if loop.stop is not None:
        return _rest(loop.stop.outcome)
    if loop.pause is not None and loop.status is Status.RUNNING:
        return _rest(loop.pause.outcome)
    if loop.restoring is not None:
        return RestoreWorkspace(loop.restoring.tree, loop.restoring.kept)
    if loop.status is not Status.RUNNING:
        return Rest(loop.outcome)
    if loop.asks_person:
        return _question(loop, mode)
    if loop.live_state is not None:
        return _take_in(loop, mode.absorb(loop, loop.live_state), gates_of)
    if loop.blocked and not loop.inbox:
        return _ask(loop, now, blocked.ask(loop))
    if _lacks_tests(loop):
        return _ask_author(loop, now)
    if loop.claimed and not loop.inbox:
        return _judge(loop, now, mode, gates_of)
    return _weigh(loop, gates_of) or _go_on(loop, now, mode)


def _lacks_tests(loop: Loop) -> bool:
    """Whether the author of acceptance tests is asked next: before the first turn of the worker. In a person's own session that turn is
    under way when the loop begins, so the author, who sees only the start, is asked at the first claim."""
    is_missing = loop.settings.acceptance is not None and loop.settings.checks and loop.acceptance is None
    return bool(is_missing) and (loop.claimed or loop.host is not Host.HOOK)


def _ask_author(loop: Loop, now: float) -> Action:
    from untildone.core.answers import authoring

    return _ask(loop, now, authoring.ask(loop))


def _no_tests(loop: Loop, turn: Turn) -> Record:
    """The end of an author's turn without tests: those that count have ended the turn already."""
    from untildone.core.answers import authoring

    return Record((_rested(loop, Outcome.BLOCKED, authoring.no_tests(turn.profile)),))


def _weigh(loop: Loop, gates_of: GatesOf) -> RunGates | None:
    if not loop.settings.ratchet:
        return None
    from untildone.core.history import ratchet

    return ratchet.due(loop, gates_of)


def _question(loop: Loop, mode: Mode) -> AwaitPerson:
    """The question after a person interrupted a turn: the mode's own menu, if it has one, else the plain question."""
    asked = mode.next(loop) if mode.works_by_hand else None
    plain = AwaitPerson("Interrupted. What next?", leave=Outcome.INTERRUPTED)
    return asked if isinstance(asked, AwaitPerson) else plain


def _rest(outcome: Outcome, reason: str = "") -> Record:
    return Record((Rested(outcome, reason),))


def _understand(loop: Loop, turn: Turn, now: float, mode: Mode, gates_of: GatesOf) -> Record:
    """The events that follow from the result of a turn: a failure, a verdict, or an answer that the mode reads."""
    answer = loop.answer
    if answer is None:
        return Record((_died(turn),))
    if answer.failure is not None:
        if answer.failure.kind is FailureKind.UNAVAILABLE and turn.session is SessionUse.NEW and mode.works_by_hand:
            return _by_hand(loop, turn, answer.failure)
        return Record(_after_failure(loop, turn, answer.failure, now))
    if turn.role is Role.AUTHOR:
        return _no_tests(loop, turn)
    if turn.role is not Role.WORKER and not answer.text.strip():
        return Record(_empty_answer(loop, turn, now))
    if loop.blocked:
        return Record((_refuted(loop, answer),))
    asking = _asking(loop, gates_of) if loop.claimed else None
    if asking is not None:
        return Record(_verdict(loop, turn, answer, now, *asking))
    once = loop.settings.once and turn.role is Role.WORKER
    needs = "" if once else blocked.question(answer.text)
    if needs:
        return _take_in(loop, _blocked(loop, needs), gates_of)
    read = mode.read(loop, turn.role, answer)
    return _take_in(loop, replace(read, claimed=True) if once else read, gates_of)


def _died(turn: Turn) -> TurnInterrupted:
    """The end of a turn whose runner died: it counts with what is known of it."""
    known = turn.so_far
    return TurnInterrupted(
        turn.role, turn.iteration, Interruption.CRASH, known.seconds, known.usage, known.priced, known.session_total
    )


def _blocked(loop: Loop, needs: str) -> AnswerRead:
    """The agent cannot go on without the person. A supervisor may refute that once; else the loop rests."""
    if blocked.may_be_refuted(loop):
        return AnswerRead(claimed=False, blocked=needs)
    return AnswerRead(claimed=False, gives_up=needs, gives_up_as=Outcome.BLOCKED)


def _refuted(loop: Loop, answer: Answer) -> Event:
    """The supervisor's verdict on a block. A person who has spoken in the meantime has answered it."""
    advice = blocked.refutation(loop, answer)
    if advice is not None:
        return GatesRan((advice,))
    return AnswerRead(claimed=False) if loop.inbox else _rested(loop, Outcome.BLOCKED, loop.blocked)


def _take_in(loop: Loop, read: AnswerRead, gates_of: GatesOf) -> Record:
    """The mode's reading of an answer, with the gates that a claim needs, and the change of the budget and the end that follow from it."""
    if read.claimed:
        from untildone.core.plugins import gate

        read = replace(read, needed=gate.needed(loop, read, gates_of(loop.settings)))
    budget = () if read.max_iterations is None else (BudgetChanged(Limit.ITERATIONS, read.max_iterations),)
    end = (_rested(loop, read.gives_up_as, read.gives_up),) if read.gives_up else ()
    return Record((*budget, read, *end))


def _rested(loop: Loop, outcome: Outcome, reason: str) -> Rested:
    """The loop rests. A person's order to stop or pause decides the outcome, unless the loop has failed."""
    order = loop.stop or loop.pause
    return Rested(outcome if order is None or outcome is Outcome.FAILED else order.outcome, reason)


def _by_hand(loop: Loop, turn: Turn, failure: Failure) -> Record:
    """The agent program cannot be started: the loop pauses, so that a person can do the work and resume."""
    interrupted = TurnInterrupted(
        turn.role, turn.iteration, Interruption.PERSON if loop.settings.interactive else Interruption.NO_PROGRAM
    )
    message = f"{failure.message.rstrip('. ')}."
    rested = _rested(loop, Outcome.PAUSED, f"{message} Work by hand, then `untildone resume` goes on.")
    return Record((interrupted,) if loop.settings.interactive else (interrupted, rested))


def _empty_answer(loop: Loop, turn: Turn, now: float) -> tuple[Event, ...]:
    """An empty answer of a supervisor or instructor is a failure of the call, never agreement."""
    return _after_failure(loop, turn, Failure(FailureKind.MALFORMED, f"The {turn.role.value} said nothing."), now)


def _after_failure(loop: Loop, turn: Turn, failure: Failure, now: float) -> tuple[Event, ...]:
    kind = failure.kind
    if kind is FailureKind.LIMIT:
        return (_limit(loop, turn, failure, now),)
    if turn.session is not SessionUse.NEW and kind in SESSION_IS_UNUSABLE:
        return (TurnRetried(turn.role, turn.iteration, turn.attempt, failure, moment(now), fresh_session=True),)
    if turn.session is SessionUse.RESUME and kind is FailureKind.SESSION_BUSY and turn.attempt == 1:
        return (TurnRetried(turn.role, turn.iteration, turn.attempt, failure, moment(now)),)
    if kind in RETRIED and turn.attempt < ATTEMPTS.get(kind, USUAL_ATTEMPTS):
        delay = min(LONGEST_RETRY_DELAY, loop.settings.retry_delay * 2 ** (turn.attempt - 1))
        return (TurnRetried(turn.role, turn.iteration, turn.attempt, failure, moment(now + delay)),)
    sentence = _failure_sentence(turn, failure)
    if kind in NEEDS_PERSON:
        # The turn is tried again when the person resumes the loop, inside the same iteration: the agent did no work in it.
        again = TurnRetried(turn.role, turn.iteration, turn.attempt, failure, moment(now))
        return (again, _rested(loop, Outcome.BLOCKED, sentence))
    return (Rested(Outcome.FAILED, sentence),)


def _limit(loop: Loop, turn: Turn, failure: Failure, now: float) -> LimitReached:
    """The limit lasts until the time that the agent reports. Without such a time, each wait is twice as long as the last."""
    before = loop.limits.get(turn.profile)
    strikes = before.strikes + 1 if before else 1
    backoff = min(LONGEST_LIMIT_WAIT, FIRST_LIMIT_WAIT * 2 ** (strikes - 1))
    until = failure.reset_at if failure.reset_at is not None and failure.reset_at > now else now + backoff
    return LimitReached(turn.profile, moment(until), failure.message, strikes)


def _failure_sentence(turn: Turn, failure: Failure) -> str:
    # Compiling its patterns takes longer than a whole call of the stop hook, and they are seldom needed.
    from untildone.core.answers import failures

    tries = f" ({turn.attempt} attempts)" if turn.attempt > 1 else ""
    message = failure.message.strip().rstrip(".")
    hint = failures.hint(failure.kind, turn.profile)
    return f"{turn.role.value.capitalize()} {turn.profile}: {message}{tries}. hint: {hint}"


def _asking(loop: Loop, gates_of: GatesOf) -> tuple[Gate, GateStep] | None:
    """The gate whose question the supervisor answered, with its step: the first such gate without a result."""
    # Only a claim needs it, and the stop hook imports this module for every stop.
    from untildone.core.plugins import gate

    pending = gate.pending(loop, gates_of(loop.settings))
    return next(((asking, step) for asking, step in pending if isinstance(step.need, AskSupervisor)), None)


def _verdict(loop: Loop, turn: Turn, answer: Answer, now: float, asking: Gate, step: GateStep) -> tuple[Event, ...]:
    """The gate's verdict; a failure of the call if the gate cannot take the answer as one."""
    problem = asking.problem_with(loop, answer)
    if problem:
        return _after_failure(loop, turn, Failure(FailureKind.MALFORMED, problem), now)
    return (GatesRan((asking.judge(loop, step, answer),)),)


def _judge(loop: Loop, now: float, mode: Mode, gates_of: GatesOf) -> Action:
    """The agent claims to be done: run what gates still need. Without a pending gate the loop rests, or asks the person."""
    from untildone.core.plugins import gate
    from untildone.core.receipts import completion

    pending = gate.pending(loop, gates_of(loop.settings))
    steps = tuple(step for _, step in pending if not isinstance(step.need, AskSupervisor | RunTrials))
    if steps:
        return RunGates(steps)
    if pending and isinstance(pending[0][1].need, RunTrials):
        # One at a time: each result is on disk before the next proof begins.
        return RunGates((pending[0][1],))
    if pending:
        supervisor = _available(loop, Role.SUPERVISOR, now)
        asking, _ = pending[0]
        return _ask(loop, now, asking.ask(loop, None if isinstance(supervisor, Wait) else supervisor))
    outcome = completion.outcome_of_claim(loop)
    if outcome is None:
        return _rest(Outcome.FAILED, "A gate that the claim needs gave no result. hint: fix the gate, or leave it out")
    if _person_stays(loop, mode):
        return AwaitPerson(f"{outcome.sentence} What next?", leave=outcome)
    return _rest(outcome)


def _go_on(loop: Loop, now: float, mode: Mode) -> Action:
    asked = mode.next(loop)
    if isinstance(asked, AwaitPerson):
        return asked
    return (_more_rounds(loop, asked) if _person_stays(loop, mode) else None) or _ask(loop, now, asked)


def _person_stays(loop: Loop, mode: Mode) -> bool:
    """Whether a person is present who gives one instruction after the other."""
    return loop.settings.interactive and mode.stays_open


def _more_rounds(loop: Loop, ask: Ask) -> AwaitPerson | None:
    """The question for more rounds, if they are used up and a person is present; None: rounds are left."""
    takes_one = ask.role is Role.WORKER and (loop.retry is None or loop.retry.role is not Role.WORKER)
    held_back = budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=takes_one)
    if held_back is None or held_back.limit is not Limit.ITERATIONS:
        return None
    question = f"{rounds.NO_ROUNDS}\n{rounds.NO_ROUNDS_HINT}"
    return AwaitPerson(question, leave=Outcome.BUDGET, reason=held_back.used_up_sentence())


def _ask(loop: Loop, now: float, ask: Ask) -> Action:
    """Ask the agent, unless the budget, a stall, a retry delay or a usage limit comes first."""
    worker = ask.role is Role.WORKER
    retry = loop.retry if loop.retry is not None and loop.retry.role is ask.role else None
    held_back = _budget(loop, before_worker_turn=worker and retry is None)
    held_back = held_back or (_escalated(loop) or _stalled(loop) if worker else _stalled_without_worker(loop))
    if held_back is not None:
        return held_back
    # A time beyond the longest delay means that the clock was set back since.
    if retry is not None and now < retry.not_before <= now + LONGEST_RETRY_DELAY:
        return Wait(retry.not_before, f"{retry.failure.kind.value}: {retry.failure.message}")
    agent = _available(loop, ask.role, now)
    if isinstance(agent, Wait):
        return agent
    return _turn(loop, ask, agent, attempt=retry.attempt + 1 if retry else 1)


def _budget(loop: Loop, *, before_worker_turn: bool) -> Record | None:
    gauge = budgets.used_up(loop.own_budget, loop.spend, before_worker_turn=before_worker_turn)
    if gauge is not None:
        return _rest(Outcome.BUDGET, gauge.used_up_sentence())
    for gauge in budgets.gauges(loop.own_budget, loop.spend):
        if gauge.is_nearly_used(loop.settings.warn_from) and gauge.limit not in loop.warned:
            return Record((BudgetWarned(gauge.limit, gauge.used, gauge.allowed),))
    return None


def _stalled_without_worker(loop: Loop) -> Record | None:
    """A stall of the other roles. Only turns of the worker count against the rounds, so others need a limit of their own."""
    if loop.consultations < MOST_CONSULTATIONS:
        return None
    reason = f"{loop.consultations} answers in a row by other roles, and none gave the worker something to do."
    return _rest(Outcome.STALLED, reason)


def _escalated(loop: Loop) -> Record | None:
    """Another model or agent takes over after some rounds without progress, as long as one is left; a stall is no end before."""
    settings = loop.settings
    if loop.retry is not None or loop.host is Host.HOOK or loop.escalated >= len(settings.escalate):
        return None
    if loop.fruitless < settings.escalate_after and _stalled(loop) is None:
        return None
    following = settings.escalate[loop.escalated]
    return Record((Escalated(loop.escalated + 1, following.profile, following.model),))


def _stalled(loop: Loop) -> Record | None:
    if loop.settings.promise is None:
        return None
    if loop.stall.checks >= SAME_AGAIN:
        failed = "; ".join(result.command or result.gate for result in loop.failed_gates)
        return _rest(
            Outcome.STALLED, f"{SAME_AGAIN} times in a row nothing changed and the same gate failed: {failed}."
        )
    if loop.stall.answers >= SAME_AGAIN:
        words = " ".join(loop.last_answer.split())[:200]
        return _rest(
            Outcome.STALLED, f"{SAME_AGAIN} times in a row nothing changed and the answer was the same: “{words}”"
        )
    return None


def _available(loop: Loop, role: Role, now: float) -> AgentChoice | Wait:
    """The agent of the role; the fallback agent while that one is at a usage limit; a wait if both are."""
    chosen, fallback = loop.agent_for(role), loop.settings.fallback
    candidates = [chosen] if fallback is None else [chosen, fallback]
    limits = [loop.limits.get(agent.profile) for agent in candidates]
    for agent, limit in zip(candidates, limits, strict=True):
        if limit is None or limit.until <= now:
            return agent
    first = min((limit for limit in limits if limit is not None), key=lambda limit: limit.until)
    return Wait(first.until, f"limit: {first.message}")


def _turn(loop: Loop, ask: Ask, agent: AgentChoice, attempt: int) -> AskAgent:
    session, session_id = _session(loop, ask, agent)
    if session is SessionUse.NEW and ask.prompt_if_new:
        ask = replace(ask, prompt=ask.prompt_if_new)
    left = None if loop.budget.cost_usd is None else max(0.0, (loop.own_budget.cost_usd or 0.0) - loop.spend.cost_usd)
    return AskAgent(
        ask=ask,
        agent=agent,
        iteration=loop.next_iteration if ask.role is Role.WORKER else loop.spend.iterations,
        attempt=attempt,
        session=session,
        session_id=session_id,
        messages=len(loop.inbox) if ask.hears_person else 0,
        max_cost_usd=left,
        closing="" if ask.is_closed else blocked.closing(loop, ask.role),
    )


def _session(loop: Loop, ask: Ask, agent: AgentChoice) -> tuple[SessionUse, str | None]:
    """The session use that the mode asked for and the session's id; NEW if the agent cannot do that or has no session."""
    needs = {SessionUse.RESUME: ask.role, SessionUse.FORK: Role.WORKER}
    if ask.session not in needs or ask.session.value not in agent.abilities or needs_new_session(loop, ask.role):
        return SessionUse.NEW, None
    session = loop.session_of(needs[ask.session], agent.profile)
    if session is None:
        return SessionUse.NEW, None
    forks = needs_fork(loop, ask.role) and SessionUse.FORK.value in agent.abilities
    return SessionUse.FORK if forks else ask.session, session.session_id
