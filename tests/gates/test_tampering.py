"""The gate `tampering`: signs of tampering refuse a claim, if the person wants that."""

from __future__ import annotations

from untildone.core.model import Changes
from untildone.core.plugins.gate import WorkspaceFacts
from untildone.gates.tampering import GATE
from untildone.testing.driver import looping

LOOP = looping(["never asked"], fail_on_tampering=True).loop


def test_signs_refuse_the_claim_and_are_named() -> None:
    (step,) = GATE.steps(LOOP)
    result = GATE.judge(LOOP, step, WorkspaceFacts(Changes("a"), Changes("b"), ("calc.py: ends the process.",)))
    assert (result.passed, result.reason, result.tail) == (False, "1 sign of tampering", "calc.py: ends the process.")
    assert GATE.headline(result.reason, "") == "The claim is not believed: the work has 1 sign of tampering."


def test_work_without_signs_passes_and_proves_nothing() -> None:
    (step,) = GATE.steps(LOOP)
    result = GATE.judge(LOOP, step, WorkspaceFacts(Changes("a"), Changes("b")))
    assert (result.passed, result.proves) == (True, False)


def test_without_the_flag_there_is_no_such_gate() -> None:
    assert GATE.steps(looping(["never asked"]).loop) == ()
