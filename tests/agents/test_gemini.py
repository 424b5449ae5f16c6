"""Gemini CLI: its command line, and what its recorded streams come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.errors import UsageError
from untildone.core.model import FailureKind, Permissions, SessionUse
from untildone.core.plugins.agent_io import Notice, Request, Said, ToolEnded, ToolStarted

GEMINI = find("gemini")


@pytest.mark.parametrize(
    ("stream", "exit_code", "text", "tokens", "cost"),
    [
        ("text", 0, "hello from gemini script", 240, None),
        ("tools", 0, "done", 360, None),
        ("hooks", 0, "a2", 240, (200 * 0.3 + 40 * 2.5) / 1e6),
        ("error-maxturns", 53, "", 240, (200 * 0.3 + 40 * 2.5) / 1e6),
    ],
)
def test_an_answer_has_the_final_text_and_the_tokens(
    play: Callable[..., Any], stream: str, exit_code: int, text: str, tokens: int, cost: float | None
) -> None:
    answer = play("gemini", stream, exit_code=exit_code).answer
    assert answer.failure is None
    assert (answer.text, answer.usage.tokens) == (text, tokens)
    assert answer.usage.cost_usd == (None if cost is None else pytest.approx(cost))
    assert bool(answer.priced) == (cost is not None)


@pytest.mark.parametrize(
    ("stream", "exit_code", "stderr", "kind"),
    [
        ("error-400", 144, "", FailureKind.CRASHED),
        ("error-401", 145, "", FailureKind.AUTH),
        ("error-cut", 1, "", FailureKind.OVERLOADED),
        ("error-429", 173, "", FailureKind.LIMIT),
        ("error-429", 244, "", FailureKind.OVERLOADED),
        (
            "error-429",
            -9,
            "Attempt 3 failed with status 429.\n    at async retry (x.js:1)\n  status: 429\n}",
            FailureKind.LIMIT,
        ),
        ("error-429", 0, "", FailureKind.CRASHED),
        ("error-429", 143, "", FailureKind.CRASHED),
    ],
)
def test_the_result_else_the_exit_code_tells_the_failure(
    play: Callable[..., Any], stream: str, exit_code: int, stderr: str, kind: FailureKind
) -> None:
    answer = play("gemini", stream, exit_code=exit_code, stderr=stderr).answer
    assert answer.failure is not None
    assert (answer.failure.kind, answer.text) == (kind, "")
    assert "x.js" not in answer.failure.message


@pytest.mark.parametrize(
    ("exit_code", "stderr", "kind"),
    [
        (41, "Please set an Auth method in your settings.json", FailureKind.AUTH),
        (55, "Gemini CLI is not running in a trusted directory.", FailureKind.AUTH),
        (42, 'Error resuming session: Invalid session identifier "7079".', FailureKind.UNAVAILABLE),
        (127, "", FailureKind.UNAVAILABLE),
    ],
)
def test_a_run_that_never_started_says_why(exit_code: int, stderr: str, kind: FailureKind) -> None:
    failure = GEMINI.reader(Request("go")).finish(exit_code, stderr, 0.0).failure
    assert failure is not None
    assert failure.kind is kind


def test_what_the_agent_does_is_shown_and_pieces_are_joined(play: Callable[..., Any]) -> None:
    assert play("gemini", "text").of(Said) == [Said("hello from gemini script")]
    played = play("gemini", "tools")
    assert played.of(ToolStarted) == [ToolStarted("run_shell_command", "echo hi-gemini")]
    assert isinstance(played.of(ToolEnded)[0], ToolEnded)
    assert played.of(ToolEnded)[0].ok is False
    assert play("gemini", "hooks").of(Notice) == [Notice("Agent execution blocked: KEEP GOING gemini")]


def test_the_command_line() -> None:
    new = GEMINI.invocation(Request("go", fresh_id="u1"))
    assert {"--output-format=stream-json", "--session-id=u1", "--approval-mode=yolo"} <= set(new.argv)
    assert new.env == {"GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    assert "--resume=s1" in GEMINI.invocation(Request("go", SessionUse.RESUME, "s1")).argv


@pytest.mark.parametrize(("permissions", "mode"), [(Permissions.EDIT, "auto_edit"), (Permissions.READ, "plan")])
def test_permissions_become_approval_modes(permissions: Permissions, mode: str) -> None:
    assert f"--approval-mode={mode}" in GEMINI.invocation(Request("go", permissions=permissions)).argv


def test_it_cannot_fork_and_does_not_resume_instead() -> None:
    with pytest.raises(UsageError, match="gemini cannot fork a session"):
        GEMINI.invocation(Request("go", SessionUse.FORK, "s1"))
