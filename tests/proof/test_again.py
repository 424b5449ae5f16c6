"""Tests that fail by luck: CI runs a few of them once more, alone, and calls them flaky; nothing else is forgiven."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(400)
ROOT = Path(__file__).resolve().parent.parent.parent
FAILS_ONCE = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("number", range({tests}))
def test_luck(number):
    seen = Path(f"seen-{{number}}")
    if not seen.exists():
        seen.touch()
        raise AssertionError(f"no luck with {{number}}")

def test_fine():
    with Path("runs").open("a") as runs:
        runs.write("fine ")
"""


class Suite:
    """A folder with tests, and pytest as CI runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, tests: str, *arguments: str) -> tuple[int, str]:
        (self.folder / "test_some.py").write_text(tests)
        environment = {name: each for name, each in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
        environment |= {"PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path)), "CI": "true"}
        environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # a fast start
        command = [sys.executable, "-m", "proof.again", "-p", "no:cacheprovider", "-p", "xdist", *arguments]
        ended = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_tests_that_pass_alone_are_named_with_their_first_failure(suite: Suite) -> None:
    tests = FAILS_ONCE.format(tests=3).replace("        raise", "        number == 2 and os._exit(3)\n        raise")
    code, output = suite.run(f"import os\n{tests}", "-n", "2", "--dist", "worksteal")
    assert code == 0, output
    told = output.partition(" flaky: failed in the full run, passed alone ")[2]
    for number in range(2):
        assert f"flaky: test_some.py::test_luck[{number}]\n    AssertionError: no luck with {number}\n" in told
    assert re.search(r"flaky: test_some.py::test_luck\[2\]\n    worker 'gw\d' crashed while running", told)
    assert (suite.folder / "runs").read_text() == "fine "


def test_the_second_run_is_of_the_failed_test_alone(suite: Suite) -> None:
    code, output = suite.run(FAILS_ONCE.format(tests=1), "test_some.py")
    assert code == 0, output
    assert (suite.folder / "runs").read_text() == "fine ", "the other test ran once"


def test_coverage_is_that_of_the_full_run(suite: Suite) -> None:
    (suite.folder / "covered.py").write_text("def used():\n    return 1\n\n\ndef other():\n    return 2\n")
    tests = FAILS_ONCE.format(tests=1).replace(
        "def test_fine():", "def test_fine():\n    import covered; covered.used()"
    )
    assert suite.run(tests, "-p", "pytest_cov", "--cov=covered", "--cov-report=")[0] == 0
    command = [sys.executable, "-m", "coverage", "report", "--format=total"]
    assert subprocess.run(command, cwd=suite.folder, capture_output=True, text=True, timeout=60).stdout == "75\n"


def test_more_than_three_failures_are_no_luck(suite: Suite) -> None:
    code, output = suite.run(FAILS_ONCE.format(tests=4))
    assert (code, "flaky" in output) == (1, False)
    assert "4 tests failed: too many to be luck, so none is run again." in output


def test_a_second_failure_is_a_failure(suite: Suite) -> None:
    code, output = suite.run(f"{FAILS_ONCE.format(tests=1)}\ndef test_wrong(): assert 1 == 2\n")
    assert (code, "flaky" in output) == (1, False)
    assert "It failed again, so the run failed: test_some.py::test_wrong" in output


def test_a_test_that_is_skipped_when_it_is_alone_fails_the_run(suite: Suite) -> None:
    (suite.folder / "conftest.py").write_text("from tests.conftest import pytest_runtest_makereport\n")
    skipped = FAILS_ONCE.format(tests=1).replace("    if not", "    if seen.exists(): pytest.skip('no')\n    if not")
    code, output = suite.run(skipped)
    assert (code, "flaky" in output) == (1, False)
    assert "CI allows no test to be left out" in output


def test_a_run_that_ends_before_its_tests_is_a_failure(suite: Suite) -> None:
    assert suite.run("import nothing_of_that_name\n")[0] == 2
