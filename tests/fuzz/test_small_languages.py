"""What people type in a few signs: round controls, amounts, ids. Each against a slow and obvious reading of the same rules."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.fuzz.mutations import check_error, tried
from tests.support.store_conformance import loop_created

from untildone.core.answers import amounts, rounds
from untildone.core.answers.rounds import Add, Set
from untildone.core.apply import apply
from untildone.core.errors import UntilDoneError, UsageError
from untildone.core.events import Entry
from untildone.core.limits import Limit
from untildone.store import layout, names

NOW = 1794765000.0


def slow_rounds(text: str, remaining: int | None) -> tuple[str, int | None]:
    """Sign by sign: blanks, then `[r`, a sign, digits and `]`, as long as they come."""
    position, found = 0, False
    while True:
        at = position
        while at < len(text) and text[at].isspace():
            at += 1
        if text[at : at + 2].lower() != "[r" or text[at + 2 : at + 3] not in ("+", "="):
            break
        end = at + 3
        while end < len(text) and text[end] in "0123456789":
            end += 1
        digits = text[at + 3 : end]
        if not digits or text[end : end + 1] != "]" or int(digits) > rounds.LARGEST:
            break
        if text[at + 2] == "=":
            remaining = int(digits)
        elif remaining is not None:
            remaining += int(digits)
        position, found = end + 1, True
    return (text[position:].strip() if found else text), remaining


ROUND_SIGNS = st.lists(
    st.sampled_from(
        ("[r+", "[r=", "[R+", "]", "5", "0", "1000000", "1000001", " ", "\n", "\t", "x", "[", "٣", "-", "\x1c")
    ),
    max_size=14,
).map("".join)


@tried()
@given(text=ROUND_SIGNS | st.text(max_size=30), before=st.none() | st.integers(0, 9))
@example(text="\u3000[r+5]\u3000go", before=1)
@example(text="[r+5]\x1fgo", before=1)
def test_round_control_is_what_reading_sign_by_sign_finds(text: str, before: int | None) -> None:
    parsed = rounds.parse(text, before)
    assert (parsed.rest, parsed.remaining) == slow_rounds(text, before)
    assert parsed.changed == (parsed.remaining != before)
    left = before
    for change in parsed.changes:
        match change:
            case Add(number):
                assert left is not None, "nothing is added where there is no limit"
                left += number
            case Set(number):
                left = number
    assert left == parsed.remaining, "the changes that took effect lead to what is left"
    assert all("\n" not in notice for notice in parsed.notices), "each notice is one line"


def slow_amount(limit: str, text: str) -> tuple[Decimal | None, bool] | None:
    """The amount and whether it is added; None: it is no amount."""
    word = text.strip()
    if word.lower() in ("none", "=none"):
        return None, False
    adds = word.startswith("+")
    number = word[1:] if word.startswith(("+", "=")) else word
    if not number.isascii() or len(number) > 20 or "_" in number:
        return None
    try:
        value = Decimal(number.strip())
    except InvalidOperation:
        return None
    whole = limit in ("iterations", "tokens")
    if whole and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", number):
        return None
    most = 1_000_000 if limit == "iterations" else 10**12
    return (value, adds) if value.is_finite() and float(value) > 0 and value <= most else None


AMOUNT_SIGNS = st.lists(
    st.sampled_from(
        ("+", "=", "-", "none", "NONE", "5", "0", "99", ".", "e", "E9", "_", " ", "inf", "nan", "٣", "000", "x")
    ),
    max_size=6,
).map("".join)


@tried()
@given(limit=st.sampled_from(list(Limit)), text=AMOUNT_SIGNS | st.text(max_size=12))
@example(limit="minutes", text="+ 5")
@example(limit="iterations", text="0\n0")
@example(limit="minutes", text="++5")
@example(limit="cost", text="1e-400")
def test_an_amount_is_a_number_or_one_sentence(limit: str, text: str) -> None:
    expected = slow_amount(limit, text)
    try:
        changed = amounts.change(limit, text)
    except UsageError as problem:
        assert expected is None
        check_error(problem)
        return
    assert expected is not None
    value, adds = expected
    assert (changed.amount is None) == (value is None)
    assert value is None or changed.amount == float(value)
    assert changed.add is adds


@tried()
@given(wanted=st.lists(st.tuples(st.sampled_from(list(Limit)), AMOUNT_SIGNS), max_size=6))
def test_any_changes_of_the_budget_leave_one_that_holds(wanted: list[tuple[Limit, str]]) -> None:
    """More never makes it less, and no amount takes a limit below nothing or beyond what can be counted."""
    loop = apply(None, Entry(1, NOW, loop_created("loop-1")))
    for limit, text in wanted:
        try:
            change = amounts.change(limit, text)
        except UsageError:
            continue
        before, loop = limit.of(loop.budget), apply(loop, Entry(loop.seq + 1, NOW, change))
        after = limit.of(loop.budget)
        assert after is None or 0 < after < float("inf")
        assert not change.add or before is None or (after is not None and after >= before)


@tried()
@given(name=st.text(max_size=120) | st.text("a-_/.\x00\n Zé9", max_size=12))
@example(name="loop-1\n")
@example(name="..")
def test_an_id_never_leaves_its_folder(name: str) -> None:
    root = Path("/somewhere/.loop")
    try:
        found = layout.live(root, name)
    except UsageError as problem:
        check_error(problem)
        return
    assert found.checkpoint.parent == found.progress.parent == root
    assert str(found.checkpoint.resolve()).startswith("/somewhere/.loop/")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", name)


@tried()
@given(
    known=st.lists(st.text("ab-1", min_size=1, max_size=6), unique=True, max_size=6), name=st.text("ab-1", max_size=4)
)
def test_a_part_of_an_id_means_the_one_loop_that_has_it(known: list[str], name: str) -> None:
    fits = [each for each in known if name in each]
    try:
        resolved = names.resolve_id(name, tuple(known), "here")
    except UntilDoneError as problem:
        assert name not in known
        assert not name or len(fits) != 1
        check_error(problem)
        return
    assert resolved == name or fits == [resolved]
    assert names.resolve_id(resolved, tuple(known), "here") == resolved, "a whole id means itself"


def test_the_last_loop_is_the_newest() -> None:
    assert names.resolve_id("last", ("a", "b"), "here") == "b"
    with pytest.raises(UsageError):
        names.resolve_id("last", (), "here")
