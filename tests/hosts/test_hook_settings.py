"""The hook in the agents' settings: what else is there stays byte for byte, and uninstalling leaves no trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.command_line import CommandLine
from tests.support.repositories import git

from untildone.core.errors import UsageError
from untildone.hosts.hook import agent_settings
from untildone.hosts.hook.agent_settings import Installation
from untildone.system import json_text

AGENTS = ("claude", "codex", "gemini", "copilot")
FILES = {
    "none": None,
    "empty": "",
    "empty object": "{}",
    "two blanks": '{\n  "model": "opus",\n  "permissions": {\n    "allow": ["Bash(ls:*)"]\n  }\n}\n',
    "four blanks, no newline": '{\n    "env": {\n        "A": "1"\n    }\n}',
    "tabs": '{\n\t"env": {"A": "1"}\n}\n',
    "one line": '{"env":{"A":"1"},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}',
    "windows": '{\r\n  "model": "opus"\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "comments": '{\n  // mine\n  "model": "opus", /* the good one */\n  "hooks": {}\n}\n',
    "odd": '{ "b" :1 ,\n\n   "a": [ ] ,"hooks" : { "Stop" : [ ] }\n  }  ',
    "other hooks": json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}, indent=2),
    "unicode": '{"description": "schön, 日本, \\u00e9"}\n',
}


def place(agent: str, folder: Path) -> Installation:
    homes = {"HOME": str(folder)}
    return agent_settings.installation(agent, folder / "project", homes, for_person=agent != "claude")


def write(file: Path, content: str | None) -> None:
    if content is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode())


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("agent", "case"), [(agent, case) for agent in AGENTS for case in FILES if (agent, case) != ("claude", "comments")]
)
def test_uninstalling_leaves_everything_as_it_was(agent: str, case: str, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    where = place(agent, tmp_path)
    write(where.file, FILES[case])
    before = tree(tmp_path)
    agent_settings.install(where)
    once = tree(tmp_path)
    assert agent_settings.is_installed(where)
    agent_settings.install(where)
    assert tree(tmp_path) == once, "twice is once"
    agent_settings.uninstall(where)
    assert tree(tmp_path) == before
    assert not agent_settings.is_installed(where)


@pytest.mark.parametrize("case", [case for case in FILES if case != "comments"])
def test_what_was_there_still_says_the_same(case: str, tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    write(where.file, FILES[case])
    agent_settings.install(where)
    after = json_text.parse(where.file.read_bytes().decode()).plain
    original = FILES[case]
    before = json_text.parse(original).plain if original else {}
    for name, value in before.items():
        if name not in ("hooks", "env"):
            assert after[name] == value
    assert after["env"] == {**before.get("env", {}), "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"}
    earlier = before.get("hooks", {}).get("Stop", [])
    assert after["hooks"]["Stop"][: len(earlier)] == earlier
    ours = after["hooks"]["Stop"][-1]["hooks"][0]
    assert ours["timeout"] == 1800
    assert ours["command"].endswith("claude stop 1800")


@pytest.mark.parametrize("case", ["two blanks", "other hooks", "one line"])
def test_edits_made_since_are_kept(case: str, tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    write(where.file, FILES[case])
    agent_settings.install(where)
    edited = json_text.with_member(where.file.read_text(), ("later",), {"mine": True})
    where.file.write_text(edited)
    agent_settings.uninstall(where)
    after = json_text.parse(where.file.read_text()).plain
    assert after.pop("later") == {"mine": True}
    before = json_text.parse(FILES[case] or "").plain
    assert after == before


def test_a_cap_of_the_persons_own_stays(tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    write(where.file, '{"env": {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "20"}}')
    sentences = agent_settings.install(where)
    assert any("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP is set" in sentence for sentence in sentences)
    assert json.loads(where.file.read_text())["env"] == {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "20"}


def test_comments_are_refused_where_the_agent_would_ignore_the_whole_file(tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    write(where.file, FILES["comments"])
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="has comments, and claude ignores such a file as a whole"):
        agent_settings.install(where)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_of_this_machine_comes_into_files_that_a_team_shares(agent: str, tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    git(cli.workspace, "init", "--quiet")
    exclude = cli.workspace / ".git" / "info" / "exclude"
    before = exclude.read_bytes()
    assert cli.run("hook", "install", "--agent", agent).code == 0
    git(cli.workspace, "add", "--all")
    staged = git(cli.workspace, "diff", "--cached", "--no-color")
    assert "program.py" not in staged
    assert "before-untildone" not in staged
    assert cli.run("hook", "uninstall", "--agent", agent).code == 0
    assert exclude.read_bytes() == before


@pytest.mark.parametrize(("agent", "typed"), [("claude", "/"), ("codex", ""), ("gemini", "/"), ("copilot", "")])
def test_the_installer_says_what_the_agents_terminal_accepts(agent: str, typed: str, tmp_path: Path) -> None:
    said = CommandLine(tmp_path).run("hook", "install", "--agent", agent).errors
    assert f'In {agent}: {typed}until-done "make the tests pass"' in said


BROKEN = {
    "cut off": '{"hooks": {',
    "no object": "[1, 2]",
    "trailing comma": '{"a": 1,}',
    "twice the same": '{"hooks": {}, "hooks": {}}',
    "hooks are a list": '{"hooks": []}',
    "an event is a text": '{"hooks": {"Stop": "no"}}',
    "env is a number": '{"env": 1}',
    "text behind it": "{} {}",
    "no quotes": "{a: 1}",
    "deep": "[" * 5000,
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_refused_and_left_alone(case: str, tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    write(where.file, BROKEN[case])
    with pytest.raises(UsageError) as refusal:
        agent_settings.install(where)
    assert "cannot be understood" in refusal.value.sentence
    assert where.file.read_text() == BROKEN[case]
    assert not where.file.with_name("settings.local.json.before-untildone").exists()


def test_not_text_is_refused(tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    where.file.parent.mkdir(parents=True)
    where.file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match="not UTF-8"):
        agent_settings.install(where)


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    real.chmod(0o600)
    where = place("claude", tmp_path)
    where.file.parent.mkdir(parents=True)
    where.file.symlink_to(real)
    agent_settings.install(where)
    assert where.file.is_symlink()
    assert agent_settings.is_installed(where)
    assert real.stat().st_mode & 0o777 == 0o600
    agent_settings.uninstall(where)
    assert (where.file.is_symlink(), real.read_text()) == (True, "{}\n")


def test_an_older_installation_is_replaced_where_it_stands(tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    old = '"/old/python" -I -S "/old/untildone/hosts/hook/program.py" claude stop 60'
    entry = {"hooks": [{"type": "command", "command": old}]}
    write(where.file, json.dumps({"hooks": {"Stop": [entry, {"hooks": []}]}}, indent=2))
    agent_settings.install(where)
    stops = json.loads(where.file.read_text())["hooks"]["Stop"]
    assert len(stops) == 2
    assert stops[0]["hooks"][0]["command"] != old


def test_a_command_of_the_persons_own_stays(tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    assert where.commands is not None
    own = where.commands / "until-done.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine\n")
    assert any("not ours" in sentence for sentence in agent_settings.install(where))
    agent_settings.uninstall(where)
    assert own.read_text() == "mine\n"


def test_commands_of_the_plugin_are_the_same_as_those_installed(tmp_path: Path) -> None:
    where = place("claude", tmp_path)
    agent_settings.install(where)
    assert where.commands is not None
    shipped = tree(Path(__file__).parents[2] / "plugin" / "commands")
    assert shipped.pop("hand-over.md"), "the plugin alone has it: it needs no hook"
    assert shipped == tree(where.commands)


def test_command_line(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    before = tree(cli.workspace)
    installed = cli.run("hook", "install")
    assert (installed.code, installed.output.strip()) == (0, str(cli.workspace / ".claude" / "settings.local.json"))
    assert "claude: " in cli.run("hook", "status").output
    assert cli.run("hook", "uninstall").code == 0
    assert tree(cli.workspace) == before
    assert cli.run("hook", "status").output == ""
    (cli.workspace / ".claude").mkdir()
    (cli.workspace / ".claude" / "settings.local.json").write_text("{")
    refused = cli.run("hook", "install")
    assert (refused.code, "line 1" in refused.errors, "hint:" in refused.errors) == (2, True, True)


def test_command_survives_a_shell(tmp_path: Path) -> None:
    import shlex

    words = shlex.split(agent_settings.hook_command("claude", "stop", 1800))
    assert words[1:3] == ["-I", "-S"]
    assert Path(words[3]).name == "program.py"
    assert words[4:] == ["claude", "stop", "1800"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    before=st.dictionaries(st.text(max_size=4), values, max_size=4),
    indent=st.sampled_from([None, 0, 2, 4, "\t"]),
    value=values,
)
def test_what_is_put_in_and_taken_out_leaves_the_same_text(
    before: dict[str, object], indent: int | str | None, value: object
) -> None:
    text = json.dumps(before, indent=indent)
    with_it = json_text.with_member(text, ("ours", "list"), [value])
    assert json.loads(with_it) == {**before, "ours": {"list": [value]}}
    assert json.loads(json_text.with_item(with_it, ("ours", "list"), value))["ours"]["list"] == [value, value]
    assert json.loads(json_text.without(with_it, ("ours",))) == before
