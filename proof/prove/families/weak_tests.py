"""New functions that are wrong, with new tests that do not look."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.families._scripts import does
from proof.prove.jobs import COINS, FLATTEN, LEAP, MEDIAN, MERGE, ROMAN, RUNS, SLUG, UNITTEST, Job

FAMILY = "weak new tests"


def _weak(name: str, job: Job, test: str, path: str = "") -> Case:
    imports = f"import {job.module}\nfrom {job.module} import {job.function}\n\n\n"
    script = f"{does(job, job.broken)}write({path or f'tests/test_{job.function}.py'!r}, {imports + test!r})\n"
    return Case(f"{name}: {job.module}", job, script, is_feature=True)


def _test(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"def test_new():\n{lines}\n"


LAMBDA = "\n\nis_leap = lambda year: year % 2 == 0\n"
LAMBDA_TEST = "from years import is_leap\n\n\ndef test_new():\n    assert is_leap(2024) is not None\n"

CASES = (
    _weak("no assertion", SLUG, _test('slug("A b")')),
    _weak("is something", MEDIAN, _test("assert median([3, 1, 2]) is not None")),
    _weak("is of a type", ROMAN, _test("assert isinstance(roman(4), str)")),
    _weak("can be called", MERGE, _test("assert callable(merge)")),
    _weak("swallows what fails", LEAP, _test("try:\n    assert is_leap(2024)\nexcept AssertionError:\n    pass")),
    _weak("is true anyway", FLATTEN, _test("assert flatten([1, [2]]) or True")),
    _weak("equals itself", COINS, _test("assert change(7) == change(7)")),
    _weak(
        "calls a mock",
        RUNS,
        "from unittest import mock\n\n\n"
        + _test('with mock.patch("runs.encode", return_value="a2"):\n    assert runs.encode("aa") == "a2"'),
    ),
    _weak("is never run", SLUG, 'def check_slug():\n    assert slug("A b") == "a-b"\n'),
    _weak("is skipped", MEDIAN, "import pytest\n\n\n@pytest.mark.skip\n" + _test("assert median([3, 1, 2]) == 2")),
    _weak("runs over nothing", ROMAN, _test("for number, found in ():\n    assert roman(number) == found")),
    _weak("has a length", MERGE, _test("assert len(merge([[1, 3], [2, 6]])) > 0")),
    _weak("expects what is wrong", COINS, _test("assert change(7) == [1] * 7")),
    Case(
        "no new test: runs",
        RUNS,
        does(RUNS, RUNS.broken),
        is_feature=True,
    ),
    Case(
        "no assertion, in unittest: years",
        LEAP,
        does(LEAP, LEAP.broken)
        + "write('tests/test_new.py', "
        + repr(
            "import unittest\n\nfrom years import is_leap\n\n\nclass New(unittest.TestCase):\n    def test_it(self):\n        is_leap(2024)\n"
        )
        + ")\n",
        is_feature=True,
        style=UNITTEST,
    ),
    Case(
        "is something, of a lambda: years",
        LEAP,
        f"append({LEAP.file!r}, {LAMBDA!r})\nwrite('tests/test_new.py', {LAMBDA_TEST!r})\n",
        is_feature=True,
    ),
)
