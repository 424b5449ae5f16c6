"""opencode: its command line, and what its recorded streams come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.model import FailureKind, Permissions, SessionUse
from untildone.core.plugins.agent_io import Request, Said, ToolEnded, ToolStarted

OPENCODE = find("opencode")


@pytest.mark.parametrize(
    ("stream", "text", "cost", "tokens"),
    [
        ("text", "hello from opencode script", 0.00014, 120),
        ("tools", "done", 0.00042, 360),
        ("failing-tool", "done", 0.00028, 240),
    ],
)
def test_an_answer_has_the_final_text_and_what_all_steps_used(
    play: Callable[..., Any], stream: str, text: str, cost: float, tokens: int
) -> None:
    answer = play("opencode", stream).answer
    assert answer.failure is None
    assert (answer.text, answer.usage.tokens) == (text, tokens)
    assert answer.usage.cost_usd == pytest.approx(cost)
    assert answer.session_id.startswith("ses_")


@pytest.mark.parametrize(
    ("stream", "exit_code", "kind"),
    [("error-401", 1, FailureKind.AUTH), ("error-cut", 1, FailureKind.CRASHED), ("error-cut", 0, FailureKind.CRASHED)],
)
def test_a_run_without_a_last_step_is_a_failure(
    play: Callable[..., Any], stream: str, exit_code: int, kind: FailureKind
) -> None:
    answer = play("opencode", stream, exit_code=exit_code).answer
    assert answer.failure is not None
    assert (answer.failure.kind, answer.text) == (kind, "")


def test_a_run_that_ends_between_two_steps_has_no_answer(play: Callable[..., Any]) -> None:
    reader = OPENCODE.reader(Request("go"))
    reader.feed(b'{"type":"text","sessionID":"s","part":{"text":"I will"}}')
    reader.feed(
        b'{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","cost":0.1,"tokens":{"total":5}}}'
    )
    answer = reader.finish(0, "", 0.0)
    assert answer.failure is not None
    assert (answer.text, answer.usage.tokens) == ("", 5)


def test_a_limit_with_a_header_tells_when_it_lifts() -> None:
    reader = OPENCODE.reader(Request("go"))
    reader.feed(
        b'{"type":"error","error":{"name":"APIError","data":{"message":"slow","statusCode":429,'
        b'"responseHeaders":{"retry-after":"90"}}}}'
    )
    failure = reader.finish(1, "", 1000.0).failure
    assert failure is not None
    assert (failure.kind, failure.reset_at) == (FailureKind.LIMIT, 1090.0)


def test_an_unknown_session_is_unavailable() -> None:
    failure = OPENCODE.reader(Request("go")).finish(1, "\x1b[91m\x1b[1mError: \x1b[0mSession not found", 0.0).failure
    assert failure is not None
    assert failure.kind is FailureKind.UNAVAILABLE
    assert failure.message == "opencode ended with exit code 1: Error: Session not found"


def test_what_the_agent_does_is_shown(play: Callable[..., Any]) -> None:
    played = play("opencode", "tools")
    assert played.of(Said) == [Said("I will"), Said("done")]
    assert played.of(ToolStarted) == [ToolStarted("bash", "echo hi-oc; pwd"), ToolStarted("write", "/project/o.txt")]
    assert played.of(ToolEnded)[0] == ToolEnded("bash", ok=True, summary="hi-oc")
    assert play("opencode", "failing-tool").of(ToolEnded)[0].ok is False


def test_the_command_line() -> None:
    assert OPENCODE.invocation(Request("go")).argv == ("opencode", "run", "--format=json", "--auto")
    assert "--session=ses_1" in OPENCODE.invocation(Request("go", SessionUse.RESUME, "ses_1")).argv
    forked = OPENCODE.invocation(Request("go", SessionUse.FORK, "ses_1")).argv
    assert {"--session=ses_1", "--fork"} <= set(forked)


def test_permissions_become_denied_tools() -> None:
    envs = {p: OPENCODE.invocation(Request("go", permissions=p)).env.get("OPENCODE_PERMISSION") for p in Permissions}
    assert envs == {
        Permissions.WORK: None,
        Permissions.EDIT: '{"bash":"deny"}',
        Permissions.READ: '{"bash":"deny","edit":"deny"}',
    }
