"""covers: last words, limits and refusals where a program says them in a place of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.agents.conftest import NOW

from untildone.agents import find
from untildone.core.model import Answer, FailureKind
from untildone.core.plugins.agent_io import Request

CLAIM = "<promise>COMPLETE</promise>"


def answer(agent: str, *lines: dict[str, Any], exit_code: int = 0, stderr: str = "") -> Answer:
    reader = find(agent).reader(Request("go"))
    for line in lines:
        reader.feed(json.dumps(line).encode())
    return reader.finish(exit_code, stderr, NOW)


def step(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "sessionID": "ses_1", "part": part}


OVERFLOW = {
    "type": "error",
    "sessionID": "ses_1",
    "error": {"name": "ContextOverflowError", "data": {"message": "full"}},
}
COMPACTED = (
    OVERFLOW,
    step("step_start"),
    step("text", text=f"Summary: the person wants {CLAIM}"),
    step("step_finish", reason="stop"),
)


def test_opencode_has_answered_after_it_compacted_whatever_its_exit_code() -> None:
    ended = answer(
        "opencode",
        *COMPACTED,
        step("step_start"),
        step("text", text="Done."),
        step("step_finish", reason="stop"),
        exit_code=1,
    )
    assert (ended.text, ended.failure) == ("Done.", None)


def test_opencode_has_not_answered_if_an_error_comes_last() -> None:
    ended = answer("opencode", *COMPACTED, OVERFLOW, exit_code=1)
    assert ended.failure is not None


def test_a_summary_of_opencode_is_no_answer() -> None:
    assert CLAIM not in answer("opencode", *COMPACTED).text


def message(content: str, *requests: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant.message", "data": {"content": content, "toolRequests": list(requests)}}


RESULT = {"type": "result", "sessionId": "s1", "exitCode": 0}


def test_the_last_words_of_copilots_autopilot_are_its_summary() -> None:
    done = {"name": "task_complete", "arguments": {"summary": f"All is there.\n{CLAIM}"}}
    assert answer("copilot", message("So.", done), RESULT).text == f"So.\n\nAll is there.\n{CLAIM}"
    other = {"name": "bash", "arguments": {"command": "ls"}}
    assert answer("copilot", message("So.", other), RESULT).text == ""


def test_a_filtered_answer_of_copilot_is_a_refusal() -> None:
    text = "The model returned no content because the response was blocked by content filtering."
    failure = answer("copilot", message(text), RESULT).failure
    assert failure is not None
    assert failure.kind is FailureKind.REFUSED


def test_copilots_own_words_for_a_full_context() -> None:
    text = "Last error: 400 prompt token count of 131530 exceeds the limit of 128000"
    failure = answer("copilot", {"type": "session.error", "data": {"message": text}}, RESULT).failure
    assert failure is not None
    assert failure.kind is FailureKind.CONTEXT_FULL


def test_a_safety_stop_of_gemini_is_a_refusal_with_its_reason() -> None:
    text = "The model response was blocked due to safety settings."
    failure = answer("gemini", {"type": "error", "message": text}, {"type": "result", "status": "error"}).failure
    assert failure is not None
    assert (failure.kind, failure.message) == (FailureKind.REFUSED, text)


def test_the_exact_time_of_claudes_limit_counts_and_not_the_minute() -> None:
    event = {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": NOW + 100, "rateLimitType": "five_hour"},
    }
    result = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429,
              "result": "You've hit your 5-hour limit · resets 7:35pm (UTC)"}  # fmt: skip
    failure = answer("claude", event, result, exit_code=1).failure
    assert failure is not None
    assert (failure.kind, failure.reset_at) == (FailureKind.LIMIT, NOW + 100)


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "gemini", "opencode"])
def test_a_killed_program_is_not_explained_by_earlier_warnings(agent: str) -> None:
    failure = answer(agent, exit_code=-9, stderr="Warning: True color (24-bit) support not detected.").failure
    assert failure is not None
    assert failure.message == f"{agent} was ended by signal 9"


def test_a_session_that_another_program_has_open() -> None:
    text = "thread/resume failed: thread 01a1 already has an active writer (code -32600)"
    failure = answer("codex", {"type": "turn.failed", "error": {"message": text}}, exit_code=1).failure
    assert failure is not None
    assert failure.kind is FailureKind.SESSION_BUSY
