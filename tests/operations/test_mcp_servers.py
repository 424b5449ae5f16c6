"""covers: operations/setup/mcp_servers.py with the setups of all agents: what is installed, and that nothing else changes."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from untildone.core.errors import UsageError
from untildone.operations.setup import mcp_servers

URL = "http://127.0.0.1:8321/mcp"
OWN = ("-P", "-m", "untildone", "mcp")
FILES = {
    "claude": (".claude.json", ".mcp.json"),
    "codex": (".codex/config.toml", None),
    "copilot": (".copilot/mcp-config.json", None),
    "gemini": (".gemini/settings.json", ".gemini/settings.json"),
    "opencode": (".config/opencode/opencode.json", "opencode.json"),
}
BOTH = [
    (agent, project) for agent, (_own, shared) in FILES.items() for project in ((False, True) if shared else (False,))
]


class Place:
    """A home folder and a project in it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.environment = {"HOME": str(self.home)}

    def file(self, agent: str, *, project: bool) -> Path:
        own, shared = FILES[agent]
        return self.project / (shared or "") if project else self.home / own

    def install(self, agent: str, *, project: bool, url: str = "") -> str:
        return mcp_servers.install(agent, self.project, self.environment, for_project=project, url=url)

    def uninstall(self, agent: str, *, project: bool) -> str:
        return mcp_servers.uninstall(agent, self.project, self.environment, for_project=project)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def entry(text: str, agent: str) -> dict[str, Any]:
    key = {"codex": "mcp_servers", "opencode": "mcp"}.get(agent, "mcpServers")
    found: dict[str, Any] = (tomllib.loads(text) if agent == "codex" else json.loads(text))[key]["untildone"]
    return found


def test_every_agent_with_a_program_of_its_own_has_a_place() -> None:
    assert set(FILES) == set(mcp_servers.agent_names())


@pytest.mark.parametrize(("agent", "project"), BOTH)
def test_a_new_file_is_made_and_removed_again(place: Place, agent: str, project: bool) -> None:
    file = place.file(agent, project=project)
    assert str(file) in place.install(agent, project=project)
    made = entry(file.read_text(), agent)
    words = made["command"] if agent == "opencode" else [made["command"], *made["args"]]
    assert tuple(words) == ("untildone", "mcp") if project else tuple(words[1:]) == OWN
    assert "already" in place.install(agent, project=project)
    assert "was removed from" in place.uninstall(agent, project=project)
    assert not file.exists()
    assert "is not in" in place.uninstall(agent, project=project)


JSON = (
    '{"theme": "dark"}',
    '{\n  // mine\n  "{key}": {},\n  "a": [1, 2]\n}\n',
    '{"{key}": {"other": {"command": "x"}}}',
    "{}",
    "",
    " \n\t",
    '{\r\n\t"{key}" : { /* none */ } , // mine\r\n\t"a" : 1\r\n}',
    '\n\n{ "a":1 , "{key}":{ "other" :{"command":"x" } }  }\n\n',
)
TOML = (
    *('model = "x"\n', '# mine\n[mcp_servers.other]\ncommand = "x"', "", "[a]\nb = 1\n\n", "# only\r\n"),
    *(" \n\n", "[mcp_servers]", '[mcp_servers.other]\r\ncommand = "x" # mine'),
)


@pytest.mark.parametrize(("agent", "project"), BOTH)
@pytest.mark.parametrize("url", ["", URL])
@pytest.mark.parametrize("number", range(8))
def test_what_was_there_is_there_again_byte_for_byte(
    place: Place, agent: str, project: bool, number: int, url: str
) -> None:
    file = place.file(agent, project=project)
    file.parent.mkdir(parents=True, exist_ok=True)
    key = "mcp" if agent == "opencode" else "mcpServers"
    before = TOML[number] if agent == "codex" else JSON[number].replace("{key}", key)
    file.write_bytes(before.encode())
    place.install(agent, project=project, url=url)
    assert file.read_bytes() != before.encode()
    place.uninstall(agent, project=project)
    assert file.read_bytes() == before.encode()


@pytest.mark.parametrize("agent", FILES)
def test_an_address_takes_the_token_from_a_variable(place: Place, agent: str) -> None:
    assert "UNTILDONE_TOKEN" in place.install(agent, project=False, url=URL)
    file = place.file(agent, project=False)
    made = entry(file.read_text(), agent)
    assert URL in made.values()
    assert "UNTILDONE_TOKEN" in json.dumps(made)
    assert "already" in place.install(agent, project=False, url=URL)
    # A program that rewrites its file changes more than our entry.
    file.write_text(f"{file.read_text()}\n")
    place.uninstall(agent, project=False)
    assert not file.exists()


@pytest.mark.parametrize("url", ["ftp://x/mcp", "nonsense", "http://", "http://a:b@x/mcp", "http://x/\nmcp"])
def test_what_is_no_address_is_told(place: Place, url: str) -> None:
    with pytest.raises(UsageError, match="is not the address"):
        place.install("claude", project=False, url=url)


@pytest.mark.parametrize("agent", FILES)
def test_a_file_that_cannot_be_read_stays_as_it_is(place: Place, agent: str) -> None:
    file = place.file(agent, project=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{ this is [ neither\n")
    with pytest.raises(UsageError, match="cannot be read"):
        place.install(agent, project=False)
    assert file.read_text() == "{ this is [ neither\n"


def test_an_inline_table_is_refused_and_stays(place: Place) -> None:
    file = place.file("codex", project=False)
    file.parent.mkdir(parents=True)
    file.write_text('mcp_servers = { other = { command = "x" } }\n')
    with pytest.raises(UsageError, match="cannot be"):
        place.install("codex", project=False)
    assert file.read_text().count("\n") == 1


def test_a_server_of_the_same_name_is_not_replaced(place: Place) -> None:
    file = place.file("claude", project=False)
    file.write_text('{"mcpServers": {"untildone": {"command": "mine"}}}')
    with pytest.raises(UsageError, match="another MCP server of the name untildone"):
        place.install("claude", project=False)
    assert "mine" in file.read_text()


def test_an_edited_table_is_left_to_the_person(place: Place) -> None:
    place.install("codex", project=False)
    file = place.file("codex", project=False)
    file.write_text(file.read_text().replace("args =", "enabled = true\nargs ="))
    with pytest.raises(UsageError, match="was changed"):
        place.uninstall("codex", project=False)


@pytest.mark.parametrize("agent", ["codex", "copilot"])
def test_a_program_without_a_list_for_projects_is_told(place: Place, agent: str) -> None:
    with pytest.raises(UsageError, match="for a project"):
        place.install(agent, project=True)


@pytest.mark.parametrize("agent", ["command", "nonsense"])
def test_an_agent_without_mcp_is_told(place: Place, agent: str) -> None:
    with pytest.raises(UsageError):
        place.install(agent, project=False)


def test_variables_of_the_programs_count(place: Place, tmp_path: Path) -> None:
    place.environment |= {"CODEX_HOME": str(tmp_path / "elsewhere"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert str(tmp_path / "elsewhere" / "config.toml") in place.install("codex", project=False)
    assert str(tmp_path / "config" / "opencode" / "opencode.json") in place.install("opencode", project=False)
