"""A run that judges another agent's work: every program is told to read only, and to read nothing that steers it in the workspace."""

from __future__ import annotations

import pytest

from untildone import agents
from untildone.agents._lines import without_flags
from untildone.core.model import Permissions, SessionUse
from untildone.core.plugins.agent_io import Invocation, Request

READS_ONLY = {
    "claude": ("--permission-mode=dontAsk", "--tools=Read,Grep,Glob", "--setting-sources=user", "--strict-mcp-config"),
    "codex": ("--config=sandbox_mode=read-only", "--config=approval_policy=never", "--disable=hooks", "--ignore-rules"),
    "copilot": ("--deny-tool=write", "--deny-tool=shell", "--no-custom-instructions"),
    "gemini": ("--approval-mode=plan",),
    "opencode": ("--pure",),
    "scripted": ("--permissions=read",),
}
"""What the real programs were seen to obey, by tests with the programs themselves."""
GRANTS = {
    "claude": ("--dangerously-skip-permissions", "--allow-dangerously-skip-permissions"),
    "codex": (
        "--dangerously-bypass-approvals-and-sandbox",
        "--sandbox",
        "danger-full-access",
        "-s=danger-full-access",
        "--full-auto",
    ),
    "copilot": ("--allow-all-tools", "--yolo", "--allow-tool", "shell", "--allow-tool=write", "--allow-all"),
    "gemini": ("--yolo", "-y", "--approval-mode", "yolo", "--approval-mode=auto_edit", "--allowed-tools=write_file"),
    "opencode": ("--auto", "--dangerously-skip-permissions", "--agent=build"),
    "scripted": (),
}


def invocation(name: str, **more: object) -> Invocation:
    request = Request("Judge it.", fresh_id="5a2c0b3e-0000-4000-8000-000000000000", reviews=True, **more)  # type: ignore[arg-type]
    return agents.find(name).invocation(request)


@pytest.mark.parametrize("name", READS_ONLY)
@pytest.mark.parametrize("permissions", Permissions)
def test_a_reviewer_reads_only_whatever_it_is_permitted(name: str, permissions: Permissions) -> None:
    argv = invocation(name, permissions=permissions).argv
    assert set(READS_ONLY[name]) <= set(argv)
    assert not {"--allow-all", "--auto", "--approval-mode=yolo", "--config=sandbox_mode=danger-full-access"} & set(argv)


@pytest.mark.parametrize("name", READS_ONLY)
def test_no_argument_of_the_worker_gives_a_reviewer_more(name: str) -> None:
    kept = ("--its-own-flag", "--some=value")
    argv = invocation(name, args=(*GRANTS[name], *kept)).argv
    assert not set(GRANTS[name]) & set(argv)
    assert set(kept) <= set(argv)
    own = [
        argv.index(flag)
        for flag in READS_ONLY[name]
        if flag not in ("--pure", "--permissions=read", "--approval-mode=plan")
    ]
    assert all(place > argv.index(kept[-1]) for place in own), "the last value of a flag counts"


@pytest.mark.parametrize("name", [name for name in READS_ONLY if agents.find(name).capabilities.fork])
def test_a_fork_reads_only_too(name: str) -> None:
    argv = invocation(name, session=SessionUse.FORK, session_id="s1").argv
    assert set(READS_ONLY[name]) <= set(argv)


def test_the_environment_gives_no_more_rights() -> None:
    assert invocation("claude").env["CLAUDE_CODE_SAFE_MODE"] == "1"
    assert invocation("copilot").env["COPILOT_ALLOW_ALL"] == ""
    permission = invocation("opencode").env["OPENCODE_PERMISSION"]
    assert permission.startswith('{"*":"deny",')
    assert not any(word in permission for word in ("bash", "edit", "write", "task"))


@pytest.mark.parametrize("name", agents.own_names())
def test_capabilities_say_who_can_be_held_to_reading(name: str) -> None:
    assert agents.find(name).capabilities.read_only is (name in READS_ONLY)


def test_flags_go_with_their_values() -> None:
    words = ("-a", "--x", "1", "--y=2", "--x=3", "b", "--gone", "--x")
    assert without_flags(words, ("--gone",), ("--x",)) == ("-a", "--y=2", "b")
