"""covers: options by the version of the program, and what is said of a program that does not know one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from untildone import agents
from untildone.core.model import Failure, FailureKind, SessionUse
from untildone.core.plugins.agent import is_older
from untildone.core.plugins.agent_io import Request
from untildone.core.values.value import replace
from untildone.engine.agent import programs

FORK = Request("look", session=SessionUse.FORK, session_id="s1", system_prompt="rules", reviews=True)
USAGE = "--thinking show thinking blocks [boolean] --port port for the local server [number]"


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [("2.1.197", "2.1.257", True), ("2.1.257", "2.1.257", False), ("2.10.0", "2.9.9", False), ("", "1.0", False),
     ("1.18.0-beta.1", "1.18.0", False), ("nonsense", "1.0", True), ("1.0", "", False)],
)  # fmt: skip
def test_versions_compare_by_number(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older


@pytest.mark.parametrize(("version", "has"), [("2.1.197", False), ("2.1.257", True), ("", True)])
def test_an_option_is_left_out_for_a_version_that_lacks_it(version: str, has: bool) -> None:
    argv = agents.find("claude").invocation(replace(FORK, version=version)).argv
    assert ("--system-prompt-snapshot=off" in argv) is has
    assert "--system-prompt=rules" in argv


@pytest.mark.parametrize(
    ("version", "flag"), [("1.17.11", "--dangerously-skip-permissions"), ("1.18.3", "--auto"), ("", "--auto")]
)
def test_an_option_with_another_name_is_called_by_it(version: str, flag: str) -> None:
    argv = agents.find("opencode").invocation(Request("work", version=version)).argv
    assert flag in argv


@pytest.fixture
def old(tmp_path: Path) -> dict[str, str]:
    """An environment with programs of old versions: one of npm, one that says its version."""
    package = tmp_path / "node_modules" / "opencode-ai"
    (package / "bin").mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": "1.16.0", "bin": {"opencode": "bin/opencode"}}))
    (package / "bin" / "opencode").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "opencode").symlink_to(package / "bin" / "opencode")
    (tmp_path / "claude").write_text("#!/bin/sh\necho '2.1.100 (Claude Code)'\n")
    for name in ("opencode", "claude"):
        (tmp_path / name).chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin"}


def test_the_version_is_asked_only_where_an_option_depends_on_it(old: dict[str, str]) -> None:
    claude = agents.find("claude")
    assert programs.with_version(claude, Request("work"), old).version == ""
    assert programs.with_version(claude, FORK, old).version == "2.1.100"
    assert programs.with_version(agents.find("opencode"), Request("work"), old).version == "1.16.0"


@pytest.mark.parametrize(
    ("name", "message", "said"),
    [
        (
            "claude",
            "error: unknown option '--system-prompt-snapshot=off'",
            ("claude 2.1.100 does not know --system-prompt-snapshot, which untildone needs: it is older than 2.1.257. "
            "Upgrade it with: npm install -g @anthropic-ai/claude-code@latest"),
        ),
        (
            "opencode",
            f"opencode ended with exit code 1: {USAGE}",
            ("opencode 1.16.0 does not know an option, which untildone needs: it is older than 1.17.0. "
            "Upgrade it with: npm install -g opencode-ai@latest"),
        ),
        ("claude", "error: unknown option '--mine'", "claude does not know --mine, which you hand to it. Leave it out, or correct it."),
    ],
)  # fmt: skip
def test_an_unknown_option_is_explained_by_the_version(old: dict[str, str], name: str, message: str, said: str) -> None:
    request = Request("work", args=("--mine",))
    failure = programs.explained(agents.find(name), request, Failure(FailureKind.CRASHED, message), old)
    assert failure == Failure(FailureKind.UNAVAILABLE, said)


@pytest.mark.parametrize(
    "message", ["it crashed: unknown option value", "claude was ended by signal 9", "invalid argument"]
)
def test_other_failures_stay_as_they_are(old: dict[str, str], message: str) -> None:
    failure = Failure(FailureKind.CRASHED, message)
    assert programs.explained(agents.find("claude"), Request("work"), failure, old) is failure
