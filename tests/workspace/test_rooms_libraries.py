"""Libraries outside of the workspace: what rooms hide, what they refuse, and what an installation explains."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.rooms import Premises, distribution, said

from untildone.core.judging.checks.commands import loads_libraries, programs_by_path
from untildone.core.model import RoomKind
from untildone.workspace.rooms import RoomRefused
from untildone.workspace.rooms.toolchain.library_folders import Growth, libraries

__all__ = ["boxes"]
pytestmark = pytest.mark.usefixtures("boxes")

SITE = "tools/lib/python3.11/site-packages"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    """A person whose Python environment lies in the home folder."""
    made = Premises(tmp_path)
    made.watches_libraries = True
    made.write({"calc.py": "1\n", "requirements.txt": "runner==1\n"})
    write(made.home, {**distribution("runner", "1", {"runner.py": "HONEST = 1\n"}, SITE), "tools/pyvenv.cfg": ""})
    write(made.home, {"tools/bin/runner": "#!/bin/sh\n"})
    (made.home / "tools/bin/runner").chmod(0o755)
    made.environment["PATH"] = f"{made.home}/tools/bin:/usr/bin:/bin"
    made.begin()
    return made


def test_an_edited_module_is_refused_also_if_its_times_are_set_back(premises: Premises) -> None:
    path = premises.home / SITE / "runner.py"
    before = path.stat()
    path.write_text("HONEST = 0\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for kind in (RoomKind.SEALED, RoomKind.RESTORED):
        with pytest.raises(RoomRefused, match=r"runner\.py") as refused:
            premises.says("true", kind)
        assert refused.value.paths == (str(path),)
    premises.approved = frozenset({str(path)})
    assert premises.says(f"cat {path}") == "HONEST = 0"


@pytest.mark.parametrize("name", ["quiet.pth", "sitecustomize.py", "runner/__init__.py"])
def test_a_new_file_that_nothing_explains_is_hidden(premises: Premises, name: str) -> None:
    write(premises.home, {f"{SITE}/{name}": "import os\n"})
    with premises.room() as room:
        assert said(room, f"ls {premises.home / SITE}") == "runner-1.dist-info\nrunner.py"
        assert "not in the room" in room.notes[0]
    assert (premises.home / SITE / name).exists()
    with pytest.raises(RoomRefused, match="were changed"):
        premises.says("true", RoomKind.RESTORED)


def test_the_person_s_own_packages_that_were_not_there_are_hidden(premises: Premises) -> None:
    site = next(path for path in libraries(premises.environment, "/nowhere", ()) if ".local/lib" in path)
    write(Path(site), {"usercustomize.py": "import os\n"})
    assert premises.says(f"ls {site}") == ""


def test_a_package_that_dependency_files_ask_for_is_shown(premises: Premises) -> None:
    write(premises.home, distribution("other", "2", {"other.py": "2\n"}, SITE))
    assert "other.py" not in premises.says(f"ls {premises.home / SITE}")
    premises.write({"requirements.txt": "runner==1\nother>=2\n"})
    with premises.room() as room:
        assert said(room, f"cat {premises.home / SITE}/other.py") == "2"
        assert "installed since the loop began" in " ".join(room.notes)
    write(premises.home, {f"{SITE}/other.py": "forged\n"})
    assert "other.py" not in premises.says(f"ls {premises.home / SITE}")


def test_another_version_counts_only_if_dependency_files_ask_for_it(premises: Premises) -> None:
    for path in (premises.home / SITE).rglob("*"):
        if path.is_file():
            path.unlink()
    write(premises.home, distribution("runner", "2", {"runner.py": "HONEST = 2\n"}, SITE))
    with pytest.raises(RoomRefused, match=r"runner\.py"):
        premises.says("true")
    premises.write({"requirements.txt": "runner==2\n"})
    assert premises.says(f"cat {premises.home / SITE}/runner.py") == "HONEST = 2"


def test_forged_bytecode_is_left_out(premises: Premises) -> None:
    write(premises.home, {f"{SITE}/__pycache__/runner.cpython-311.pyc": "forged\n"})
    assert premises.says(f"ls {premises.home / SITE}/__pycache__") == ""


def test_libraries_that_are_older_than_the_loop_are_compared_too(premises: Premises) -> None:
    """As they are in real life: nothing in them is as young as the loop."""
    time.sleep(0.1)
    premises.begin()
    assert premises.says(f"ls {premises.home / SITE}") == "runner-1.dist-info\nrunner.py"
    (premises.home / SITE / "runner.py").write_text("HONEST = 0\n")
    with pytest.raises(RoomRefused, match=r"runner\.py"):
        premises.says("true")


def test_programs_behind_the_shims_of_a_version_manager_are_compared(tmp_path: Path) -> None:
    premises = Premises(tmp_path)
    premises.watches_libraries = True
    program = premises.home / ".pyenv/versions/3.11.7/bin/pytest"
    write(premises.home, {".pyenv/shims/pytest": "#!/bin/sh\n", ".pyenv/version": "3.11\n"})
    write(program.parent, {"pytest": "#!/bin/sh\n"})
    premises.environment["PATH"] = f"{premises.home}/.pyenv/shims:/usr/bin:/bin"
    premises.begin()
    program.write_text("#!/bin/sh\n")
    assert premises.says("echo fine") == "fine"
    program.write_text("#!/bin/sh\necho '2 passed in 0.01s'\n")
    with pytest.raises(RoomRefused, match=r"versions/3\.11\.7/bin/pytest"):
        premises.says("true")


def test_an_environment_that_a_tool_made_for_the_project_is_compared(tmp_path: Path) -> None:
    """`poetry run pytest` uses one in the home folder that is not on PATH."""
    premises = Premises(tmp_path)
    premises.watches_libraries = True
    premises.write({"pyproject.toml": '[tool.poetry]\nname = "small-calc"\n', "poetry.lock": 'name = "runner"\n'})
    mine, others = (f".cache/pypoetry/virtualenvs/{name}-x1-py3.11" for name in ("small-calc", "another"))
    for folder in (mine, others):
        files = distribution("runner", "1", {"runner.py": "HONEST = 1\n"}, f"{folder}/lib/python3.11/site-packages")
        write(premises.home, {**files, f"{folder}/pyvenv.cfg": "home = /usr/bin\n"})
    premises.begin()
    write(premises.home, {f"{others}/lib/python3.11/site-packages/runner.py": "HONEST = 0\n"})
    assert premises.says("echo fine") == "fine"
    write(premises.home, {f"{mine}/lib/python3.11/site-packages/runner.py": "HONEST = 0\n"})
    with pytest.raises(RoomRefused, match=r"runner\.py"):
        premises.says("true")


def test_a_library_that_was_moved_into_place_is_refused(premises: Premises) -> None:
    """Files that are older than the loop, in a folder that is another one now."""
    site = premises.home / SITE
    write(premises.home, {"old/tool/__init__.py": "HONEST = 0\n", f"{SITE}/tool/__init__.py": "HONEST = 1\n"})
    time.sleep(0.05)
    premises.begin()
    (site / "tool").rename(premises.home / "away")
    (premises.home / "old/tool").rename(site / "tool")
    with pytest.raises(RoomRefused, match=r"tool/__init__\.py"):
        premises.says("true")


def test_a_deleted_file_of_a_library_is_refused(premises: Premises) -> None:
    (premises.home / SITE / "runner.py").unlink()
    with pytest.raises(RoomRefused, match=r"runner\.py"):
        premises.says("true")


def test_a_module_cache_may_grow_and_not_change(tmp_path: Path) -> None:
    premises = Premises(tmp_path)
    premises.watches_libraries = True
    cache = premises.home / "go/pkg/mod/example.com"
    write(cache, {"assert@v1.0.0/assert.go": "package assert\n"})
    premises.write({"go.mod": "module x\n"})
    premises.begin()
    assert libraries(premises.environment, "/nowhere", ("go.mod",))[str(cache)].growth is Growth.NEW_VERSIONS
    write(cache, {"other@v1.0.0/other.go": "package other\n"})
    assert premises.says(f"ls {cache}") == "assert@v1.0.0\nother@v1.0.0"
    write(cache, {"assert@v1.0.0/assert.go": "package forged\n"})
    with pytest.raises(RoomRefused, match=r"assert\.go"):
        premises.says("true")


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "test -f x && grep -q y x",
        "sh -c 'cat a | wc -l'",
        "exit 3",
        "find . -name '*.orig' | wc -l",
        "awk '{ print $1 }' x",
    ],
)
def test_commands_that_load_no_library(command: str) -> None:
    assert not loads_libraries(command)


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "make",
        "./check.sh",
        "sh -c 'python3 x'",
        "test $(python3 x) = 1",
        "find . -name 'test_*.py' -exec python3 {} +",
        "find t -execdir ./run ';'",
        """awk 'BEGIN { system("pytest") }'""",
        """awk '{ "pytest" | getline }' x""",
        "trap 'pytest -q' EXIT",
    ],
)
def test_commands_that_may_load_libraries(command: str) -> None:
    assert loads_libraries(command)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("pytest -q", ()),
        ("./check.sh /etc/passwd", ()),
        ("/opt/tools/bin/check src", ("/opt/tools/bin/check",)),
        ("cd a && '/opt/my tools/bin/check' | tail -3", ("/opt/my tools/bin/check",)),
        ("A=1 timeout 9 ~/venv/bin/python -m pytest", ("~/venv/bin/python",)),
        ("sh -c '/opt/a && /opt/b'; /opt/a", ("/opt/a", "/opt/b")),
    ],
)
def test_programs_that_a_command_names_by_their_path(command: str, named: tuple[str, ...]) -> None:
    assert programs_by_path(command) == named


def test_programs_to_which_links_on_path_lead_are_listed(premises: Premises, tmp_path: Path) -> None:
    write(tmp_path, {"other/bin/python": "#!/bin/sh\n"})
    (premises.home / "tools/bin/linked").symlink_to(tmp_path / "other/bin/python")
    assert str(tmp_path / "other/bin") in libraries(premises.environment, "/nowhere", ())
