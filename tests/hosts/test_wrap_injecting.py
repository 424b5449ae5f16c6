"""The hook of one run, as each agent gets it: nothing installed, nothing of the person's lost."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from untildone.core.errors import UsageError
from untildone.hosts.wrap.injecting import inject, place_for_runs

LOOKS = "untildone looks"


def settings_of(arguments: tuple[str, ...]) -> dict[str, object]:
    file = Path(arguments[0].partition("=")[2])
    found: dict[str, object] = json.loads(file.read_text())
    return found


def test_claude_gets_settings_beside_its_own_arguments(tmp_path: Path) -> None:
    injected = inject("claude", ("--continue", "--", "--settings", "x"), tmp_path, LOOKS, {})
    assert injected.arguments[1:] == ("--continue", "--", "--settings", "x"), "behind -- it is a prompt"
    content = json.dumps(settings_of(injected.arguments))
    assert LOOKS in content
    assert '"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"' in content
    assert str(tmp_path) in content


@pytest.mark.parametrize("form", ["file", "text", "one word"])
def test_the_persons_own_settings_are_joined(tmp_path: Path, form: str) -> None:
    own = {"env": {"A": "1"}, "model": "m", "hooks": {"Stop": [{"hooks": ["theirs"]}]}}
    file = tmp_path / "own.json"
    file.write_text(json.dumps(own))
    given = {
        "file": ("--settings", str(file)),
        "text": ("--settings", json.dumps(own)),
        "one word": (f"--settings={file}",),
    }
    injected = inject("claude", (*given[form], "hi"), tmp_path, LOOKS, {})
    assert injected.arguments[1:] == ("hi",)
    merged = settings_of(injected.arguments)
    assert merged["env"] == {"A": "1", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"}
    assert merged["model"] == "m"
    hooks = merged["hooks"]
    assert isinstance(hooks, dict)
    assert (hooks["Stop"][0], len(hooks["Stop"]), len(hooks["UserPromptSubmit"])) == ({"hooks": ["theirs"]}, 2, 1)
    assert json.loads(file.read_text()) == own


def test_codex_gets_the_same_words_every_time(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    first, second = (inject("codex", ("resume",), tmp_path / name, LOOKS, {}) for name in ("one", "two"))
    assert first.arguments == second.arguments, "else it would ask again whether it may run the hook"
    assert first.variables != second.variables
    assert first.arguments[-1] == "resume"
    flags = first.arguments[1:-1:2]
    hooks = tomllib.loads("\n".join(flags))["hooks"]
    trusted = hooks.pop("state")
    assert sorted(hooks) == ["Stop", "UserPromptSubmit"]
    assert sorted(key.split(":")[1] for key in trusted) == ["stop", "user_prompt_submit"], "it does not ask about them"
    assert hooks["Stop"][0]["hooks"][0]["command"].endswith(' codex stop 1800 "$UNTILDONE_WRAP"')


def test_gemini_gets_defaults_joined_with_those_of_the_machine(tmp_path: Path) -> None:
    there = tmp_path / "defaults.json"
    there.write_text('{"ui": {"theme": "dark"}} // a comment')
    variable = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
    injected = inject("gemini", ("-m", "x"), tmp_path, LOOKS, {variable: str(there)})
    merged = json.loads(Path(injected.variables[variable]).read_text())
    assert (injected.arguments, merged["ui"], sorted(merged["hooks"])) == (
        ("-m", "x"),
        {"theme": "dark"},
        ["AfterAgent", "BeforeAgent"],
    )
    assert place_for_runs("gemini", {"XDG_CACHE_HOME": "/c"}) == Path("/c/untildone")


def test_copilot_gets_a_plugin(tmp_path: Path) -> None:
    injected = inject("copilot", ("--continue",), tmp_path, LOOKS, {})
    assert injected.arguments == (f"--plugin-dir={tmp_path}", "--continue")
    about = json.loads((tmp_path / "plugin.json").read_text())
    hooks = json.loads((tmp_path / about["hooks"]).read_text())["hooks"]
    assert sorted(hooks) == ["agentStop", "userPromptSubmitted"]
    assert str(tmp_path) in hooks["agentStop"][0]["bash"]


REFUSED = {
    ("opencode", ()): "opencode cannot be wrapped: it has no hook that is asked before it stops.",
    ("claude", ("--bare",)): "With --bare, claude runs no hook",
    ("claude", ("--settings", "[1]")): "The agent's settings [1] cannot be read",
    ("claude", ("--settings", '{"a": ')): "cannot be read",
}


@pytest.mark.parametrize(("agent", "arguments"), REFUSED)
def test_what_cannot_be_told_is_said(tmp_path: Path, agent: str, arguments: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as refused:
        inject(agent, arguments, tmp_path, LOOKS, {})
    assert REFUSED[agent, arguments] in refused.value.sentence
