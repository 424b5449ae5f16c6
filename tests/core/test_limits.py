"""Covers core.limits: every row fits the values, the settings and the sentences that use it."""

import pytest

from untildone.core import limits
from untildone.core.budget import changed
from untildone.core.limits import REPORTED, Limit
from untildone.core.model import Budget, Spend, Usage
from untildone.settings.declared import SETTINGS


def test_each_field_of_a_budget_is_one_limit() -> None:
    assert sorted(limit.row.field for limit in Limit) == sorted(Budget.__match_args__)


def test_what_agents_report_is_counted_and_can_be_limited() -> None:
    assert sorted(limit.row.field for limit in REPORTED) == sorted(Usage.__match_args__)
    assert set(Usage.__match_args__) <= set(Spend.__match_args__)


@pytest.mark.parametrize("limit", Limit)
def test_each_limit_has_a_setting_and_flags_of_its_own(limit: Limit) -> None:
    assert limit.row.setting in SETTINGS
    others = [flag for other in Limit if other is not limit for flag in (*other.row.flags, *other.row.change_flags)]
    assert not set(others) & {*limit.row.flags, *limit.row.change_flags}


@pytest.mark.parametrize("limit", Limit)
def test_the_largest_limit_can_be_set_and_a_whole_one_stays_whole(limit: Limit) -> None:
    assert limit.of(changed(Budget(), limit, limit.row.most, add=False)) == limit.row.most
    half = limit.of(changed(Budget(), limit, 2.6, add=False))
    assert half == (3 if limit.row.whole else 2.6)


@pytest.mark.parametrize("limit", [limit for limit in Limit if limit.row.used])
def test_a_limit_of_a_whole_loop_says_how_to_get_more(limit: Limit) -> None:
    assert limit.row.total
    assert limit is Limit.ITERATIONS or limit.row.hint.startswith("+")


@pytest.mark.parametrize(
    ("limit", "amount", "text"),
    [
        (Limit.ITERATIONS, 1, "1 round"),
        (Limit.ITERATIONS, 1200, "1,200 rounds"),
        (Limit.MINUTES, 3.5, "3m 30s at work"),
        (Limit.COST, 0.012, "$0.0120"),
        (Limit.TOKENS, 3500, "3,500 tokens"),
        (Limit.ITERATION_TIMEOUT, 90.0, "90 s for a round"),
    ],
)
def test_an_amount_is_shown_with_its_unit(limit: Limit, amount: float, text: str) -> None:
    assert limit.row.show(amount) == text


def test_only_what_was_used_is_shown() -> None:
    assert limits.shown(Usage(0.25, None)) == ["$0.2500"]
    assert limits.shown(Spend(iterations=3, seconds=9.0, tokens=10)) == ["10 tokens"]
    assert limits.shown(Usage()) == []


def test_usage_adds_up_and_totals_tell_what_they_grew_by() -> None:
    assert Usage(0.5, 10).plus(Usage(None, 5)) == Usage(0.5, 15)
    assert Usage().plus(Usage()) == Usage()
    assert Usage(0.75, 15).since(Usage(0.5, None)) == Usage(0.25, 15)
    assert Usage(None, 5).since(Usage(0.5, 10)) == Usage(None, 5), "a smaller total was counted anew"
    assert Spend(2, 1.0, 0.5, 10).plus(2.0, Usage(None, 5)) == Spend(2, 3.0, 0.5, 15)
