"""Whether two failures of gates are the same failure."""

from __future__ import annotations

import pytest

from untildone.core.answers.gate_output import signature
from untildone.core.model import GateResult
from untildone.core.values.value import replace

PASSED = GateResult("check", "ruff check", passed=True, tail="All checks passed!")
FAILED = GateResult(
    "check", "pytest -q", passed=False, tail="E  assert 1 == 2\n1 failed in 0.03s", reason="exit code 1"
)
UNCHANGED = GateResult("require_change", "", passed=False, reason="nothing changed in the workspace")

SAME_AGAIN = {
    "durations": ("1 failed in 0.03s", "1 failed in 12.5s"),
    "milliseconds": ("✗ adds (12 ms)", "✗ adds (3ms)"),
    "minutes": ("took 1m 20s", "took 59.7s"),
    "timestamps": ("2024-05-01T10:00:00.123Z ERROR no", "2025-12-31T23:59:59Z ERROR no"),
    "clock": ("[10:00:01] no", "[23:59:59.1234] no"),
    "addresses": ("<A object at 0x7f00aa>", "<A object at 0x7fffbb12>"),
    "temporary folders": ("open /tmp/tmpab12cd/x.txt", "open /tmp/tmpzz99_q/x.txt"),
    "pytest folders": (
        "/tmp/pytest-of-me/pytest-3/test_a0/x: no such file",
        "/tmp/pytest-of-me/pytest-14/test_a0/x: no such file",
    ),
    "macOS folders": ("/private/var/folders/ab/c_d/T/tmp1/x", "/var/folders/xy/z_1/T/tmp2/x"),
    "identifiers": ("id 123e4567-e89b-12d3-a456-426614174000", "id ffffffff-e89b-12d3-a456-426614174000"),
    "ports": ("connect to 127.0.0.1:43211", "connect to 127.0.0.1:9"),
    "ruler width": ("======= FAILURES =======", "==================== FAILURES ===================="),
    "colours": ("\x1b[31mno\x1b[0m", "no"),
    "order of parallel tests": ("a failed\nb failed", "b failed\na failed"),
    "seeds": ("Using --randomly-seed=123", "Using --randomly-seed=9876"),
}

NOT_THE_SAME = {
    "another failure": ("E assert 1 == 2", "E assert 1 == 3"),
    "fewer failures": ("3 failed in 1s", "2 failed in 1s"),
    "another place": ("test_a.py:10: AssertionError", "test_a.py:12: AssertionError"),
    "another file": ("/tmp/tmpab/a.txt missing", "/tmp/tmpab/b.txt missing"),
}


def with_tail(tail: str) -> tuple[GateResult, ...]:
    return (PASSED, replace(FAILED, tail=tail))


@pytest.mark.parametrize("case", SAME_AGAIN)
def test_the_same_failure_is_recognised(case: str) -> None:
    one, other = SAME_AGAIN[case]
    assert signature(with_tail(one)) == signature(with_tail(other))


@pytest.mark.parametrize("case", NOT_THE_SAME)
def test_another_failure_is_told_apart(case: str) -> None:
    one, other = NOT_THE_SAME[case]
    assert signature(with_tail(one)) != signature(with_tail(other))


def test_signature_depends_on_which_gate_failed() -> None:
    assert signature((FAILED,)) != signature((replace(FAILED, command="pytest tests"),))
    assert signature((FAILED,)) != signature((FAILED, UNCHANGED))
    assert signature((FAILED,)) == signature((PASSED, replace(FAILED, seconds=9.0, output_sha256="f")))
    assert signature((PASSED,)) == ""
