"""Conformance tests for modes: `CHECKS` must hold for any answers of the agents.

The suite uses generic answers: plain text, the promise, the marker, JSON objects. A mode that expects other answers
defines `EXAMPLE_ANSWERS` (by role) in its module; a mode that requires an option defines `EXAMPLE_OPTIONS`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from untildone.core.actions import Ask, AskAgent, AwaitPerson
from untildone.core.events import (
    MessageSent,
    PauseRequested,
    ResumeRequested,
    StopRequested,
    TurnStarted,
)
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Outcome,
    Role,
    SessionUse,
    Status,
    Usage,
)
from untildone.core.values.value import dataclass, replace
from untildone.modes import find
from untildone.testing.driver import AGREED, Crash, Driver, Reply, decided, fails, looping, passes
from untildone.testing.journal_laws import check_laws, through_the_journal

PROMISE, MARKER = "<promise>COMPLETE</promise>", "[TASK_COMPLETED]"
BARE = AgentChoice("bare", "command")
"""An agent that can neither resume nor fork."""
STEPS = 400

# --- answers of the agents ---

_TASKS = [{"id": "t1", "text": "write it", "status": "completed"}, {"id": "t2", "text": "test it", "status": "failed"}]
_WELL: Mapping[str, Any] = {
    "skillStateUpdates": {"develop": {"tasks": _TASKS[:1]}, "validate": {"passed": True, "failures": []}},
    "continue": True,
    "message": "ok",
}
_BADLY: Mapping[str, Any] = {
    "skillStateUpdates": {
        "develop": {"tasks": _TASKS},
        "debug": {
            "hypotheses": [{"text": "a typo", "status": "open", "evidence": ""}],
            "confirmed_hypothesis": "a typo",
        },
        "validate": {"passed": False, "failures": ["it is slow"]},
    }
}
_ODD: tuple[Any, ...] = (
    {"continue": False, "message": "Which database?"},
    {"score": 95, "route": "direct", "passed": True, "subtasks": [], "message": "ok"},
    {"score": 10, "route": "ralph", "passed": False, "subtasks": [{"id": "1", "text": "write it"}]},
    {"tasks": [{"id": 1, "text": None, "status": "completed"}], "continue": "yes"},
)
WORDS = (
    "I am still at it.",
    "",
    "Done, I think.",
    "¿Qué más? 你好",
    "{",
    "null",
    "[]",
    "# Plan\n\n- [ ] one\n- [x] two",
)
CLAIMS = (
    f"All of it.\n\n{PROMISE}",
    f"Agreed.\n\n{MARKER}\n{AGREED}",
    f"<promise>TASK_COMPLETE</promise>\n{MARKER}\n{PROMISE}\n{AGREED}",
    "All of it is done.\n\n<promise>TASK_COMPLETE</promise>",
    f"Well done.\n\n{MARKER}",
)
SENSIBLE = (
    json.dumps(_WELL),
    f"It does not work yet.\n{json.dumps(_BADLY)}",
    f"Here:\n```json\n{json.dumps(_WELL)}\n```\n{PROMISE}\n{AGREED}",
    f"Here:\n```json\n{json.dumps(_WELL)}\n```\n{MARKER}\n{AGREED}",
)
GENERIC = (*WORDS, *CLAIMS, *SENSIBLE, *(json.dumps(each) for each in _ODD))


@dataclass(frozen=True, slots=True)
class Subject:
    """A mode under test with example answers and options."""

    mode: str
    answers: Mapping[Role, tuple[str, ...]]
    options: Mapping[str, Any]

    def any_answer(self, seed: int) -> Callable[[AskAgent, Loop], Reply]:
        """Random answers: sensible ones for odd seeds, any for even ones. Each changes the workspace and has a cost."""
        dice = Random(seed)

        def answer(action: AskAgent, loop: Loop) -> Reply:
            pool = (*self.answers.get(action.ask.role, ()), *(SENSIBLE if seed % 2 else GENERIC))
            reply = worked(dice.choice(pool), f"{loop.seq}", action)
            shown = find(self.mode).live_state(loop)
            return replace(reply, live_state=edited(shown, dice)) if shown and dice.random() < 0.2 else reply

        return answer

    def claims_only(self, action: AskAgent, loop: Loop) -> Reply:
        """Every text that a mode could read as a claim, in turn."""
        claims = (*self.answers.get(action.ask.role, ()), *CLAIMS, *SENSIBLE)
        return worked(claims[loop.seq % len(claims)], f"{loop.seq}", action)

    def looping(self, answers: Callable[[AskAgent, Loop], Reply], iterations: int | None = 6, **chosen: Any) -> Driver:
        mode = find(self.mode)
        settings: dict[str, Any] = {
            "review": mode.reviewed,
            "supervisor_prompt": "Look closely.",
            "options": self.options,
        }
        settings |= {"retry_delay": 0.0, **chosen}
        gates = settings.pop("gates", passes)
        return looping(answers, Budget(iterations=iterations), gates, mode=self.mode, **settings)


def subject(mode: str) -> Subject:
    module = importlib.import_module(f"untildone.modes.{mode}.mode")
    return Subject(mode, getattr(module, "EXAMPLE_ANSWERS", {}), getattr(module, "EXAMPLE_OPTIONS", {}))


def worked(text: str, fingerprint: str, action: AskAgent) -> Reply:
    session = action.session_id if action.session is SessionUse.RESUME else f"{action.ask.role.value}-{fingerprint}"
    answer = Answer(text, session_id=session, usage=Usage(0.01, 10))
    return Reply(answer, 1.0, Changes(fingerprint), session_id=session)


def edited(text: str, dice: Random) -> str:
    """The live state file after a random edit by a person or an agent."""
    lines = text.splitlines(keepends=True)
    del lines[dice.randrange(len(lines))]
    return dice.choice(("", "Not what it was.", "".join(lines), text.replace("[ ]", "[x]"), text.upper()))


RESTS = {Outcome.BUDGET, Outcome.STALLED, Outcome.PAUSED, Outcome.FAILED, Outcome.CLAIMED, Outcome.VERIFIED}


def check_rest(driver: Driver) -> Loop:
    """Check that the loop rests with an outcome that needs no person."""
    loop = check_laws(driver)
    assert loop.outcome in RESTS, f"{loop.outcome} is not an outcome without a person"
    return loop


# --- the suite ---

SEEDS = range(8)


def comes_to_rest_with_any_answers(mode: Subject) -> None:
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), checks=("make",))
        driver.run(STEPS)
        check_rest(driver)


def sensible_answers_complete_the_task(mode: Subject) -> None:
    """With enough rounds, sensible answers lead to a verified outcome."""
    drivers = [mode.looping(mode.any_answer(seed), 60, checks=("make",)) for seed in range(1, 16, 2)]
    outcomes = {driver.run(STEPS).outcome for driver in drivers}
    assert Outcome.VERIFIED in outcomes, f"no seed is verified: {outcomes}"


def budget_is_exact(mode: Subject) -> None:
    """The worker never takes more rounds than allowed, also after the budget is raised."""
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), 3, gates=fails, checks=("make",))
        loop = driver.run(STEPS)
        taken = len({call.iteration for call in driver.calls()})
        assert taken == loop.spend.iterations <= 3
        assert taken == 3 or loop.outcome is not Outcome.BUDGET
        if loop.outcome is Outcome.BUDGET:
            driver.send("say", MessageSent("[r+2]"))
            driver.send("resume", ResumeRequested())
            assert driver.run(STEPS).spend.iterations <= 5
        check_rest(driver)


def no_rounds_means_no_worker(mode: Subject) -> None:
    driver = mode.looping(mode.claims_only, 0)
    driver.run(STEPS)
    assert driver.calls() == []
    check_rest(driver)


def control_is_obeyed_before_each_step(mode: Subject) -> None:
    seed, whole = _longest_run(mode)
    for order, outcome in ((PauseRequested(), Outcome.PAUSED), (StopRequested(), Outcome.STOPPED)):
        for step in range(len(whole.entries)):
            _obeys(mode, seed, step, order, outcome)


def _longest_run(mode: Subject) -> tuple[int, Driver]:
    runs = [(seed, mode.looping(mode.any_answer(seed), 4, checks=("make",))) for seed in SEEDS]
    for _, driver in runs:
        driver.run(STEPS)
    return max(runs, key=lambda run: len(run[1].entries))


def _obeys(mode: Subject, seed: int, step: int, order: PauseRequested | StopRequested, outcome: Outcome) -> None:
    driver = mode.looping(mode.any_answer(seed), 4, checks=("make",))
    driver.lease()
    for _ in range(step):
        driver.step()
    if driver.loop.status is not Status.RUNNING:
        return
    asked = len(driver.asked)
    driver.send("pause" if isinstance(order, PauseRequested) else "stop", order)
    loop = driver.run(STEPS)
    assert len(driver.asked) == asked, "a control is obeyed before the next turn"
    assert loop.outcome is outcome or loop.outcome is Outcome.FAILED
    check_laws(driver)
    if loop.status is Status.PAUSED:
        driver.send("resume", ResumeRequested())
        driver.run(STEPS)
        check_rest(driver)


def a_crash_anywhere_loses_nothing(mode: Subject) -> None:
    seed, whole = _longest_run(mode)
    for seq in range(4, len(whole.entries) + 1):
        for moment in ("dies_before", "dies_after"):
            _survives(mode, seed, seq, moment)


def _survives(mode: Subject, seed: int, seq: int, moment: str) -> None:
    driver = mode.looping(mode.any_answer(seed), 4, checks=("make",))
    setattr(driver.journal, moment, seq)
    try:
        driver.run(STEPS)
    except Crash:
        assert len(driver.entries) == seq - (moment == "dies_before")
        driver.crash()
    driver.run(STEPS)
    loop = check_rest(driver)
    assert loop.spend.iterations <= 4, "a crash refunds no round"


def gates_cannot_be_skipped(mode: Subject) -> None:
    """With a check that never passes, the loop never completes, even if the agents claim that it is done."""
    for seed in SEEDS:
        for answers in (mode.claims_only, mode.any_answer(seed)):
            driver = mode.looping(answers, gates=fails, checks=("make",))
            loop = driver.run(STEPS)
            assert loop.status is not Status.COMPLETED
            check_rest(driver)


def no_claim_is_accepted_without_every_gate(mode: Subject) -> None:
    """A completed loop passed all gates at its end, even if some failed before."""
    for seed in SEEDS:
        dice = Random(seed)
        driver = mode.looping(
            mode.any_answer(seed),
            12,
            gates=lambda command, _loop, dice=dice: dice.choice((passes, fails))(command),
            checks=("make", "make lint"),
            require_change=True,
            review=True,
        )
        driver.run(STEPS)
        check_rest(driver)


def messages_reach_a_prompt(mode: Subject) -> None:
    """A message is in a later prompt, without its round control, or still in the inbox."""
    for seed in SEEDS[:4]:
        for at in range(5):
            _delivers(mode, seed, at, f"and mind the gap {seed}-{at}")


def _delivers(mode: Subject, seed: int, at: int, text: str) -> None:
    dice = mode.any_answer(seed)
    sent_at: list[int] = []

    def answers(action: AskAgent, loop: Loop) -> Reply:
        reply = dice(action, loop)
        if len(driver.asked) != at + 1:
            return reply
        sent_at.append(loop.seq)
        return replace(reply, meanwhile=(MessageSent(f"[r+2] {text}"),))

    driver = mode.looping(answers, 4)
    loop = driver.run(STEPS)
    check_rest(driver)
    if not sent_at or loop.status is Status.FAILED:
        return
    later = [
        entry.event.prompt
        for entry in driver.entries
        if isinstance(entry.event, TurnStarted) and entry.seq > sent_at[0]
    ]
    assert text in loop.inbox or any(text in prompt for prompt in later), "a message is never lost"
    assert not any("[r+2]" in prompt for prompt in later), "the prompt has no round control"
    assert loop.budget.iterations == 6


def continues_after_a_message(mode: Subject) -> None:
    """A loop that waits for a message or for rounds calls an agent again once it has them."""
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), 2)
        loop = driver.run(STEPS)
        if loop.status is not Status.PAUSED:
            continue
        asked = len(driver.asked)
        driver.send("say", MessageSent("[r+3] go on with the parser"))
        driver.send("resume", ResumeRequested())
        driver.run(STEPS)
        check_rest(driver)
        assert any("go on with the parser" in call.ask.prompt for call in driver.asked[asked:])


def works_without_sessions(mode: Subject) -> None:
    """Agents without sessions get the task in every prompt, directly or through the instructor."""
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), worker=BARE)
        driver.run(STEPS)
        check_rest(driver)
        assert all(call.session is SessionUse.NEW and call.session_id is None for call in driver.asked)
        led = Role.WORKER if driver.calls(Role.INSTRUCTOR) else None
        assert all("Make the tests pass." in call.ask.prompt for call in driver.asked if call.ask.role is not led)


def decides_the_same_for_the_same_journal(mode: Subject) -> None:
    """The mode keeps no state outside the loop: the next action follows from the journal alone."""
    for seed in SEEDS[:3]:
        driver = mode.looping(mode.any_answer(seed))
        driver.run(STEPS)
        for count in range(3, len(driver.entries) + 1):
            entries = driver.entries[:count]
            read = [through_the_journal(entry) for entry in entries]
            now = driver.clock()
            assert decided(entries, now) == decided(read, now)


def starts_with_the_task(mode: Subject) -> None:
    """The first prompt of a new loop contains the task."""
    driver = mode.looping(mode.claims_only)
    request = find(mode.mode).next(driver.loop)
    assert isinstance(request, Ask | AwaitPerson)
    if isinstance(request, Ask):
        assert "Make the tests pass." in (request.prompt_if_new or request.prompt)


CHECKS: tuple[Callable[[Subject], None], ...] = (
    comes_to_rest_with_any_answers,
    sensible_answers_complete_the_task,
    budget_is_exact,
    no_rounds_means_no_worker,
    control_is_obeyed_before_each_step,
    a_crash_anywhere_loses_nothing,
    gates_cannot_be_skipped,
    no_claim_is_accepted_without_every_gate,
    messages_reach_a_prompt,
    continues_after_a_message,
    works_without_sessions,
    decides_the_same_for_the_same_journal,
    starts_with_the_task,
)
