"""Profiles that name another program for an agent: forks, wrappers, other versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from untildone import agents, settings
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.model import AgentChoice, Permissions
from untildone.core.plugins.agent_io import Request
from untildone.engine.verdicts import known_files
from untildone.operations.creating import loop_settings
from untildone.operations.setup import agents as listing
from untildone.store import places

HOME = {"HOME": "/home/ada"}
WITH_PROGRAM = [name for name in agents.names() if agents.find(name).program]


@pytest.mark.parametrize("name", WITH_PROGRAM)
def test_every_agent_with_a_program_takes_another(name: str) -> None:
    own, other = agents.find(name), agents.find_with(name, "/opt/other/program")
    assert (other.name, other.program, other.capabilities) == (own.name, "/opt/other/program", own.capabilities)
    for permissions in Permissions:
        request = Request(prompt="Do it", permissions=permissions)
        before, after = own.invocation(request), other.invocation(request)
        assert after.argv == ("/opt/other/program", *before.argv[1:])
        assert (after.env, after.stdin) == (before.env, before.stdin)
    assert other.needs(HOME, ()) == own.needs(HOME, ())
    back = own.hand_back("s1")
    assert other.hand_back("s1") == (back and ("/opt/other/program", *back[1:]))
    assert agents.find_with(name, own.program) is agents.find_with(name, "") is own


@pytest.mark.parametrize("name", ["opencode", "acp:opencode"])
def test_a_program_in_another_place_keeps_what_is_known_of_its_versions(name: str) -> None:
    own = agents.find(name)
    moved = agents.find_with(name, f"/opt/old/bin/{own.program}")
    assert (moved.versions, moved.install) == (own.versions, own.install)
    assert agents.find_with(name, "another").versions.oldest == ""


@pytest.mark.parametrize("program", ["kilo", "/opt/bin/kilo"])
def test_a_known_fork_has_its_own_folders_files_variables_and_hosts(program: str) -> None:
    kilo = agents.find_with("opencode", program)
    needs = kilo.needs({**HOME, "KILO_CONFIG_CONTENT": '{"url":"https://models.example:8443/v1"}'}, ())
    assert needs.writable == agents.find("acp:kilo").needs(HOME, ()).writable
    assert set(needs.writable) == {
        f"/home/ada/{place}/kilo" for place in (".config", ".local/share", ".local/state", ".cache")
    }
    assert {"api.kilo.ai", "models.example:8443"} <= set(needs.hosts)
    assert "opencode.ai" not in needs.hosts
    assert "/home/ada/.config/kilo/kilo.json" in [file.path for file in kilo.settings_files(HOME)]
    assert {"kilo.json", ".kilo/", ".opencode/", "AGENTS.md"} <= set(kilo.steering_files)
    assert kilo.login.command == "kilo auth login"


@pytest.mark.parametrize("reviews", [True, False])
def test_a_known_fork_is_kept_from_writing_by_its_own_variable(reviews: bool) -> None:
    request = Request(prompt="Look", permissions=Permissions.READ, reviews=reviews)
    for agent in (agents.find_with("opencode", "kilo"), agents.find("acp:kilo")):
        assert "KILO_PERMISSION" in agent.invocation(request).env
        assert "OPENCODE_PERMISSION" not in agent.invocation(request).env


def loaded(folder: Path, *lines: str) -> settings.Settings:
    (folder / places.PROJECT_FILE).write_text("\n".join(("[profiles.mine]", *lines)))
    return settings.load(folder, {"agent": "mine"}, {"HOME": str(folder)})


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\necho 7.7.9\n")
    path.chmod(0o755)
    return path


def test_the_loop_keeps_the_program_and_knows_its_file(tmp_path: Path) -> None:
    kilo = program(tmp_path, "kilo")
    environment = {"HOME": str(tmp_path), "PATH": f"{tmp_path}:/usr/bin:/bin"}
    chosen = loaded(tmp_path, 'agent = "opencode"', 'program = "kilo"')
    worker = loop_settings.loop_settings(chosen, str(tmp_path), environment).worker
    assert (worker.agent, worker.program) == ("opencode", "kilo")
    assert str(kilo) in [file.path for file in known_files.seen(worker, environment, str(tmp_path))]


def test_the_list_of_agents_shows_program_and_version(tmp_path: Path) -> None:
    kilo = program(tmp_path, "kilo")
    info = listing.look(loaded(tmp_path, 'agent = "opencode"', f'program = "{kilo}"'), "mine")
    assert (info.agent, info.program, info.path, info.version) == ("opencode", str(kilo), str(kilo), "7.7.9")
    assert (info.problem, info.install) == ("", "npm install -g @kilocode/cli@latest")


def test_a_program_that_is_missing_is_named(tmp_path: Path) -> None:
    chosen = loaded(tmp_path, 'agent = "claude"', 'program = "claude-of-mine"')
    with pytest.raises(AgentMissing, match="The program 'claude-of-mine' for agent 'mine' is not on PATH"):
        loop_settings.loop_settings(chosen, str(tmp_path), {"HOME": str(tmp_path), "PATH": "/nowhere"})


@pytest.mark.parametrize("bad", ["bin/kilo", "-x", "two words", "./kilo", "a\\nb"])
def test_what_is_no_program_is_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(UsageError, match="program"):
        loaded(tmp_path, 'agent = "opencode"', f'program = "{bad}"')


@pytest.mark.parametrize("agent", ["command", "acp"])
def test_an_agent_whose_program_the_settings_name_takes_no_other(tmp_path: Path, agent: str) -> None:
    chosen = loaded(tmp_path, f'agent = "{agent}"', 'command = "cat"', 'program = "kilo"')
    with pytest.raises(UsageError, match="has no program that `program` could replace"):
        settings.profile(chosen, "mine")


def test_a_journal_without_a_program_means_the_agents_own() -> None:
    assert agents.of(AgentChoice("claude", "claude")) is agents.find("claude")
