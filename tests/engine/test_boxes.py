"""Boxes of agents: what a program in one sees, may write and may reach."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.boxes import NOBODY, as_nobody, boxes, ran, shared_folder, system_python
from tests.support.command_line import until
from tests.support.repositories import git
from tests.support.rooms import said

import untildone
from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.events import Entry, LoopCreated, StartRequested, TurnStarted
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, Budget, LoopSettings, Outcome, RoomKind
from untildone.core.protection.sandbox import Sandbox, SandboxNet
from untildone.core.protection.secrets import Redactor
from untildone.engine.boxes import box_of, concealed, credentials, home, links, planning
from untildone.engine.boxes.refusals import Refusals
from untildone.engine.engine import Engine
from untildone.engine.surroundings import IgnoringObserver, Surroundings
from untildone.engine.usage_limits import SharedLimits
from untildone.store.files import FileStore
from untildone.system.box import scoping
from untildone.system.box.sandbox import Access, Box, Mount
from untildone.system.guard import Guard
from untildone.workspace.rooms import Claimed, Rooms
from untildone.workspace.shadow import Shadow

__all__ = ["boxes", "shared_folder"]
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("boxes")

SECRET = "very secret"
HIDDEN = (
    ".ssh/id_ed25519", ".gnupg/private", ".aws/credentials", ".config/gcloud/credentials.db", ".azure/token", ".kube/config",
    ".docker/config.json", ".netrc", ".pypirc", ".git-credentials", ".cargo/credentials.toml", ".config/gh/hosts.yml", ".bash_history",
    ".mozilla/firefox/logins.json", ".config/google-chrome/Cookies", ".password-store/mail.gpg", ".local/share/keyrings/login.keyring",
    ".zsh_history", ".python_history", ".pgpass", ".config/rclone/rclone.conf", ".local/share/anything/secret", ".anything",
    ".cache/huggingface/token", "snap/firefox/common/key4.db", ".config/untildone/config.toml", ".vault-token", ".composer/auth.json",
)  # fmt: skip
READABLE = (
    "other-project/file", ".bashrc", ".gitconfig", ".pyenv/bin/python", ".nvm/nvm.sh", ".rustup/settings.toml", ".cargo/bin/cargo",
    ".config/git/ignore", ".local/bin/tool", ".local/lib/python3/x.py", ".local/share/uv/python", ".volta/bin/node", ".asdf/asdf.sh",
    ".sdkman/bin/sdk", ".m2/settings.xml",
)  # fmt: skip
CACHES = (".cache/pip", ".cache/uv", ".npm", ".cargo/registry", "go/pkg", ".m2/repository", ".gradle/caches")


class Person:
    """A home folder with a project in it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.workspace = self.home / "project"
        self.workspace.mkdir(parents=True)
        self.environment = {"HOME": str(self.home), "PATH": os.defpath, "XDG_STATE_HOME": str(folder / "state")}

    def write(self, *names: str, content: str = SECRET) -> None:
        for name in names:
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def box(self, agent: str = "command", *, env: Mapping[str, str] | None = None, **chosen: Any) -> Box:
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items()
        }
        choice = AgentChoice(agent, agent, command="sh" if agent == "command" else None)
        loop = LoopSettings("ralph", choice, str(self.workspace), **given)
        environment = {**self.environment, **(env or {})}
        return box_of(planning.plan_for(loop, str(self.workspace), choice, environment, "test"))

    def concealed(self, **chosen: Any) -> tuple[Mount, ...]:
        """What a room for checks hides from the agent of a box, and shows in there."""
        given: dict[str, Any] = {name: tuple(value) for name, value in chosen.items()}
        loop = LoopSettings("ralph", AgentChoice("command", "command", command="sh"), str(self.workspace), **given)
        return concealed(planning.plan_for(loop, str(self.workspace), None, self.environment, "test"))

    def run(self, script: str, agent: str = "command", *, env: Mapping[str, str] | None = None, **chosen: Any) -> str:
        """The output of a script in a box of this person, errors too."""
        box = self.box(agent, env=env, **chosen)
        return ran(box, script, box.environment({**self.environment, **(env or {})}))[1]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = Person(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return made


@pytest.mark.parametrize("name", HIDDEN)
def test_secrets_are_hidden(person: Person, name: str) -> None:
    person.write(name)
    person.write(".cargo/bin/cargo", content="program")
    assert SECRET not in person.run(f"cat ~/{name}; grep -r '{SECRET}' ~/{name.split('/')[0]}")


def test_a_hidden_file_that_is_replaced_during_a_turn_stays_hidden(person: Person) -> None:
    """Shells do that with their history."""
    person.write(".zsh_history", ".newer", content=SECRET)
    script = "touch started; while ! [ -e go ]; do sleep 0.05; done; cat ~/.zsh_history"
    with ThreadPoolExecutor(1) as pool:
        said = pool.submit(person.run, script)
        until((person.workspace / "started").exists)
        (person.home / ".newer").rename(person.home / ".zsh_history")
        (person.workspace / "go").touch()
        assert SECRET not in said.result()


def test_a_file_of_the_home_folder_that_is_deleted_before_the_box_starts_is_not_missed(person: Person) -> None:
    person.write("download.part")
    box = person.box()
    (person.home / "download.part").unlink()
    assert ran(box, f"ls {person.home}") == (0, "project")


class TakesAway(IgnoringObserver):
    """Removes a folder that the box shows, when a turn starts: the box is planned by then, and not yet made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def entry(self, entry: Entry, loop: Loop) -> None:
        if isinstance(entry.event, TurnStarted):
            shutil.rmtree(self.folder)


def test_a_box_is_made_anew_if_a_folder_has_vanished_since_it_was_planned(person: Person) -> None:
    person.write(".config/git/ignore")
    observer = TakesAway(person.home / ".config" / "git")
    program = person.workspace / "agent.sh"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho worked >> calls\necho '<promise>COMPLETE</promise>'\n")
    program.chmod(0o755)
    store = FileStore(person.workspace / ".loop")
    choice = AgentChoice("worker", "command", command=str(program))
    settings = LoopSettings("ralph", choice, str(person.workspace), sandbox=Sandbox.ON)
    store.create(LoopCreated("loop-1", "t", "do it", settings, Budget(iterations=1)), StartRequested())
    around = Surroundings(person.environment, Redactor({}), Guard(), SharedLimits(person.home.parent / "limits"))
    try:
        loop = Engine(store, around, observer).drive("loop-1")
    finally:
        around.guard.close()
    assert (loop.outcome, loop.reason) == (Outcome.CLAIMED, "")
    assert (person.workspace / "calls").read_text() == "worked\n"


def test_links_in_the_home_folder_lead_where_the_box_allows_it(person: Person) -> None:
    person.write("dotfiles/bashrc", content="useful")
    person.write(".ssh/key")
    (person.home / ".bashrc").symlink_to("dotfiles/bashrc")
    (person.home / "keys").symlink_to(".ssh")
    assert person.run("cat ~/.bashrc") == "useful"
    assert SECRET not in person.run("cat ~/keys/key; ls -R ~/keys/")


@pytest.mark.parametrize("name", READABLE)
def test_toolchains_and_other_projects_can_be_read_and_not_written(person: Person, name: str) -> None:
    person.write(name, content="useful")
    assert person.run(f"cat ~/{name}") == "useful"
    person.run(f"echo other > ~/{name}; echo new > ~/{name}.new; mv ~/{name} ~/{name}.old")
    assert (person.home / name).read_text() == "useful"
    assert not (person.home / f"{name}.new").exists()


OF_OTHERS = ("src/shop/.env", "src/shop/.env.local", "src/team/deep/api/.envrc", "shop/.pypirc", "src/.netrc")


def test_credentials_of_other_projects_are_hidden(person: Person) -> None:
    person.write(*OF_OTHERS, "src/shop/.env.example", "src/shop/main.py", "project/.env")
    person.write("src/shop/.git/config", content="[core]\n\tbare = false\n\turl = https://me:swordfish@example.org\n")
    person.write("src/shop/.npmrc", content=f"color=false\n//example.org/:_authToken={SECRET}\n")
    said = person.run(f"cd ~; cat {' '.join(OF_OTHERS)} src/shop/.git/config src/shop/.npmrc")
    assert SECRET not in said
    assert "swordfish" not in said
    assert "bare = false" in said
    assert "color=false" in said
    assert person.run("cat ~/src/shop/.env.example ~/src/shop/main.py ~/project/.env") == SECRET * 3


def test_credentials_of_an_allowed_project_can_be_read(person: Person) -> None:
    person.write("shop/.env")
    assert person.run("cat ~/shop/.env", allow_read=["~/shop"]) == SECRET


def test_the_walk_for_credentials_is_bounded_and_begins_with_the_nearest(tmp_path: Path) -> None:
    for name in ("b/c/d", "a/node_modules/x", "a/.venv/x", "l", "b/c"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / ".env").touch()
    (tmp_path / "m").symlink_to(tmp_path / "b")
    found = [path for each in credentials.logins(str(tmp_path), {str(tmp_path / "l")}) for path in each.hidden]
    assert [os.path.relpath(path, tmp_path) for path in found] == ["b/c/.env", "b/c/d/.env"]


def test_settings_of_submodules_are_found_whatever_their_names(tmp_path: Path) -> None:
    modules = ("a", "libs/b", "libs/deep/c", "a/modules/d")
    for name in modules:
        (tmp_path / ".git/modules" / name / "objects/ab").mkdir(parents=True)
        (tmp_path / ".git/modules" / name / "HEAD").touch()
    (tmp_path / ".git/worktrees/w").mkdir(parents=True)
    (tmp_path / ".git/worktrees/w/config.worktree").touch()
    [found] = credentials.logins(str(tmp_path), ())
    wanted = {".git/config", ".git/worktrees/w/config.worktree", *(f".git/modules/{name}/config" for name in modules)}
    assert {os.path.relpath(path, tmp_path) for path in found.settings} == wanted


@pytest.mark.parametrize("name", CACHES)
def test_caches_of_package_managers_are_writable(person: Person, name: str) -> None:
    person.write(f"{name}/old")
    person.run(f"echo fresh > ~/{name}/new")
    assert (person.home / name / "new").read_text() == "fresh\n"


def test_a_cache_that_a_variable_names_is_writable(person: Person, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    person.run('echo fresh > "$PIP_CACHE_DIR/new"', env={"PIP_CACHE_DIR": str(tmp_path / "elsewhere")})
    assert (tmp_path / "elsewhere/new").exists()


def test_programs_on_path_are_never_writable_even_in_a_cache(person: Person) -> None:
    person.write(".cache/tool/node_modules/.bin/agent", ".cache/tool/node_modules/agent/main.js", content="program")
    path = f"{person.home}/.cache/tool/node_modules/.bin:{os.defpath}"
    person.run("cd ~/.cache/tool/node_modules; echo x > .bin/agent; echo x > agent/main.js", env={"PATH": path})
    assert (person.home / ".cache/tool/node_modules/.bin/agent").read_text() == "program"
    assert (person.home / ".cache/tool/node_modules/agent/main.js").read_text() == "program"


def test_the_folders_around_what_is_protected_cannot_be_renamed(person: Person) -> None:
    """Else another folder could be put in their place."""
    tool = person.home / ".cache/tool/inner/bin"
    tool.mkdir(parents=True)
    env = {"PATH": f"{tool}:{os.defpath}"}
    assert "busy" in person.run("mv ~/.cache/tool ~/.cache/old 2>&1; mv ~/.cache/tool/inner ~/.cache/x 2>&1", env=env)
    assert tool.is_dir()


def test_the_workspace_cannot_be_renamed_if_it_is_a_folder_of_a_repository(person: Person) -> None:
    git(person.workspace, "init", "-q")
    person.workspace /= "parts/one"
    (person.workspace / ".loop").mkdir(parents=True)
    assert "busy" in person.run("cd ../..; mv parts others 2>&1; mv parts/one parts/two 2>&1")
    assert (person.workspace / ".loop").is_dir()


def test_a_link_in_a_cache_makes_no_other_folder_writable(person: Person) -> None:
    person.write(".ssh/known_hosts", ".cache/old")
    (person.home / ".cache/claude-cli-nodejs").symlink_to(person.home / ".ssh")
    person.run("touch ~/.ssh/authorized_keys; echo x > ~/.cache/claude-cli-nodejs/authorized_keys", "claude")
    assert not (person.home / ".ssh/authorized_keys").exists()


LED_ASTRAY = {
    "a virtual environment": (".venv", {"VIRTUAL_ENV": "{0}/.venv"}),
    "a folder on PATH": ("bin", {"PATH": "{0}/bin:/usr/bin:/bin"}),
    "a folder around a cache": ("caches/uv", {"UV_CACHE_DIR": "{0}/caches/uv"}),
    "modules": ("modules", {"PYTHONPATH": "{0}/modules", "NODE_PATH": "{0}/modules"}),
}


@pytest.mark.parametrize("name", LED_ASTRAY)
def test_a_link_in_the_workspace_shows_and_opens_no_other_folder(person: Person, name: str) -> None:
    """An agent leaves it in one turn; variables of the person name it when the box of the next turn is planned."""
    person.write(".ssh/id_ed25519", content=SECRET)
    path, variables = LED_ASTRAY[name]
    (person.workspace / path).parent.mkdir(exist_ok=True)
    (person.workspace / path).symlink_to(person.home / ".ssh")
    env = {variable: value.format(person.workspace) for variable, value in variables.items()}
    assert SECRET not in person.run(f"cat ~/.ssh/*; cat {path}/*; touch ~/.ssh/authorized_keys", env=env)
    assert not (person.home / ".ssh/authorized_keys").exists()


@pytest.mark.parametrize(("agent", "name"), [("claude", "local"), ("codex", "packages"), ("claude", "settings.json")])
def test_a_link_in_the_folder_of_an_agent_shows_no_other_folder(person: Person, agent: str, name: str) -> None:
    person.write(".ssh/id_ed25519", content=SECRET)
    folder = person.home / f".{agent}"
    folder.mkdir()
    (folder / name).symlink_to("../.ssh/id_ed25519" if "." in name else "../.ssh")
    assert SECRET not in person.run(f"cat ~/.{agent}/{name} ~/.{agent}/{name}/* ~/.ssh/*", agent)


def test_settings_that_a_person_keeps_elsewhere_are_found(person: Person) -> None:
    person.write(".dotfiles/claude/settings.json", content="kept elsewhere")
    (person.home / ".claude").mkdir()
    (person.home / ".claude/settings.json").symlink_to("../.dotfiles/claude/settings.json")
    assert "kept elsewhere" in person.run("cat ~/.claude/settings.json", "claude")


def test_a_link_to_settings_that_was_replaced_is_put_back(person: Person) -> None:
    person.write("dotfiles/settings.json", "dotfiles/skills/own", content="{}")
    (person.home / ".claude").mkdir()
    for name in ("settings.json", "skills"):
        (person.home / ".claude" / name).symlink_to(f"../dotfiles/{name}")
    box = person.box("claude")
    ran(
        box,
        "cd ~/.claude; rm settings.json skills; echo evil > settings.json; mkdir skills; touch skills/evil",
        box.environment(person.environment),
    )
    sentences = list(links.put_back(box))
    assert [(person.home / ".claude" / name).readlink() for name in ("settings.json", "skills")] == [
        Path("../dotfiles/settings.json"),
        Path("../dotfiles/skills"),
    ]
    assert len(sentences) == 2
    assert "settings.json.replaced" in sentences[0]
    assert (person.home / ".claude/settings.json.replaced").read_text() == "evil\n"
    assert list(links.put_back(box)) == []


@pytest.fixture
def linked_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that this process has loaded."""
    file = tmp_path / "linked_module_of_a_cache.py"
    file.write_text("as_it_was = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(file.stem)
    yield file
    del sys.modules[file.stem]


def test_a_cache_from_which_untildone_is_linked_changes_nothing_of_it(person: Person, linked_module: Path) -> None:
    cached = person.home / ".cache/elsewhere/store/module.py"
    cached.parent.mkdir(parents=True)
    os.link(linked_module, cached)
    before = linked_module.stat()
    assert person.run(f"echo changed > {cached} && cat {cached}") == "changed"
    assert linked_module.read_text() == "as_it_was = True\n"
    after = linked_module.stat()
    assert (after.st_nlink, after.st_mode, after.st_mtime_ns) == (1, before.st_mode, before.st_mtime_ns)


def test_there_is_no_box_if_a_file_of_untildone_keeps_its_other_name(shared_folder: Path) -> None:
    modules = shared_folder / "modules"
    modules.mkdir()
    (modules / "linked_module.py").write_text("")
    os.link(modules / "linked_module.py", shared_folder / "other-name")
    os.chown(modules / "linked_module.py", *((NOBODY, NOBODY) if os.geteuid() == 0 else (-1, -1)))
    modules.chmod(0o555)
    program = "import linked_module\nfrom untildone.engine.boxes import own_program\nown_program.keep_apart()"
    source = copied_source(shared_folder)
    command = as_nobody(system_python(), "-B", "-c", program)
    environment = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join((str(modules), str(source)))}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=shared_folder)
    modules.chmod(0o755)
    assert (
        f"the file {modules}/linked_module.py has another name, and cannot be copied: Permission denied" in ended.stderr
    )


def test_what_is_installed_later_from_a_cache_is_noticed(tmp_path: Path) -> None:
    subprocess.run([system_python(), "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60)
    program = """
import os, sys, sysconfig
from untildone.engine.boxes import own_program
own_program.keep_apart()
site = sysconfig.get_path("purelib")
os.mkdir(os.path.join(site, "added.dist-info"))
os.mkdir(os.path.join(sys.prefix, "conda-meta"))
library = os.path.join(sys.prefix, "lib", "libadded.so.1")
for name in ("added.py", "added.dist-info/METADATA", library):
    with open(os.path.join(site, name), "w"):
        os.link(os.path.join(site, name), os.path.join("cache", os.path.basename(name)))
own_program.keep_apart()
print(os.stat(os.path.join(site, "added.py")).st_nlink, os.stat(library).st_nlink)
"""
    (tmp_path / "cache").mkdir()
    command = [str(tmp_path / "venv/bin/python"), "-B", "-c", program]
    environment = {"PATH": os.defpath, "PYTHONPATH": str(Path(untildone.__file__).parent.parent)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert ended.stdout == "1 1\n", ended.stderr


def test_untildone_is_not_allowed_with_a_folder_around_it(person: Person) -> None:
    around = Path(untildone.__file__).parents[1]
    said = person.run(f"touch {around}/untildone/new {around}/new; rm {around}/new", allow_write=[str(around)])
    assert said.count("Read-only file system") == 1
    assert "untildone/new" in said


def test_what_packages_are_links_to_belongs_to_untildone(tmp_path: Path) -> None:
    """Some package managers link to their caches by symbolic links: of files, or of whole folders."""
    subprocess.run([system_python(), "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True, timeout=60)
    program = """
import os, sysconfig
from untildone.engine.boxes import own_program
before = own_program.places()
site = sysconfig.get_path("purelib")
os.makedirs(os.path.join(site, "untildone-1.dist-info"))
for name in ("of_files/package/part.py", "of_folders/whole/inner/part.py"):
    os.makedirs(os.path.dirname(os.path.join("cache", name)))
    open(os.path.join("cache", name), "w").close()
os.mkdir(os.path.join(site, "package"))
os.symlink(os.path.abspath("cache/of_files/package/part.py"), os.path.join(site, "package", "part.py"))
os.symlink(os.path.abspath("cache/of_folders/whole"), os.path.join(site, "whole"))
open("METADATA", "w").write("Name: untildone")
os.symlink(os.path.abspath("METADATA"), os.path.join(site, "untildone-1.dist-info", "METADATA"))
with open(os.path.join(site, "untildone-1.dist-info", "RECORD"), "w") as record:
    record.write("package/part.py,,\\nwhole/inner/part.py,,\\n")
for path in own_program.places():
    path in before or print(os.path.relpath(path))
"""
    command = [str(tmp_path / "venv/bin/python"), "-B", "-c", program]
    environment = {"PATH": os.defpath, "PYTHONPATH": str(Path(untildone.__file__).parent.parent)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert ended.stdout == "cache/of_files/package\ncache/of_folders/whole/inner\n", ended.stderr


def test_a_whole_environment_in_the_workspace_belongs_to_untildone_too(person: Person, tmp_path: Path) -> None:
    """Such as one of conda: it is none of venv."""
    prefix = person.workspace / ".env"
    (prefix / "lib").mkdir(parents=True)
    version = subprocess.check_output([system_python(), "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"])
    stdlib = Path(version.decode().strip())
    (prefix / "lib" / stdlib.name).symlink_to(stdlib)
    program = f"""
import subprocess
from untildone.core.model import AgentChoice, LoopSettings
from untildone.engine.boxes import box_of, planning
choice = AgentChoice("command", "command", command="sh")
environment = {{"HOME": {str(person.home)!r}, "PATH": {os.defpath!r}}}
settings = LoopSettings("ralph", choice, {str(person.workspace)!r})
box = box_of(planning.plan_for(settings, {str(person.workspace)!r}, choice, environment, "test"))
subprocess.run(box.argv(["sh", "-c", "touch .env/lib/new; touch new"]), env=environment)
"""
    environment = {
        "PATH": os.defpath,
        "PYTHONPATH": str(Path(untildone.__file__).parent.parent),
        "PYTHONHOME": str(prefix),
    }
    environment |= {"HOME": str(person.home), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [system_python(), "-B", "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert "Read-only file system" in ended.stderr
    assert (person.workspace / "new").exists()


def copied_source(folder: Path) -> Path:
    """The packages of untildone where an ordinary user may read them."""
    copy = folder / "source"
    shutil.copytree(Path(untildone.__file__).parent, copy / "untildone", ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.mark.parametrize("network", list(SandboxNet))
def test_a_program_in_a_box_cannot_take_over_its_first_process(person: Person, network: SandboxNet) -> None:
    if not scoping.is_possible():
        pytest.skip("this kernel cannot separate them")
    program = "import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, None, None))"
    said = person.run(f"""{system_python()} -c '{program}'; (: > /proc/1/mem) 2>&1""", sandbox_net=network)
    assert said.startswith("-1")
    assert "Permission denied" in said


SCRIPTS = {
    "claude": (".claude/status.sh", ".claude/settings.json", '{"statusLine": {"command": "~/.claude/status.sh"}}'),
    "codex": (".codex/notify.py", ".codex/config.toml", 'notify = ["python3", "$HOME/.codex/notify.py"]'),
    "copilot": (".copilot/servers/run.js", ".copilot/mcp-config.json", '{"args": ["{HOME}/.copilot/servers/run.js"]}'),
}


@pytest.mark.parametrize("agent", SCRIPTS)
def test_scripts_that_settings_of_an_agent_name_are_read_only(person: Person, agent: str) -> None:
    script, settings, text = SCRIPTS[agent]
    person.write(script, content="own")
    person.write(settings, content=text.replace("{HOME}", str(person.home)))
    folder = os.path.dirname(script)
    person.run(f"echo changed > ~/{script}; echo x > ~/new; mv ~/new ~/{script}; mv ~/{folder} ~/{folder}2", agent)
    assert (person.home / script).read_text() == "own"


@pytest.mark.parametrize(
    ("named", "script"),
    [
        ("status.sh", "parts.sh"),
        ("scripts/check.sh", "tools/part.py"),
        ("--directory {HOME}/.claude/servers/x run server", "servers/x/server.py"),
    ],
)
def test_what_scripts_of_settings_name_is_read_only_as_well(person: Person, named: str, script: str) -> None:
    person.write(
        ".claude/settings.json", content=f'{{"command": "bash ~/.claude/{named}"}}'.replace("{HOME}", str(person.home))
    )
    if named.endswith(".sh"):
        person.write(f".claude/{named}", content=f". ~/.claude/{script}\n. parts.sh\n")
    person.write(f".claude/{script}", content="own")
    person.run(
        f"cd ~/.claude; echo changed > {script}; echo changed > x; mv x {script}; mv $(dirname {script}) y", "claude"
    )
    assert (person.home / ".claude" / script).read_text() == "own"


def test_a_script_of_settings_that_is_a_link_is_put_back(person: Person) -> None:
    person.write("dotfiles/status.sh", "dotfiles/bin/hook.sh", content="own")
    person.write(
        ".claude/settings.json", content='{"command": "~/.claude/status.sh", "hook": "~/.claude/own/bin/hook.sh"}'
    )
    (person.home / ".claude/own").mkdir()
    (person.home / ".claude/status.sh").symlink_to("../dotfiles/status.sh")
    (person.home / ".claude/own/bin").symlink_to("../../dotfiles/bin")
    box = person.box("claude")
    script = (
        "cd ~/.claude; for path in status.sh own/bin; do rm $path; mkdir $path; done; mv own other; ln -s ~/.ssh own"
    )
    ran(box, script, box.environment(person.environment))
    assert len(list(links.put_back(box))) == 2
    assert (
        (person.home / ".claude/status.sh").read_text()
        == (person.home / ".claude/own/bin/hook.sh").read_text()
        == "own"
    )


def test_a_missing_script_that_settings_name_is_moved_aside_if_an_agent_makes_it(person: Person) -> None:
    person.write(".claude/settings.json", content='{"command": "[ -f ~/.claude/own.sh ] && ~/.claude/own.sh"}')
    box = person.box("claude")
    ran(box, "echo evil > ~/.claude/own.sh", box.environment(person.environment))
    assert "own.sh.replaced" in next(links.put_back(box))
    assert not (person.home / ".claude/own.sh").exists()


def test_data_that_settings_of_an_agent_name_stays_writable(person: Person) -> None:
    """A rule about the agent's login, the file of a memory server, a log."""
    text = '{{"deny": ["Read(~/.claude/.credentials.json)"], "args": ["{home}/.claude/notes/memory.json", "{home}/.claude/x.log"]}}'
    person.write(".claude/settings.json", content=text.format(home=person.home))
    person.write(".claude/.credentials.json", ".claude/notes/memory.json", ".claude/x.log")
    names = ".credentials.json notes/memory.json x.log"
    said = person.run(f"cd ~/.claude; for name in {names}; do echo new > y && mv y $name && cat $name; done", "claude")
    assert said == "new\nnew\nnew"


def test_files_in_caches_that_shells_read_at_their_start_are_read_only(person: Person) -> None:
    person.write(
        ".zshrc", content='source "${XDG_CACHE_HOME:-$HOME/.cache}/tool/init.zsh"\nexport PIP_CACHE_DIR=~/.cache/pip\n'
    )
    person.write(".cache/tool/init.zsh", ".cache/pip/wheel", content="own")
    person.run("echo evil > ~/.cache/tool/init.zsh; mv ~/.cache/tool ~/.cache/x; echo new > ~/.cache/pip/wheel")
    assert (person.home / ".cache/tool/init.zsh").read_text() == "own"
    assert (person.home / ".cache/pip/wheel").read_text() == "new\n"


SERVICES = (".gradle/daemon/8.9/registry.bin", ".cache/bazel/_bazel_u/0a/server/request_cookie", ".m2/mvnd/registry/1/registry.bin",
            ".local/share/jupyter/runtime/kernel-1.json", ".cache/git/credential/socket")  # fmt: skip


@pytest.mark.parametrize("name", SERVICES)
def test_how_services_of_the_person_are_reached_is_hidden(person: Person, name: str) -> None:
    person.write(name)
    assert SECRET not in person.run(f"cat ~/{name}")


def test_gradle_may_start_services_of_its_own(person: Person) -> None:
    person.write(".gradle/gradle.properties", "elsewhere/gradle/x")
    env = {"GRADLE_USER_HOME": str(person.home / "elsewhere/gradle")}
    said = person.run("mkdir ~/.gradle/daemon/8 ~/elsewhere/gradle/daemon/8 && echo made", env=env)
    assert said == "made"
    assert not list((person.home / ".gradle/daemon").iterdir())


@pytest.mark.parametrize(
    "name", [".cache/p10k-instant-prompt-me.zsh", ".cache/gitstatus/gitstatusd", ".cache/nvim/luac/x.luac"]
)
def test_what_shells_and_editors_run_at_their_start_is_read_only(person: Person, name: str) -> None:
    person.write(name, content="own")
    person.run(
        f"echo evil > ~/{name}; mv {os.path.dirname(name)} x; rm -rf ~/{name}; mkdir -p ~/{os.path.dirname(name)}; echo evil > ~/{name}"
    )
    assert (person.home / name).read_text() == "own"


def test_libraries_that_a_variable_names_are_for_programs_in_the_box(person: Person) -> None:
    """Not for bubblewrap: a folder that the variable names may be the agent's to write, as the present one is."""
    env = {"LD_LIBRARY_PATH": ":/usr/local/lib", "LD_PRELOAD": ""}
    box = person.box(env=env)
    outside = box.environment({**person.environment, **env})
    assert not {"LD_LIBRARY_PATH", "LD_PRELOAD"} & outside.keys()
    assert ran(box, "echo $LD_LIBRARY_PATH", outside) == (0, ":/usr/local/lib")


def test_a_path_that_is_allowed_in_the_workspace_leads_nowhere_else(person: Person) -> None:
    (person.workspace / "data").symlink_to(person.home / ".ssh")
    person.write(".ssh/id_ed25519")
    with pytest.raises(UsageError, match=r"leads to .*\.ssh by a link that agents can change"):
        person.box(allow_write=["data"])


def test_memory_of_other_projects_is_read_only(person: Person) -> None:
    own = str(person.workspace).replace("/", "-").replace("_", "-").replace(".", "-")
    for name in ("-other", "-another/memory", own):
        (person.home / ".claude/projects" / name).mkdir(parents=True)
    script = "for name in -other -another {0}; do mkdir -p ./$name/memory; echo x > ./$name/memory/MEMORY.md; done; cat ./*/memory/*"
    assert person.run(f"cd ~/.claude/projects; exec 2> /dev/null; {script.format(own)}", "claude") == "x"
    assert not list((person.home / ".claude/projects").glob("*other/memory/*"))


@pytest.mark.parametrize(
    ("agent", "name"),
    [("claude", ".claude/remote-settings.json"), ("claude", ".claude/jobs/x"), ("codex", ".codex/.env"),
     ("copilot", ".copilot/lsp-config.json"), ("gemini", ".gemini/.env"), ("claude", ".claude/daemon.json"),
     ("claude", ".claude/chrome/chrome-native-host"), ("codex", ".codex/environments.toml"), ("codex", ".codex/memories/MEMORY.md"),
     ("gemini", ".gemini/policy_integrity.json"),],
)  # fmt: skip
def test_an_agent_cannot_create_what_its_program_obeys_outside(person: Person, agent: str, name: str) -> None:
    person.run(
        f"mkdir -p ~/{os.path.dirname(name)}; echo ESCAPED > ~/{name}; rm -rf ~/{name}; echo ESCAPED > ~/{name}", agent
    )
    path = person.home / name
    assert not path.exists() or "ESCAPED" not in path.read_text()


@pytest.mark.parametrize(("agent", "name"), [("opencode", ".config/opencode/tui.json"), ("claude", ".claude/loop.md")])
def test_what_must_not_be_created_empty_is_moved_aside_if_an_agent_makes_it(
    person: Person, agent: str, name: str
) -> None:
    box = person.box(agent)
    assert not (person.home / name).exists()
    ran(box, f"ln -s /etc/hosts ~/{name}; echo made > ~/{name}.x", box.environment(person.environment))
    assert "moved" in next(links.put_back(box))
    assert not os.path.lexists(person.home / name)
    assert list(links.put_back(box)) == []
    (person.home / name).write_text("own")
    person.run(f"echo made > ~/{name}; mv ~/{name}.x ~/{name}", agent)
    assert (person.home / name).read_text() == "own"


def test_plugins_that_an_agent_put_into_a_file_that_it_must_write_are_taken_back(person: Person) -> None:
    path = person.home / ".copilot/config.json"
    person.write(".copilot/config.json", content='// managed\n{"installedPlugins": [{"name": "own"}], "shown": 1}\n')
    box = person.box("copilot")
    for text in ('{"installedPlugins": [], "trustedFolders": ["/"], "shown": 2}', "nonsense"):
        ran(box, f"cd ~/.copilot; echo '{text}' > x; mv x config.json", box.environment(person.environment))
        assert "config.json.replaced" in next(links.put_back(box))
        assert json.loads(path.read_text())["installedPlugins"] == [{"name": "own"}]
        assert "trustedFolders" not in path.read_text()
    fine = '// managed\n{"installedPlugins": [{"name": "own"}], "firstLaunchAt": "now"}'
    ran(box, f"cd ~/.copilot; echo '{fine}' > x; mv x config.json", box.environment(person.environment))
    assert list(links.put_back(box)) == []
    assert "firstLaunchAt" in path.read_text()
    path.unlink()
    box = person.box("copilot")
    ran(
        box,
        "ln -s ~/notes ~/.copilot/config.json; echo '{\"installedPlugins\": [1]}' > ~/.copilot/x",
        box.environment(person.environment),
    )
    assert len(list(links.put_back(box))) == 1
    assert json.loads(path.read_text()) == {}
    person.write(".key.json", content=f'{{"key": "{SECRET}"}}')
    path.unlink()
    path.symlink_to("../.key.json")
    assert list(links.put_back(person.box("copilot"))) == []
    assert path.is_symlink()


def test_profiles_of_codex_are_read_only(person: Person) -> None:
    person.write(".codex/work.config.toml", content="own")
    person.run("cd ~/.codex; echo made > work.config.toml; echo made > x; mv x work.config.toml", "codex")
    assert (person.home / ".codex/work.config.toml").read_text() == "own"


def test_a_program_of_a_hidden_folder_can_be_run_if_it_is_on_path(person: Person) -> None:
    person.write(".odd/bin/tool", content='#!/bin/sh\ncat "$(dirname "$0")/../lib/part"\n')
    person.write(".odd/lib/part", content="part")
    (person.home / ".odd/bin/tool").chmod(0o755)
    assert person.run("tool", env={"PATH": f"{person.home}/.odd/bin:{os.defpath}"}) == "part"


def test_a_folder_of_keys_is_not_shown_because_programs_lie_in_it(person: Person) -> None:
    person.write(".docker/bin/tool", ".docker/config.json")
    assert SECRET not in person.run(
        "cat ~/.docker/config.json", env={"PATH": f"{person.home}/.docker/bin:{os.defpath}"}
    )


def test_logins_that_lie_beside_programs_on_path_are_hidden(person: Person) -> None:
    person.write(".fly/bin/fly", content='#!/bin/sh\ncat "$(dirname "$0")/../config/part.yml"\n')
    person.write(".fly/config/part.yml", content="part")
    person.write(".fly/config.yml", content=f"access_token: {SECRET}\n")
    person.write(".fly/credentials.json", ".fly/keys/wallet.keystore")
    (person.home / ".fly/bin/fly").chmod(0o755)
    said = person.run("fly; cat ~/.fly/*.* ~/.fly/*/*", env={"PATH": f"{person.home}/.fly/bin:{os.defpath}"})
    assert said.startswith("part")
    assert SECRET not in said


def test_a_program_that_is_the_agent_finds_its_login_beside_itself(person: Person) -> None:
    person.write(".own/bin/agent", content='#!/bin/sh\ncat "$(dirname "$(realpath "$0")")/../config.yml"\n')
    person.write(".own/config.yml", content=f"api_key: {SECRET}")
    (person.home / ".own/bin/agent").chmod(0o755)
    (person.home / ".local/bin").mkdir(parents=True)
    (person.home / ".local/bin/agent").symlink_to("../../.own/bin/agent")
    environment = {**person.environment, "PATH": f"{person.home}/.local/bin:{os.defpath}"}
    choice = AgentChoice("command", "command", command="agent")
    loop = LoopSettings("ralph", choice, str(person.workspace))
    box = box_of(planning.plan_for(loop, str(person.workspace), choice, environment, "test"))
    assert ran(box, "agent", environment)[1] == f"api_key: {SECRET}"


def test_programs_to_which_links_on_path_lead_can_be_run(person: Person) -> None:
    person.write(
        ".local/share/tool/venv/bin/tool", content='#!/bin/sh\ncat "$(dirname "$(realpath "$0")")/../lib/part"\n'
    )
    person.write(".local/share/tool/venv/lib/part", content="part")
    (person.home / ".local/share/tool/venv/bin/tool").chmod(0o755)
    (person.home / ".local/bin").mkdir()
    (person.home / ".local/bin/tool").symlink_to("../share/tool/venv/bin/tool")
    assert person.run("tool", env={"PATH": f"{person.home}/.local/bin:{os.defpath}"}) == "part"


def test_settings_that_are_links_into_a_hidden_repository_are_found_without_logins(person: Person) -> None:
    person.write(".dotfiles/gitconfig", content="[user]\n\tname = Ada\n")
    person.write(
        ".dotfiles/git/config", content=f'[user]\n\temail = ada@x\n[url "https://ada:{SECRET[:4]}@example.org/"]\n'
    )
    person.write(".dotfiles/cargo.toml", content="[net]\n")
    person.write(".dotfiles/other", ".ssh/key", ".dotfiles/tokens")
    for name, target in {
        ".gitconfig": ".dotfiles/gitconfig",
        ".config/git": "../.dotfiles/git",
        ".cargo/config.toml": "../.dotfiles/cargo.toml",
        ".bashrc": ".ssh/key",
        ".zsh/more": "../.dotfiles/tokens",
    }.items():
        (person.home / name).parent.mkdir(exist_ok=True)
        (person.home / name).symlink_to(target)
    said = person.run("git config user.name; git config user.email; cat ~/.cargo/config.toml ~/.config/git/config")
    assert said.startswith("Ada\nada@x\n[net]")
    assert f":{SECRET[:4]}@" not in said
    assert SECRET not in person.run("cat ~/.dotfiles/other ~/.bashrc ~/.zsh/more")


def test_what_the_configuration_of_git_names_is_there(person: Person) -> None:
    person.write(".gitconfig", content="[include]\n\tpath = ~/.gitconfig-work\n[core]\n\thooksPath = ~/.git-hooks\n")
    person.write(
        ".gitconfig-work",
        content=f"[user]\n\tname = Ada\n\temail = ada@x\n[http]\n\textraHeader = Authorization: {SECRET}\n",
    )
    person.write(".git-hooks/pre-commit", content="#!/bin/sh\necho hook ran\n")
    (person.home / ".git-hooks/pre-commit").chmod(0o755)
    git(person.workspace, "init", "-q")
    said = person.run("git commit -q --allow-empty -m Work; git log --format=%ae; cat ~/.gitconfig-work")
    assert said.startswith("hook ran\nada@x\n")
    assert SECRET not in said


def test_a_configuration_of_git_that_an_agent_may_have_written_shows_nothing(person: Person) -> None:
    person.write(".vault-token", ".gitconfig-own")
    person.write("project/gitconfig", content="[include]\n\tpath = ~/.vault-token\n")
    person.write(".gitconfig", content="[include]\n\tpath = ~/project/gitconfig\n\tpath = ~/.gitconfig-own\n")
    assert SECRET not in person.run("cat ~/.vault-token")
    assert SECRET not in person.run("cat ~/.vault-token", env={"GIT_CONFIG_GLOBAL": f"{person.workspace}/gitconfig"})
    assert person.run("cat ~/.gitconfig-own") == SECRET


def test_git_does_not_try_to_sign_with_keys_that_are_hidden(person: Person) -> None:
    person.write(".gitconfig", content="[user]\n\tname = Ada\n\temail = ada@x\n[commit]\n\tgpgsign = true\n")
    git(person.workspace, "init", "-q")
    assert person.run("git commit -q --allow-empty -m Work; git log --format=%an") == "Ada"
    assert person.run("git config commit.gpgsign", allow_ssh=True) == "true"


def test_files_that_variables_name_as_keys_are_hidden(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.write("keys/cloud.json", "keys/cluster", "project/cluster", "models/token", content=SECRET)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(person.home / "keys/cloud.json"))
    monkeypatch.setenv("KUBECONFIG", f"{person.home}/keys/cluster:{person.workspace}/cluster")
    env = {"HF_HOME": str(person.home / "models")}
    assert person.run("cat ~/keys/* ~/models/token 2> /dev/null; cat ~/project/cluster", env=env) == SECRET
    given = {**env, "KUBECONFIG": f"{person.home}/keys/cluster"}
    assert person.run("cat ~/keys/cluster", env=given, pass_env=["KUBECONFIG"]) == SECRET


def test_loops_of_projects_elsewhere_in_the_home_folder_are_hidden(person: Person) -> None:
    person.write("src/team/api/.loop/journal", "src/team/api/main.py")
    assert "No such file" in person.run("cat ~/src/team/api/.loop/journal")
    assert person.run("cat ~/src/team/api/main.py") == SECRET


def test_a_room_hides_what_the_box_hides_and_shows_what_it_shows(person: Person) -> None:
    """Code of the agent runs in the room of a check, and its output is told to the agent."""
    person.write(*HIDDEN, "other-project/.env", ".terraform.d/credentials.tfrc.json")
    person.write(*READABLE, ".cache/pip/wheel", content="shown")
    (person.workspace / "file").write_text("work")
    room = Rooms(shadow := Shadow(str(person.workspace), person.environment, "loop"), "loop", str(person.workspace),
                 str(person.workspace), environment=person.environment, concealed=person.concealed())  # fmt: skip
    tree = shadow.take().tree
    claimed = Claimed(tree, tree, room.begin(tree))
    with room.claim(claimed) as claim, claim.room(RoomKind.SEALED, tree, person.environment) as made:
        assert SECRET not in said(made, f"cd; cat {' '.join(HIDDEN)}; grep -rs '{SECRET}' . || true")
        assert said(made, f"cd; cat {' '.join(READABLE)} .cache/pip/wheel") == "shown" * (len(READABLE) + 1)
        assert said(made, "cat file; touch ~/.cache/x ~/.config/x ~/.terraform.d/x ~/new") == "work"


def test_a_file_that_the_command_line_names_is_shown_as_it_is(person: Person) -> None:
    """Also if some of its lines look like a login: it may be a program, or data of the agent."""
    person.write(".tools/job.json", content='{"tokens": 120}\n')
    choice = AgentChoice("command", "command", command=f"sh {person.home}/.tools/job.json")
    loop = LoopSettings("ralph", choice, str(person.workspace))
    box = box_of(planning.plan_for(loop, str(person.workspace), choice, person.environment, "test"))
    assert ran(box, "cat ~/.tools/job.json", box.environment(person.environment))[1] == '{"tokens": 120}'


def test_a_room_shows_what_a_person_allows(person: Person) -> None:
    person.write(".aws/credentials", ".netrc", ".config/gh/hosts.yml")
    found = {mount.path: mount.access for mount in person.concealed(allow_read=["~/.aws", "~/.config/gh"])}
    assert str(person.home / ".aws") not in found
    assert found[str(person.home / ".config/gh")] is Access.READ
    assert found[str(person.home / ".netrc")] is Access.HIDDEN


def test_settings_of_tools_are_shown_without_their_logins(person: Person) -> None:
    person.write(".npmrc", content=f"registry=https://example.com/\n//example.com/:_authToken={SECRET}\n")
    person.write(
        ".gitconfig", content=f'[user]\n\tname = Ada\n[url "https://ada:{SECRET.replace(" ", "")}@example.com/"]\n'
    )
    shown = person.run("cat ~/.npmrc; git config --global user.name; cat ~/.gitconfig")
    assert "registry=https://example.com/" in shown
    assert "Ada" in shown
    assert "secret" not in shown


def test_the_workspace_is_writable_and_the_rest_of_the_machine_is_not(person: Person) -> None:
    complaints = person.run("echo done > result; for f in /etc/x /usr/x /var/x ~/x /x; do echo no > $f; done")
    assert (person.workspace / "result").read_text() == "done\n"
    assert complaints.count("Read-only file system") == 5


def test_temporary_folders_are_the_boxs_own_and_last_from_one_turn_to_the_next(person: Person) -> None:
    name = f"untildone-{os.urandom(4).hex()}"
    person.run(
        f"for d in /tmp /var/tmp /dev/shm /run; do echo x > $d/{name}; done; : > $TMPDIR/{name}",
        env={"TMPDIR": "/tmp/x"},
    )
    assert not any(os.path.exists(f"{folder}/{name}") for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"))
    assert person.run(f"cd /tmp; ls {name}; cd /var/tmp; ls {name}; echo $TMPDIR").split() == [name, name]


def test_programs_may_write_settings_of_their_own_which_are_thrown_away(person: Person) -> None:
    person.write(".config/git/ignore", content="*.o")
    assert (
        person.run("mkdir ~/.config/new && echo x > ~/.config/new/y && cat ~/.config/new/y ~/.config/git/ignore")
        == "x\n*.o"
    )
    assert not (person.home / ".config/new").exists()


def test_the_state_of_loops_and_settings_of_untildone_are_out_of_reach(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = Path(os.environ["XDG_STATE_HOME"]) / "untildone"
    state.mkdir(parents=True, exist_ok=True)
    (state / "key").write_text(SECRET)
    person.write("project/.loop/loop-1.json", ".loop/other.json")
    person.write("project/untildone.toml", "project/SUPERVISOR.md", content="of the person")
    said = person.run(
        f"ls -A .loop ../.loop {state}; echo x > .loop/x; echo x > untildone.toml; rm -f untildone.toml SUPERVISOR.md; mv .loop y"
    )
    assert "loop-1" not in said
    assert "other" not in said
    assert "key" not in said.split()
    assert (person.workspace / "untildone.toml").read_text() == "of the person"
    assert (person.workspace / "SUPERVISOR.md").read_text() == "of the person"
    assert os.listdir(person.workspace / ".loop") == ["loop-1.json"]


def test_git_works_in_a_worktree_whose_repository_is_elsewhere(person: Person) -> None:
    repository, tree = person.home / "repository", person.home / "tree"
    repository.mkdir()
    git(repository, "init", "--quiet")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "--quiet", str(tree))
    person.workspace = tree
    said = person.run(
        "echo x > new && git add -A && git -c user.name=A -c user.email=a commit -qm second && git log --format=%s"
    )
    assert said == "second\nfirst"
    assert "stolen" not in person.run(f"(echo x > {repository}/stolen) 2> /dev/null; ls {repository}")


def test_a_git_file_that_names_another_repository_does_not_make_it_writable(person: Person) -> None:
    victim = person.home / "victim"
    victim.mkdir()
    git(victim, "init", "--quiet")
    person.write("project/.git", content=f"gitdir: {victim}/.git\n")
    person.run(f"echo x > {victim}/.git/hooks/post-commit")
    assert not (victim / ".git/hooks/post-commit").exists()


@pytest.mark.parametrize("place", ["made", "../.cache/made/worktrees/x"])
def test_a_worktree_that_an_agent_made_up_does_not_make_another_repository_writable(person: Person, place: str) -> None:
    other = person.home / "other"
    git(person.home, "init", "-q", str(other))
    made = person.workspace / place
    made.mkdir(parents=True)
    (made / "HEAD").write_text("ref: refs/heads/main\n")
    (made / "gitdir").write_text(f"{person.workspace}/.git\n")
    (made / "commondir").write_text(f"{other}/.git\n")
    (person.workspace / ".git").write_text(f"gitdir: {made}\n")
    assert "Read-only" in person.run(f"touch {other}/.git/hooks/pre-commit 2>&1")


def test_a_repository_is_writable_as_a_whole_if_the_workspace_is_a_folder_in_it(person: Person) -> None:
    git(person.workspace, "init", "--quiet")
    inner = person.workspace / "packages/one"
    inner.mkdir(parents=True)
    person.workspace = inner
    assert person.run(
        "echo x > ../../top && git add -A && git -c user.name=A -c user.email=a commit -qm x && pwd"
    ) == str(inner)


def test_allowed_paths_can_be_written_and_read(person: Person) -> None:
    person.write(".aws/credentials", "notes/file", "other/file")
    said = person.run(
        "cat ~/.aws/credentials; echo new > ~/notes/file; echo new > ~/other/file",
        allow_read=["~/.aws"],
        allow_write=["~/notes"],
    )
    assert said.startswith(SECRET)
    assert (person.home / "notes/file").read_text() == "new\n"
    assert (person.home / "other/file").read_text() == SECRET


def test_an_agent_can_still_write_its_state_if_a_person_allows_it_to_be_read(person: Person) -> None:
    state = agents.find("claude").needs(person.environment, ()).writable[0]
    person.write(".claude/projects/one")
    person.run(f"echo x > {state}/projects/new", "claude", allow_read=["~/.claude/projects", "~/.claude"])
    assert (person.home / ".claude/projects/new").exists()
    assert person.run("cat ~/.claude/projects/one", "codex", allow_read=["~/.claude/projects"]) == SECRET


def test_a_reviewer_finds_a_checkout_in_the_place_of_the_work_and_cannot_write_it(
    person: Person, tmp_path: Path
) -> None:
    person.write("project/.loop/x", "project/untildone.toml", "project/file")
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "file").write_text("as claimed")
    choice = AgentChoice("command", "command", command="sh")
    loop = LoopSettings("ralph", choice, str(person.workspace))
    box = box_of(
        planning.plan_for(loop, str(person.workspace), choice, person.environment, "test", checkout=str(checkout))
    )
    assert ran(box, "cat file; ls -A; echo x > file", person.environment)[1].startswith("as claimedfile\n")
    assert (checkout / "file").read_text() == "as claimed"


@pytest.mark.parametrize("setting", ["allow_write", "allow_read"])
def test_an_allowed_path_that_does_not_exist_is_told(person: Person, setting: str) -> None:
    chosen: dict[str, Any] = {setting: ["~/nowhere"]}
    with pytest.raises(UsageError, match=r"nowhere.*does not exist"):
        person.box(**chosen)


def test_the_state_of_untildone_cannot_be_allowed(person: Person) -> None:
    person.write("project/.loop/loop-1.json")
    for path in (".loop", ".loop/loop-1.json"):
        with pytest.raises(UsageError, match="belongs to untildone"):
            person.box(allow_write=[path])
    assert person.run("ls -A .loop; touch ~/x", allow_write=["~", "."]) == ""


def test_what_is_hidden_inside_of_an_allowed_folder_stays_hidden(person: Person) -> None:
    person.write(".ssh/id", ".cargo/credentials")
    assert SECRET not in person.run("cat ~/.ssh/id ~/.cargo/credentials; touch ~/x", allow_write=["~", "~/.cargo"])
    assert (person.home / "x").exists()


@contextmanager
def listening(path: str) -> Iterator[None]:
    """A socket of a program outside, which answers."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        threading.Thread(target=_answer, args=(server,), daemon=True).start()
        yield


def _answer(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


CONNECT = "python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print(\"connected\")' {path} 2>&1 | tail -1"


def test_sockets_of_programs_outside_cannot_be_reached(person: Person) -> None:
    path = str(person.home / "program.socket")
    with listening(path):
        assert "connected" not in person.run(CONNECT.format(path=path))
        assert person.run(CONNECT.format(path=path), allow_write=["~/program.socket"]) == "connected"


def test_the_ssh_agent_is_reached_only_if_it_is_allowed(person: Person, tmp_path: Path) -> None:
    person.write(".ssh/id_ed25519", ".ssh/known_hosts")
    path = str(tmp_path / "agent.socket")
    script = f"{CONNECT.format(path='${SSH_AUTH_SOCK:-none}')}; cat ~/.ssh/known_hosts; cat ~/.ssh/id_ed25519"
    with listening(path):
        assert "connected" not in person.run(script, env={"SSH_AUTH_SOCK": path})
        allowed = person.run(script, env={"SSH_AUTH_SOCK": path}, allow_ssh=True)
    assert allowed.startswith(f"connected\n{SECRET}cat: ")


def test_without_a_network_not_even_abstract_sockets_are_reached(person: Person) -> None:
    name = f"untildone-{os.urandom(4).hex()}"
    script = f"""python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("\\0{name}"); print("connected")' 2>&1 | tail -1"""
    with listening(f"\0{name}"):
        assert "connected" not in person.run(script, sandbox_net=SandboxNet.NONE)
        assert (person.run(script, sandbox_net=SandboxNet.ALL) == "connected") is not scoping.is_possible()


def test_programs_in_a_box_reach_abstract_sockets_of_each_other(person: Person) -> None:
    script = """python3 -c '
import os, socket
listening = socket.socket(socket.AF_UNIX)
listening.bind("\\0inside")
listening.listen()
if os.fork():
    print(listening.accept()[0].recv(100).decode())
else:
    line = socket.socket(socket.AF_UNIX)
    line.connect("\\0inside")
    line.sendall(b"hello")
'"""
    for network in SandboxNet:
        assert person.run(script, sandbox_net=network) == "hello"


def test_variables_that_lead_out_of_the_box_are_gone(person: Person) -> None:
    leading = {"DBUS_SESSION_BUS_ADDRESS": "x", "DISPLAY": ":0", "SSH_AUTH_SOCK": "/x", "TMUX": "x"}
    assert person.run("env", env={**leading, "KEPT": "yes"}).split("\n").count("KEPT=yes") == 1
    assert not set(leading) & set(person.box(env=leading).environment(leading))
    assert set(leading) <= home.UNREACHABLE


AGENTS = tuple(name for name in agents.own_names() if agents.find(name).needs({"HOME": "/home/ada"}, ()).writable)


@pytest.mark.parametrize("agent", [name for name in AGENTS if name != "scripted"])
class TestNeedsOfAgents:
    def test_it_can_write_its_state_and_not_what_steers_it(self, person: Person, agent: str) -> None:
        needs = agents.find(agent).needs(person.environment, ())
        script = "; ".join(f"echo x > {folder}/new" for folder in needs.writable)
        steering = [file.path for file in needs.read_only if "*" not in file.path]
        hostile = "; ".join(
            f"echo hostile > {path}; rm -rf {path}; mkdir -p {path}; echo hostile > {path}/x" for path in steering
        )
        person.run(f"{script}; {hostile}", agent)
        assert all(Path(folder, "new").exists() for folder in needs.writable)
        assert not [path for path in steering if "hostile" in _everything(Path(path))]

    def test_what_running_sessions_execute_is_new_and_what_it_installed_is_read_only(
        self, person: Person, agent: str
    ) -> None:
        needs = agents.find(agent).needs(person.environment, ())
        for folder in (*needs.fresh, *needs.installed):
            Path(folder).mkdir(parents=True, exist_ok=True)
            Path(folder, "program").write_text("mine")
            person.run(f"echo other > {folder}/program; echo other > {folder}/new", agent)
            assert [(each.name, each.read_text()) for each in Path(folder).iterdir()] == [("program", "mine")]
        assert all(person.run(f"ls {folder}", agent) == "" for folder in needs.fresh)
        assert all(person.run(f"cat {folder}/program", agent) == "mine" for folder in needs.installed)

    def test_it_may_install_programs_for_one_turn_if_there_are_none(self, person: Person, agent: str) -> None:
        for folder in agents.find(agent).needs(person.environment, ()).installed:
            assert person.run(f"echo new > {folder}/program && cat {folder}/program", agent) == "new"
            assert not Path(folder, "program").exists()

    def test_a_file_that_it_writes_and_that_steers_it_is_a_copy(self, person: Person, agent: str) -> None:
        for file in agents.find(agent).needs(person.environment, ()).copied:
            Path(file.path).parent.mkdir(exist_ok=True)
            Path(file.path).write_text('{"a": 1}')
            place = f"${file.variable}" if file.variable else file.path
            assert person.run(f"cat {place}; echo hostile > {place} && cat {place}", agent) == '{"a": 1}hostile'
            assert Path(file.path).read_text() == '{"a": 1}'

    def test_such_a_copy_can_be_replaced_and_a_link_in_its_place_leads_nowhere(
        self, person: Person, agent: str
    ) -> None:
        for file in agents.find(agent).needs(person.environment, ()).copied:
            Path(file.path).parent.mkdir(exist_ok=True)
            Path(file.path).write_text('{"a": 1}')
            place = f"${file.variable}" if file.variable else file.path
            own = Path(person.home, "notes")
            own.write_text("mine")
            replaces = f"f=$(readlink -f {place}); echo new > $f.tmp && mv $f.tmp $f && cat {place}"
            assert person.run(f"{replaces}; ln -sf {own} $f", agent) == "new"
            assert person.run(f"cat {place}", agent) == '{"a": 1}'
            assert (own.read_text(), Path(file.path).read_text()) == ("mine", '{"a": 1}')

    def test_the_state_of_other_agents_is_hidden_from_it(self, person: Person, agent: str) -> None:
        for other in set(AGENTS) - {agent, "scripted"}:
            for folder in agents.find(other).needs(person.environment, ()).writable:
                Path(folder).mkdir(parents=True, exist_ok=True)
                Path(folder, f"login-{other}").write_text(SECRET)
        said = person.run("find ~ -name 'login-*'; grep -rs 'very secret' ~", agent)
        assert said == ""


def _everything(path: Path) -> str:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return "".join(file.read_text() for file in files)


COMPLAINTS = {
    "touch: cannot touch '{home}/.foo': Read-only file system": "a write to ~/.foo",
    "bash: line 1: {home}/.foo/bar: Read-only file system": "a write to ~/.foo",
    "OSError: [Errno 30] Read-only file system: '{home}/.foo'": "a write to ~/.foo",
    "EROFS: read-only file system, mkdir '{home}/.foo/x'": "a write to ~/.foo",
    '{{"text":"</promise>\\nopen {home}/.foo: read-only file system\\n"}}': "a write to ~/.foo",
    "cat: {home}/.netrc: Permission denied": "to show ~/.netrc",
}


@pytest.mark.parametrize(("line", "said"), COMPLAINTS.items())
def test_what_a_box_refused_is_told_with_the_flag_that_allows_it(person: Person, line: str, said: str) -> None:
    person.write(".netrc", ".foo/bar")
    refusals = Refusals(person.box(), person.environment)
    sentence = refusals.take(line.format(home=person.home).encode())
    name = said.split("/")[-1]
    assert said in sentence
    assert f"`--allow-{'write' if 'write' in said else 'read'} ~/{name}`" in sentence
    assert refusals.take(line.format(home=person.home).encode()) == ""


@pytest.mark.parametrize(
    "line", ["cannot touch '{home}/project/x': Read-only file system", "cat: /etc/x: Permission denied", "all is well"]
)
def test_complaints_that_have_another_cause_are_not_put_down_to_the_box(person: Person, line: str) -> None:
    assert Refusals(person.box(), person.environment).take(line.format(home=person.home).encode()) == ""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests have shown it already")
def test_all_of_this_holds_for_an_ordinary_user_too(shared_folder: Path) -> None:
    """The interpreter of these tests may lie in a folder that the user cannot enter, so another one runs them again."""
    packages = [str(Path(pytest.__file__).parents[1]), *(str(ROOT / name) for name in ("src", ""))]
    environment = {
        "PATH": os.defpath,
        "HOME": str(shared_folder),
        "PYTHONPATH": os.pathsep.join(packages),
        "TMPDIR": str(shared_folder),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # plugins may be compiled for another Python
    }
    options = (
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--noconftest",
        "-c",
        os.devnull,
        "--rootdir",
        str(ROOT),
    )
    command = as_nobody(system_python(), "-B", "-m", "pytest", *options, str(Path(__file__)))
    state = {"XDG_STATE_HOME": str(shared_folder / "state")}
    ended = subprocess.run(
        command, env={**environment, **state}, cwd=shared_folder, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]
