"""The gate `require_change`: what counts as a change."""

from __future__ import annotations

import pytest

from untildone.core.model import Changes
from untildone.core.plugins.gate import WorkspaceFacts
from untildone.gates.require_change import GATE
from untildone.testing.driver import looping

LOOP = looping(["never asked"], require_change=True).loop
BEFORE = Changes("aaa:111", head="aaa", tree="111")


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        (BEFORE, BEFORE, False),
        (BEFORE, Changes("aaa:222", head="aaa", tree="222"), True),
        (BEFORE, Changes("bbb:111", head="bbb", tree="111"), False),
        (BEFORE, Changes("aaa:111:nested", head="aaa", tree="111"), True),
        (Changes("one"), Changes("one"), False),
        (Changes("one"), Changes("two"), True),
    ],
    ids=["same", "file", "only a commit", "nested repository", "same without git", "file without git"],
)
def test_a_claim_with_nothing_changed_is_not_believed(before: Changes, after: Changes, passed: bool) -> None:
    (step,) = GATE.steps(LOOP)
    result = GATE.judge(LOOP, step, WorkspaceFacts(before, after))
    assert (result.gate, result.passed) == ("require_change", passed)
    assert result.reason == ("" if passed else "nothing changed in the workspace")
