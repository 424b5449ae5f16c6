"""supervise: what the supervisor is asked, what its word does, and who hears what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from untildone.core.actions import AskAgent
from untildone.core.answers.agreement import digest, instructions
from untildone.core.events import MessageSent, ResumeRequested, SessionRead, TurnInterrupted, TurnStarted
from untildone.core.kinds import Interruption
from untildone.core.loop import Loop
from untildone.core.model import (
    AgentChoice,
    Answer,
    Budget,
    Changes,
    Context,
    Failure,
    FailureKind,
    Outcome,
    Role,
    SessionUse,
    Status,
)
from untildone.gates.review import question
from untildone.testing import driver
from untildone.testing.driver import WORKER, Driver, Reply, fails

TASK = "Make the tests pass."
AGREED = driver.AGREED
GUIDANCE = "Look at the edges."
OTHER = AgentChoice("other", "scripted", abilities=("resume", "fork"))
BARE = AgentChoice("bare", "command")


def supervised(
    works: list[Reply | Answer | str],
    judges: list[Answer | str],
    budget: Budget | None = None,
    gates: Callable[..., object] = driver.passes,
    **chosen: object,
) -> Driver:
    """A supervised loop; the worker's session is `w`, and each of its turns changes something."""
    workers, supervisors = driver.from_list(works), driver.from_list(judges)
    turns = iter(range(1000))

    def answers(action: AskAgent, loop: Loop) -> Reply | Answer | str:
        if action.ask.role is Role.SUPERVISOR:
            return supervisors(action, loop)
        output = workers(action, loop)
        reply = (
            Reply(Answer(output)) if isinstance(output, str) else output if isinstance(output, Reply) else Reply(output)
        )
        answer = replace(reply.answer, session_id=reply.answer.session_id or "w")
        return replace(reply, answer=answer, changes=Changes(f"state {next(turns)}"))

    settings = {"mode": "supervise", "review": True, "supervisor_prompt": GUIDANCE, **chosen}
    return driver.looping(answers, budget or Budget(iterations=20), gates=gates, task=TASK, **settings)  # type: ignore[arg-type]


def prompts(ran: Driver, role: Role = Role.WORKER) -> list[str]:
    return [call.ask.prompt for call in ran.calls(role)]


def test_two_rounds_of_feedback_then_agreement() -> None:
    ran = supervised(
        ["I did it.", "I added tests.", "I wrote docs."],
        ["Where are the tests?", "And the docs?", f"Good.\n\n{AGREED}"],
    )
    loop = ran.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.COMPLETED, Outcome.VERIFIED, 3)
    assert prompts(ran) == [TASK, "Where are the tests?", "And the docs?"], "feedback is the next message, verbatim"
    assert [(call.session, call.session_id) for call in ran.calls()][1:] == [(SessionUse.RESUME, "w")] * 2


def test_the_supervisor_looks_from_a_fork_and_hears_only_the_person() -> None:
    ran = supervised(
        [Reply(Answer("I did it."), meanwhile=(MessageSent("[r+1] Mind the docs."),)), "Both are done.", "Now really."],
        ["Nothing of the kind.", AGREED],
    )
    ran.run()
    calls = ran.calls(Role.SUPERVISOR)
    assert {(call.session, call.session_id) for call in calls} == {(SessionUse.FORK, "w")}
    assert {call.ask.prompt for call in calls} == {f"What the person asked:\n{TASK}\n\nMind the docs."}
    assert all(call.ask.shows_work for call in calls)


@pytest.mark.parametrize(
    ("marker", "spoken"),
    [
        ("[TASK_COMPLETED]", "[TASK_COMPLETED {word}: well done]"),
        ("[OK]", "[OK {word}]"),
        ("ship it", "ship it {word}"),
    ],
)
def test_it_agrees_with_the_marker_and_the_word_of_the_question(marker: str, spoken: str) -> None:
    ran = supervised(["I did it."], [spoken], marker=marker)
    assert ran.run().outcome is Outcome.VERIFIED
    (call,) = ran.calls(Role.SUPERVISOR)
    assert call.ask.agrees_with == marker
    assert (call.ask.system_prompt or "").startswith(GUIDANCE)
    assert marker not in f"{call.ask.system_prompt} {call.ask.prompt}", "the host says how to agree, at the end"


def test_each_question_has_a_word_of_its_own_and_an_old_one_is_no_agreement() -> None:
    def answer(action: AskAgent, loop: Loop) -> str:
        if action.ask.role is Role.WORKER:
            return f"I did it, {loop.seq}."
        return "No.\n\n[TASK_COMPLETED {word}X]" if len(ran.words) == 1 else f"[TASK_COMPLETED {ran.words[0]}]"

    ran = driver.looping(
        answer,
        Budget(iterations=3),
        mode="supervise",
        review=True,
    )
    assert ran.run().outcome is Outcome.BUDGET
    assert len(set(ran.words)) == len(ran.words) == 3
    started = [event for event in ran.events(TurnStarted) if isinstance(event, TurnStarted)]
    journaled = [event.word for event in started if event.role is Role.SUPERVISOR]
    assert journaled == [digest(word) for word in ran.words], "the digest is journaled, the word is not"
    assert not any(event.word for event in started if event.role is Role.WORKER)


def test_the_marker_without_the_word_is_neither_agreement_nor_feedback() -> None:
    """Files that say "output [TASK_COMPLETED]" are common: the supervisor is asked again, the worker hears nothing."""
    ran = supervised(["I did it."], ["Good.\n\n[TASK_COMPLETED]", AGREED])
    assert ran.run().outcome is Outcome.VERIFIED
    assert (len(prompts(ran)), len(ran.calls(Role.SUPERVISOR))) == (1, 2)
    never = supervised(["I did it."], ["[TASK_COMPLETED]"])
    loop = never.run()
    assert (loop.outcome, len(never.calls(Role.SUPERVISOR))) == (Outcome.FAILED, 4)
    assert "without the word" in loop.reason


def test_a_supervisor_that_repeats_its_orders_has_not_agreed() -> None:
    def echo(action: AskAgent, _loop: Loop) -> Reply:
        ask = action.ask
        told = f"{ask.system_prompt}\n\n{ask.prompt}\n\n{instructions(ask.agrees_with, '{word}')}"
        return Reply(Answer(told), changes=Changes(str(len(ran.asked))))

    ran = driver.looping(
        echo,
        Budget(iterations=3),
        mode="supervise",
        review=True,
        worker=BARE,
        task="Make the tests pass. Then say so on a line of its own:\n[TASK_COMPLETED]",
    )
    assert ran.run().outcome is Outcome.BUDGET
    assert len(ran.calls(Role.SUPERVISOR)) == 3


@pytest.mark.parametrize(
    "feedback",
    [
        "I would write `[TASK_COMPLETED]` if it were done.",
        "Almost [TASK_COMPLETED]",
        "```\n[TASK_COMPLETED]\n```",
        "You wrote:\n[TASK_COMPLETED]\nThat is not so: the tests are weaker than before.",
        "No.",
    ],
)
def test_anything_but_the_agreeing_line_is_feedback(feedback: str) -> None:
    ran = supervised(["I did it."], [feedback, AGREED])
    ran.run()
    assert prompts(ran) == [TASK, feedback]


def test_the_supervisors_word_with_its_agreement_is_kept() -> None:
    loop = supervised(["I did it."], ["[TASK_COMPLETED {word}: well done]"]).run()
    assert [(gate.gate, gate.passed, gate.tail) for gate in loop.gates] == [("review", True, "well done")]


def test_checks_come_first_and_a_failed_one_spares_the_review() -> None:
    seen: list[str] = []

    def gate(command: str, loop: Loop) -> object:
        seen.append(command)
        return fails(command, loop, "1 failed") if len(seen) == 1 else driver.passes(command, loop)

    ran = supervised(["I did it.", "Mended."], [AGREED], gates=gate, checks=("pytest -q",))
    loop = ran.run()
    assert (loop.outcome, len(ran.calls(Role.SUPERVISOR))) == (Outcome.VERIFIED, 1)
    assert [result.gate for result in loop.gates] == ["check", "review"]
    assert "pytest -q" in prompts(ran)[1]
    assert "1 failed" in prompts(ran)[1]
    assert TASK not in prompts(ran)[1], "its session knows the task"


def test_a_message_goes_to_the_worker_with_the_feedback() -> None:
    ran = supervised(["I did it."], ["More tests, please.", AGREED])
    ran.lease()
    while not ran.loop.failed_gates:
        ran.step()
    ran.send("say", MessageSent("And in French."))
    ran.run()
    assert prompts(ran)[1] == "More tests, please.\n\nA message from the person:\nAnd in French."
    assert "And in French." in prompts(ran, Role.SUPERVISOR)[1]


def test_a_person_who_wants_more_is_heard_before_the_supervisor() -> None:
    ran = supervised([Reply(Answer("I did it."), meanwhile=(MessageSent("Wait, also X."),)), "X too."], [AGREED])
    ran.run()
    assert prompts(ran)[1] == "A message from the person:\nWait, also X."
    assert len(ran.calls(Role.SUPERVISOR)) == 1


@pytest.mark.parametrize(
    ("worker", "supervisor"), [(WORKER, OTHER), (BARE, None), (BARE, BARE), (WORKER, replace(WORKER, profile="second"))]
)
def test_a_supervisor_that_cannot_fork_is_shown_everything(worker: AgentChoice, supervisor: AgentChoice | None) -> None:
    ran = supervised(["I did it."], ["More.", AGREED], worker=worker, supervisor=supervisor)
    assert ran.run().outcome is Outcome.VERIFIED
    for call in ran.calls(Role.SUPERVISOR):
        assert (call.agent, call.session, call.ask.shows_work) == (supervisor or worker, SessionUse.NEW, True)
        assert call.ask.prompt == f"What the person asked:\n{TASK}\n\nThe agent's last message:\n> I did it."


def test_a_fork_of_half_the_work_is_no_fork() -> None:
    """While the worker was at its limit, another carried on: neither session knows everything."""
    limit = Answer(failure=Failure(FailureKind.LIMIT, "limit", reset_at=driver.NOON + 3600))
    ran = supervised(["I began.", limit, "I went on."], ["More.", AGREED], fallback=OTHER)
    assert ran.run().outcome is Outcome.VERIFIED
    first, second = ran.calls(Role.SUPERVISOR)
    assert (first.session, second.session) == (SessionUse.FORK, SessionUse.NEW)
    taken_over = ran.calls()[-1]
    assert (taken_over.agent, taken_over.session) == (OTHER, SessionUse.NEW)
    for words in (TASK, "I began.", "More."):
        assert words in taken_over.ask.prompt, "who takes over is told everything"


def test_a_fork_that_is_refused_becomes_a_fresh_reviewer() -> None:
    gone = Answer(failure=Failure(FailureKind.UNAVAILABLE, "No conversation found"))
    ran = supervised(["I did it."], [gone, AGREED])
    assert ran.run().outcome is Outcome.VERIFIED
    assert [call.session for call in ran.calls(Role.SUPERVISOR)] == [SessionUse.FORK, SessionUse.NEW]


@pytest.mark.parametrize(
    ("answer", "attempts", "reason", "outcome"),
    [
        (Answer(text=" \n "), 4, "said nothing", Outcome.FAILED),
        (Answer(failure=Failure(FailureKind.CRASHED, "it crashed")), 4, "it crashed", Outcome.FAILED),
        (Answer(failure=Failure(FailureKind.AUTH, "not logged in")), 1, "not logged in", Outcome.BLOCKED),
    ],
)
def test_a_supervisor_that_cannot_be_asked_never_means_done(
    answer: Answer, attempts: int, reason: str, outcome: Outcome
) -> None:
    ran = supervised(["I did it."], [answer])
    loop = ran.run()
    assert (loop.status, loop.outcome) == (outcome.status, outcome)
    assert len(ran.calls(Role.SUPERVISOR)) == attempts
    assert "Supervisor" in loop.reason
    assert reason in loop.reason


def test_no_agreement_is_the_budget_not_success() -> None:
    ran = supervised(["I did it."], [f"No, {n}." for n in range(30)], Budget(iterations=4))
    loop = ran.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 4)
    assert len(ran.calls(Role.SUPERVISOR)) == 4


def test_twenty_rounds_if_nobody_says() -> None:
    from untildone.modes.supervise.mode import MODE

    assert (MODE.default_iterations, MODE.reviewed) == (20, True)


def test_a_turn_that_was_cut_short_goes_on_with_the_task() -> None:
    ran = supervised(
        [Reply(Answer(session_id="w"), session_id="w", interrupted=Interruption.TIMEOUT), "I did it."], [AGREED]
    )
    ran.run()
    assert any(isinstance(event, TurnInterrupted) for event in ran.events())
    assert ran.calls()[1].session is SessionUse.RESUME
    assert prompts(ran)[1].endswith(TASK)


def test_a_fresh_context_is_told_everything_each_time() -> None:
    ran = supervised(["I did it."], ["More tests.", AGREED], context=Context.FRESH)
    ran.run()
    assert [call.session for call in ran.calls()] == [SessionUse.NEW, SessionUse.NEW]
    assert prompts(ran)[0] == TASK
    assert all(words in prompts(ran)[1] for words in (TASK, "I did it.", "More tests."))


def test_feedback_without_end_is_cut() -> None:
    loop = supervised(["I did it."], ["x" * 1_000_000], Budget(iterations=1)).run()
    assert len(loop.gates[0].tail) < question.LONGEST_FEEDBACK + 10


def test_after_the_budget_the_feedback_is_not_lost() -> None:
    ran = supervised(["I did it."], ["More tests.", AGREED], Budget(iterations=1))
    assert ran.run().outcome is Outcome.BUDGET
    ran.send("say", MessageSent("[r+5]"))
    ran.send("resume", ResumeRequested())
    assert ran.run().outcome is Outcome.VERIFIED
    assert prompts(ran) == [TASK, "More tests."]


@pytest.mark.parametrize("mode", ["ralph", "instruct"])
def test_in_other_modes_the_feedback_is_in_the_next_prompt(mode: str) -> None:
    """`--review`: the supervisor as one gate among others."""
    done = {"ralph": "<promise>COMPLETE</promise>", "instruct": "[TASK_COMPLETED]"}[mode]

    def answers(action: AskAgent, loop: Loop) -> str:
        if action.ask.role is Role.SUPERVISOR:
            return AGREED if len(ran.calls(Role.SUPERVISOR)) > 1 else "The docs are missing."
        return done

    ran = driver.looping(answers, Budget(iterations=5), mode=mode, review=True)
    assert ran.run().outcome is Outcome.VERIFIED
    speaker = Role.WORKER if mode == "ralph" else Role.INSTRUCTOR
    first, second = prompts(ran, speaker)
    assert "The docs are missing." in second
    assert "The docs are missing." not in first


def test_words_that_only_the_agents_record_knows_are_shown_apart() -> None:
    """The transcript of a person's own session may say what was asked before the loop; the agent can write it, too."""
    ran = supervised(["I did it."], [AGREED])
    ran.lease()
    ran.journal.append(SessionRead(("Use tabs.", TASK)))
    ran.run()
    (prompt,) = prompts(ran, Role.SUPERVISOR)
    heard, _, recorded = prompt.partition("\n\nIn the agent's own record of its session")
    assert heard == f"What the person asked:\n{TASK}"
    assert recorded.endswith("\n\nUse tabs.")
