"""Seed 000, runtime round control (mode instruct): its requirements, one test each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.command_line import CommandLine

from untildone.core.actions import AskAgent, AwaitPerson
from untildone.core.answers import rounds
from untildone.core.apply import apply
from untildone.core.events import MessageSent, ResumeRequested
from untildone.core.kinds import Interruption, Source
from untildone.core.loop import Loop
from untildone.core.model import Answer, Budget, Changes, Outcome, Role
from untildone.faces.text import loop_lines
from untildone.testing import driver
from untildone.testing.driver import Driver, Reply

DONE = "[TASK_COMPLETED]"
LOGIN = "Implement the login feature"


class Person:
    """A person who gives these answers one after the other, then leaves; keeps what they were asked."""

    def __init__(self, *words: str) -> None:
        self.words, self.asked = list(words), list[AwaitPerson]()

    def __call__(self, question: AwaitPerson, _loop: Loop) -> str | None:
        self.asked.append(question)
        return self.words.pop(0) if self.words else None


def led(
    leads: Sequence[str], most: int | None, person: Person | None = None, task: str = LOGIN, stops: str = ""
) -> Driver:
    """A loop whose instructor gives these instructions; each turn of the worker changes something.

    The worker's turn for the instruction `stops` is interrupted by the person.
    """
    lines, turns = driver.from_list(leads), iter(range(1000))

    def answers(action: AskAgent, loop: Loop) -> Reply:
        if action.ask.role is Role.INSTRUCTOR:
            said = lines(action, loop)
            return Reply(Answer(str(said), session_id="i"))
        interrupted = Interruption.PERSON if stops and action.ask.prompt == stops else None
        return Reply(
            Answer("Done that.", session_id="w"), changes=Changes(f"state {next(turns)}"), interrupted=interrupted
        )

    budget = Budget(iterations=most)
    if person is None:
        return driver.looping(answers, budget, mode="instruct", task=task)
    return driver.looping(answers, budget, person=person, mode="instruct", task=task, interactive=True)


def heard(ran: Driver, role: Role) -> list[str]:
    return [call.ask.prompt for call in ran.calls(role)]


def headers(ran: Driver) -> list[str]:
    """The lines above the rounds, as `log` shows them."""
    lines, loop = [], None
    for entry in ran.entries:
        loop = apply(loop, entry)
        lines += [line.text for line in loop_lines.of_entry(entry, loop, live=False) if "Round" in line.text]
    return lines


def notices(text: str, remaining: int | None) -> list[str]:
    return [str(notice) for notice in rounds.parse(text, remaining).notices]


def test_requirement_adding_at_the_start_adds_and_is_removed() -> None:
    person = Person("[r+10] Continue the task")
    ran = led([DONE, "More.", DONE], 5, person)
    loop = ran.run()
    assert loop.budget.iterations == 15
    assert heard(ran, Role.INSTRUCTOR)[1].endswith("The person says:\nContinue the task")
    assert notices("[r+10] Continue the task", 5) == ["Added 10 rounds. Remaining: 15"]


def test_requirement_setting_at_the_start_replaces_what_is_left_and_is_removed() -> None:
    person = Person("[r=15] Start new complex refactoring task")
    ran = led(["One.", DONE, "More.", DONE], 3, person)
    loop = ran.run()
    assert loop.budget.iterations == 1 + 15, "15 are left after the one that is used"
    assert heard(ran, Role.INSTRUCTOR)[2].endswith("The person says:\nStart new complex refactoring task")
    assert any("Round 2 (15 left)" in line or "Round 2 (14 left)" in line for line in headers(ran))


@pytest.mark.parametrize(
    ("text", "left", "rest"),
    [
        ("[r=20] [r+5] Complex task with extra rounds", 25, "Complex task with extra rounds"),
        ("[r+3] [r=5] Multiple controls", 5, "Multiple controls"),
        ("[r+1][r+1] twice", 9, "twice"),
    ],
)
def test_requirement_several_controls_count_in_the_order_written(text: str, left: int, rest: str) -> None:
    parsed = rounds.parse(text, 7)
    assert (parsed.remaining, parsed.rest) == (left, rest)


def test_requirement_blanks_around_controls_are_fine() -> None:
    parsed = rounds.parse("  [r+2]  With spaces (also works)", 5)
    assert (parsed.remaining, parsed.rest) == (7, "With spaces (also works)")


@pytest.mark.parametrize("text", ["Implement [r+5] the feature", "Task in middle [r=10] text"])
def test_requirement_a_control_elsewhere_is_plain_text(text: str) -> None:
    parsed = rounds.parse(text, 7)
    assert (parsed.remaining, parsed.rest, parsed.changed) == (7, text, False)
    assert notices(text, 7) == [str(rounds.BELONGS_AT_START)]


def test_on_purpose_the_control_at_the_end_in_example_1_is_text() -> None:
    """The design contradicts itself: its rule (and its wrong usages) say "only at the start", its first example has one at the end."""
    parsed = rounds.parse("Implement the login feature [r+3]", 5)
    assert (parsed.remaining, parsed.rest) == (5, "Implement the login feature [r+3]")
    assert parsed.notices == (rounds.BELONGS_AT_START,)


def test_requirement_example_1_with_the_control_first() -> None:
    parsed = rounds.parse("[r+3] Implement the login feature", 5)
    assert (parsed.remaining, parsed.rest) == (8, "Implement the login feature")
    assert [str(notice) for notice in parsed.notices] == ["Added 3 rounds. Remaining: 8"]
    assert rounds.header(1, parsed.remaining) == "╭─ Round 1 (8 left) ─╮"


def test_on_purpose_example_2_has_its_sentence_without_the_decoration() -> None:
    """The words are those of the design; the picture and the line of the instructor's turn are left out, because
    each face (terminal, API, dashboard) shows the sentence in its own way."""
    assert notices("[r=15] Start new complex refactoring task", 2) == ["Set remaining rounds to: 15"]


def test_requirement_example_3_only_a_control_adds_and_waits_for_an_instruction() -> None:
    person = Person("[r+10]")
    ran = led(["One.", "Two.", "Three.", DONE], 5, person)
    loop = ran.run()
    assert (loop.budget.iterations, len(person.asked)) == (15, 2), "asked again after the control alone"
    assert len(heard(ran, Role.INSTRUCTOR)) == 4, "nobody is asked for it"
    assert notices("[r+10]", 2) == [
        "Added 10 rounds. Remaining: 12",
        "No instruction provided after parsing round controls",
    ]


def test_requirement_example_4_none_left_stops_and_says_how_to_go_on() -> None:
    person = Person()
    ran = led([f"Step {n}." for n in range(9)], 5, person)
    loop = ran.run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 5)
    assert person.asked[0].question.split("\n") == [
        "No remaining rounds. Stopping.",
        "Use [r+n] to add more rounds or [r=n] to set remaining rounds",
    ]
    assert any("(0 left)" in line for line in headers(ran))


def test_requirement_example_4_a_message_with_more_rounds_goes_on() -> None:
    person = Person("[r+5] Continue the task")
    ran = led(["One.", "Two.", "Three.", DONE], 1, person)
    loop = ran.run()
    assert (loop.budget.iterations, loop.outcome) == (6, Outcome.CLAIMED)
    assert heard(ran, Role.WORKER) == ["One.", "Three."]


def test_requirement_the_header_names_round_and_rounds_left() -> None:
    assert rounds.header(3, 7) == "╭─ Round 3 (7 left) ─╮"


def test_requirement_without_a_limit_the_header_has_no_suffix() -> None:
    assert rounds.header(3, None) == "╭─ Round 3 ─╮"


def test_requirement_without_a_limit_adding_changes_nothing() -> None:
    parsed = rounds.parse("[r+5] go on", None)
    assert (parsed.remaining, parsed.rest, parsed.changed) == (None, "go on", False)
    assert notices("[r+5] go on", None) == ["No limit is set, so [r+5] changes nothing; [r=n] sets one"]


def test_requirement_case_does_not_matter() -> None:
    assert [rounds.parse(text, 5).remaining for text in ("[R+2] x", "[r+2] x", "[R=2] x")] == [7, 7, 2]


LEFT_AS_TEXT = "was left as text"


def left_as_text(text: str) -> None:
    parsed = rounds.parse(text, 7)
    assert (parsed.rest, parsed.remaining, parsed.changed) == (text, 7, False)
    assert LEFT_AS_TEXT in str(parsed.notices[0])


@pytest.mark.parametrize("text", ["[r+1.5] half", "[r=2,5] x", "[r+1/2] x"])
def test_requirement_no_fractions(text: str) -> None:
    left_as_text(text)


@pytest.mark.parametrize("text", ["[r+-2] fewer", "[r=-2] none", "[r=−3] fewer"])
def test_requirement_no_negative_numbers(text: str) -> None:
    left_as_text(text)


@pytest.mark.parametrize("text", ["[r-2] less", "[r−3] fewer", "[ r+5 ] more", "[r + 5] more"])
def test_requirement_rounds_cannot_be_taken_away_and_a_hint_says_what_a_control_is(text: str) -> None:
    left_as_text(text)


@pytest.mark.parametrize("text", ["[readme] is wrong", "[r] is a letter", "see [ref-2]", "go on"])
def test_requirement_ordinary_brackets_get_no_hint(text: str) -> None:
    assert rounds.parse(text, 7).notices == ()


def test_requirement_a_round_is_taken_before_each_turn_of_the_worker() -> None:
    ran = led(["One.", "Two.", DONE], 5)
    ran.run()
    assert len(heard(ran, Role.INSTRUCTOR)) == 3
    assert [call.iteration for call in ran.calls(Role.WORKER)] == [1, 2]
    assert ran.loop.spend.iterations == 2, "the instructor's turns take none"


@pytest.mark.parametrize("flag", ["-r", "--max-rounds", "--max-iterations"])
def test_requirement_the_rounds_are_set_at_the_start_by_a_flag(tmp_path: Path, flag: str) -> None:
    cli = CommandLine(tmp_path)
    ended = cli.run("run", "x", flag, "2", "--json", *cli.script({"say": "Not yet.", "repeat": "forever"}))
    assert (ended.code, ended.records[-1]["iterations"]) == (3, 2)


@pytest.mark.parametrize("source", list(Source))
def test_requirement_controls_count_from_wherever_a_person_speaks(source: Source) -> None:
    ran = led(["One.", "Two.", DONE], 1)
    assert ran.run().outcome is Outcome.BUDGET
    ran.send("say", MessageSent("[R=3] [r+2] hi", source))
    assert ran.loop.budget.iterations == 1 + 5
    ran.send("resume", ResumeRequested())
    ran.run()
    assert heard(ran, Role.INSTRUCTOR)[2].endswith("The person says:\nhi")


def test_requirement_a_turn_can_be_interrupted_and_the_loop_goes_on() -> None:
    person = Person("Do it another way.")
    ran = led(["One.", "Another.", DONE], 5, person, stops="One.")
    loop = ran.run()
    assert heard(ran, Role.WORKER) == ["One.", "Another."]
    assert heard(ran, Role.INSTRUCTOR)[1].endswith("The person says:\nDo it another way.")
    assert loop.outcome is Outcome.CLAIMED
