"""The report for the agent about gates that failed."""

from __future__ import annotations

from untildone import gates
from untildone.core.model import GateResult
from untildone.core.values.value import replace
from untildone.gates._report import GATE_CHARACTERS, REPORT_CHARACTERS
from untildone.testing.driver import looping

PASSED = GateResult("check", "ruff check", passed=True, tail="All checks passed!")
FAILED = GateResult(
    "check", "pytest -q", passed=False, tail="E  assert 1 == 2\n1 failed in 0.03s", reason="exit code 1"
)
UNCHANGED = GateResult("require_change", "", passed=False, reason="nothing changed in the workspace")
FEEDBACK = GateResult(
    "review", "", passed=False, tail="The README is not updated.", reason="the supervisor asks for more"
)


def report_of(results: tuple[GateResult, ...]) -> str:
    return gates.failure_report(replace(looping(["never asked"]).loop, gates=results))


def test_report_tells_the_agent_what_failed_and_only_that() -> None:
    report = report_of((PASSED, FAILED, UNCHANGED, FEEDBACK))
    assert "`pytest -q` failed: exit code 1" in report
    assert "E  assert 1 == 2" in report
    assert "nothing changed in the workspace" in report
    assert "The README is not updated." in report
    assert "ruff" not in report


def test_report_is_empty_when_nothing_failed() -> None:
    assert report_of((PASSED,)) == ""
    assert report_of(()) == ""


def test_what_is_kept_for_the_receipt_too_is_told_once() -> None:
    survivor = "- a.py:1: the body of f is removed: no test noticed"
    result = GateResult("mutants", "mutants", passed=False, tail=survivor, reason="0 of 1", notes=("Cut.", survivor))
    report = report_of((result,))
    assert report.count("a.py:1") == 1
    assert "Cut." in report


def test_report_keeps_the_end_of_a_long_output_and_stays_bounded() -> None:
    tail = "\n".join(f"line {number}" for number in range(5000))
    one = report_of((replace(FAILED, tail=tail),))
    assert len(one) <= GATE_CHARACTERS
    assert "line 4999" in one
    assert "line 10\n" not in one
    many = report_of((replace(FAILED, tail=tail, command="x" * 9000, reason="y" * 9000),) * 50)
    assert len(many) <= REPORT_CHARACTERS
    assert "More gates failed: 47." in many


def test_report_is_plain_text_and_fences_hold() -> None:
    report = report_of((replace(FAILED, tail="\x1b[31mred\x1b[0m\n```\nquoted\n```"),))
    assert "\x1b" not in report
    assert report.endswith("\n````")


def test_a_gate_that_is_no_longer_installed_is_reported_by_its_name() -> None:
    report = report_of((GateResult("left_the_house", "", passed=False, reason="it said no"),))
    assert report == "The gate `left_the_house` failed: it said no."
