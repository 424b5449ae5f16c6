"""Seed 000, runtime round control: its requirements, one test each."""

from __future__ import annotations

import pytest

from untildone.core import rounds


@pytest.mark.parametrize(
    "text", ["[r-2] less", "[ r+5 ] more", "[r + 5] more", "[r+1.5] half", "[r=-2] none", "[r−3] fewer"]
)
def test_requirement_whole_rounds_only_and_what_looks_like_a_control_gets_a_hint(text: str) -> None:
    parsed = rounds.parse(text, 7)
    assert (parsed.rest, parsed.remaining, parsed.changed) == (text, 7, False)
    assert "was left as text" in str(parsed.notices[0])


@pytest.mark.parametrize("text", ["[readme] is wrong", "[r] is a letter", "see [ref-2]", "go on"])
def test_requirement_ordinary_brackets_get_no_hint(text: str) -> None:
    assert rounds.parse(text, 7).notices == ()


def test_requirement_the_header_names_round_and_rounds_left() -> None:
    assert rounds.header(3, 7) == "╭─ Round 3 (7 left) ─╮"
    assert rounds.header(3, None) == "╭─ Round 3 ─╮"
