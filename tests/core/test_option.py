"""Covers core/option: what an option accepts, and its value among those of a loop."""

from __future__ import annotations

from typing import Any

import pytest

from untildone import modes
from untildone.core.plugins.option import Option

ROUTE = Option("route", "Route", "which way", "auto", choices=("auto", "direct"))
SCORE = Option("score", "Score", "how good", 80, lowest=0, highest=100)
SHARE = Option("share", "Share", "how much", 0.5, lowest=0.0)
SWITCH = Option("switch", "Switch", "whether", default=False)
WORDS = Option("words", "Words", "what", "")


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        (ROUTE, "direct", True),
        (ROUTE, "sideways", False),
        (ROUTE, None, False),
        (SCORE, 0, True),
        (SCORE, 101, False),
        (SCORE, 7.5, False),
        (SCORE, True, False),
        (SCORE, "80", False),
        (SHARE, 3, True),
        (SHARE, -0.1, False),
        (SHARE, True, False),
        (SWITCH, True, True),
        (SWITCH, 1, False),
        (WORDS, "any", True),
        (WORDS, 1, False),
    ],
)
def test_an_option_accepts_only_its_type_within_its_bounds(option: Option, value: Any, accepted: bool) -> None:
    assert option.accepts(value) is accepted
    assert option.of({option.name: value}) == (value if accepted else option.default)


def test_without_a_value_the_default_holds() -> None:
    assert SCORE.of({}) == 80


def test_the_options_that_are_listed_are_those_of_the_modes() -> None:
    listed = modes.options(modes.own_names())
    assert listed == tuple((name, each) for name in modes.own_names() for each in modes.find(name).declared_options)
    assert ("phases", "route") in {(name, option.name) for name, option in listed}
