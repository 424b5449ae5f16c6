"""The rule by which benchmarks judge growth: what grows is found, however noisy; what only differs is not called growth."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[1] / "bench"
SIZES = (10, 100, 1_000, 10_000, 100_000)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


figures = load("figures")


def missed(*turns: tuple[float, ...]) -> list[str]:
    """What of the two goals is missed."""
    rows = list(figures.growth("time", SIZES, turns, "ms"))
    assert len(rows) == 2
    return ["growth" if "growth" in row.what else "bump" for row in rows if row.met is False]


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        pytest.param((5.0, 5.0, 5.0, 5.0, 5.0), [], id="flat"),
        pytest.param((5.0, 5.1, 5.2, 5.3, 5.4), [], id="8 percent over the axis"),
        pytest.param((5.0, 5.18, 5.36, 5.54, 5.75), ["growth"], id="15 percent over the axis"),
        pytest.param((5.0, 5.0, 5.0, 5.01, 5.75), ["growth"], id="with the size itself: at the largest only"),
        pytest.param((1.0, 1.3, 1.6, 1.9, 2.2), ["growth", "bump"], id="with the logarithm"),
        pytest.param((1.0, 10.0, 100.0, 1_000.0, 10_000.0), ["growth", "bump"], id="with the size, and nothing else"),
        pytest.param((5.0, 5.0, 7.0, 5.0, 5.0), ["bump"], id="a bump in the middle"),
        pytest.param((5.0, 5.0, 5.0, 7.0, 5.0), ["growth", "bump"], id="a bump beside it"),
        pytest.param((7.0, 5.0, 5.0, 5.0, 5.0), ["bump"], id="a dear first size"),
        pytest.param((7.0, 5.0, 5.25, 5.5, 5.75), ["bump"], id="a dear first size that hides growth"),
        pytest.param((4.6, 5.4, 4.6, 5.4, 4.6), [], id="8 percent up and down"),
        pytest.param((4.78, 5.05, 5.0, 4.95, 5.29), [], id="the two ends off, which all others outweigh"),
        pytest.param((5.0, 4.5, 4.0, 3.5, 3.0), [], id="cheaper"),
        pytest.param((0.0, 0.0, 0.0, 0.0, 0.0), [], id="nothing"),
        pytest.param((0.0, 0.0, 0.0, 0.0, 1.0), ["growth"], id="nothing, and then something"),
    ],
)
def test_growth_is_told_from_what_is_not(costs: tuple[float, ...], expected: list[str]) -> None:
    assert missed(costs) == expected


@pytest.mark.parametrize(
    ("true_growth", "expected"),
    [pytest.param(1.0, [], id="flat"), pytest.param(1.15, ["growth"], id="15 percent")],
)
@pytest.mark.parametrize("seed", range(20))
def test_spread_does_not_decide(seed: int, true_growth: float, expected: list[str]) -> None:
    """Each cost is up to 8 percent off; in every other turn, the machine takes twice as long for everything."""
    chance = random.Random(seed)
    costs = [1 + (true_growth - 1) * place / (len(SIZES) - 1) for place in range(len(SIZES))]
    turns = [tuple((1 + turn % 2) * cost * chance.uniform(0.92, 1.08) for cost in costs) for turn in range(40)]
    assert missed(*turns) == expected


def test_one_odd_turn_of_a_machine_that_gets_slower_decides_nothing() -> None:
    assert missed((1.0, 1.0, 1.0, 1.0, 1.0), (2.0, 2.0, 2.0, 2.0, 2.6), (5.0, 5.0, 5.0, 5.0, 5.0)) == []


def test_row_shows_the_cost_at_each_size() -> None:
    flat, _ = figures.growth("time", SIZES, [(5.0, 5.1, 5.2, 5.3, 5.4)], "ms", "of real ones")
    assert flat.what == "time: growth from 10 to 100,000"
    assert flat.note == "10: 5.00, 100: 5.10, 1,000: 5.20, 10,000: 5.30, 100,000: 5.40 ms; of real ones"
    assert flat.figure.middle == pytest.approx(1.08)


@pytest.mark.parametrize(
    ("row", "met"),
    [
        pytest.param({"goal": 2.0}, None, id="nothing measured"),
        pytest.param({"figure": 3.0}, None, id="no goal"),
        pytest.param({"figure": 3.0, "goal": 2.0}, False, id="the figure itself"),
        pytest.param({"figure": 3.0, "baseline_figure": 2.0, "goal": 2.0}, True, id="the ratio"),
        pytest.param({"figure": 3.0, "baseline_figure": 1.0, "goal": 2.0}, False, id="the ratio, missed"),
        pytest.param({"figure": 3.0, "baseline_figure": 1.0, "limit": 3.0}, True, id="the figure, beside another"),
        pytest.param({"figure": 3.0, "baseline_figure": 2.0, "goal": 2.0, "limit": 2.5}, False, id="one of two"),
    ],
)
def test_goal_is_of_the_ratio_and_limit_of_the_figure(row: dict[str, float], met: bool | None) -> None:
    found = figures.Row("time", **{name: measured(name, value) for name, value in row.items()})
    assert found.met is met
    assert figures.verdict([found], judged=True) == (1 if met is False else 0)


def measured(name: str, value: float) -> object:
    return figures.figure([value], "ms") if name in ("figure", "baseline_figure") else value


def test_what_was_not_measured_is_a_failure_also_of_a_quick_try() -> None:
    missed_goal, error = figures.Row("a", measured("figure", 3.0), goal=2.0), figures.Row("b", error="no jq")
    assert figures.verdict([missed_goal], judged=False) == 0
    assert figures.verdict([missed_goal, error], judged=False) == 1
