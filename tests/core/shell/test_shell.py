"""Shell commands: their parts, the programs behind wrappers, and filters after pipes."""

from __future__ import annotations

import pytest

from untildone.core.judging.checks.commands import runs_of
from untildone.core.shell.filters import hides_lines
from untildone.core.shell.splitting import simple_commands
from untildone.core.shell.wrappers import unwrapped, without_wrappers
from untildone.gates.check.runners import read


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        ("pytest $(ls tests) -q", [("ls", False), ("pytest", True)]),
        ("VERSION=$(git describe) make test", [("git", False), ("make", True)]),
        ('out=`./run.sh`; test "$out" = 5', [("run.sh", False), ("test", True)]),
        ("echo $(cat $(ls x)); pytest", [("ls", False), ("cat", False), ("echo", True), ("pytest", True)]),
        ("(cd a && pytest) | tee log", [("pytest", True), ("tee", True)]),
        ("if make; then pytest; fi", [("make", True), ("pytest", True)]),
        ("bash -c 'pytest | cat'", [("pytest", True), ("cat", True)]),
        ("./prog | diff - expected", [("prog", False), ("diff", True)]),
        ("eval pytest -q", [("pytest", True)]),
    ],
)
def test_what_a_command_runs_and_whose_exit_code_decides(command: str, programs: list[tuple[str, bool]]) -> None:
    assert [(run.program, run.decides) for run in runs_of(command)] == programs


def test_a_command_knows_its_neighbours_and_whether_it_is_captured() -> None:
    first, second, third = simple_commands("a | b && c $(d)")[:2] + simple_commands("c $(d)")[-1:]
    assert (first.ended_by, second.operator, second.ended_by) == ("|", "|", "&&")
    assert third.words == ("c", "$_")
    assert [simple.captured for simple in simple_commands("c $(d)")] == [True, False]


@pytest.mark.parametrize(
    ("words", "kept", "inner"),
    [
        ("env A=1 nice -n 5 python3 -m pytest", "python3 -m pytest", "pytest"),
        ("coverage run --source x -m pytest -q", "python -m pytest -q", "pytest -q"),
        ("yarn jest", "yarn jest", "jest"),
        ("uv run --with x pytest", "pytest", "pytest"),
        ("timeout -k 5 60 make", "make", "make"),
    ],
)
def test_wrappers_are_taken_off(words: str, kept: str, inner: str) -> None:
    assert " ".join(without_wrappers(tuple(words.split()))) == kept
    assert " ".join(unwrapped(tuple(words.split()))) == inner


@pytest.mark.parametrize("words", ["grep pass", "grep -v FAIL", "head -n 1", "sed -n 1p", "awk /ok/", "rg -c ok"])
def test_filters_that_may_hide_a_failure(words: str) -> None:
    assert hides_lines(tuple(words.split()))


@pytest.mark.parametrize("words", ["tee log", "cat", "tail -n 3", "grep -v files", "sed s/a/b/", "ts", ""])
def test_programs_that_hide_no_failure(words: str) -> None:
    assert not hides_lines(tuple(words.split()))


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("node --test | grep -E '^# (pass|tests)'", "# tests 3\n# pass 1"),
        ("node --test 2>&1 | grep pass", "# pass 3"),
        ("python -m unittest 2>&1 | grep Ran", "Ran 5 tests in 0.1s"),
        ("npx mocha | grep passing", "  3 passing (5ms)"),
        ("go test ./... | head -n 1", "ok  \texample.com/a\t0.1s"),
        ("npm test", "# tests 3\n# pass 1"),
    ],
)
def test_a_summary_that_may_be_half_of_one_is_not_believed(command: str, output: str) -> None:
    report = read(output, command)
    assert report
    assert report.missing or report.unfinished


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("pytest -q | grep passed", "5 passed in 0.1s"),
        ("go test ./... | grep -v 'no test files'", "ok  \texample.com/a\t0.1s"),
        ("set -o pipefail; node --test | grep pass", "# pass 3"),
        ("node --test", "# tests 4\n# suites 0\n# pass 3\n# fail 0\n# cancelled 0\n# skipped 1\n# todo 0"),
    ],
)
def test_a_whole_summary_behind_a_filter_is_believed(command: str, output: str) -> None:
    report = read(output, command)
    assert report
    assert not report.missing
    assert not report.unfinished
