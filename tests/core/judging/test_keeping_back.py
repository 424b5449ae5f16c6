"""A share of the project's own tests is kept back: which ones, and what the agent finds in their place."""

from __future__ import annotations

import pytest

from untildone.core.judging.project_tests.keeping_back import chosen, is_candidate, share_of, snapshots, stub, tells_of

TESTS = {f"tests/test_{name}.py": f"def test_{name}(): ...\n" for name in "abcdefghij"}


@pytest.mark.parametrize(
    ("value", "share"), [("20%", 0.2), ("12.5 %", 0.125), ("", None), ("/held/out", None), ("20", None), ("a20%", None)]
)
def test_a_share_is_a_number_with_a_percent_sign(value: str, share: float | None) -> None:
    assert share_of(value) == share


@pytest.mark.parametrize("value", ["0%", "100%", "250%"])
def test_nothing_and_everything_are_no_share(value: str) -> None:
    with pytest.raises(ValueError, match="more than 0 % and less than 100 %"):
        share_of(value)


@pytest.mark.parametrize(("share", "number"), [(0.01, 1), (0.2, 2), (0.5, 5), (0.99, 9)])
def test_the_choice_has_the_size_of_the_share_and_is_never_all(share: float, number: int) -> None:
    assert len(chosen(TESTS, share)) == number


def test_the_choice_depends_on_contents_alone() -> None:
    first = chosen(TESTS, 0.3)
    assert chosen(dict(reversed(TESTS.items())), 0.3) == first
    others = {chosen({**TESTS, "tests/test_a.py": f"def test_a(): assert {number}\n"}, 0.3) for number in range(30)}
    assert len(others) > 1


def test_a_test_that_another_one_names_stays() -> None:
    tests = {"tests/test_base.py": "class Base: ...", "tests/test_a.py": "from tests.test_base import Base"}
    assert chosen(tests, 0.5) == ("tests/test_a.py",)


def test_a_test_of_which_there_is_a_copy_stays() -> None:
    copied = chosen(TESTS, 0.3)
    assert not set(chosen(TESTS, 0.3, copied)) & set(copied)
    assert chosen(TESTS, 0.3, TESTS) == ()


def test_what_a_test_expects_is_kept_with_it() -> None:
    assert snapshots("web/a.test.ts") == ("web/__snapshots__/a.test.ts.snap", "web/__snapshots__/a.test.ambr")
    assert snapshots("test_a.py") == ("__snapshots__/test_a.py.snap", "__snapshots__/test_a.ambr")


@pytest.mark.parametrize("tests", [{}, {"test_a.py": ""}])
def test_too_few_tests_leave_nothing_to_keep_back(tests: dict[str, str]) -> None:
    assert chosen(tests, 0.5) == ()


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/test_a.py", True),
        ("calc.py", False),
        ("a.test.ts", True),
        ("calc_test.go", True),
        ("__snapshots__/a.test.ts.snap", False),
    ],
)
def test_what_can_be_kept_back(path: str, is_test: bool) -> None:
    assert is_candidate(path) is is_test


@pytest.mark.parametrize(
    ("path", "tells"),
    [
        ("tests/test_a.py", True),
        ("tests/__pycache__/test_a.cpython-311.pyc", True),
        ("tests/__pycache__/test_ab.cpython-311.pyc", False),
        ("__pycache__/test_b.cpython-311.pyc", True),
        ("other/test_a.py", False),
    ],
)
def test_bytecode_tells_of_its_source(path: str, tells: bool) -> None:
    assert tells_of(path, ("tests/test_a.py", "test_b.py")) is tells


@pytest.mark.parametrize(
    ("path", "text", "has"),
    [
        ("a_test.go", "// x\npackage calc_test\n\nfunc TestA() {}\n", "package calc_test"),
        ("a.test.js", "test('secret', () => {})", "test.skip("),
        ("a.test.mjs", 'import { test } from "node:test"', "// This file is kept back"),
        ("test_a.py", "def test_secret(): ...", "# This file is kept back"),
    ],
)
def test_a_runner_accepts_what_stands_in_its_place(path: str, text: str, has: str) -> None:
    made = stub(path, text)
    assert has in made
    assert "secret" not in made
    assert "TestA" not in made
