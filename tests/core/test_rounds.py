"""Round control, by tables: every example of the design, with its numbers, and hostile ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core.answers import rounds
from untildone.core.answers.rounds import BELONGS_AT_START, NO_INSTRUCTION, Add, Parsed, Set, header, parse

AT_THE_START: list[tuple[str, int | None, str, int | None, tuple[Add | Set, ...]]] = [
    ("[r+5] Continue the task", 10, "Continue the task", 15, (Add(5),)),
    ("[r=10] Start new complex task", 3, "Start new complex task", 10, (Set(10),)),
    ("[r=20] [r+5] Complex task with extra rounds", 1, "Complex task with extra rounds", 25, (Set(20), Add(5))),
    ("[r+5] Implement the feature", 5, "Implement the feature", 10, (Add(5),)),
    ("[r=10] Start new task", 5, "Start new task", 10, (Set(10),)),
    ("[r+3] [r=5] Multiple controls", 2, "Multiple controls", 5, (Add(3), Set(5))),
    ("  [r+2]  With spaces (also works)", 4, "With spaces (also works)", 6, (Add(2),)),
    ("[r=15] Start new complex refactoring task", 2, "Start new complex refactoring task", 15, (Set(15),)),
    ("[r+5] Continue the task", 0, "Continue the task", 5, (Add(5),)),
    ("[r+10] Continue the implementation", 0, "Continue the implementation", 10, (Add(10),)),
    ("[r=20] This is more complex than expected", 5, "This is more complex than expected", 20, (Set(20),)),
    ("[r+5] Continue", 1, "Continue", 6, (Add(5),)),
    ("[r=100] Long running task", 1, "Long running task", 100, (Set(100),)),
    ("[r+1] One more round for testing", 0, "One more round for testing", 1, (Add(1),)),
    ("[R+2] upper case", 1, "upper case", 3, (Add(2),)),
    ("\n\t[R=4]\n\nsecond line\nthird\n", 1, "second line\nthird", 4, (Set(4),)),
    ("[r+1][r+2]no blanks", 1, "no blanks", 4, (Add(1), Add(2))),
    ("[r=0] none", 7, "none", 0, (Set(0),)),
    ("[r+0] nothing", 7, "nothing", 7, (Add(0),)),
    ("[r+007] zeros", 1, "zeros", 8, (Add(7),)),
    ("[r=1000000] the most", 1, "the most", 1_000_000, (Set(1_000_000),)),
    ("[r=3] with no limit before", None, "with no limit before", 3, (Set(3),)),
    ("[r+9] [r=3] [r+2] with no limit before", None, "with no limit before", 5, (Set(3), Add(2))),
]

LEFT_AS_TEXT = [
    "Implement [r+5] the feature",
    "Task in middle [r=10] text",
    "Implement the login feature [r+3]",
    "x[r+5]",
    "[r+5",
    "[r+]",
    "[r=]",
    "[r=-1]",
    "[r+-3] go",
    "[r+1.5] go",
    "[r+1,000] go",
    "[r+ 5] go",
    "[ r+5] go",
    "[r-5] go",
    "[r5] go",
    "[r+5) go",
    "[rounds+5] go",
    "[r+٣] go",
    "[r=５] go",
    "[r+²] go",
    "[r=1000001] go",
    "[r+99999999999] go",
    "[r+" + "9" * 10_000 + "]",
    "",
    "   ",
    "  plain words, kept as they are  ",
]


@pytest.mark.parametrize(("text", "before", "rest", "after", "changes"), AT_THE_START)
def test_controls_at_the_start_are_applied_in_order_and_removed(
    text: str, before: int | None, rest: str, after: int | None, changes: tuple[Add | Set, ...]
) -> None:
    parsed = parse(text, before)
    assert (parsed.rest, parsed.remaining, parsed.changes) == (rest, after, changes)
    assert parsed.changed == (before != after)


@pytest.mark.parametrize("text", LEFT_AS_TEXT)
@pytest.mark.parametrize("before", [5, None])
def test_everything_else_is_text_that_changes_nothing(text: str, before: int | None) -> None:
    parsed = parse(text, before)
    assert (parsed.rest, parsed.remaining, parsed.changes, parsed.changed) == (text, before, (), False)


def test_example_1_its_control_is_at_the_end_so_it_stays_and_a_hint_says_where_it_belongs() -> None:
    parsed = parse("Implement the login feature [r+3]", 5)
    assert parsed == Parsed("Implement the login feature [r+3]", 5, notices=(BELONGS_AT_START,))
    assert parse("[r+3] Implement the login feature", 5).notices == ("Added 3 rounds. Remaining: 8",)


def test_example_2_set() -> None:
    assert parse("[r=15] Start new complex refactoring task", 2).notices == ("Set remaining rounds to: 15",)


def test_example_3_only_controls() -> None:
    parsed = parse("[r+10]", 2)
    assert parsed.notices == ("Added 10 rounds. Remaining: 12", "No instruction provided after parsing round controls")
    assert (parsed.rest, parsed.remaining) == ("", 12)


def test_example_4_none_left() -> None:
    assert rounds.NO_ROUNDS == "No remaining rounds. Stopping."
    assert rounds.NO_ROUNDS_HINT == "Use [r+n] to add more rounds or [r=n] to set remaining rounds"
    assert parse("[r+5] Continue the task", 0).remaining == 5


@pytest.mark.parametrize(
    ("number", "left", "line"),
    [(3, 7, "╭─ Round 3 (7 left) ─╮"), (5, 0, "╭─ Round 5 (0 left) ─╮"), (3, None, "╭─ Round 3 ─╮")],
)
def test_header(number: int, left: int | None, line: str) -> None:
    assert header(number, left) == line


def test_with_no_limit_adding_changes_nothing_and_says_so() -> None:
    parsed = parse("[r+5] go on", None)
    assert (parsed.rest, parsed.remaining, parsed.changes, parsed.changed) == ("go on", None, (), False)
    assert parsed.notices == ("No limit is set, so [r+5] changes nothing; [r=n] sets one",)
    assert parse("[r+5]", None).notices[-1] == NO_INSTRUCTION


def test_each_control_has_its_notice_in_order() -> None:
    assert parse("[r=20] [r+5] x", 1).notices == ("Set remaining rounds to: 20", "Added 5 rounds. Remaining: 25")


@pytest.mark.parametrize("token", ["[r+99999999999]", "[r=-1]", "[r+]", "[r+1.5]", "[r=1000001]"])
def test_a_control_that_is_none_is_named_in_a_notice(token: str) -> None:
    (notice,) = parse(f"{token} go", 5).notices
    assert notice.startswith(f"{token} was left as text: ")
    assert "1,000,000" in notice


def test_after_something_that_is_no_control_the_next_is_not_at_the_start() -> None:
    parsed = parse("[r+2] [r=-1] [r+5] go", 1)
    assert (parsed.rest, parsed.remaining) == ("[r=-1] [r+5] go", 3)
    assert parsed.notices[-1] == BELONGS_AT_START


def test_a_hostile_message_is_read_in_one_pass() -> None:
    parsed = parse("[r+1]" * 100_000 + "go", 0)
    assert (parsed.rest, parsed.remaining) == ("go", 100_000)
    for text in ("[r+" * 300_000, "[r+" + "1" * 1_000_000, " " * 1_000_000 + "[", "x" + "[r+1" * 200_000):
        assert parse(text, 1).remaining == 1


CONTROL = st.tuples(st.sampled_from("+="), st.integers(0, 1_000_000))
BLANKS = st.text(" \t\n", max_size=3)
PLAIN = st.text(min_size=1).map(str.strip).filter(lambda text: text and "[" not in text)


@given(st.lists(st.tuples(CONTROL, BLANKS, st.sampled_from("rR"))), BLANKS, PLAIN, st.integers(0, 1000))
def test_any_controls_in_front_of_any_text(
    controls: list[tuple[tuple[str, int], str, str]], lead: str, instruction: str, before: int
) -> None:
    expected = before
    text = lead
    for (sign, number), blanks, letter in controls:
        text += f"[{letter}{sign}{number}]{blanks}"
        expected = expected + number if sign == "+" else number
    parsed = parse(text + instruction, before)
    assert parsed.remaining == expected
    assert parsed.rest.strip() == instruction
    assert len(parsed.changes) == len(parsed.notices) == len(controls)


@given(st.text("[]rR+=-.0123456789 \nx٣", max_size=60), st.none() | st.integers(0, 50))
def test_no_text_breaks_it_and_the_rest_is_always_the_end_of_the_message(text: str, before: int | None) -> None:
    parsed = parse(text, before)
    assert text.rstrip().endswith(parsed.rest.rstrip())
    assert parsed.remaining is None or parsed.remaining >= 0
    assert parsed.changed == (parsed.remaining != before)
