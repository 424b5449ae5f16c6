"""Claude Code: its command line, and what its recorded streams come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.model import FailureKind, Permissions, SessionUse
from untildone.core.plugins.agent_io import Notice, Request, Said, Thought, ToolEnded, ToolStarted

CLAUDE = find("claude")
NOW = 1794765000.0


@pytest.mark.parametrize(
    ("stream", "text", "cost", "tokens"),
    [
        ("text", "hello from the script", 0.0008, 120),
        ("text-2.1.197", "hello from the script", 0.001, 120),
        ("tools", "all done", 0.0024, 360),
        ("partial-messages", "bye", 0.0016, 240),
        ("session-resume", "two", 0.0008, 120),
        ("session-fork", "forked", 0.0008, 120),
        ("several-turns", "two", 0.0016, 240),
        ("conversation", "two", 0.0024, 360),
        ("background", "it has ended", 0.0024, 360),
        ("interrupt", "after interrupt", 0.0008, 120),
        ("schema", '{"done":true,"why":"because"}', 0.0016, 240),
        ("stop-hook-block", "a2", 0.0016, 240),
        ("stop-hook-ends", "a1", 0.0008, 120),
        ("subagent", "still at work", 0.0024, 360),
        ("work", "done", 0.0024, 360),
        ("error-429-retry-after", "recovered", 0.0008, 120),
        ("error-cut-once", "second try", 0.00122, 221),
        ("error-fallback", "from whichever", 0.0004, 120),
        ("error-empty", "", 0.0016, 240),
        ("max-turns", "", 0.0016, 240),
        ("budget", "", 0.24, 44000),
    ],
)
def test_an_answer_has_the_final_text_and_what_this_run_used(
    play: Callable[..., Any], stream: str, text: str, cost: float, tokens: int
) -> None:
    answer = play("claude", stream).answer
    assert answer.failure is None
    assert (answer.text, answer.usage.tokens) == (text, tokens)
    assert answer.usage.cost_usd == pytest.approx(cost)
    assert answer.session_total is None


@pytest.mark.parametrize(
    ("stream", "kind", "words"),
    [
        ("error-400-forever", FailureKind.CRASHED, "400 bad thing"),
        ("error-401", FailureKind.AUTH, "Invalid API key"),
        ("error-403", FailureKind.AUTH, "403 nope"),
        ("error-404", FailureKind.UNAVAILABLE, "selected model"),
        ("error-413", FailureKind.CONTEXT_FULL, "too large"),
        ("error-prompt-too-long", FailureKind.CONTEXT_FULL, "Prompt is too long"),
        ("error-429-default", FailureKind.LIMIT, "429"),
        ("error-429-usage-limit", FailureKind.LIMIT, "rate limit"),
        ("error-usage-limit-text", FailureKind.LIMIT, "usage limit reached"),
        ("error-500-max1", FailureKind.OVERLOADED, "500 oops"),
        ("error-529-max2", FailureKind.OVERLOADED, "Overloaded"),
        ("error-cut", FailureKind.OVERLOADED, "ECONNRESET"),
        ("error-error-event", FailureKind.OVERLOADED, "Connection dropped"),
        ("error-refused", FailureKind.OVERLOADED, "ECONNREFUSED"),
        ("error-hang", FailureKind.TIMEOUT, "timed out"),
        ("error-hang-default", FailureKind.OVERLOADED, "connection error"),
        ("error-garbage", FailureKind.MALFORMED, "malformed"),
        ("unknown-session", FailureKind.UNAVAILABLE, "No conversation found"),
        ("prompt-blocked", FailureKind.REFUSED, "NOT THIS PROMPT"),
        ("killed", FailureKind.CRASHED, "printed no result"),
        ("sigint", FailureKind.CRASHED, "printed no result"),
        ("sigterm", FailureKind.CRASHED, "printed no result"),
    ],
)
def test_a_failed_run_is_a_failure_and_its_words_are_no_answer(
    play: Callable[..., Any], stream: str, kind: FailureKind, words: str
) -> None:
    answer = play("claude", stream, exit_code=1).answer
    assert answer.failure is not None
    assert (answer.failure.kind, answer.text) == (kind, "")
    assert words in answer.failure.message


def test_the_limit_told_as_an_answer_carries_its_reset_time(play: Callable[..., Any]) -> None:
    answer = play("claude", "error-usage-limit-text").answer
    assert answer.failure is not None
    assert answer.failure.reset_at == 1794800000.0


def test_a_rejected_rate_limit_event_tells_when_a_limit_lifts() -> None:
    reader = CLAUDE.reader(Request("go"))
    info = b'{"type":"rate_limit_event","rate_limit_info":{"status":"%s","resetsAt":1794770000,"rateLimitType":"five_hour"}}'
    assert reader.feed(info % b"allowed") == ()
    assert len(reader.feed(info % b"rejected")) == 1
    reader.feed(
        b'{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"limit reached"}'
    )
    failure = reader.finish(1, "", NOW).failure
    assert failure is not None
    assert (failure.kind, failure.reset_at) == (FailureKind.LIMIT, 1794770000.0)


def test_the_session_model_and_version_are_known(play: Callable[..., Any]) -> None:
    answer = play("claude", "session-resume").answer
    assert answer.session_id == "9f82aa8e-5d6d-46a2-9ef3-00735f557f28"
    assert (answer.agent_version, answer.model) == ("2.1.325", "claude-opus-5-5")
    assert play("claude", "session-fork").answer.session_id != answer.session_id
    assert play("claude", "unknown-session", exit_code=1).answer.session_id is None


def test_what_the_agent_does_is_shown(play: Callable[..., Any]) -> None:
    played = play("claude", "tools")
    assert played.of(Thought) == [Thought("let me think")]
    assert played.of(Said) == [Said("I will run a command"), Said("all done")]
    assert played.of(ToolStarted)[0] == ToolStarted("Bash", "echo hi-from-bash; pwd")
    assert played.of(ToolEnded)[0] == ToolEnded("Bash", ok=True, summary="hi-from-bash")
    assert played.of(ToolEnded)[1].ok is False
    assert played.of(Notice)[0].text.startswith("Write was not permitted")
    assert played.answer.denials == ("Write: /project/out.txt",)


def test_what_a_subagent_says_is_never_the_agents_word(play: Callable[..., Any]) -> None:
    played = play("claude", "subagent")
    assert [said.text for said in played.of(Said)] == ["still at work"]
    assert "COMPLETE" not in played.answer.text


def test_a_line_of_a_subagent_is_not_said() -> None:
    line = b'{"type":"assistant","parent_tool_use_id":"t1","message":{"id":"m","content":[{"type":"text","text":"<promise>"}]}}'
    assert CLAUDE.reader(Request("go")).feed(line) == ()


def test_the_retries_of_the_program_are_shown(play: Callable[..., Any]) -> None:
    notices = play("claude", "error-429-default").of(Notice)
    assert len(notices) == 10
    assert notices[1].text == "claude tries its request again in 1 s (2 of 10): error 429 rate limit"


def test_a_run_that_is_killed_while_it_waits_for_a_limit_says_so(play: Callable[..., Any]) -> None:
    reader = CLAUDE.reader(Request("go"))
    reader.feed(
        b'{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":429,"error":"rate_limit"}'
    )
    failure = reader.finish(-15, "", NOW).failure
    assert failure is not None
    assert failure.kind is FailureKind.LIMIT


def test_tokens_of_a_killed_run_are_counted_as_far_as_they_are_known(play: Callable[..., Any]) -> None:
    assert play("claude", "killed", exit_code=-9).answer.usage.tokens == 101


def test_the_command_line_of_a_new_session() -> None:
    invocation = CLAUDE.invocation(Request("do it", fresh_id="u1", model="opus", max_cost_usd=0.5))
    assert invocation.argv[:4] == ("claude", "-p", "--output-format=stream-json", "--verbose")
    assert {"--session-id=u1", "--model=opus", "--max-budget-usd=0.500000"} <= set(invocation.argv)
    assert invocation.stdin == b"do it"


def test_a_session_is_resumed_or_forked_with_the_system_prompt_of_the_request() -> None:
    resumed = CLAUDE.invocation(Request("go", SessionUse.RESUME, "s1", system_prompt="rules")).argv
    assert {"--resume=s1", "--system-prompt=rules", "--system-prompt-snapshot=off"} <= set(resumed)
    assert "--fork-session" not in resumed
    forked = CLAUDE.invocation(Request("go", SessionUse.FORK, "s1", fresh_id="u1")).argv
    assert {"--resume=s1", "--fork-session"} <= set(forked)
    assert "--session-id=u1" not in forked


def test_permissions_become_modes() -> None:
    modes = {p: CLAUDE.invocation(Request("go", permissions=p)).argv for p in Permissions}
    assert "--permission-mode=acceptEdits" in modes[Permissions.WORK]
    assert any("Bash" in word for word in modes[Permissions.WORK])
    assert not any("Bash" in word for word in modes[Permissions.EDIT])
    assert "--permission-mode=dontAsk" in modes[Permissions.READ]


def test_a_prompt_that_begins_with_a_slash_is_no_command_of_the_program() -> None:
    assert CLAUDE.invocation(Request("/clear")).stdin == b"\n/clear"


GOAL = Request("Write final.txt", goal=True)


def test_a_goal_is_the_programs_own_command_and_no_prompt_can_be_one() -> None:
    assert CLAUDE.invocation(GOAL).stdin == b"/goal Write final.txt"
    assert CLAUDE.invocation(Request("/clear", goal=True)).stdin == b"/goal /clear"
    assert CLAUDE.invocation(Request("/goal by the person")).stdin == b"\n/goal by the person"
    assert CLAUDE.invocation(Request("Judge it", goal=True, reviews=True)).stdin == b"Judge it"
    assert CLAUDE.invocation(Request("x" * 4001, goal=True)).stdin == b"x" * 4001


def test_the_end_of_a_goal_is_a_claim_whatever_the_text_says(play: Callable[..., Any]) -> None:
    played = play("claude", "goal", request=GOAL)
    assert (played.answer.claims, played.answer.text, played.answer.usage.tokens) == (True, "Really done.", 1651)
    assert Notice("Goal set: Write final.txt") in played.events
    assert not play("claude", "goal").answer.claims


@pytest.mark.parametrize("stream", ["text", "max-turns", "budget", "error-401", "stop-hook-block"])
def test_without_a_goal_that_the_program_took_there_is_no_claim(play: Callable[..., Any], stream: str) -> None:
    assert not play("claude", stream, request=GOAL).answer.claims


def test_a_prompt_that_is_too_long_for_a_goal_is_told(play: Callable[..., Any]) -> None:
    played = play("claude", "text", request=Request("x" * 4001, goal=True))
    assert Notice("no goal is set: the prompt is longer than 4000 characters") in played.events
    assert not played.answer.claims
