"""Codex: its command line, and what its recorded streams come to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from untildone.agents import find
from untildone.core.model import FailureKind, Permissions, SessionUse, Usage
from untildone.core.plugins.agent_io import Notice, Request, Thought, ToolEnded, ToolStarted

CODEX = find("codex")


@pytest.mark.parametrize(
    ("stream", "text", "total"),
    [
        ("text", "hello from codex script", 120),
        ("tools", "done", 360),
        ("failing-tool", "done", 360),
        ("session-resume", "two", 240),
        ("hooks", "a2", 360),
        ("patch", "patched", 240),
    ],
)
def test_an_answer_has_the_final_text_and_the_total_of_the_session(
    play: Callable[..., Any], stream: str, text: str, total: int
) -> None:
    answer = play("codex", stream).answer
    assert answer.failure is None
    assert (answer.text, answer.session_total) == (text, Usage(tokens=total))
    assert answer.usage == Usage()
    assert answer.session_id.startswith("01a1e0")


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        ("error-400", FailureKind.CRASHED),
        ("error-401", FailureKind.AUTH),
        ("error-429", FailureKind.LIMIT),
        ("error-usage-limit", FailureKind.LIMIT),
        ("error-500", FailureKind.OVERLOADED),
        ("error-failed-event", FailureKind.OVERLOADED),
        ("error-garbage", FailureKind.OVERLOADED),
        ("error-refused-bounded", FailureKind.OVERLOADED),
        ("error-refused", FailureKind.OVERLOADED),
        ("error-ctx", FailureKind.CONTEXT_FULL),
    ],
)
def test_a_failed_turn_is_a_failure(play: Callable[..., Any], stream: str, kind: FailureKind) -> None:
    answer = play("codex", stream, exit_code=1).answer
    assert answer.failure is not None
    assert (answer.failure.kind, answer.text) == (kind, "")


def test_the_usage_limit_tells_when_it_lifts(play: Callable[..., Any]) -> None:
    failure = play("codex", "error-usage-limit", exit_code=1).answer.failure
    assert failure.reset_at is not None


def test_an_error_item_is_a_notice_and_not_the_end(play: Callable[..., Any]) -> None:
    played = play("codex", "text")
    assert [notice.text[:14] for notice in played.of(Notice)] == ["Model metadata"]


def test_what_the_agent_does_is_shown(play: Callable[..., Any]) -> None:
    played = play("codex", "tools")
    assert played.of(Thought) == [Thought("reasoning here")]
    assert played.of(ToolStarted) == [ToolStarted("shell", "echo hi-codex; pwd")]
    assert played.of(ToolEnded) == [ToolEnded("shell", ok=True, summary="hi-codex")]
    assert play("codex", "failing-tool").of(ToolEnded)[0].ok is False
    assert play("codex", "patch").of(ToolStarted) == [ToolStarted("edit", "/project/m.txt")]


def test_a_tool_that_tells_only_its_end_is_shown_whole() -> None:
    line = b'{"type":"item.completed","item":{"id":"i1","type":"web_search","query":"python"}}'
    assert CODEX.reader(Request("go")).feed(line) == (
        ToolStarted("web search", "python"),
        ToolEnded("web search", ok=True, summary=""),
    )


def test_an_unknown_session_is_unavailable() -> None:
    errors = "WARNING: proceeding\nError: thread/resume: thread/resume failed: no rollout found for thread id 140c (code -32600)"
    failure = CODEX.reader(Request("go")).finish(1, errors, 0.0).failure
    assert failure is not None
    assert failure.kind is FailureKind.UNAVAILABLE
    assert "WARNING" not in failure.message


def test_the_command_line() -> None:
    new = CODEX.invocation(Request("go", model="m", system_prompt='say "hi"\n')).argv
    assert new[:2] == ("codex", "exec")
    assert {"--json", "--skip-git-repo-check", "--model=m", "--config=sandbox_mode=danger-full-access"} <= set(new)
    assert r'--config=developer_instructions="say \"hi\"\n"' in new
    assert new[-1] == "-"
    resumed = CODEX.invocation(Request("go", SessionUse.RESUME, "t1")).argv
    assert (resumed[:3], resumed[-2:]) == (("codex", "exec", "resume"), ("t1", "-"))
    forked = CODEX.invocation(Request("go", SessionUse.FORK, "t1")).argv
    assert (forked[:3], forked[-2:]) == (("codex", "exec", "fork"), ("t1", "-"))


def test_a_session_that_exists_gets_the_system_prompt_in_the_prompt() -> None:
    invocation = CODEX.invocation(Request("go", SessionUse.FORK, "t1", system_prompt="rules"))
    assert invocation.stdin == b"<instructions>\nrules\n</instructions>\n\ngo"


@pytest.mark.parametrize(
    ("permissions", "sandbox"),
    [(Permissions.WORK, "danger-full-access"), (Permissions.EDIT, "workspace-write"), (Permissions.READ, "read-only")],
)
def test_permissions_become_a_sandbox(permissions: Permissions, sandbox: str) -> None:
    assert f"--config=sandbox_mode={sandbox}" in CODEX.invocation(Request("go", permissions=permissions)).argv
