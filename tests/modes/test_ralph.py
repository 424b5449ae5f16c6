"""ralph: the same prompt again and again, until the promise is made in the agent's own words."""

from __future__ import annotations

import pytest

from untildone import modes
from untildone.core.actions import Ask
from untildone.core.answers.blocked import HOW_TO_SAY
from untildone.core.events import MessageSent
from untildone.core.model import AgentChoice, Answer, Budget, Changes, Context, Outcome, Status
from untildone.testing.driver import Driver, Reply, fails, looping, passes

PROMISE = "<promise>COMPLETE</promise>"
TASK = "Write a parser for TOML."


def prompts(driver: Driver) -> list[str]:
    return [call.ask.prompt for call in driver.calls()]


# --- the four scenarios of the promise loop ---


def test_it_ends_after_one_iteration_when_the_output_holds_the_promise() -> None:
    driver = looping(["The parser works. DONE"], promise="DONE")
    loop = driver.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.COMPLETED, Outcome.CLAIMED, 1)
    assert len(driver.calls()) == 1


def test_it_ends_after_three_iterations_when_nothing_is_promised() -> None:
    driver = looping(["one", "two", "three", "four"], Budget(iterations=3), promise="DONE")
    loop = driver.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.PAUSED, Outcome.BUDGET, 3)
    assert len(driver.calls()) == 3


def test_with_the_loop_off_it_is_one_ordinary_run() -> None:
    driver = looping(["I did what I could."], Budget(iterations=1), once=True, task=TASK)
    loop = driver.run()
    assert (loop.status, loop.spend.iterations) == (Status.COMPLETED, 1)
    assert prompts(driver) == [TASK]


def test_without_a_promise_the_iterations_alone_end_it() -> None:
    driver = looping([f"the same {PROMISE}"], Budget(iterations=4), promise=None, task=TASK)
    loop = driver.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 4)
    assert prompts(driver)[0] == f"{TASK}\n\n{HOW_TO_SAY}"


def test_five_iterations_unless_set() -> None:
    assert modes.find("ralph").default_iterations == 5


# --- the prompt ---


def test_the_first_prompt_is_the_task_and_how_to_claim() -> None:
    driver = looping([PROMISE], task=TASK)
    driver.run()
    (prompt,) = prompts(driver)
    assert prompt.startswith(f"{TASK}\n\n")
    assert PROMISE in prompt
    assert "[System:" not in prompt


def test_from_the_second_on_it_is_the_same_and_says_where_it_stands() -> None:
    driver = looping(["one", "two", "three"], Budget(iterations=3), task=TASK)
    driver.run()
    first, second, third = prompts(driver)
    assert second == f"{first}\n\n[System: This is iteration 2 of 3. Continue the task.]"
    assert third == f"{first}\n\n[System: This is iteration 3 of 3. Continue the task.]"


def test_without_a_limit_it_does_not_tell_of_how_many() -> None:
    driver = looping(["one", PROMISE], Budget(), task=TASK)
    driver.run()
    assert prompts(driver)[1].endswith("[System: This is iteration 2. Continue the task.]")


def test_a_limit_that_was_raised_meanwhile_is_told() -> None:
    driver = looping([Reply(Answer("one"), meanwhile=(MessageSent("[r+4]"),)), PROMISE], Budget(iterations=2))
    driver.run()
    assert "This is iteration 2 of 6." in prompts(driver)[1]


def test_a_task_that_says_how_to_claim_is_not_told_again() -> None:
    task = f"{TASK}\nWhen it is done, answer:\n{PROMISE}"
    driver = looping([PROMISE], task=task)
    assert driver.run().outcome is Outcome.CLAIMED
    assert prompts(driver) == [f"{task}\n\n{HOW_TO_SAY}"]


def test_the_check_that_failed_comes_last() -> None:
    results = iter([fails("make", tail="FAILED test_dates"), passes("make")])
    driver = looping([PROMISE], gates=lambda _command, _loop: next(results), checks=("make",))
    driver.run()
    report = prompts(driver)[1].partition("[System: This is iteration 2 of 5. Continue the task.]")[2]
    assert "FAILED test_dates" in report


def test_in_a_session_what_failed_comes_first() -> None:
    ran = looping([f"Done.\n{PROMISE}"], Budget(iterations=3), fails, checks=("pytest -q",))
    ran.lease()
    while not ran.loop.failed_gates:
        ran.step()
    mode = modes.find("ralph")
    ask = mode.next(ran.loop)
    assert isinstance(ask, Ask)
    text = mode.prompt_in_session(ran.loop, ask)
    assert text.startswith("The check `pytest -q` failed")
    assert text.endswith("[System: This is iteration 2 of 3. Continue the task.]")
    assert ran.loop.description in text


def test_what_the_person_said_is_in_the_next_prompt_once() -> None:
    driver = looping(["one", "two", PROMISE], task=TASK)
    driver.send("say", MessageSent("[r+1] Mind the dates."))
    driver.run()
    first, second, _ = prompts(driver)
    assert "A message from the person:\nMind the dates." in first
    assert "Mind the dates." not in second


def test_a_fresh_context_begins_a_new_session_each_time() -> None:
    replies = [Reply(Answer(str(n), session_id=f"s{n}"), changes=Changes(str(n))) for n in range(3)]
    fresh = looping(replies, Budget(iterations=3), context=Context.FRESH)
    fresh.run()
    assert [call.session_id for call in fresh.calls()] == [None, None, None]
    goes_on = looping(replies, Budget(iterations=3))
    goes_on.run()
    assert [call.session_id for call in goes_on.calls()] == [None, "s0", "s1"]


# --- what a claim is ---

HOW_TO_CLAIM = (
    f"When the task is completely done, and only then, end your final message with {PROMISE} alone on its last line, outside code "
    "and quotation marks, without a colon above it."
)


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        (f"It works.\n{PROMISE}", True),
        (f"It works. {PROMISE}", True),
        (PROMISE, True),
        ("It works.", False),
        ("<promise>complete</promise>", False),
        (f"I will write `{PROMISE}` when it works.", False),
        (f"```\n{PROMISE}\n```", False),
        (f"> {PROMISE}", False),
        (f"You said: {HOW_TO_CLAIM} It does not work yet.", False),
        (f"You said: {HOW_TO_CLAIM} It works now.\n\n{PROMISE}", True),
    ],
)
def test_the_promise_counts_only_in_the_agents_own_words(text: str, claimed: bool) -> None:
    loop = looping([text], Budget(iterations=1), task=TASK).run()
    assert (loop.outcome is Outcome.CLAIMED) == claimed


def test_a_promise_that_did_not_count_is_said_back() -> None:
    driver = looping([f"Here it is:\n{PROMISE}", "Half way.", PROMISE], task=TASK)
    assert driver.run().outcome is Outcome.CLAIMED
    refused = f"Your last message contains {PROMISE}, but it did not count: it must stand alone on the last line."
    assert [refused in prompt for prompt in prompts(driver)] == [False, True, False]


def test_a_claim_that_a_gate_refused_is_not_called_uncounted() -> None:
    results = iter([fails("make"), passes("make")])
    driver = looping([PROMISE], gates=lambda _command, _loop: next(results), checks=("make",))
    driver.run()
    assert "did not count" not in prompts(driver)[1]


def test_repeating_what_the_person_said_about_the_promise_is_no_claim() -> None:
    said = f"Do not write {PROMISE} before the dates work."
    driver = looping([f"Understood: {said}", "Half way."], Budget(iterations=2))
    driver.send("say", MessageSent(said))
    assert driver.run().outcome is Outcome.BUDGET


def test_an_agent_of_any_abilities_will_do() -> None:
    driver = looping(["one", PROMISE], worker=AgentChoice("any", "command"))
    assert driver.run().outcome is Outcome.CLAIMED
