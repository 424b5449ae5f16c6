"""Every mode in the folder passes one suite, with the answers of any agent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from untildone import modes
from untildone.core.model import GateResult, Outcome
from untildone.core.values.value import replace
from untildone.testing.driver import passes
from untildone.testing.mode_conformance import CHECKS, STEPS, Subject, subject


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("mode", modes.names())
def test_conformance(mode: str, check: Callable[[Subject], None]) -> None:
    check(subject(mode))


@pytest.mark.parametrize("mode", modes.names())
def test_a_proof_decides_in_every_mode(mode: str) -> None:
    """A claim that every check believes is refused by a proof until it holds; it runs after everything else."""
    tested = subject(mode)
    options = {**tested.options, "causal": True}
    for seed in range(1, 60, 2):
        holds = iter([False])

        def gates(command: str, _loop: object, holds: Iterator[bool] = holds) -> GateResult:
            return replace(passes(command), passed=next(holds, True)) if command == "causal" else passes(command)

        driver = tested.looping(tested.any_answer(seed), 60, gates=gates, checks=("make",), options=options)
        loop = driver.run(STEPS)
        if loop.outcome is Outcome.VERIFIED:
            assert loop.gates[-1].gate == "causal"
            assert driver.gates_run.count("causal") >= 2
            return
    raise AssertionError("sensible answers complete the task")
