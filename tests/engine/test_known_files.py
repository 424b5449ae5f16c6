"""What a supervisor runs with: its program, the interpreter and script of it, and the person's settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from untildone.core.model import AgentChoice
from untildone.engine.verdicts import known_files


def program(path: Path, content: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return path


def digests(choice: AgentChoice, folder: Path) -> set[tuple[str, str]]:
    environment = {"PATH": f"{folder}/first:{folder}/bin:/usr/bin:/bin", "HOME": str(folder)}
    return {(file.path, file.digest) for file in known_files.seen(choice, environment, str(folder / "work"))}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    program(tmp_path / "bin" / "judge", "#!/usr/bin/env python3\n")
    program(tmp_path / "work" / "review.sh", "echo\n")
    return tmp_path


JUDGE = AgentChoice("judge", "command", command="judge --strict review.sh")
CLAUDE = AgentChoice("claude", "claude")


def test_the_program_its_interpreter_and_its_script_are_seen(folder: Path) -> None:
    seen = digests(JUDGE, folder)
    paths = {path for path, _ in seen}
    assert {f"{folder}/bin/judge", f"{folder}/work/review.sh"} < paths
    assert any(path.endswith("/python3") for path in paths)
    assert all(digest for _, digest in seen)


@pytest.mark.parametrize("changed", ["first/judge", "bin/judge", "first/python3", "work/review.sh"])
def test_a_change_of_any_of_them_is_seen(folder: Path, changed: str) -> None:
    before = digests(JUDGE, folder)
    assert digests(JUDGE, folder) == before
    program(folder / changed, "#!/usr/bin/env python3\nprint()\n")
    assert digests(JUDGE, folder) != before


def test_a_program_that_is_not_there_is_seen_when_it_comes(folder: Path) -> None:
    before = digests(CLAUDE, folder)
    assert ("claude", "") in before
    program(folder / "first" / "claude", "#!/bin/sh\n")
    assert digests(CLAUDE, folder) != before


@pytest.mark.parametrize(
    ("settings", "steers"),
    [
        ({"skipDangerousModePermissionPrompt": True}, False),
        ({"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}}, True),
        ({"apiKeyHelper": "x", "theme": "dark"}, True),
    ],
)
def test_fields_that_the_program_writes_by_itself_do_not_count(folder: Path, settings: object, steers: bool) -> None:
    before = digests(CLAUDE, folder)
    program(folder / ".claude" / "settings.json", json.dumps(settings))
    assert (digests(CLAUDE, folder) != before) is steers


@pytest.mark.parametrize(
    ("content", "steers"),
    [
        ("", False),
        ("{}\n", False),
        ('{"mcpServers": {}}\n', False),
        ('{"mcpServers": {"a": {"command": "x"}}}', True),
        ('{"a": ""}', True),
        ("[]", True),
        ("not JSON", True),
    ],
)
def test_a_file_in_which_nothing_is_steers_nothing(folder: Path, content: str, steers: bool) -> None:
    copilot = AgentChoice("copilot", "copilot")
    before = digests(copilot, folder)
    program(folder / ".copilot" / "mcp-config.json", content)
    assert (digests(copilot, folder) != before) is steers


def test_settings_that_cannot_be_read_count_as_they_are(folder: Path) -> None:
    before = digests(CLAUDE, folder)
    program(folder / ".claude" / "settings.json", "{ not json")
    assert digests(CLAUDE, folder) != before


def test_settings_in_toml(folder: Path) -> None:
    codex = AgentChoice("codex", "codex")
    file = program(folder / ".codex" / "config.toml", 'model = "x"\n')
    before = digests(codex, folder)
    file.write_text('model = "x"\n[projects."/work"]\ntrust_level = "trusted"\n')
    assert digests(codex, folder) == before
    file.write_text('model = "x"\nmodel_provider = "mine"\n')
    assert digests(codex, folder) != before
