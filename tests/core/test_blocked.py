"""Blocked: what counts as a question to the person, when a supervisor may refute it, and what the loop does then."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from untildone.core.actions import AskAgent
from untildone.core.answers import blocked
from untildone.core.events import MessageSent, ResumeRequested
from untildone.core.loop import Loop
from untildone.core.model import Answer, Budget, Failure, FailureKind, Outcome, Role, Status
from untildone.testing.driver import WORKER, Crash, Reply, looping
from untildone.testing.journal_laws import check_laws

NEEDS = "the password of the staging database"


@pytest.mark.parametrize(
    "message",
    [
        f"<blocked>{NEEDS}</blocked>",
        f"I looked everywhere.\n\n<blocked>{NEEDS}</blocked>",
        f"I looked everywhere.\r\n<blocked>{NEEDS}</blocked>\r\n\r\n",
        f"<blocked>\n{NEEDS}\n</blocked>",
        f"**<blocked>{NEEDS}</blocked>**",
        f"  <blocked> {NEEDS} </blocked>",
        f"No: <blocked>one</blocked>\n<blocked>{NEEDS}</blocked>",
    ],
)
def test_the_last_thing_said_on_a_line_of_its_own_is_a_question(message: str) -> None:
    assert blocked.question(message) == NEEDS


@pytest.mark.parametrize(
    "message",
    [
        "",
        "All done.\n<promise>COMPLETE</promise>",
        f"I would say <blocked>{NEEDS}</blocked>",
        f"<blocked>{NEEDS}</blocked>\nbut I found it after all.",
        f"```\n<blocked>{NEEDS}</blocked>\n```",
        f"```\n<blocked>{NEEDS}</blocked>",
        f"> <blocked>{NEEDS}</blocked>",
        f"    <blocked>{NEEDS}</blocked>",
        f"`<blocked>{NEEDS}</blocked>`",
        "<blocked></blocked>",
        "<blocked>  \n</blocked>",
        f"<blocked>{NEEDS}",
        f"<blocked>{blocked.PLACEHOLDER}</blocked>",
        blocked.HOW_TO_SAY,
        f"<blocked>{NEEDS}</blocked>\n<promise>COMPLETE</promise>",
    ],
)
def test_anything_else_is_none(message: str) -> None:
    assert blocked.question(message) == ""


def test_a_long_question_is_cut() -> None:
    assert len(blocked.question(f"<blocked>{'x' * 3_000}</blocked>")) == blocked.LONGEST_QUESTION


ASKS = f"I cannot reach it.\n<blocked>{NEEDS}</blocked>"
DONE = "Done.\n<promise>COMPLETE</promise>"
AGREED = "[TASK_COMPLETED {word}]"


@pytest.mark.parametrize("mode", ["ralph", "supervise", "instruct", "workflow", "phases"])
def test_a_blocked_agent_makes_the_loop_wait_for_the_person_in_every_mode(mode: str) -> None:
    driver = looping([ASKS] * 2, mode=mode)
    loop = driver.run()
    assert (loop.status, loop.outcome, loop.reason) == (Status.PAUSED, Outcome.BLOCKED, NEEDS)
    assert len(driver.asked) == 1
    assert mode != "ralph" or driver.asked[0].prompt.count(blocked.HOW_TO_SAY) == 1
    check_laws(driver)


@pytest.mark.parametrize("mode", ["ralph", "supervise", "workflow", "phases"])
def test_the_answer_of_the_person_is_in_the_next_prompt(mode: str) -> None:
    driver = looping([ASKS, ASKS], mode=mode)
    driver.run()
    driver.send("say", MessageSent("It is hunter2."))
    driver.send("resume", ResumeRequested())
    driver.run()
    assert "It is hunter2." in driver.asked[1].ask.prompt
    assert driver.loop.spend.iterations == 2


def by_role(worker: str, *supervisor: str) -> Callable[[AskAgent, Loop], str]:
    answers = iter(supervisor)
    return lambda action, _loop: worker if action.ask.role is Role.WORKER else next(answers)


def test_a_supervisor_may_refute_it_once_and_its_advice_is_in_the_next_prompt() -> None:
    driver = looping(by_role(ASKS, "It is in config/staging.toml."), review=True)
    loop = driver.run()
    assert loop.outcome is Outcome.BLOCKED
    assert [call.ask.role for call in driver.asked] == [Role.WORKER, Role.SUPERVISOR, Role.WORKER]
    assert NEEDS in driver.asked[1].ask.prompt
    assert "It is in config/staging.toml." in driver.asked[2].ask.prompt
    check_laws(driver)


def test_a_supervisor_who_agrees_leaves_it_to_the_person() -> None:
    driver = looping(by_role(ASKS, AGREED), review=True)
    loop = driver.run()
    assert (loop.outcome, loop.reason, len(driver.asked)) == (Outcome.BLOCKED, NEEDS, 2)


def test_a_supervisor_may_refute_again_after_the_person_has_spoken() -> None:
    driver = looping(by_role(ASKS, "No.", "No again."), review=True)
    driver.run()
    driver.send("say", MessageSent("Try harder."))
    driver.send("resume", ResumeRequested())
    driver.run()
    assert len(driver.calls(Role.SUPERVISOR)) == 2


def test_a_person_who_speaks_while_the_supervisor_thinks_has_answered() -> None:
    def answers(action: AskAgent, _loop: Loop) -> Reply | str:
        if action.ask.role is Role.SUPERVISOR:
            return Reply(Answer(AGREED), meanwhile=(MessageSent("It is hunter2."),))
        return DONE if "hunter2" in action.ask.prompt else ASKS

    driver = looping(answers, review=False, supervisor=WORKER)
    assert driver.run().outcome is Outcome.CLAIMED


@pytest.mark.parametrize("crash_at", range(4, 14))
def test_a_crash_neither_counts_a_round_twice_nor_loses_the_question(crash_at: int) -> None:
    driver = looping(by_role(ASKS, AGREED, AGREED, AGREED), review=True)
    driver.journal.dies_before = crash_at
    try:
        driver.run()
    except Crash:
        driver.crash()
        driver.journal.dies_before = None
        driver.run()
    assert driver.loop.outcome is Outcome.BLOCKED
    assert driver.loop.reason == NEEDS
    assert driver.loop.spend.iterations <= 2
    check_laws(driver)


@pytest.mark.parametrize(
    "kind", [FailureKind.AUTH, FailureKind.REFUSED, FailureKind.UNAVAILABLE, FailureKind.RESOURCES]
)
def test_a_failure_that_a_person_can_end_blocks_and_takes_no_second_round(kind: FailureKind) -> None:
    failing = Answer(failure=Failure(kind, "it does not work."), session_id="s")
    healthy: list[bool] = []
    driver = looping(lambda _action, _loop: DONE if healthy else failing, Budget(iterations=1))
    loop = driver.run()
    assert (loop.status, loop.outcome) == (Status.PAUSED, Outcome.BLOCKED)
    assert loop.reason.startswith("Worker worker: it does not work")
    healthy.append(True)
    driver.send("resume", ResumeRequested())
    assert driver.run().outcome is Outcome.CLAIMED
    assert driver.loop.spend.iterations == 1
    check_laws(driver)


def test_short_resources_are_tried_again_first() -> None:
    short = Answer(failure=Failure(FailureKind.RESOURCES, "no memory."))
    driver = looping([short, short, DONE])
    assert driver.run().outcome is Outcome.CLAIMED


def test_one_ordinary_run_is_never_blocked() -> None:
    assert looping([ASKS], once=True).run().outcome is Outcome.CLAIMED


@pytest.mark.parametrize("mode", ["ralph", "supervise", "instruct", "workflow", "phases"])
def test_every_prompt_to_a_worker_or_instructor_says_how_to_be_blocked_once(mode: str) -> None:
    driver = looping(["I am at it."] * 6, Budget(iterations=4), mode=mode)
    driver.run()
    told = [action for action in driver.asked if action.ask.role is not Role.SUPERVISOR]
    assert told
    assert all(action.prompt.count(blocked.HOW_TO_SAY) == 1 for action in told)
    assert all(blocked.HOW_TO_SAY not in each.prompt for each in driver.asked if each.ask.role is Role.SUPERVISOR)
