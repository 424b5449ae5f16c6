"""Money: what was spent on which day, by which agent, in which workspace."""

from __future__ import annotations

from itertools import pairwise

import pytest

from untildone.core.model import Answer, Budget, Spend, Status, Usage
from untildone.operations.loop_table import Row
from untildone.operations.showing import money
from untildone.operations.showing.money import DAY, Paid
from untildone.testing.driver import Reply, looping

NOON = 20_000 * DAY + 43_200.0
"""Noon of a day in UTC."""


def row(
    name: str, cost: float, ended: float, *, began: float | None = None, agent: str = "claude", place: str = "/w"
) -> Row:
    spend = Spend(1, 60.0, cost, 100)
    return Row(
        name, place, Status.COMPLETED, agent=agent, spend=spend, created_at=began or ended - 60, updated_at=ended
    )


def never(_row: Row) -> tuple[Paid, ...]:
    raise AssertionError("the journal of a loop of one day is not read")


def test_sums_by_day_agent_and_workspace() -> None:
    rows = [
        row("a", 1.0, NOON),
        row("b", 0.5, NOON - DAY, agent="codex"),
        row("c", 0.25, NOON - 6 * DAY, place="/other"),
        row("d", 64.0, NOON - 7 * DAY),
        row("e", 0.0, NOON, agent="idle"),
    ]
    found = money.added_up(rows, never, NOON)
    assert [day.cost_usd for day in found.days] == [0.25, 0, 0, 0, 0, 0.5, 1.0]
    assert (found.today.name, found.days[0].name) == ("2024-10-04", "2024-09-28")
    assert (found.week.cost_usd, found.week.loops, found.week.tokens) == (1.75, 4, 400)
    assert [(each.name, each.cost_usd) for each in found.agents] == [("claude", 1.25), ("codex", 0.5), ("idle", 0.0)]
    assert [each.name for each in found.workspaces] == ["/w", "/other"]


def test_a_loop_of_several_days_counts_on_each_of_them() -> None:
    several = row("a", 3.0, NOON, began=NOON - 9 * DAY)
    parts = ((NOON - 8 * DAY, Spend(1, 1, 0.5)), (NOON - DAY, Spend(1, 1, 1.0)), (NOON, Spend(1, 1, 1.5)))
    found = money.added_up([several], lambda _row: parts, NOON)
    assert [day.cost_usd for day in found.days] == [0, 0, 0, 0, 0, 1.0, 1.5]
    assert (found.week.cost_usd, found.week.loops) == (2.5, 1)


@pytest.mark.parametrize(("offset", "today"), [(0, 0.0), (9 * 3600, 1.0), (-9 * 3600, 1.0)])
def test_days_begin_where_the_person_is(offset: int, today: float) -> None:
    midnight = NOON + DAY / 2
    found = money.added_up([row("a", 1.0, midnight - 3600)], never, midnight + 3600, offset)
    assert found.today.cost_usd == today


def test_what_a_journal_spent_adds_up_to_the_spend_of_the_loop() -> None:
    replies = [Reply(Answer("more", usage=Usage(cost_usd=cost, tokens=10)), seconds=5.0) for cost in (0.1, 0.2, 0.4)]
    ran = looping(replies, Budget(iterations=3))
    loop = ran.run()
    parts = money.paid(ran.journal.entries)
    assert sum(spend.cost_usd for _, spend in parts) == pytest.approx(loop.spend.cost_usd)
    assert sum(spend.iterations for _, spend in parts) == loop.spend.iterations == 3
    assert all(one <= other for (one, _), (other, _) in pairwise(parts))
