"""What every mode must hold to, whatever its agents answer: `CHECKS` is the suite.

The suite answers in a generic way: plain words, the promise, the marker, JSON objects. A mode whose agents speak otherwise
adds `EXAMPLE_ANSWERS` (by role) to its module; one that cannot do without an option, `EXAMPLE_OPTIONS`.
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
from untildone.core.value import dataclass, replace
from untildone.modes import find
from untildone.testing.driver import Crash, Driver, Reply, decided, fails, looping, passes
from untildone.testing.journal_laws import check_laws, through_the_journal

PROMISE, MARKER = "<promise>COMPLETE</promise>", "[TASK_COMPLETED]"
BARE = AgentChoice("bare", "command")
"""An agent that can neither resume nor fork."""
STEPS = 400

# --- what agents may answer ---

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
    f"Agreed.\n\n{MARKER}",
    f"{MARKER}\n{PROMISE}\n<promise>TASK_COMPLETE</promise>",
)
WELL_MEANT = (
    json.dumps(_WELL),
    f"It does not work yet.\n{json.dumps(_BADLY)}",
    f"Here:\n```json\n{json.dumps(_WELL)}\n```\n{PROMISE}\n{MARKER}",
)
GENERIC = (*WORDS, *CLAIMS, *WELL_MEANT, *(json.dumps(each) for each in _ODD))


@dataclass(frozen=True, slots=True)
class Subject:
    """A mode, and what its agents may say."""

    mode: str
    answers: Mapping[Role, tuple[str, ...]]
    options: Mapping[str, Any]

    def any_answer(self, seed: int) -> Callable[[AskAgent, Loop], Reply]:
        """Answers by the dice, well meant for odd seeds, anything for even ones; each changes the workspace and costs."""
        dice = Random(seed)

        def answer(action: AskAgent, loop: Loop) -> Reply:
            pool = (*self.answers.get(action.ask.role, ()), *(WELL_MEANT if seed % 2 else GENERIC))
            reply = worked(dice.choice(pool), f"{loop.seq}", action)
            shown = find(self.mode).live_state(loop)
            return replace(reply, live_state=edited(shown, dice)) if shown and dice.random() < 0.2 else reply

        return answer

    def claims_only(self, action: AskAgent, loop: Loop) -> Reply:
        """Everything that any mode could take for a claim, one after the other."""
        claims = (*self.answers.get(action.ask.role, ()), *CLAIMS, *WELL_MEANT)
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
    """What a live state file may look like after a person or an agent was at it."""
    lines = text.splitlines(keepends=True)
    del lines[dice.randrange(len(lines))]
    return dice.choice(("", "Not what it was.", "".join(lines), text.replace("[ ]", "[x]"), text.upper()))


RESTS = {Outcome.BUDGET, Outcome.STALLED, Outcome.PAUSED, Outcome.FAILED, Outcome.CLAIMED, Outcome.VERIFIED}


def check_rest(driver: Driver) -> Loop:
    """It rests, in one of the ways in which a loop may come to rest by itself."""
    loop = check_laws(driver)
    assert loop.outcome in RESTS, f"{loop.outcome} is no way to rest"
    return loop


# --- the suite ---

SEEDS = range(8)


def comes_to_rest_whatever_is_answered(mode: Subject) -> None:
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), checks=("make",))
        driver.run(STEPS)
        check_rest(driver)


def well_meant_work_gets_done(mode: Subject) -> None:
    """With room to work in, answers that are meant well lead to a verified end."""
    drivers = [mode.looping(mode.any_answer(seed), 60, checks=("make",)) for seed in range(1, 16, 2)]
    outcomes = {driver.run(STEPS).outcome for driver in drivers}
    assert Outcome.VERIFIED in outcomes, f"the mode leads nowhere: {outcomes}"


def budget_is_exact(mode: Subject) -> None:
    """Not one turn of the worker more than there are rounds; with two more rounds, not one more than two."""
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), 3, gates=fails, checks=("make",))
        loop = driver.run(STEPS)
        taken = len({call.iteration for call in driver.calls()})
        assert taken == loop.spend.iterations <= 3
        assert taken == 3 or loop.outcome is not Outcome.BUDGET
        if loop.outcome is Outcome.BUDGET:
            driver.tell("say", MessageSent("[r+2]"))
            driver.tell("resume", ResumeRequested())
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
    driver.tell("pause" if isinstance(order, PauseRequested) else "stop", order)
    loop = driver.run(STEPS)
    assert len(driver.asked) == asked, "an order is obeyed before the next agent is asked"
    assert loop.outcome is outcome or loop.outcome is Outcome.FAILED
    check_laws(driver)
    if loop.status is Status.PAUSED:
        driver.tell("resume", ResumeRequested())
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
    assert loop.spend.iterations <= 4, "a crash gives no round back"


def gates_cannot_be_skipped(mode: Subject) -> None:
    """However it is claimed, with a check that never passes the loop never completes."""
    for seed in SEEDS:
        for answers in (mode.claims_only, mode.any_answer(seed)):
            driver = mode.looping(answers, gates=fails, checks=("make",))
            loop = driver.run(STEPS)
            assert loop.status is not Status.COMPLETED
            check_rest(driver)


def no_claim_is_believed_without_every_gate(mode: Subject) -> None:
    """Whatever passes and fails in between, done means that all of it passed at the end."""
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
    """What the person says at any time is in a later prompt, without its round controls, or still waits to be."""
    for seed in SEEDS[:4]:
        for at in range(5):
            _hears(mode, seed, at, f"and mind the gap {seed}-{at}")


def _hears(mode: Subject, seed: int, at: int, text: str) -> None:
    dice = mode.any_answer(seed)
    said: list[int] = []

    def answers(action: AskAgent, loop: Loop) -> Reply:
        reply = dice(action, loop)
        if len(driver.asked) != at + 1:
            return reply
        said.append(loop.seq)
        return replace(reply, meanwhile=(MessageSent(f"[r+2] {text}"),))

    driver = mode.looping(answers, 4)
    loop = driver.run(STEPS)
    check_rest(driver)
    if not said or loop.status is Status.FAILED:
        return
    later = [
        entry.event.prompt for entry in driver.entries if isinstance(entry.event, TurnStarted) and entry.seq > said[0]
    ]
    assert text in loop.inbox or any(text in prompt for prompt in later), "a message is never lost"
    assert not any("[r+2]" in prompt for prompt in later), "the agent sees only the rest"
    assert loop.budget.iterations == 6


def goes_on_when_the_person_speaks(mode: Subject) -> None:
    """A loop that rests for want of a person's word, or of rounds, asks an agent again once it has got them."""
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), 2)
        loop = driver.run(STEPS)
        if loop.status is not Status.PAUSED:
            continue
        asked = len(driver.asked)
        driver.tell("say", MessageSent("[r+3] go on with the parser"))
        driver.tell("resume", ResumeRequested())
        driver.run(STEPS)
        check_rest(driver)
        assert any("go on with the parser" in call.ask.prompt for call in driver.asked[asked:])


def works_without_sessions(mode: Subject) -> None:
    """Agents that can neither resume nor fork are told the task anew, by the prompt or by an instructor who was told it."""
    for seed in SEEDS:
        driver = mode.looping(mode.any_answer(seed), worker=BARE)
        driver.run(STEPS)
        check_rest(driver)
        assert all(call.session is SessionUse.NEW and call.session_id is None for call in driver.asked)
        led = Role.WORKER if driver.calls(Role.INSTRUCTOR) else None
        assert all("Make the tests pass." in call.ask.prompt for call in driver.asked if call.ask.role is not led)


def asks_the_same_of_the_same_loop(mode: Subject) -> None:
    """Nothing is kept outside the loop: what comes next follows from the journal alone."""
    for seed in SEEDS[:3]:
        driver = mode.looping(mode.any_answer(seed))
        driver.run(STEPS)
        for count in range(3, len(driver.entries) + 1):
            entries = driver.entries[:count]
            read = [through_the_journal(entry) for entry in entries]
            now = driver.clock()
            assert decided(entries, now) == decided(read, now)


def asks_before_anything_was_said(mode: Subject) -> None:
    """A new loop, with nothing but its task, is asked for something that holds the task."""
    driver = mode.looping(mode.claims_only)
    wish = find(mode.mode).next(driver.loop)
    assert isinstance(wish, Ask | AwaitPerson)
    if isinstance(wish, Ask):
        assert "Make the tests pass." in (wish.prompt_if_new or wish.prompt)


CHECKS: tuple[Callable[[Subject], None], ...] = (
    comes_to_rest_whatever_is_answered,
    well_meant_work_gets_done,
    budget_is_exact,
    no_rounds_means_no_worker,
    control_is_obeyed_before_each_step,
    a_crash_anywhere_loses_nothing,
    gates_cannot_be_skipped,
    no_claim_is_believed_without_every_gate,
    messages_reach_a_prompt,
    goes_on_when_the_person_speaks,
    works_without_sessions,
    asks_the_same_of_the_same_loop,
    asks_before_anything_was_said,
)
