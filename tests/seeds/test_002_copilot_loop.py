"""Seed 002, the Copilot loop (mode ralph, settings): its requirements, one test each."""

from __future__ import annotations

import pytest

from untildone.core.claims import has_promise

PROMISE = "<promise>COMPLETE</promise>"


def test_requirement_the_promise_in_the_output_completes() -> None:
    assert has_promise(f"Working on task...\n{PROMISE}", PROMISE)
    assert has_promise("Working on task...\nDONE", "DONE")


def test_on_purpose_a_promise_with_words_after_it_does_not_complete() -> None:
    """The seed's own example ends in "Done.". Without knowing the language, that cannot be told from "Not yet."."""
    assert not has_promise(f"Working on task...\n{PROMISE}\nDone.", PROMISE)


@pytest.mark.parametrize(
    "text",
    [
        f"明白。等測試全部通過後我才會輸出 {PROMISE}。",
        f"还没有完成，不能说 {PROMISE}",
        f"完成任務後，請輸出 {PROMISE} 標記。",
    ],
)
def test_requirement_wrong_detection_is_avoided_in_the_language_of_the_seed(text: str) -> None:
    assert not has_promise(text, PROMISE)
