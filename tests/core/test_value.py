"""Values behave as frozen, slotted dataclasses do."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from untildone.core.model import Budget, GateResult, LoopSettings, Spend
from untildone.core.values.value import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.x + self.y


def test_fields_defaults_and_factories() -> None:
    assert (Point(1).x, Point(1).y, Point(1).tags, Point(1, y=5).total) == (1, 2, [], 6)
    assert Point(1).tags is not Point(1).tags


def test_equality_hash_and_repr() -> None:
    assert Spend(1, 2.0) == Spend(iterations=1, seconds=2.0) != Spend()
    assert hash(Spend(1)) == hash(Spend(1))
    assert repr(Point(1, 2, ["a"])) == "Point(x=1, y=2, tags=['a'])"
    fields: object = (0, 0.0, 0.0, 0)
    assert Spend() != fields


def test_frozen_and_slotted() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del Point(1).x
    assert not hasattr(Point(1), "__dict__")


@pytest.mark.parametrize("arguments", [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_wrong_arguments_are_refused(arguments: tuple[tuple[int, ...], dict[str, int]]) -> None:
    given, named = arguments
    with pytest.raises(TypeError):
        Point(*given, **named)  # type: ignore[arg-type]


def test_replace_and_the_standard_one_agree() -> None:
    point = Point(1)
    assert replace(point, y=7) == dataclasses.replace(point, y=7) == Point(1, 7)
    with pytest.raises(TypeError):
        replace(point, z=1)  # type: ignore[call-arg]


def test_the_standard_library_knows_them() -> None:
    assert [entry.name for entry in dataclasses.fields(Budget)][:2] == ["iterations", "minutes"]
    assert dataclasses.asdict(Spend(1)) == {"iterations": 1, "seconds": 0.0, "cost_usd": 0.0, "tokens": 0}
    assert dataclasses.is_dataclass(LoopSettings)


def test_copies_and_pickles() -> None:
    result = GateResult("check", "pytest", passed=True)
    assert copy.deepcopy(result) == pickle.loads(pickle.dumps(result)) == result


def test_patterns_match() -> None:
    match Spend(3):
        case Spend(iterations=rounds):
            assert rounds == 3
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
