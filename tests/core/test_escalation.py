"""Another model or agent takes over after some rounds without progress; progress keeps the one that works."""

from __future__ import annotations

from untildone.core.actions import AskAgent
from untildone.core.events import Escalated
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Answer, Budget, Changes, Outcome, Role, SessionUse
from untildone.core.values.value import replace
from untildone.testing.driver import WORKER, Reply, fails, looping

DONE = "All of it.\n<promise>COMPLETE</promise>"
STRONG = replace(WORKER, model="strong")
OTHER = AgentChoice("other", "scripted", abilities=("resume", "fork"))
ROUNDS = Budget(iterations=12)


def asked(calls: list[AskAgent]) -> list[tuple[str, str | None]]:
    return [(call.agent.profile, call.agent.model) for call in calls if call.ask.role is Role.WORKER]


def test_each_takes_over_after_two_rounds_in_which_nothing_changed_and_then_it_stalls() -> None:
    driver = looping(["the same"], ROUNDS, escalate=(STRONG, OTHER))
    loop = driver.run()
    worker, strong, other = (WORKER.profile, None), (WORKER.profile, "strong"), ("other", None)
    assert asked(driver.calls()) == [worker, worker, strong, strong, other, other, other]
    assert (loop.outcome, loop.escalated) == (Outcome.STALLED, 2)


def test_another_model_goes_on_in_the_session_and_another_agent_starts_its_own() -> None:
    driver = looping([Answer("the same", session_id="s-1")], ROUNDS, escalate=(STRONG, OTHER))
    driver.run()
    assert [call.session for call in driver.calls()][2:5] == [SessionUse.RESUME, SessionUse.RESUME, SessionUse.NEW]


def test_the_same_failing_check_is_no_progress_although_files_change() -> None:
    def answers(action: AskAgent, _loop: Loop) -> Reply:
        return Reply(Answer(DONE), changes=Changes(f"tree-{action.iteration}"))

    driver = looping(answers, Budget(iterations=6), fails, checks=("make test",), escalate=(OTHER,), escalate_after=2)
    loop = driver.run()
    assert loop.outcome is Outcome.BUDGET
    assert [profile for profile, _ in asked(driver.calls())] == [WORKER.profile] * 3 + ["other"] * 3


def test_rounds_that_change_something_are_progress() -> None:
    def answers(action: AskAgent, _loop: Loop) -> Reply:
        return Reply(Answer("more"), changes=Changes(f"tree-{action.iteration}"))

    driver = looping(answers, Budget(iterations=6), escalate=(OTHER,))
    assert driver.run().escalated == 0
    assert {profile for profile, _ in asked(driver.calls())} == {WORKER.profile}


def test_what_took_over_is_in_the_journal_once_for_each() -> None:
    driver = looping(["the same"], ROUNDS, escalate=(STRONG, OTHER), escalate_after=1)
    driver.run()
    events = [entry.event for entry in driver.entries if isinstance(entry.event, Escalated)]
    assert events == [Escalated(1, WORKER.profile, "strong"), Escalated(2, "other", None)]


def test_without_escalation_a_stall_is_the_end() -> None:
    assert looping(["the same"], ROUNDS).run().spend.iterations == 3
