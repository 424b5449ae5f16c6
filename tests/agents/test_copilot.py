"""Copilot CLI: its command line, and what its recorded streams come to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.errors import UsageError
from untildone.core.model import FailureKind, Permissions, SessionUse, Usage
from untildone.core.plugins.agent_io import Notice, Request, Said, SessionKnown, ToolEnded, ToolStarted

COPILOT = find("copilot")


@pytest.mark.parametrize(
    ("stream", "text", "denials"),
    [
        ("text", "hello from copilot script", ()),
        ("tools", "done", ()),
        ("denied", "done", ("create: /project/o.txt",)),
        ("autopilot", "step d", ()),
    ],
)
def test_an_answer_has_the_final_text(
    play: Callable[..., Any], stream: str, text: str, denials: tuple[str, ...]
) -> None:
    answer = play("copilot", stream).answer
    assert answer.failure is None
    assert (answer.text, answer.denials, answer.model) == (text, denials, "fake-model")
    assert answer.usage.tokens is None


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        ("error-400", FailureKind.CRASHED),
        ("error-401", FailureKind.AUTH),
        ("error-429", FailureKind.LIMIT),
        ("error-500", FailureKind.OVERLOADED),
        ("error-cut", FailureKind.OVERLOADED),
        ("error-garbage", FailureKind.OVERLOADED),
        ("error-refused", FailureKind.OVERLOADED),
    ],
)
def test_a_failed_run_is_a_failure(play: Callable[..., Any], stream: str, kind: FailureKind) -> None:
    answer = play("copilot", stream, exit_code=1).answer
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.reset_at, answer.text) == (kind, None, "")


def test_what_the_agent_does_is_shown(play: Callable[..., Any]) -> None:
    played = play("copilot", "tools")
    assert played.of(Said) == [Said("I will"), Said("done")]
    assert played.of(ToolStarted) == [
        ToolStarted("bash", "echo hi-copilot; pwd"),
        ToolStarted("create", "/project/o.txt"),
    ]
    assert played.of(ToolEnded)[0] == ToolEnded("bash", ok=True, summary="hi-copilot")
    assert play("copilot", "denied").of(ToolEnded)[0].ok is False


def test_the_retries_of_the_program_are_shown(play: Callable[..., Any]) -> None:
    notices = play("copilot", "error-401").of(Notice)
    assert [notice.text for notice in notices] == ["copilot tries its request again: transient auth error (401)"] * 2


def test_the_session_that_was_chosen_is_known_from_the_first_line() -> None:
    reader = COPILOT.reader(Request("go", fresh_id="u1"))
    assert reader.feed(b'{"type":"assistant.turn_start","data":{}}') == (SessionKnown("u1"),)
    assert reader.finish(-9, "", 0.0).session_id == "u1"


def test_a_session_that_was_never_started_is_not_known() -> None:
    message = "Error: No session, task, or name matched '4c6a5093'.\n\nTo resume by session: copilot --resume=<id>"
    answer = COPILOT.reader(Request("go", SessionUse.RESUME, "4c6a5093")).finish(1, message, 0.0)
    assert answer.session_id is None
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.UNAVAILABLE


def test_the_command_line() -> None:
    new = COPILOT.invocation(Request("go", fresh_id="u1"))
    assert {"--output-format=json", "--session-id=u1", "--allow-all"} <= set(new.argv)
    assert "--resume=s1" in COPILOT.invocation(Request("go", SessionUse.RESUME, "s1")).argv
    assert (
        COPILOT.invocation(Request("go", system_prompt="rules")).stdin
        == b"<instructions>\nrules\n</instructions>\n\ngo"
    )


def test_its_report_tells_the_tokens_of_the_session() -> None:
    report = {
        "totalPremiumRequestCost": 2,
        "modelMetrics": {
            "one": {"usage": {"inputTokens": 3834, "outputTokens": 73, "cacheReadTokens": 1000}},
            "two": {"usage": {"inputTokens": 10, "outputTokens": None}},
        },
    }
    reader = COPILOT.reader(Request("go", fresh_id="u1"))
    assert reader.feed(json.dumps(report).encode()) == ()
    answer = reader.finish(0, "", 0.0)
    assert (answer.usage, answer.session_total) == (Usage(), Usage(tokens=3917)), "cached tokens are among the input"


@pytest.mark.parametrize(("version", "asked"), [("1.0.102", True), ("1.0.60", False), ("", True)])
def test_a_report_is_asked_for_where_the_version_knows_it(version: str, asked: bool) -> None:
    call = COPILOT.invocation(Request("go", version=version))
    assert call.reports is asked
    assert ("--usage-output-file=/x/report" in call.reporting_to("/x/report").argv) is asked
    assert not any("--usage-output-file" in word for word in call.reporting_to(None).argv)


def test_permissions_become_rules() -> None:
    assert "--allow-tool=write" in COPILOT.invocation(Request("go", permissions=Permissions.EDIT)).argv
    assert "--deny-tool=write" in COPILOT.invocation(Request("go", permissions=Permissions.READ)).argv


def test_it_cannot_fork_and_does_not_resume_instead() -> None:
    with pytest.raises(UsageError, match="copilot cannot fork a session"):
        COPILOT.invocation(Request("go", SessionUse.FORK, "s1"))
