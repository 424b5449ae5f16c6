"""covers: loops below a loop: shares of the budget, reports of what was used, depth, over any order of crashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from untildone.core import children
from untildone.core.apply import apply
from untildone.core.children import MOST_DEPTH, Child, Parent
from untildone.core.errors import UsageError
from untildone.core.events import ChildReserved, ChildSpent, Entry, Event, LoopCreated, Rested, StartRequested
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, Outcome, Spend, Status
from untildone.core.values.value import replace

SETTINGS = LoopSettings(mode="ralph", worker=AgentChoice("scripted", "scripted"), workspace="/w", children=3)


def played(*events: Event, loop: Loop | None = None) -> Loop:
    for event in events:
        loop = apply(loop, Entry(loop.seq + 1 if loop else 1, 1.0, event))
    assert loop is not None
    return loop


def running(budget: Budget, depth: int = 0, most: int = 3) -> Loop:
    above = Parent("p", depth) if depth else None
    made = LoopCreated("l", "t", "t", replace(SETTINGS, children=most), budget, above)
    return played(made, StartRequested())


def begun(loop: Loop, name: str, wanted: Budget, count: int = 0) -> Loop:
    return played(ChildReserved(children.share(loop, name, wanted, count)), loop=loop)


def test_a_share_is_taken_before_the_child_begins_and_the_rest_comes_back_when_it_has_ended() -> None:
    loop = begun(running(Budget(iterations=10, cost_usd=4.0)), "a", Budget(iterations=6, cost_usd=3.0))
    assert (loop.own_budget.iterations, loop.own_budget.cost_usd) == (4, 1.0)
    loop = played(ChildSpent("a", Spend(iterations=2, cost_usd=0.5), ended=False), loop=loop)
    assert (loop.own_budget.iterations, loop.total_spend.iterations) == (4, 2), "it may still use the rest"
    loop = played(ChildSpent("a", Spend(iterations=3, cost_usd=0.5), ended=True), loop=loop)
    assert (loop.own_budget.iterations, loop.own_budget.cost_usd) == (7, 3.5)
    assert loop.total_spend == Spend(iterations=3, cost_usd=0.5)
    assert loop.budget.iterations == 10


def test_without_a_wish_a_child_gets_half_of_what_is_left() -> None:
    loop = replace(running(Budget(iterations=9, minutes=10.0)), spend=Spend(iterations=2, seconds=120.0))
    given_to = children.share(loop, "a", Budget()).share
    assert given_to == Budget(iterations=3, minutes=4.0)
    assert children.share(running(Budget(iterations=2)), "a", Budget()).share.iterations == 1


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (Budget(iterations=9), "Too little is left for another loop: 8 rounds"),
        (Budget(iterations=0), "is not an amount"),
        (Budget(iterations=-5), "is not an amount"),
        (Budget(iterations=10**400), "is not an amount"),
        (Budget(cost_usd=float("nan")), "is not an amount"),
        (Budget(cost_usd=float("inf")), "is not an amount"),
        (Budget(cost_usd=2.1), "Too little is left"),
    ],
)
def test_more_than_is_left_is_refused(wanted: Budget, sentence: str) -> None:
    loop = replace(running(Budget(iterations=10, cost_usd=2.0)), spend=Spend(iterations=2))
    with pytest.raises(UsageError, match=sentence):
        children.share(loop, "a", wanted)


def test_the_number_of_loops_and_their_depth_are_bounded() -> None:
    loop = running(Budget(iterations=100), most=3)
    with pytest.raises(UsageError, match="gets less than that"):
        children.share(loop, "a", Budget(iterations=1), children=3)
    loop = begun(loop, "a", Budget(iterations=1), 1)
    assert children.may_start(loop) == 1
    loop = begun(loop, "b", Budget(iterations=1))
    with pytest.raises(UsageError, match="may not start another"):
        children.share(loop, "c", Budget(iterations=1))
    with pytest.raises(UsageError, match="may not start another"):
        children.share(running(Budget(), depth=MOST_DEPTH), "a", Budget())
    with pytest.raises(UsageError, match="may not start another"):
        children.share(running(Budget(), most=0), "a", Budget())
    with pytest.raises(UsageError, match="does not run"):
        children.share(played(Rested(Outcome.PAUSED, ""), loop=loop), "c", Budget())


def test_a_report_counts_after_the_end_and_changes_nothing_else() -> None:
    loop = begun(running(Budget(iterations=10)), "a", Budget(iterations=5))
    ended = played(Rested(Outcome.STOPPED, ""), loop=loop)
    reported = played(ChildSpent("a", Spend(iterations=4), ended=True), loop=ended)
    assert reported.status is Status.FAILED
    assert reported.total_spend.iterations == 4
    assert played(ChildReserved(Child("b", Budget(iterations=1))), loop=ended).children == ended.children


@pytest.mark.parametrize("text", ["[r+9] go", "[r=9]", " [R+1] x", "[r+0] x", "[r+9][r+9] x"])
def test_round_controls_raise_no_share(text: str) -> None:
    assert children.asks_for_rounds(text)
    assert not children.asks_for_rounds(f"go on {text.strip()}")
    assert not children.asks_for_rounds(" plain text\n")


def test_a_child_has_the_settings_of_its_parent_in_a_worktree() -> None:
    loop = running(Budget())
    kept = children.settings_of(loop, "/w/tree", ("make test",), 1)
    assert (kept.workspace, kept.worktree, kept.checks, kept.children) == ("/w/tree", True, ("make test",), 1)
    assert kept.worker == loop.settings.worker


NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), NAMES, st.integers(1, 12)),
        st.tuples(st.just("use"), NAMES, st.integers(0, 4)),
        st.tuples(st.just("end"), NAMES, st.just(0)),
        st.tuples(st.just("crash"), NAMES, st.just(0)),
        st.tuples(st.just("work"), st.just("l"), st.integers(1, 3)),
    ),
    max_size=25,
)


@given(STEPS)
def test_over_any_order_of_starts_reports_and_crashes_no_more_is_used_than_was_allowed(
    steps: list[tuple[str, str, int]],
) -> None:
    """A child may be reserved and never created, reported never, once or twice; its share and its use count exactly once."""
    loop, used = running(Budget(iterations=12), most=3), dict[str, int]()
    for step, name, amount in steps:
        known = {child.loop_id: child for child in loop.children}
        match step:
            case "start" if name not in known:
                try:
                    loop = begun(loop, name, Budget(iterations=amount))
                except UsageError:
                    continue
                used[name] = 0
            case "use" if name in known and not known[name].ended:
                used[name] = min(used[name] + amount, known[name].share.iterations or 0)
            case "end" if name in known:
                loop = played(ChildSpent(name, Spend(iterations=used[name]), ended=True), loop=loop)
            case "crash":  # the next runner reports what it finds, and its own report again
                for each in (*known, *known):
                    report = ChildSpent(each, Spend(iterations=used[each]), ended=known[each].ended)
                    loop = played(report, loop=loop)
            case "work" if loop.spend.iterations + amount <= (loop.own_budget.iterations or 0):
                loop = replace(loop, spend=replace(loop.spend, iterations=loop.spend.iterations + amount))
        assert loop.spend.iterations + sum(used.values()) <= 12
    for name, amount in used.items():
        loop = played(*(ChildSpent(name, Spend(iterations=amount), ended=True),) * 2, loop=loop)
    assert loop.total_spend.iterations == loop.spend.iterations + sum(used.values())


def test_every_amount_that_a_child_used_counts_for_its_parent() -> None:
    """Also an amount of a limit that is added later."""
    one = Spend(*(1 for _ in Spend.__match_args__))
    used = children.total(one, (Child("loop-b", Budget(), spend=one), Child("loop-c", Budget(), spend=one)))
    assert used == Spend(*(3 for _ in Spend.__match_args__))
