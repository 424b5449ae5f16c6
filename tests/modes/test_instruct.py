"""instruct: who hears what, when a round is taken, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from untildone.core.actions import AskAgent, AwaitPerson
from untildone.core.answers import rounds
from untildone.core.events import MessageSent, ResumeRequested
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
from untildone.modes.instruct import mode as instruct
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply, fails

TASK = "Implement the login feature"
DONE = "[TASK_COMPLETED]"
ARCHITECT = AgentChoice("architect", "claude", "opus", abilities=("resume", "fork", "system_prompt"))
Word = Reply | Answer | str


class Pair:
    """Plays both roles from lists, each in a session of its own; every turn of the worker changes something."""

    def __init__(self, instructor: Sequence[Word], worker: Sequence[Word], *, changes: bool = True) -> None:
        self._answers = {Role.INSTRUCTOR: driver.from_list(instructor), Role.WORKER: driver.from_list(worker)}
        self._changes = changes
        self._turns = 0

    def __call__(self, action: AskAgent, loop: Loop) -> Reply:
        role = action.ask.role
        output = self._answers[role](action, loop)
        reply = output if isinstance(output, Reply) else Reply(output if isinstance(output, Answer) else Answer(output))
        self._turns += 1
        answer = replace(reply.answer, session_id=f"{role}'s")
        changes = Changes(f"state {self._turns}") if self._changes else None
        return replace(reply, answer=answer, session_id=f"{role}'s", changes=changes)


def led(
    leads: Sequence[Word], works: Sequence[Word] = ("Done that.",), rounds: int | None = 20, **more: object
) -> Driver:
    pair = Pair(leads, works, changes=bool(more.pop("changes", True)))
    return driver.looping(pair, Budget(iterations=rounds), mode="instruct", task=TASK, **more)  # type: ignore[arg-type]


def prompts(ran: Driver, role: Role) -> list[str]:
    return [call.ask.prompt for call in ran.calls(role)]


def test_the_instructor_leads_until_it_says_done() -> None:
    ran = led(["Write login.py.", "Now test it.", f"All there.\n{DONE}"], ["I wrote it.", "They pass."])
    loop = ran.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.COMPLETED, Outcome.CLAIMED, 2)
    assert prompts(ran, Role.WORKER) == ["Write login.py.", "Now test it."], "the worker gets exactly that"
    assert prompts(ran, Role.INSTRUCTOR) == [
        f"The person's instruction:\n{TASK}",
        "The worker's answer:\nI wrote it.",
        "The worker's answer:\nThey pass.",
    ]


def test_an_instructor_that_repeats_its_orders_has_not_said_done() -> None:
    def echo(action: AskAgent, _loop: Loop) -> Reply:
        return Reply(Answer(f"{action.ask.system_prompt}\n\n{action.ask.prompt}"), changes=Changes(str(len(ran.asked))))

    ran = driver.looping(echo, Budget(iterations=3), mode="instruct", task=TASK)
    assert ran.run().outcome is Outcome.BUDGET
    assert len(ran.calls(Role.WORKER)) == 3


def test_each_has_a_session_of_its_own_and_the_instructor_knows_its_role() -> None:
    ran = led(["One.", "Two.", DONE])
    ran.run()
    for role in (Role.INSTRUCTOR, Role.WORKER):
        first, *others = ran.calls(role)
        assert (first.session, first.session_id) == (SessionUse.NEW, None)
        assert {(call.session, call.session_id) for call in others} == {(SessionUse.RESUME, f"{role}'s")}
    for call in ran.calls(Role.INSTRUCTOR):
        assert f"end your answer with {DONE} alone on its last line" in (call.ask.system_prompt or "")
    assert {call.ask.system_prompt for call in ran.calls(Role.WORKER)} == {None}


def test_they_may_be_different_agents() -> None:
    ran = led(["One.", DONE], instructor=ARCHITECT)
    ran.run()
    assert {call.agent.profile for call in ran.calls(Role.INSTRUCTOR)} == {"architect"}
    assert {call.agent.profile for call in ran.calls(Role.WORKER)} == {"worker"}


@pytest.mark.parametrize("talk", [f"Tell me when `{DONE}`.", f"Say {DONE} when done", f"```\n{DONE}\n```"])
def test_talk_about_the_marker_is_an_instruction(talk: str) -> None:
    ran = led([talk, DONE])
    assert ran.run().spend.iterations == 1
    assert f"{DONE} in your last answer did not count" in prompts(ran, Role.INSTRUCTOR)[1]
    assert prompts(ran, Role.WORKER) == [talk]


def test_the_workers_own_marker_ends_nothing() -> None:
    ran = led(["One.", "Two.", DONE], [DONE, DONE])
    assert ran.run().spend.iterations == 2


@pytest.mark.parametrize("marker", ["[SHIPPED]", "over and out"])
def test_the_marker_can_be_set(marker: str) -> None:
    ran = led(["One.", marker], marker=marker)
    assert ran.run().spend.iterations == 1
    assert marker in (ran.calls(Role.INSTRUCTOR)[0].ask.system_prompt or "")


def test_gates_that_fail_are_told_to_the_instructor() -> None:
    runs: list[str] = []

    def gate(command: str, loop: Loop) -> object:
        runs.append(command)
        return fails(command, loop, "2 failed") if len(runs) == 1 else driver.passes(command, loop)

    ran = led(["One.", DONE, "Mend it.", DONE], gates=gate, checks=("pytest -q",))
    loop = ran.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.VERIFIED, 2)
    shown = prompts(ran, Role.INSTRUCTOR)
    assert all(words in shown[2] for words in ("pytest -q", "2 failed"))
    assert "2 failed" not in shown[3], "it is told once"
    assert prompts(ran, Role.WORKER) == ["One.", "Mend it."]


# the person


def meanwhile(text: str, answer: str) -> Reply:
    return Reply(Answer(answer), meanwhile=(MessageSent(text),))


def test_a_message_goes_to_the_instructor_and_not_to_the_worker() -> None:
    ran = led(["One.", "Two.", DONE], [meanwhile("[r+1] Mind the docs.", "Did one."), "Did two."])
    ran.run()
    assert prompts(ran, Role.INSTRUCTOR)[1] == "The worker's answer:\nDid one.\n\nThe person says:\nMind the docs."
    assert not any("docs" in prompt for prompt in prompts(ran, Role.WORKER))
    assert ran.loop.inbox == ()


def test_a_message_during_the_instructors_turn_comes_before_the_worker() -> None:
    ran = led([meanwhile("Rather in Rust.", "Write it in C."), "Write it in Rust.", DONE])
    ran.run()
    assert prompts(ran, Role.WORKER) == ["Write it in Rust."]
    assert "Rather in Rust." in prompts(ran, Role.INSTRUCTOR)[1]


@pytest.mark.parametrize(
    "fruitless",
    [
        Reply(interrupted=Interruption.PERSON),
        Reply(interrupted=Interruption.TIMEOUT),
        Answer(failure=Failure(FailureKind.OVERLOADED, "busy")),
        Answer(failure=Failure(FailureKind.LIMIT, "limit")),
        Answer(text=""),
    ],
)
def test_a_message_is_not_lost_when_the_instructors_turn_comes_to_nothing(fruitless: Reply | Answer) -> None:
    ran = led(
        ["One.", fruitless, "Two.", DONE],
        [meanwhile("Mind the docs.", "Did one."), "Did two."],
        person=lambda _question, _loop: "Go on.",
    )
    ran.run()
    first, second = prompts(ran, Role.INSTRUCTOR)[1:3]
    assert "Mind the docs." in first
    assert "Mind the docs." in second


def test_a_worker_that_was_cut_short_is_news_for_the_instructor() -> None:
    ran = led(["All of it.", "Only half of it.", DONE], [Reply(interrupted=Interruption.TIMEOUT), "Half is done."])
    loop = ran.run()
    assert loop.spend.iterations == 2, "the round that came to nothing stays counted"
    assert "stopped before it had finished" in prompts(ran, Role.INSTRUCTOR)[1]
    assert prompts(ran, Role.WORKER) == ["All of it.", "Only half of it."]


@pytest.mark.parametrize("kind", [FailureKind.OVERLOADED, FailureKind.LIMIT, FailureKind.CRASHED])
def test_a_worker_that_is_asked_again_gets_the_same_instruction(kind: FailureKind) -> None:
    ran = led(["One.", DONE], [Answer(failure=Failure(kind, "later")), "Done."])
    loop = ran.run()
    assert loop.spend.iterations == 1
    assert prompts(ran, Role.WORKER) == ["One.", "One."]
    assert len(ran.calls(Role.INSTRUCTOR)) == 2


class Person:
    """Answers from a list, then leaves; keeps the questions."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.questions: list[AwaitPerson] = []

    def __call__(self, question: AwaitPerson, _loop: Loop) -> str | None:
        self.questions.append(question)
        return self._answers.pop(0) if self._answers else None


def test_with_a_person_it_waits_for_the_next_instruction_in_the_same_sessions() -> None:
    person = Person("Now the logout.")
    ran = led(["One.", DONE, "Write logout.py.", DONE], rounds=None, interactive=True, person=person)
    loop = ran.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 2)
    assert [question.leave for question in person.questions] == [Outcome.CLAIMED, Outcome.CLAIMED]
    assert prompts(ran, Role.INSTRUCTOR)[2] == "The person says:\nNow the logout."
    assert ran.calls(Role.INSTRUCTOR)[2].session is SessionUse.RESUME
    assert loop.asked == (TASK, "Now the logout.")


def test_without_a_person_done_is_done() -> None:
    assert led(["One.", DONE]).run().status is Status.COMPLETED


def test_an_interruption_gives_the_person_the_word() -> None:
    person = Person("Do it otherwise.")
    ran = led(
        ["One.", "Other.", DONE], [Reply(interrupted=Interruption.PERSON), "Did it."], interactive=True, person=person
    )
    ran.run()
    assert (person.questions[0].leave, person.questions[0].question) == (Outcome.INTERRUPTED, "Interrupted. What next?")
    assert "Do it otherwise." in prompts(ran, Role.INSTRUCTOR)[1]
    assert prompts(ran, Role.WORKER) == ["One.", "Other."]


def test_round_controls_alone_are_no_answer_to_an_interruption() -> None:
    person = Person("[r+10]", "Go on.")
    ran = led(["One."], [Reply(interrupted=Interruption.PERSON), "Did it."], rounds=2, interactive=True, person=person)
    ran.run()
    assert [question.leave for question in person.questions[:2]] == [Outcome.INTERRUPTED] * 2
    assert ran.loop.budget.iterations == 12


# rounds


def test_a_round_is_taken_before_each_turn_of_the_worker_and_none_left_is_a_pause() -> None:
    ran = led([f"Step {n}." for n in range(20)], rounds=5)
    loop = ran.run()
    assert (loop.status, loop.outcome, loop.spend.iterations) == (Status.PAUSED, Outcome.BUDGET, 5)
    assert loop.reason.startswith("No remaining rounds. Stopping.")
    assert len(prompts(ran, Role.INSTRUCTOR)) == 6, "the last answer is judged before it ends"


def test_more_rounds_go_on_where_it_was() -> None:
    ran = led(["One.", "Two.", DONE], rounds=1)
    assert ran.run().outcome is Outcome.BUDGET
    ran.send("say", MessageSent("[r+5]"))
    ran.send("resume", ResumeRequested())
    assert ran.run().outcome is Outcome.CLAIMED
    assert prompts(ran, Role.WORKER) == ["One.", "Two."], "the instruction that was waiting"


def test_more_rounds_with_a_message_reach_the_instructor_first() -> None:
    ran = led(["One.", "Two.", "Three.", DONE], rounds=1)
    ran.run()
    ran.send("say", MessageSent("[r+5] Continue the task"))
    ran.send("resume", ResumeRequested())
    ran.run()
    assert prompts(ran, Role.WORKER) == ["One.", "Three."]
    assert prompts(ran, Role.INSTRUCTOR)[2].endswith("The person says:\nContinue the task")


def test_used_up_rounds_are_a_question_to_a_person_who_is_there() -> None:
    person = Person("[r+5] Continue the task")
    ran = led(["One.", "Two.", "Three.", DONE], rounds=1, interactive=True, person=person)
    loop = ran.run()
    asked = person.questions[0]
    assert asked.question == f"{rounds.NO_ROUNDS}\n{rounds.NO_ROUNDS_HINT}"
    assert (asked.leave, asked.reason) == (Outcome.BUDGET, "No remaining rounds. Stopping. 1 of 1 rounds used.")
    assert (loop.budget.iterations, loop.outcome) == (6, Outcome.CLAIMED)


SEED = [
    # used before, limit, what the person says, what is left, what the instructor hears
    (0, 5, "[r+3] Implement the login feature", 8, "Implement the login feature"),
    (2, 4, "[r=15] Start new complex refactoring task", 15, "Start new complex refactoring task"),
    (3, 5, "[r+10]", 12, None),
    (5, 5, "[r+5] Continue the task", 5, "Continue the task"),
    (0, 5, "[r=20] [r+5] Complex task with extra rounds", 25, "Complex task with extra rounds"),
    (0, 5, "[r+3] [r=5] Multiple controls", 5, "Multiple controls"),
    (0, 5, "  [r+2]  With spaces (also works)", 7, "With spaces (also works)"),
    (0, 5, "[R+5] Case does not matter", 10, "Case does not matter"),
    (0, 5, "Implement [r+5] the feature", 5, "Implement [r+5] the feature"),
    (0, 5, "Task in middle [r=10] text", 5, "Task in middle [r=10] text"),
    (0, None, "[r+5] No limit", None, "No limit"),
    (0, None, "[r=5] A limit", 5, "A limit"),
]


@pytest.mark.parametrize(("used", "limit", "said", "left", "heard"), SEED)
def test_the_examples_of_the_design(
    used: int, limit: int | None, said: str, left: int | None, heard: str | None
) -> None:
    person = Person(said, "That is all.")
    words = [f"Step {n}." for n in range(used)] + [DONE]
    ran = led([*words, "More.", DONE], rounds=limit, interactive=True, person=person)
    ran.lease()
    while not person.questions:
        ran.step()
    loop = ran.loop
    assert loop.spend.iterations == used
    assert (None if loop.budget.iterations is None else loop.budget.iterations - used) == left
    ran.run()
    later = prompts(ran, Role.INSTRUCTOR)[len(words) :]
    assert heard is None or later[0].endswith(f"The person says:\n{heard}")
    assert not any("[r" in prompt for prompt in later) or "[r" in (heard or "")
    assert len(person.questions) >= (2 if heard is None else 1), "controls alone: it waits again"


# no talk without end


def ends(ran: Driver) -> Outcome | None:
    return ran.run(most_steps=500).outcome


def test_an_instructor_that_repeats_itself_is_a_stall() -> None:
    ran = led(["Go on."], ["I do."], rounds=None, changes=False)
    assert ends(ran) is Outcome.STALLED
    assert len(ran.calls()) == 3


def test_an_instructor_that_says_nothing_is_a_failure() -> None:
    ran = led([""])
    assert ends(ran) is Outcome.FAILED
    assert (len(ran.calls(Role.INSTRUCTOR)), len(ran.calls())) == (4, 0)
    assert "instructor said nothing" in ran.loop.reason


@pytest.mark.parametrize("review", [False, True])
def test_an_instructor_that_insists_on_being_done_comes_to_an_end(review: bool) -> None:
    """It gives the worker nothing to do, so no round is taken: something else must end it."""
    texts = iter(range(1000))

    def answers(action: AskAgent, _loop: Loop) -> str:
        return DONE if action.ask.role is Role.INSTRUCTOR else f"No, {next(texts)}."

    def gate(command: str, loop: Loop) -> object:
        return driver.passes(command, loop) if review else fails(command, loop, f"failure {next(texts)}")

    ran = driver.looping(answers, Budget(), gates=gate, mode="instruct", checks=("c",), review=review)  # type: ignore[arg-type]
    assert ends(ran) is Outcome.STALLED
    assert len(ran.asked) == 10
    ran.send("say", MessageSent("Do it again."))
    ran.send("resume", ResumeRequested())
    assert ends(ran) is Outcome.STALLED
    assert len(ran.asked) == 20, "a person's word gives it another try"


# sessions that are not there


def test_a_new_instructor_is_told_everything() -> None:
    full = Answer(failure=Failure(FailureKind.CONTEXT_FULL, "too long"))
    ran = led(["One.", full, "Two.", DONE], [meanwhile("Mind the docs.", "Did one."), "Did two."])
    ran.run()
    taken_over = ran.calls(Role.INSTRUCTOR)[2]
    assert taken_over.session is SessionUse.NEW
    for words in (TASK, "One.", "Did one.", "Mind the docs."):
        assert words in taken_over.ask.prompt


@pytest.mark.parametrize(
    ("context", "memory"), [(Context.CONTINUE, "remembers your"), (Context.FRESH, "remembers nothing")]
)
def test_the_instructor_knows_what_the_worker_remembers(context: Context, memory: str) -> None:
    ran = led(["One.", "Two.", DONE], context=context)
    ran.run()
    assert memory in (ran.calls(Role.INSTRUCTOR)[0].ask.system_prompt or "")
    assert (ran.calls()[1].session is SessionUse.NEW) is (context is Context.FRESH)


def test_the_state_stays_small() -> None:
    ran = led(["x" * 5_000_000, "y", DONE], ["z" * 5_000_000])
    ran.lease()
    while ran.loop.status is Status.RUNNING:
        ran.step()
        assert len(str(ran.loop.skill_state)) < 2 * instruct.LONGEST_INSTRUCTION
    shown = prompts(ran, Role.INSTRUCTOR)[1]
    assert len(shown) < 2 * instruct.SHOWN_ANSWER
    assert "characters left out" in shown


def test_a_worker_without_a_word_is_reported_as_such() -> None:
    ran = led(["One.", DONE], [""])
    ran.run()
    assert prompts(ran, Role.INSTRUCTOR)[1] == "The worker ended its turn without a word."


def test_header() -> None:
    assert rounds.header(3, 7) == "╭─ Round 3 (7 left) ─╮"
    assert rounds.header(3, None) == "╭─ Round 3 ─╮"


def test_twenty_rounds_without_a_person() -> None:
    assert (instruct.MODE.default_iterations, instruct.MODE.stays_open) == (20, True)
