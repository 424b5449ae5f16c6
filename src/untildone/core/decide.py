"""`decide`: what to do next. Budget, gates and control live here, so that no mode can skip them."""

from __future__ import annotations

from untildone.core import budget as budgets
from untildone.core import gate, rounds
from untildone.core.actions import Action, Ask, AskAgent, AskSupervisor, AwaitPerson, Record, Rest, RunGates, Wait
from untildone.core.events import (
    AnswerRead,
    BudgetChanged,
    BudgetWarned,
    Event,
    GatesRan,
    LimitReached,
    Rested,
    TurnInterrupted,
    TurnRetried,
)
from untildone.core.gate import GatesOf
from untildone.core.kinds import Interruption
from untildone.core.limits import Limit
from untildone.core.loop import Loop, Turn
from untildone.core.mode import Mode
from untildone.core.model import AgentChoice, Answer, Failure, FailureKind, Outcome, Role, SessionUse, Status
from untildone.core.retries import SESSION_IS_UNUSABLE, needs_new_session
from untildone.core.value import replace

SAME_AGAIN = 3
"""So many times in a row the same, with nothing changed, is a stall."""
ATTEMPTS = {FailureKind.OVERLOADED: 8}
USUAL_ATTEMPTS = 4
LONGEST_RETRY_DELAY = 60.0
MOST_CONSULTATIONS = 10
"""So many answers of other roles in a row, with nothing for the worker to do, lead nowhere."""
FIRST_LIMIT_WAIT, LONGEST_LIMIT_WAIT = 60.0, 1800.0


def decide(loop: Loop, now: float, mode: Mode, gates_of: GatesOf) -> Action:
    """The next action of the loop. `gates_of` is asked only when the agent claims to be done."""
    if loop.status.ended:
        return Rest(loop.outcome)
    if loop.turn is not None:
        return _understand(loop, loop.turn, now, mode, gates_of)
    if loop.stop is not None:
        return _rest(loop.stop.outcome)
    if loop.status is not Status.RUNNING:
        return Rest(loop.outcome)
    if loop.pause is not None:
        return _rest(loop.pause.outcome)
    if loop.asks_person:
        return _question(loop, mode)
    if loop.live_state is not None:
        return _take_in(loop, mode.absorb(loop, loop.live_state))
    wanted_more = bool(loop.inbox)
    return _judge(loop, now, mode, gates_of) if loop.claimed and not wanted_more else _go_on(loop, now, mode)


def _question(loop: Loop, mode: Mode) -> AwaitPerson:
    """A turn was cut short for a person: the mode's own menu, if it has one for that; else the plain question."""
    wish = mode.next(loop) if mode.works_by_hand else None
    return wish if isinstance(wish, AwaitPerson) else AwaitPerson("Interrupted. What next?", leave=Outcome.INTERRUPTED)


def _rest(outcome: Outcome, reason: str = "") -> Record:
    return Record((Rested(outcome, reason),))


def _understand(loop: Loop, turn: Turn, now: float, mode: Mode, gates_of: GatesOf) -> Record:
    """A turn was taken: make sense of what came of it."""
    answer = loop.answer
    if answer is None:
        return Record((TurnInterrupted(turn.role, turn.iteration, Interruption.CRASH),))
    if answer.failure is not None:
        if answer.failure.kind is FailureKind.UNAVAILABLE and turn.session is SessionUse.NEW and mode.works_by_hand:
            return _by_hand(loop, turn, answer.failure)
        return Record((_after_failure(loop, turn, answer.failure, now),))
    if turn.role is not Role.WORKER and not answer.text.strip():
        return Record((_said_nothing(loop, turn, now),))
    verdict = _verdict(loop, answer, gates_of) if loop.claimed else None
    if verdict is not None:
        return Record((verdict,))
    read = mode.read(loop, turn.role, answer)
    once = loop.settings.once and turn.role is Role.WORKER
    return _take_in(loop, replace(read, claimed=True) if once else read)


def _take_in(loop: Loop, read: AnswerRead) -> Record:
    """What the mode understood, with what follows from it."""
    budget = () if read.max_iterations is None else (BudgetChanged(Limit.ITERATIONS, read.max_iterations),)
    end = (_rested(loop, read.gives_up_as, read.gives_up),) if read.gives_up else ()
    return Record((*budget, read, *end))


def _rested(loop: Loop, outcome: Outcome, reason: str) -> Rested:
    """What a person ordered meanwhile comes first, unless the loop cannot go on at all."""
    order = loop.stop or loop.pause
    return Rested(outcome if order is None or outcome is Outcome.FAILED else order.outcome, reason)


def _by_hand(loop: Loop, turn: Turn, failure: Failure) -> Record:
    """The agent program cannot be run: a person may do the work and go on."""
    interrupted = TurnInterrupted(
        turn.role, turn.iteration, Interruption.PERSON if loop.settings.interactive else Interruption.CONTROL
    )
    rested = _rested(loop, Outcome.PAUSED, f"{failure.message} Work by hand, then `untildone resume` goes on.")
    return Record((interrupted,) if loop.settings.interactive else (interrupted, rested))


def _said_nothing(loop: Loop, turn: Turn, now: float) -> Event:
    """A supervisor or instructor who says nothing has not spoken: a failure of the call, never agreement."""
    return _after_failure(loop, turn, Failure(FailureKind.MALFORMED, f"The {turn.role.value} said nothing."), now)


def _after_failure(loop: Loop, turn: Turn, failure: Failure, now: float) -> Event:
    kind = failure.kind
    if kind is FailureKind.LIMIT:
        return _limit(loop, turn, failure, now)
    if turn.session is not SessionUse.NEW and kind in SESSION_IS_UNUSABLE:
        return TurnRetried(turn.role, turn.iteration, turn.attempt, failure, now, fresh_session=True)
    retried = kind in (FailureKind.OVERLOADED, FailureKind.CRASHED, FailureKind.TIMEOUT, FailureKind.MALFORMED)
    if retried and turn.attempt < ATTEMPTS.get(kind, USUAL_ATTEMPTS):
        delay = min(LONGEST_RETRY_DELAY, loop.settings.retry_delay * 2 ** (turn.attempt - 1))
        return TurnRetried(turn.role, turn.iteration, turn.attempt, failure, now + delay)
    return Rested(Outcome.FAILED, _failure_sentence(turn, failure))


def _limit(loop: Loop, turn: Turn, failure: Failure, now: float) -> LimitReached:
    """Wait until the time that the agent names; if it names none, ask again ever more seldom."""
    before = loop.limits.get(turn.profile)
    strikes = before.strikes + 1 if before else 1
    backoff = min(LONGEST_LIMIT_WAIT, FIRST_LIMIT_WAIT * 2 ** (strikes - 1))
    until = failure.reset_at if failure.reset_at is not None and failure.reset_at > now else now + backoff
    return LimitReached(turn.profile, until, failure.message, strikes)


def _failure_sentence(turn: Turn, failure: Failure) -> str:
    # Its many patterns take longer to compile than a whole stop of the hook, and are seldom needed.
    from untildone.core import failures

    tries = f" ({turn.attempt} attempts)" if turn.attempt > 1 else ""
    told = failure.message.strip().rstrip(".")
    return f"{turn.role.value.capitalize()} {turn.profile}: {told}{tries}. hint: {failures.hint(failure.kind, turn.profile)}"


def _verdict(loop: Loop, answer: Answer, gates_of: GatesOf) -> GatesRan | None:
    """The judgement of the gate whose question the supervisor answered: the first one without a result."""
    for asking, step in gate.pending(loop, gates_of(loop.settings)):
        if isinstance(step.need, AskSupervisor):
            return GatesRan((asking.judge(loop, step, answer),))
    return None


def _judge(loop: Loop, now: float, mode: Mode, gates_of: GatesOf) -> Action:
    """The agent claims to be done: every gate must agree before that is believed."""
    pending = gate.pending(loop, gates_of(loop.settings))
    steps = tuple(step for _, step in pending if not isinstance(step.need, AskSupervisor))
    if steps:
        return RunGates(steps)
    if pending:
        supervisor = _available(loop, Role.SUPERVISOR, now)
        asking, _ = pending[0]
        return _ask(loop, now, asking.ask(loop, None if isinstance(supervisor, Wait) else supervisor))
    outcome = Outcome.VERIFIED if loop.gates else Outcome.CLAIMED
    if _has_company(loop, mode):
        return AwaitPerson(f"{outcome.sentence} What next?", leave=outcome)
    return _rest(outcome)


def _go_on(loop: Loop, now: float, mode: Mode) -> Action:
    wish = mode.next(loop)
    if isinstance(wish, AwaitPerson):
        return wish
    return (_more_rounds(loop, wish) if _has_company(loop, mode) else None) or _ask(loop, now, wish)


def _has_company(loop: Loop, mode: Mode) -> bool:
    """Whether a person is there who gives one instruction after the other."""
    return loop.settings.interactive and mode.stays_open


def _more_rounds(loop: Loop, wish: Ask) -> AwaitPerson | None:
    """Where a person is there, used-up rounds are a question to them, not an end."""
    takes_one = wish.role is Role.WORKER and (loop.retry is None or loop.retry.role is not Role.WORKER)
    held_back = budgets.used_up(loop.budget, loop.spend, before_worker_turn=takes_one)
    if held_back is None or held_back.limit is not Limit.ITERATIONS:
        return None
    question = f"{rounds.NO_ROUNDS}\n{rounds.NO_ROUNDS_HINT}"
    return AwaitPerson(question, leave=Outcome.BUDGET, reason=held_back.used_up_sentence())


def _ask(loop: Loop, now: float, wish: Ask) -> Action:
    worker = wish.role is Role.WORKER
    retry = loop.retry if loop.retry is not None and loop.retry.role is wish.role else None
    held_back = _budget(loop, before_worker_turn=worker and retry is None)
    held_back = held_back or (_stalled(loop) if worker else _talks_in_circles(loop))
    if held_back is not None:
        return held_back
    # Further away than any retry waits: the clock was set back since.
    if retry is not None and now < retry.not_before <= now + LONGEST_RETRY_DELAY:
        return Wait(retry.not_before, f"{retry.failure.kind.value}: {retry.failure.message}")
    agent = _available(loop, wish.role, now)
    if isinstance(agent, Wait):
        return agent
    return _turn(loop, wish, agent, attempt=retry.attempt + 1 if retry else 1)


def _budget(loop: Loop, *, before_worker_turn: bool) -> Record | None:
    gauge = budgets.used_up(loop.budget, loop.spend, before_worker_turn=before_worker_turn)
    if gauge is not None:
        return _rest(Outcome.BUDGET, gauge.used_up_sentence())
    for gauge in budgets.gauges(loop.budget, loop.spend):
        if gauge.is_nearly_used(loop.settings.warn_from) and gauge.limit not in loop.warned:
            return Record((BudgetWarned(gauge.limit, gauge.used, gauge.allowed),))
    return None


def _talks_in_circles(loop: Loop) -> Record | None:
    """Only the worker's turns are iterations: other roles must not talk for ever without giving it something to do."""
    if loop.consultations < MOST_CONSULTATIONS:
        return None
    told = f"{loop.consultations} answers in a row by other roles, and none gave the worker something to do."
    return _rest(Outcome.STALLED, told)


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
    """The agent of the role, or its stand-in while it is at its limit, or a wait until one of them may be asked."""
    chosen, fallback = loop.settings.agent_for(role), loop.settings.fallback
    candidates = [chosen] if fallback is None else [chosen, fallback]
    limits = [loop.limits.get(agent.profile) for agent in candidates]
    for agent, limit in zip(candidates, limits, strict=True):
        if limit is None or limit.until <= now:
            return agent
    first = min((limit for limit in limits if limit is not None), key=lambda limit: limit.until)
    return Wait(first.until, f"limit: {first.message}")


def _turn(loop: Loop, wish: Ask, agent: AgentChoice, attempt: int) -> AskAgent:
    session, session_id = _session(loop, wish, agent)
    if session is SessionUse.NEW and wish.prompt_if_new:
        wish = replace(wish, prompt=wish.prompt_if_new)
    left = None if loop.budget.cost_usd is None else max(0.0, loop.budget.cost_usd - loop.spend.cost_usd)
    return AskAgent(
        ask=wish,
        agent=agent,
        iteration=loop.next_iteration if wish.role is Role.WORKER else loop.spend.iterations,
        attempt=attempt,
        session=session,
        session_id=session_id,
        messages=len(loop.inbox) if wish.hears_person else 0,
        max_cost_usd=left,
    )


def _session(loop: Loop, wish: Ask, agent: AgentChoice) -> tuple[SessionUse, str | None]:
    """What was wished for, as far as the agent can do it and there is something to go on from."""
    needs = {SessionUse.RESUME: wish.role, SessionUse.FORK: Role.WORKER}
    if wish.session not in needs or wish.session.value not in agent.abilities or needs_new_session(loop, wish.role):
        return SessionUse.NEW, None
    session = loop.session_of(needs[wish.session], agent.profile)
    return (wish.session, session.session_id) if session else (SessionUse.NEW, None)
