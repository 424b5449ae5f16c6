"""When the number of tests that ran is compared with the start of the loop, and what a smaller one means."""

from __future__ import annotations

import pytest
from tests.support.trees import tree

from untildone.core.judging.hidden_tests import may_hide
from untildone.core.plugins.gate import CommandEnd, CommandRan, RunnerReport
from untildone.gates.check import why_failed

PRODUCT = {"calc.py": "HAS_FAST = True\n", "src/shop/__init__.py": ""}
PLAIN = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
DOUBTFUL = {
    "skipped if the product says so": "import calc\n\n@pytest.mark.skipif(not calc.HAS_FAST, reason='')\ndef test_a(): pass\n",
    "a name of the product": "from calc import HAS_FAST as fast\n\n@unittest.skipUnless(fast, '')\ndef test_a(): pass\n",
    "a table of the product": "import shop\n\n@pytest.mark.parametrize(\n    'name', shop.NAMES\n)\ndef test_a(name): pass\n",
    "a base in the product": "from shop import Base\n\nclass TestA(Base):\n    def test_a(self): pass\n",
    "tests below a condition": "import calc\n\nif calc.HAS_FAST:\n    def test_a(): pass\n",
    "more tests than ran": PLAIN + PLAIN,
}
CLEAR = {
    "plain tests": PLAIN,
    "skipped by platform": "import calc, sys\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='')\ndef test_a(): pass\n",
    "a table of its own": "import calc\n\n@pytest.mark.parametrize('n', [1, 2])\ndef test_a(n): assert calc.x(n)\n",
    "a base of the standard library": "from calc import add\n\nclass TestA(unittest.TestCase):\n    def test_a(self): pass\n",
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_the_product_may_decide_which_tests_run(case: str) -> None:
    start = tree({**PRODUCT, "tests/test_a.py": DOUBTFUL[case]})
    assert may_hide(start, "pytest -q", RunnerReport(("pytest",), passed=1))


@pytest.mark.parametrize("case", CLEAR)
def test_the_product_decides_nothing(case: str) -> None:
    start = tree({**PRODUCT, "tests/test_a.py": CLEAR[case]})
    assert not may_hide(start, "pytest -q", RunnerReport(("pytest",), passed=1))


def test_tests_that_the_command_does_not_name_are_not_missed() -> None:
    start = tree({"tests/unit/test_a.py": PLAIN, "tests/e2e/test_b.py": PLAIN})
    one = RunnerReport(("pytest",), passed=1)
    assert may_hide(start, "python -m pytest", one)
    assert not may_hide(start, "python -m pytest tests/unit", one)
    assert not may_hide(start, "pytest tests/unit/test_a.py::test_add -q", one)
    assert not may_hide(start, "pytest -k add", one)
    assert not may_hide(start, "cargo test", RunnerReport(("cargo",), passed=1))


def test_fewer_tests_than_at_the_start_are_no_proof() -> None:
    before = RunnerReport(("pytest",), passed=3, failed=3)
    now = RunnerReport(("pytest",), passed=3, skipped=3)
    ran = CommandRan(CommandEnd.EXITED, 0, report=now, at_start=before, may_hide=("calc.py",))
    assert why_failed(ran, 60) == (
        "3 tests ran (3 passed, 3 skipped), and 6 of the same tests did when the loop began: "
        "calc.py may keep the others from running"
    )
    enough = CommandRan(CommandEnd.EXITED, 0, report=before, at_start=now, may_hide=("calc.py",))
    assert "when the loop began" not in why_failed(enough, 60)
