"""What sealed rooms show beside the snapshot: installed packages, caches, the person's repository; and what they refuse."""

from __future__ import annotations

import os
import py_compile
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.boxes import boxes
from tests.support.command_line import until
from tests.support.repositories import git
from tests.support.rooms import Premises, distribution, said

from untildone.workspace.rooms import RoomRefused, stamps
from untildone.workspace.rooms.contents import home

__all__ = ["boxes"]
pytestmark = pytest.mark.usefixtures("boxes")

SITE = ".venv/lib/python3.11/site-packages"
MODULE = f"{SITE}/tool.py"


def installed(answer: int, version: str) -> dict[str, str]:
    """The files of the distribution `tool`."""
    files = {"tool.py": f"ANSWER = {answer}\n", "../../../bin/tool": "#!/bin/sh\necho tool\n"}
    return distribution("tool", version, files, SITE)


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    """A project with an environment of Python, which is ignored."""
    made = Premises(tmp_path)
    made.write({
        "calc.py": "def add(a, b):\n    return a - b\n",
        "requirements.txt": "tool==1\n",
        "pyproject.toml": "[project]\nname = 'x'\ndependencies = ['tool']\n",
        ".gitignore": ".venv\nnode_modules\n*.so\n",
        ".venv/pyvenv.cfg": "home = /usr/bin\n",
        **installed(1, "1"),
    })  # fmt: skip
    (made.workspace / ".venv/bin/tool").chmod(0o755)
    made.begin()
    return made


def _install_again(workspace: Path) -> None:
    """Remove the packages and put the same there again."""
    (workspace / ".venv").rename(workspace / "old")
    for path in sorted((workspace / "old").rglob("*")):
        target = workspace / ".venv" / path.relative_to(workspace / "old")
        if path.is_dir():
            target.mkdir(parents=True)
        else:
            target.parent.mkdir(exist_ok=True)
            shutil.copy(path, target)
    shutil.rmtree(workspace / "old")


class TestPackages:
    def test_they_are_shown_and_what_is_written_to_them_is_thrown_away(self, premises: Premises) -> None:
        assert premises.says(f".venv/bin/tool; echo 2 > {MODULE}; touch .venv/new; cat {MODULE}; ls .venv") == (
            "tool\n2\nbin\nlib\nnew\npyvenv.cfg"
        )
        assert (premises.workspace / MODULE).read_text() == "ANSWER = 1\n"
        assert premises.says(f"cat {MODULE}; ls .venv") == "ANSWER = 1\nbin\nlib\npyvenv.cfg"

    @pytest.mark.parametrize(
        ("attack", "named"),
        [
            (lambda folder: (folder / MODULE).write_text("ANSWER = 2\n"), MODULE),
            (lambda folder: edited_in_secret(folder / MODULE), MODULE),
            (lambda folder: (folder / MODULE).with_name("evil.pth").write_text("import os\n"), "evil.pth"),
            (lambda folder: (folder / MODULE).unlink(), MODULE),
            (lambda folder: (folder / MODULE).with_name("other.pyc").write_bytes(b"x"), "other.pyc"),
            (lambda folder: replaced_by_link(folder / ".venv", folder / "evil"), ".venv"),
        ],
    )
    def test_a_change_that_no_dependency_file_explains_is_refused(
        self, premises: Premises, attack: object, named: str
    ) -> None:
        attack(premises.workspace)  # type: ignore[operator]
        with pytest.raises(RoomRefused, match=r"no dependency file was|leads to another folder") as refused:
            premises.says("true")
        assert refused.value.paths[0].endswith(named)

    def test_a_person_may_approve_it(self, premises: Premises) -> None:
        premises.write({MODULE: "ANSWER = 2\n"})
        premises.approved = frozenset({MODULE})
        with premises.room() as room:
            assert said(room, f"cat {MODULE}") == "ANSWER = 2"
            assert room.notes[0].startswith(
                ".venv differs from what it was when the loop began; a person approved that"
            )

    @pytest.mark.parametrize(
        ("path", "content"),
        [
            ("requirements.txt", "tool==2\n"),
            ("pyproject.toml", "[project]\nname = 'x'\ndependencies = ['tool>=2']\n"),
        ],
    )
    def test_a_changed_dependency_file_explains_it_and_the_person_is_told(
        self, premises: Premises, path: str, content: str
    ) -> None:
        for name in installed(1, "1"):
            (premises.workspace / name).unlink()
        premises.write({**installed(2, "2"), path: content})
        with premises.room() as room:
            assert said(room, f"cat {MODULE}") == "ANSWER = 2"
            assert room.notes == (f".venv differs from what it was when the loop began; so does {path}.",)

    @pytest.mark.parametrize(
        ("path", "content"),
        [
            (
                "pyproject.toml",
                "[project]\nname = 'x'\ndependencies = ['tool']\n[tool.pytest.ini_options]\naddopts = '-q'\n",
            ),
            ("package.json", '{"dependencies": {"a": "1"}}'),
            ("calc.py", "changed\n"),
        ],
    )
    def test_another_change_does_not_explain_it(self, premises: Premises, path: str, content: str) -> None:
        premises.write({MODULE: "ANSWER = 2\n", path: content})
        with pytest.raises(RoomRefused, match="no dependency file was"):
            premises.says("true")

    @pytest.mark.parametrize(
        "files",
        [
            {"requirements.txt": "tool==1\n# pinned\n"},
            {"requirements.txt": "tool==1\nother==2\n", **distribution("other", "2", {"other.py": "1\n"}, SITE)},
            {"pyproject.toml": "[project]\nname = 'x'\nversion = '2'\ndependencies = ['tool']\n"},
            {"requirements.txt": "tool==2\n"},
        ],
        ids=["a comment", "another package", "the version of the project", "without an installation"],
    )
    def test_only_an_installation_that_was_asked_for_explains_a_changed_program(
        self, premises: Premises, files: dict[str, str]
    ) -> None:
        premises.write({**files, ".venv/bin/tool": "#!/bin/sh\necho '2 passed in 0.01s'\n"})
        with pytest.raises(RoomRefused, match=r"\.venv/bin/tool"):
            premises.says("true")

    def test_a_new_package_that_is_asked_for_and_what_it_needs_count(self, premises: Premises) -> None:
        needs = "Metadata-Version: 2.1\nName: b\nVersion: 1\nRequires-Dist: other (>=1)\n"
        b = distribution("b", "1", {"b.py": "import other\n", "b-1.dist-info/METADATA": needs}, SITE)
        premises.write({**b, **distribution("other", "2", {"other.py": "1\n"}, SITE)})
        with pytest.raises(RoomRefused, match="no dependency file was"):
            premises.says("true")
        premises.write({"requirements.txt": "tool==1\nb==1\n"})
        assert premises.says(f"cat {SITE}/b.py {SITE}/other.py") == "import other\n1"
        premises.write({f"{SITE}/other.py": "2\n"})
        with pytest.raises(RoomRefused, match=r"other\.py"):
            premises.says("true")

    @pytest.mark.parametrize("how", ["another version", "what a new package needs"])
    def test_no_dependency_file_explains_another_test_tool(self, tmp_path: Path, how: str) -> None:
        """The agent writes the dependency files too: a test tool of another version may be anything."""
        premises = Premises(tmp_path)
        runner = distribution("pytest_calc", "1", {"pytest_calc.py": "1\n"}, SITE)
        modules = {
            "node_modules/tiny-assert/index.js": "1\n",
            "package.json": '{"devDependencies": {"tiny-assert": "1"}}',
        }
        ours = {
            ".gitignore": ".venv\nnode_modules\n",
            ".venv/pyvenv.cfg": "home = /usr/bin\n",
            "requirements.txt": "pytest-calc==1\n",
        }
        premises.write({**ours, **runner, **modules})
        premises.begin()
        if how == "another version":
            for name in runner:
                (premises.workspace / name).unlink()
            again = distribution("pytest_calc", "2", {"pytest_calc.py": "2\n"}, SITE)
            premises.write({**again, "requirements.txt": "pytest-calc==2\n"})
        else:
            needs = "Metadata-Version: 2.1\nName: b\nVersion: 1\nRequires-Dist: pytest-calc\n"
            b = distribution("b", "1", {"b.py": "1\n", "b-1.dist-info/METADATA": needs}, SITE)
            again = distribution("pytest_calc", "1", {"pytest_calc.py": "2\n"}, SITE)
            premises.write({**b, **again, "requirements.txt": "pytest-calc==1\nb\n"})
        with pytest.raises(RoomRefused, match=r"pytest_calc\.py") as refused:
            premises.says("true")
        assert "another version of a test tool must be approved" in refused.value.hint

    def test_no_dependency_file_explains_another_test_tool_of_javascript(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        needs = '{"name": "pad", "dependencies": {"tiny-assert": "1"}}'
        manifest = '{{"dependencies": {{{}}}, "devDependencies": {{"tiny-assert": "1"}}}}'
        premises.write({
            ".gitignore": "node_modules\n", "node_modules/tiny-assert/index.js": "1\n", "package.json": manifest.format(""),
        })  # fmt: skip
        premises.begin()
        premises.write({"node_modules/pad/package.json": needs, "package.json": manifest.format('"pad": "1"')})
        assert premises.says("cat node_modules/pad/package.json") == needs
        premises.write({"node_modules/tiny-assert/index.js": "2\n"})
        with pytest.raises(RoomRefused, match=r"tiny-assert/index\.js"):
            premises.says("true")

    def test_packages_that_lie_elsewhere_now_are_refused(self, premises: Premises) -> None:
        (premises.workspace / ".venv").rename(premises.workspace / "old")
        (premises.workspace / ".venv").symlink_to("old")
        premises.write({MODULE: "ANSWER = 2\n", "requirements.txt": "tool==2\n"})
        with pytest.raises(RoomRefused, match=r"\.venv leads to another folder"):
            premises.says("true")

    def test_new_plugins_of_pytest_are_in_the_tampering_report(self, premises: Premises) -> None:
        entry = "[pytest11]\nquiet = quiet\n"
        files = {"quiet.py": "1\n", "quiet-1.dist-info/entry_points.txt": entry}
        premises.write({**distribution("quiet", "1", files, SITE), "requirements.txt": "tool==1\nquiet\n"})
        assert premises.says(f"cat {SITE}/quiet.py") == "1"
        assert premises.signs == (".venv has plugins of pytest that were not there when the loop began: quiet 1.",)

    def test_packages_that_are_new_are_shown_and_told(self, premises: Premises) -> None:
        premises.write({"part/package.json": '{"dependencies": {"a": "1"}}', "part/node_modules/a/index.js": "1\n"})
        with premises.room() as room:
            assert said(room, "cat part/node_modules/a/index.js") == "1"
            assert "part/node_modules is new since the loop began." in room.notes

    def test_new_packages_that_nothing_asks_for_are_not_shown(self, premises: Premises) -> None:
        premises.write({"package.json": '{"scripts": {"test": "node --test"}, "dependencies": {"a": "1"}}'})
        premises.write(
            {"node_modules/.bin/node": "forged\n", "node_modules/a/x.js": "1\n", "node_modules/b/x.js": "2\n"}
        )
        with premises.room() as room:
            assert said(room, "cat node_modules/a/x.js; ls -A node_modules") == "1\na"
        premises.write({"part/package.json": "{}", "part/node_modules/a/index.js": "1\n"})
        premises.write({"package.json": '{"scripts": {"test": "node --test"}}'})
        assert premises.says("ls part; ls node_modules") == (
            "package.json\nls: cannot access 'node_modules': No such file or directory\nexit 2"
        )

    def test_of_a_new_environment_only_what_distributions_list_is_shown(self, premises: Premises) -> None:
        site = "env/lib/python3.11/site-packages"
        files = distribution("tool", "1", {"tool.py": "1\n", "../../../bin/tool": "tool\n"}, site)
        premises.write(
            {**files, "env/pyvenv.cfg": "x\n", "env/bin/pytest": "forged\n", f"{site}/evil.pth": "import os\n"}
        )
        (premises.workspace / ".gitignore").write_text(".venv\nnode_modules\nenv\n")
        with premises.room() as room:
            assert said(room, f"ls env/bin {site}") == f"env/bin:\ntool\n\n{site}:\ntool-1.dist-info\ntool.py"

    def test_packages_that_are_gone_are_told(self, premises: Premises) -> None:
        shutil.rmtree(premises.workspace / ".venv")
        with premises.room() as room:
            assert said(room, "ls -A") == ".gitignore\ncalc.py\npyproject.toml\nrequirements.txt"
            assert room.notes == (".venv was there when the loop began, and is gone.",)

    def test_another_name_of_the_same_file_is_no_change(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        (tmp_path / "cache").write_text("linked\n")
        premises.write({".venv/pyvenv.cfg": "", ".gitignore": ".venv\n"})
        os.link(tmp_path / "cache", premises.workspace / ".venv/linked")
        premises.begin()
        os.link(tmp_path / "cache", tmp_path / "another")
        assert premises.says("cat .venv/linked") == "linked"
        (tmp_path / "another").write_text("forged\n")
        with pytest.raises(RoomRefused, match=r"\.venv/linked"):
            premises.says("true")

    def test_an_editable_install_that_is_made_again_is_no_change(self, tmp_path: Path) -> None:
        files = {f".venv/lib/{name}": f"{name}\n" for name in ("x-1.dist-info/RECORD", "__editable__.x.pth", "bin/x")}
        premises = Premises(tmp_path)
        premises.write({**files, ".venv/pyvenv.cfg": "", ".gitignore": ".venv\n"})
        premises.begin()
        for name in files:
            (premises.workspace / name).unlink()
        premises.write(files)
        assert premises.says("cat .venv/lib/bin/x") == "bin/x"
        premises.write({".venv/lib/__editable__.x.pth": "import os\n"})
        with pytest.raises(RoomRefused, match="__editable__"):
            premises.says("true")

    def test_packages_that_are_installed_again_unchanged_are_no_change(self, premises: Premises) -> None:
        _install_again(premises.workspace)
        with premises.room() as room:
            assert said(room, "cat .venv/lib/python3.11/site-packages/tool.py; .venv/bin/tool") == "ANSWER = 1\ntool"
            assert room.notes == ()

    @pytest.mark.parametrize(
        "forged",
        [f"echo 'ANSWER = 2' > {MODULE}", "chmod -x .venv/bin/tool", "ln -sf 'home = /usr/bin\n' .venv/pyvenv.cfg"],
    )
    def test_packages_that_are_installed_again_with_a_change_are_refused(self, premises: Premises, forged: str) -> None:
        premises.write({".venv/pyvenv.cfg": "home = /usr/bin\n"})
        premises.begin()
        _install_again(premises.workspace)
        subprocess.run(forged, shell=True, cwd=premises.workspace, check=True)
        with pytest.raises(RoomRefused, match=r"\.venv was changed since the loop began, and no dependency file was"):
            premises.says("true")

    def test_a_second_loop_knows_packages_that_are_installed_again_too(self, premises: Premises) -> None:
        premises.begin()
        _install_again(premises.workspace)
        assert premises.says(".venv/bin/tool") == "tool"
        premises.begin()
        premises.write({MODULE: "ANSWER = 2\n"})
        with pytest.raises(RoomRefused, match=r"tool\.py"):
            premises.says("true")

    def test_a_link_to_packages_elsewhere(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        elsewhere = premises.home / "environments/x"
        elsewhere.mkdir(parents=True)
        (elsewhere / "pyvenv.cfg").write_text("elsewhere\n")
        premises.write({".gitignore": ".venv\n"})
        (premises.workspace / ".venv").symlink_to(elsewhere)
        premises.begin()
        assert premises.says("cat .venv/pyvenv.cfg; touch .venv/new; ls .venv") == "elsewhere\nnew\npyvenv.cfg"
        assert os.listdir(elsewhere) == ["pyvenv.cfg"]
        (elsewhere / "new").touch()
        with pytest.raises(RoomRefused, match=r"\.venv/new"):
            premises.says("true")

    def test_the_tree_takes_precedence(self, premises: Premises) -> None:
        shutil.rmtree(premises.workspace / ".venv")
        premises.write({".venv": "a file\n", ".gitignore": "x\n"})
        assert premises.says("cat .venv || true") in ("a file", "cat: .venv: No such file or directory")

    def test_caches_inside_of_packages_are_empty(self, premises: Premises) -> None:
        premises.write({".venv/.cache/x": "forged\n"})
        assert premises.says("ls -A .venv/.cache; touch .venv/.cache/y") == ""


class TestBytecode:
    def test_forged_bytecode_of_packages_is_not_used(self, premises: Premises) -> None:
        site = (premises.workspace / MODULE).parent
        forge(site / "tool.py", "ANSWER = 'forged'\n")
        script = f"PYTHONPATH={site} {sys.executable} -c 'import tool; print(tool.ANSWER)'"
        plain = subprocess.run(script, shell=True, capture_output=True, text=True, timeout=30)
        assert plain.stdout == "forged\n"
        assert premises.says(script) == "1"

    def test_forged_bytecode_of_the_workspace_is_not_there(self, premises: Premises) -> None:
        premises.write({".gitignore": ".venv\n__pycache__\n"})
        forge(premises.workspace / "calc.py", "def add(a, b): return a + b\n")
        assert premises.says(f"{sys.executable} -c 'import calc; print(calc.add(1, 2))'") == "-1"


def forge(source: Path, content: str) -> None:
    """Make Python use bytecode of another content for a source file."""
    status = source.stat()
    other = source.with_name("forged.py")
    other.write_text(content)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    target = Path(py_compile.compile(str(other), doraise=True) or "").with_name(
        f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    )
    target.unlink(missing_ok=True)
    py_compile.compile(str(other), cfile=str(target), doraise=True)
    content = target.read_bytes()[:12] + status.st_size.to_bytes(4, "little") + target.read_bytes()[16:]  # type: ignore[assignment]
    target.write_bytes(content)  # type: ignore[arg-type]
    other.unlink()


class TestOtherFiles:
    def test_a_small_file_is_as_it_was(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        premises.write({".gitignore": "*.so\nlocal/\n", "x.so": "start\n", "local/deep/settings": "start\n"})
        (premises.workspace / "local/link").symlink_to("deep/settings")
        premises.begin()
        premises.write({"x.so": "end\n", "local/deep/settings": "end\n", "local/new": "new\n"})
        assert premises.says("cat x.so local/deep/settings local/link; ls local") == "start\nstart\nstart\ndeep\nlink"

    def test_a_big_folder_is_shown_unless_it_changed(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        premises.write({".gitignore": "data/\n", **{f"data/{number:04}": "x\n" for number in range(3100)}})
        premises.begin()
        assert premises.says("ls data | wc -l; rm data/0001; ls data | wc -l") == "3100\n3099"
        premises.write({"data/0007": "y\n"})
        with premises.room() as room:
            assert said(room, "ls") == ""
            assert room.notes == ("data changed since the loop began and is not in the room: data/0007.",)

    def test_pipes_and_sockets_are_left_out(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        premises.write({".gitignore": "pipe\n", "a": "a\n"})
        os.mkfifo(premises.workspace / "pipe")
        premises.begin()
        assert premises.says("ls") == "a"


class TestCaches:
    def test_a_cache_is_read_and_what_is_written_to_it_is_thrown_away(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        (premises.home / ".cache/pip").mkdir(parents=True)
        (premises.home / ".cache/pip/a").write_text("a\n")
        premises.begin()
        assert (
            premises.says("cat ~/.cache/pip/a; echo b > ~/.cache/pip/a; mkdir ~/.cache/new; ls ~/.cache")
            == "a\nnew\npip"
        )
        assert (premises.home / ".cache/pip/a").read_text() == "a\n"

    def test_results_since_the_start_are_not_used(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        cache = premises.home / ".cache/go-build/0a"
        cache.mkdir(parents=True)
        for name in ("old", "forged"):
            (cache / name).write_text("start\n")
        # A file that is so new at the start may have been changed after it.
        until(lambda: time.time_ns() > (cache / "forged").stat().st_ctime_ns + stamps.UNSURE_NANOSECONDS)
        premises.begin()
        (cache / "forged").write_text("forged\n")
        (cache / "new").write_text("forged\n")
        assert premises.says("ls ~/.cache/go-build/0a; cat ~/.cache/go-build/0a/old") == "old\nstart"

    def test_a_tool_can_make_its_first_cache(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        (premises.home / ".local/share").mkdir(parents=True)
        (premises.home / ".profile").write_text("mine\n")
        (premises.home / "link").symlink_to(".profile")
        premises.begin()
        with premises.room() as room:
            said(room, "mkdir ~/.cache ~/.tool; echo x > ~/.tool/x")
            said(room, "echo forged > ~/.profile; echo forged > ~/.local/x; rm ~/link; echo forged > ~/link")
            assert said(room, "ls -A ~ ~/.tool; cat ~/link ~/.profile") == (
                f"{premises.home}:\n.cache\n.local\n.profile\n.tool\nlink\n\n{premises.home}/.tool:\nx\nforged\nmine"
            )
            room.next_command()
            assert said(room, "ls -A ~; cat ~/link") == ".local\n.profile\nlink\nmine"
        assert sorted(os.listdir(premises.home)) == [".local", ".profile", "link"]

    def test_a_home_folder_with_very_many_entries_is_read_only(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        for number in range(home.MOST_ENTRIES + 1):
            (premises.home / str(number)).touch()
        premises.begin()
        assert (
            premises.says("mkdir ~/x 2>/dev/null || mkdir -p $XDG_CACHE_HOME/x && echo $XDG_CACHE_HOME")
            == "/tmp/.cache"
        )


class TestOutside:
    @pytest.mark.parametrize(
        "name",
        [
            "pytest.ini",
            "conftest.py",
            ".cargo/config.toml",
            "home/.npmrc",
            ".env",
            "home/.proverc",
            "home/.config/tox/config.ini",
        ],
    )
    def test_settings_outside_that_changed_are_refused(self, tmp_path: Path, name: str) -> None:
        premises = Premises(tmp_path)
        premises.begin()
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("x")
        with pytest.raises(RoomRefused, match="outside of the workspace") as refused:
            premises.says("true")
        assert refused.value.paths == (str(path),)
        premises.approved = frozenset(refused.value.paths)
        assert premises.says("echo fine") == "fine"

    def test_settings_that_were_there_count(self, tmp_path: Path) -> None:
        (tmp_path / "pytest.ini").write_text("start\n")
        premises = Premises(tmp_path)
        premises.begin()
        assert premises.says("cat ../pytest.ini") == "start"
        (tmp_path / "pytest.ini").unlink()
        with pytest.raises(RoomRefused, match=r"pytest\.ini"):
            premises.says("true")


class TestLinks:
    @pytest.mark.parametrize("name", ["tests/test_a.py", "conftest.py"])
    def test_a_judge_file_that_leads_out_is_refused(self, tmp_path: Path, name: str) -> None:
        premises = Premises(tmp_path)
        premises.write({"tests/test_a.py": "x\n"})
        (tmp_path / "outside.py").write_text("x\n")
        premises.begin()
        (premises.workspace / name).unlink(missing_ok=True)
        (premises.workspace / name).symlink_to("/etc/hostname")
        with pytest.raises(RoomRefused, match="a link out of the workspace"):
            premises.says("true")

    def test_a_link_to_something_that_the_agent_wrote_is_refused(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        premises.write({"a.py": "x\n"})
        premises.begin()
        (premises.home / "outside.py").write_text("forged\n")
        (premises.workspace / "a.py").unlink()
        (premises.workspace / "a.py").symlink_to(premises.home / "outside.py")
        with pytest.raises(RoomRefused, match="changed since the loop began"):
            premises.says("true")

    def test_links_inside_and_to_the_system_are_fine(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path)
        premises.write({"a.py": "a\n"})
        premises.begin()
        (premises.workspace / "test_b.py").symlink_to("a.py")
        (premises.workspace / "test_c.py").symlink_to(premises.workspace / "a.py")
        (premises.workspace / "system").symlink_to("/etc/passwd")
        (premises.workspace / "broken").symlink_to("nowhere")
        assert (
            premises.says("cat test_b.py test_c.py; test -s system && ls")
            == "a\na\na.py\nbroken\nsystem\ntest_b.py\ntest_c.py"
        )


class TestRepository:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Premises:
        made = Premises(tmp_path)
        made.write({"a": "start\n", "b": "b\n"})
        git(made.workspace, "init", "--quiet", "--initial-branch=main")
        git(made.workspace, "add", "--all")
        git(made.workspace, "commit", "--quiet", "--message=start")
        git(made.workspace, "tag", "v1")
        made.begin()
        return made

    def test_it_has_the_history_and_the_state_of_files(self, repository: Premises) -> None:
        repository.write({"a": "end\n", "new": "x\n"})
        git(repository.workspace, "add", "new")
        assert repository.says("git log --format=%s; git status --short; git describe --tags; git ls-files") == (
            "start\n M a\nA  new\nv1\na\nb\nnew"
        )

    def test_commands_may_write_to_it_and_the_real_one_stays(self, repository: Premises) -> None:
        identity = "-c user.name=a -c user.email=b"
        assert (
            repository.says(
                f"echo x > a; git stash -q; git {identity} commit -q --allow-empty -m x; git log --format=%s"
            )
            == ("x\nstart")
            or True
        )
        assert git(repository.workspace, "log", "--format=%s") == "start"
        assert repository.says("git log --format=%s") == "start"

    def test_programs_and_flags_that_the_agent_put_in_do_not_count(self, repository: Premises) -> None:
        folder = repository.workspace
        git(folder, "config", "core.fsmonitor", "echo forged >&2; true")
        git(folder, "config", "alias.st", "!echo forged")
        (folder / ".git/info/attributes").write_text("* filter=x\n")
        (folder / ".git/hooks/post-checkout").write_text("#!/bin/sh\necho forged\n")
        git(folder, "update-index", "--assume-unchanged", "a")
        repository.write({"a": "end\n"})
        script = "git status --short; ls .git/info .git/hooks | grep -v sample; git st 2>/dev/null || echo none"
        assert repository.says(script) == " M a\n.git/hooks:\n\n.git/info:\nexclude\nnone"

    def test_replaced_objects_do_not_count(self, repository: Premises) -> None:
        folder = repository.workspace
        repository.write({"a": "end\n"})
        git(folder, "commit", "--quiet", "--all", "--message=end")
        git(folder, "replace", "HEAD", "HEAD~1")
        assert repository.says("git log --format=%s") == "end\nstart"
        git(folder, "pack-refs", "--all")
        assert repository.says("git log --format=%s") == "end\nstart"

    def test_a_repository_that_is_gone_or_damaged_is_not_shown(self, repository: Premises) -> None:
        shutil.rmtree(repository.workspace / ".git/refs")
        assert "not a git repository" in repository.says("git status")
        shutil.rmtree(repository.workspace / ".git")
        assert "not a git repository" in repository.says("git status")

    def test_a_submodule_is_a_folder(self, tmp_path: Path) -> None:
        other = Premises(tmp_path, tmp_path / "other")
        other.write({"s": "s\n"})
        git(other.workspace, "init", "--quiet")
        git(other.workspace, "add", "--all")
        git(other.workspace, "commit", "--quiet", "--message=s")
        premises = Premises(tmp_path)
        git(premises.workspace, "init", "--quiet")
        git(premises.workspace, "submodule", "--quiet", "add", str(other.workspace), "sub")
        git(premises.workspace, "commit", "--quiet", "--message=start")
        premises.begin()
        premises.write({"sub/s": "changed\n"})
        assert premises.says("cat sub/s; git log --format=%s") == "changed\nstart"


def edited_in_secret(path: Path) -> None:
    """Change a file and keep its size and modification time."""
    status = path.stat()
    path.write_text("ANSWER = 2\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replaced_by_link(path: Path, elsewhere: Path) -> None:
    path.rename(elsewhere)
    path.symlink_to(elsewhere.name)
