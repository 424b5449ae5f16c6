"""Sealed rooms: what a command finds there, and what it cannot reach."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.boxes import NOBODY, as_nobody, boxes, shared_folder
from tests.support.repositories import git
from tests.support.rooms import LOOP, Premises, is_judge, said

from untildone.core.model import RoomKind
from untildone.system.box import sandbox
from untildone.system.box.sandbox import Network
from untildone.workspace.rooms import Claimed, RoomRefused, best
from untildone.workspace.rooms.ignored import recording
from untildone.workspace.shadow import PLAIN, Content

__all__ = ["boxes", "shared_folder"]
pytestmark = pytest.mark.usefixtures("boxes")


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    """A repository with a commit, and ignored files beside it."""
    made = Premises(tmp_path)
    made.write({
        "calc.py": "def add(a, b):\n    return a - b\n",
        "tests/test_calc.py": "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
        ".gitignore": "*.log\n.env\nbuild/\n__pycache__/\n",
        ".env": "COLOUR=blue\n",
    })  # fmt: skip
    commit(made.workspace)
    made.begin()
    return made


def commit(folder: Path) -> None:
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=work")


class TestTheCopy:
    def test_it_lies_at_the_path_of_the_workspace(self, premises: Premises) -> None:
        premises.write({"calc.py": "changed\n"})
        assert premises.says("pwd; cat calc.py; cat $PWD/.env") == f"{premises.workspace}\nchanged\nCOLOUR=blue"

    def test_the_tree_that_is_judged_is_shown(self, premises: Premises) -> None:
        changes = {"calc.py": None, "tests/test_new.py": Content(PLAIN, b"new\n")}
        assert premises.says("cat tests/test_new.py; ls", changes=changes) == "new\ntests"

    def test_what_a_command_writes_is_thrown_away(self, premises: Premises) -> None:
        assert premises.says("echo x > calc.py; echo x > new.py; mkdir build; rm tests/test_calc.py; ls") == (
            "build\ncalc.py\nnew.py\ntests"
        )
        assert sorted(os.listdir(premises.workspace)) == [".env", ".git", ".gitignore", "calc.py", "tests"]
        assert (
            premises.says("cat calc.py; ls . tests")
            == "def add(a, b):\n    return a - b\n.:\ncalc.py\ntests\n\ntests:\ntest_calc.py"
        )

    def test_files_that_the_agent_left_beside_the_tree_are_not_there(self, premises: Premises) -> None:
        premises.write(
            {"left.log": "x", "__pycache__/calc.cpython-311.pyc": b"forged", "build/x": "x", ".env": "COLOUR=red\n"}
        )
        assert premises.says("ls -A; cat .env") == ".env\n.git\n.gitignore\ncalc.py\ntests\nCOLOUR=blue"

    def test_it_says_which_ignored_files_differ_there(self, premises: Premises) -> None:
        premises.write({".env": "COLOUR=red\n"})
        with premises.room() as room:
            assert room.absent() == (".env is ignored, and is in the room as it was when the loop began.",)

    def test_a_command_after_another_finds_the_tree_and_the_outputs_of_the_first(self, premises: Premises) -> None:
        with premises.room() as room:
            said(
                room,
                "mkdir -p build/lib t; echo out > build/lib/o; echo x > build/lib/test_a.py; echo y > t/test_b.py; echo z > t/z",
            )
            said(
                room,
                "echo x > calc.py; mkdir __pycache__; touch __pycache__/a.pyc conftest.py /tmp/left; rm .env; chmod 0 build/lib",
            )
            room.next_command()
            assert said(room, "ls -A; cat build/lib/o .env; ls build/lib; head -1 calc.py; ls /tmp") == (
                ".env\n.git\n.gitignore\nbuild\ncalc.py\ntests\nout\nCOLOUR=blue\no\ndef add(a, b):\ntmp"
            ).replace("tmp", premises.workspace.parts[2])

    def test_what_a_command_left_outside_of_the_tree_is_removed_from_the_disk_too(self, premises: Premises) -> None:
        places = ("/tmp", "/var/tmp", str(premises.home))
        with premises.room() as room:
            for place in places:
                said(room, f"mkdir {place}/mine; touch {place}/mine/forged; chmod 0 {place}/mine")
            room.next_command()
            assert all("No such file" in said(room, f"ls {place}/mine") for place in places)
        assert premises.says("true") == ""
        assert not list(premises.home.rglob("forged"))

    def test_a_folder_that_a_command_replaced_is_the_one_of_the_tree_again(self, premises: Premises) -> None:
        with premises.room() as room:
            said(room, "mv tests elsewhere; ln -s elsewhere tests; echo 'assert True' > elsewhere/test_calc.py")
            room.next_command()
            assert said(room, "test ! -L tests; cat tests/test_calc.py; ls") == (
                "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\ncalc.py\ntests"
            )

    def test_a_file_that_keeps_its_times_is_written_again_too(self, premises: Premises) -> None:
        with premises.room() as room:
            said(
                room,
                "touch -r calc.py /tmp/t; echo 'xxx add(a, b):\n    return a + b' > calc.py; touch -r /tmp/t calc.py",
            )
            room.next_command()
            assert said(room, "head -1 calc.py") == "def add(a, b):"

    def test_modes_and_links_are_those_of_the_workspace(self, premises: Premises) -> None:
        premises.write({"run.sh": "#!/bin/sh\necho ran\n"})
        (premises.workspace / "run.sh").chmod(0o755)
        (premises.workspace / "link").symlink_to(premises.workspace / "run.sh")
        assert premises.says("./link") == "ran"

    @pytest.mark.parametrize("name", ["a b", "new\nline", os.fsdecode(b"\xff\xfe"), "a,b:c\\d", "-x", "ü"])
    def test_strange_names(self, tmp_path: Path, name: str) -> None:
        premises = Premises(tmp_path, tmp_path / name)
        premises.write(
            {f"{name}/{name}": "strange\n", f".venv/{name}/x": "x\n", ".venv/pyvenv.cfg": "", ".gitignore": ".venv\n"}
        )
        premises.begin()
        assert premises.says("cat ./*/* .venv/*/x") == "strange\nx"

    def test_a_deep_path(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path, tmp_path.joinpath(*["d" * 100] * 20))
        premises.write({"a": "deep\n"})
        premises.begin()
        assert premises.says("cat a") == "deep"

    def test_a_workspace_that_is_reached_by_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("workspace")
        Premises(tmp_path).write({"a": "start\n"})
        premises = Premises(tmp_path, tmp_path / "link")
        premises.begin()
        premises.write({"a": "end\n"})
        assert premises.says(f"echo x > a; cat {tmp_path}/workspace/a {tmp_path}/link/a") == "x\nx"
        assert (tmp_path / "workspace/a").read_text() == "end\n"

    def test_a_workspace_in_the_home_folder(self, tmp_path: Path) -> None:
        premises = Premises(tmp_path, tmp_path / "home/project")
        premises.write({"a": "project\n"})
        (premises.home / "b").write_text("home\n")
        premises.begin()
        assert premises.says("cat a ../b; touch ../b 2>/dev/null || echo closed") == "project\nhome\nclosed"

    def test_a_subfolder_of_a_repository_sees_all_of_it(self, tmp_path: Path) -> None:
        Premises(tmp_path).write({"top": "top\n", "part/a": "a\n"})
        commit(tmp_path / "workspace")
        premises = Premises(tmp_path, tmp_path / "workspace/part")
        premises.begin()
        (tmp_path / "workspace/top").write_text("changed\n")
        assert premises.says("pwd; cat ../top a; git status --short") == f"{premises.workspace}\nchanged\na\n M ../top"

    @pytest.mark.parametrize("place", ["", "home/.."])
    def test_a_workspace_around_the_home_folder_is_refused(self, tmp_path: Path, place: str) -> None:
        premises = Premises(tmp_path, tmp_path / place)
        premises.begin()
        with pytest.raises(RoomRefused, match="contains the home folder"):
            premises.says("true")


class TestReach:
    def test_the_state_of_untildone_is_hidden(self, premises: Premises, tmp_path: Path) -> None:
        state = premises.home / ".local/state/untildone"
        (state / "key").write_text("secret")
        (tmp_path / ".loop").mkdir()
        (tmp_path / ".loop/x").touch()
        (tmp_path / "token").write_text("secret")
        premises.write({".loop/loop.json": "{}"})
        premises.hidden = (str(tmp_path / "token"),)
        assert premises.says(f"ls -A {state} {tmp_path}/.loop; ls -d .loop; cat {tmp_path}/token").splitlines() == [
            f"{tmp_path}/.loop:",
            "",
            f"{state}:",
            "ls: cannot access '.loop': No such file or directory",
            f"cat: {tmp_path}/token: Permission denied",
            "exit 1",
        ]

    def test_a_worktree_inside_the_folder_of_loops_is_shown_alone(self, tmp_path: Path) -> None:
        repository = Premises(tmp_path)
        repository.write({"a": "a\n", ".loop/loop.json": "{}", ".gitignore": ".loop\n"})
        commit(repository.workspace)
        git(repository.workspace, "worktree", "add", "--quiet", ".loop/worktrees/one")
        premises = Premises(tmp_path, repository.workspace / ".loop/worktrees/one")
        premises.begin()
        premises.write({"a": "b\n"})
        assert premises.says("cat a; ls -A ..; ls -A ../..; git status --short; git log --format=%s") == (
            "b\none\nworktrees\n M a\nwork"
        )

    def test_temporary_folders_are_its_own(self, premises: Premises, tmp_path: Path) -> None:
        premises.environment["TMPDIR"] = str(tmp_path)
        script = "mktemp; echo $TMPDIR; touch /tmp/x /var/tmp/x /dev/shm/x; ls /var/tmp /dev/shm /run"
        lines = premises.says(f"{script}; touch ~/.local/x 2>/dev/null || echo closed").splitlines()
        assert lines[0].startswith("/tmp/tmp.")
        assert lines[1:] == ["/tmp", "/dev/shm:", "x", "", "/run:", "", "/var/tmp:", "x", "closed"]
        assert not Path("/var/tmp/x").exists()

    def test_the_environment_does_not_tell_of_untildone(self, premises: Premises) -> None:
        premises.environment |= {"UNTILDONE_LOOP_ID": LOOP, "UNTILDONE_MARK_X": "1", "COLOUR": "blue"}
        output = premises.says("env; cat /proc/self/environ /proc/1/environ | tr '\\0' '\\n'")
        assert "UNTILDONE" not in output
        assert "COLOUR=blue" in output

    def test_the_network_is_its_own_unless_it_is_asked_for(self, premises: Premises) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            script = f"{sys.executable} -c 'import socket; print(socket.socket().connect_ex((\"127.0.0.1\", {port})))'"
            assert premises.says(script) != "0"
            premises.network = Network.HOST
            assert premises.says(script) == "0"

    def test_a_socket_in_the_home_folder_leads_nowhere(self, premises: Premises) -> None:
        path = premises.home / "agent.sock"
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
            server.listen()
            script = f"{sys.executable} -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'"
            assert "Permission denied" in premises.says(script) or "refused" in premises.says(script)

    def test_processes_of_the_agent_are_out_of_sight(self, premises: Premises) -> None:
        agent = subprocess.Popen(["sleep", "60"])
        try:
            assert "exit" in premises.says(f"kill -0 {agent.pid}")
        finally:
            agent.kill()
            agent.wait()

    def test_an_ordinary_user_has_sealed_rooms_too(self, shared_folder: Path) -> None:
        source, tests = Path(sandbox.__file__).parents[2], Path(__file__).parents[1]
        without_caches = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, shared_folder / "source/untildone", ignore=without_caches)
        shutil.copy(tests / "support/rooms.py", shared_folder / "source/premises.py")
        program = (
            "from pathlib import Path; from premises import Premises; made = Premises(Path.cwd() / 'place')\n"
            "made.write({'a': 'start', '.gitignore': '.venv', '.venv/b': 'b'}); (made.home / '.cache').mkdir(); made.begin()\n"
            "made.write({'a': 'end'})\n"
            "print(made.says('cat a .venv/b; echo c > .venv/b; touch ~/.cache/x; ls ~/.cache; id -u; touch /x 2>&- || echo closed'))\n"
            "print(Path('place/workspace/.venv/b').read_text())"
        )
        environment = {"PATH": os.defpath, "PYTHONPATH": str(shared_folder / "source")}
        ended = subprocess.run(
            as_nobody("/usr/bin/python3", "-c", program),
            cwd=shared_folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        user = NOBODY if os.geteuid() == 0 else os.getuid()
        assert ended.stdout.splitlines() == ["endbx", str(user), "closed", "b"], ended.stderr


class TestBest:
    def test_sealed_where_there_are_boxes(self) -> None:
        assert best() is best(RoomKind.SEALED) is RoomKind.SEALED
        assert best(RoomKind.PLAIN) is RoomKind.PLAIN

    def test_a_wanted_room_that_cannot_be_had(self, tmp_path: Path) -> None:
        program = (
            "from untildone.system.box import sandbox; from untildone.workspace import rooms; sandbox.SYSTEM_FOLDERS = ()\n"
            "from untildone.core.model import RoomKind\n"
            "print(rooms.best())\ntry: rooms.best(RoomKind.SEALED)\nexcept rooms.rooms.UsageError as e: print(e, e.hint)"
        )
        environment = {"PATH": str(tmp_path)}
        ended = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=30
        )
        kind, sentence = ended.stdout.splitlines()
        assert kind == "restored"
        assert "bubblewrap is not installed" in sentence
        assert "--room restored" in sentence


class TestRefusals:
    def test_a_changed_record_of_the_start(self, premises: Premises) -> None:
        record = premises.home / ".local/state/untildone/rooms" / LOOP / "start/start.json"
        record.write_text(record.read_text().replace('"kept": {', '"kept": {"x": "", '))
        with pytest.raises(RoomRefused, match="is not the one that was written"):
            premises.says("true")

    def test_a_changed_copy_of_an_ignored_file(self, premises: Premises) -> None:
        copied = premises.home / ".local/state/untildone/rooms" / LOOP / "start/files/.env"
        copied.write_text("COLOUR=red\n")
        with pytest.raises(RoomRefused, match="not the one that was kept"):
            premises.says("true")

    def test_two_claims_at_once(self, premises: Premises) -> None:
        with premises.room(), pytest.raises(RoomRefused, match="Another process judges"):
            premises.says("true")

    def test_a_folder_for_rooms_that_cannot_be_made(self, premises: Premises) -> None:
        folder = premises.home / ".local/state/untildone/rooms"
        shutil.rmtree(folder)
        folder.touch()
        with pytest.raises(RoomRefused, match="cannot be used"):
            premises.says("true")

    def test_removed_rooms_leave_nothing(self, premises: Premises) -> None:
        premises.says("touch .x")
        premises.rooms.remove()
        assert os.listdir(premises.home / ".local/state/untildone/rooms") == []


class TestOutputs:
    def test_the_second_room_of_a_claim_has_the_outputs_of_the_first(self, premises: Premises) -> None:
        shadow = premises.shadow
        claimed = shadow.take().tree
        other = shadow.write_tree(claimed, {"tests/test_calc.py": Content(PLAIN, b"other\n")})
        question = Claimed(premises.start, claimed, premises.record, is_judge)
        with premises.rooms.claim(question) as claim:
            for tree, found in ((claimed, "no build"), (other, "build/o")):
                with claim.room(RoomKind.SEALED, tree, premises.environment) as room:
                    assert said(room, "ls -d build/* 2>/dev/null || echo no build") == found
                    said(room, "mkdir build notes; touch build/o build/test_x.py notes/x __pycache__")

    def test_outputs_of_the_start_do_not_replace_what_a_command_built(self, premises: Premises) -> None:
        premises.write({"build/app": "of the start\n"})
        premises.begin()
        with premises.room() as room:
            assert said(room, "cat build/app; echo built > build/app; echo x > .env") == "of the start"
            room.next_command()
            assert said(room, "cat build/app .env") == "built\nCOLOUR=blue"
        assert premises.says("cat build/app") == "of the start"

    def test_outputs_of_the_start_are_older_than_every_file(self, premises: Premises) -> None:
        assert premises.says("ls calc.py") == "calc.py"
        premises.write({"build/app": "built from something else\n"})
        premises.begin()
        assert premises.says("test calc.py -nt build/app && echo built again") == "built again"

    def test_another_claim_has_none_of_them(self, premises: Premises) -> None:
        premises.says("mkdir build; echo forged > build/o")
        assert premises.says("ls") == "calc.py\ntests"


class TestBigOutputs:
    @pytest.fixture
    def built(self, premises: Premises, monkeypatch: pytest.MonkeyPatch) -> Premises:
        """A project with outputs of a build that are too big to be kept file by file."""
        monkeypatch.setattr(recording, "KEPT_BYTES", 100)
        premises.write({"build/lib/dependency.a": "x" * 1000, "build/app": "of the start\n"})
        premises.begin()
        return premises

    def test_they_are_as_they_were_at_the_start_for_every_claim(self, built: Premises) -> None:
        built.write({"build/app": "forged by the agent\n", "build/lib/more.a": "forged\n"})
        for _ in range(2):
            assert built.says("cat build/app; ls build/lib; test calc.py -nt build/app && echo newer") == (
                "of the start\ndependency.a\nnewer"
            )
            assert (
                built.says("echo forged in a room > build/app; echo x > build/lib/x; cat build/app")
                == "forged in a room"
            )

    def test_a_command_after_another_finds_what_the_first_built(self, built: Premises) -> None:
        with built.room() as room:
            said(room, "echo built > build/app")
            room.next_command()
            assert said(room, "cat build/app") == "built"

    def test_a_copy_that_was_changed_is_not_used(self, built: Premises) -> None:
        (kept,) = (built.home / ".local/state/untildone/rooms" / LOOP / "start/outputs").iterdir()
        (kept / "app").write_text("forged\n")
        with built.room() as room:
            assert said(room, "ls") == "calc.py\ntests"
            assert room.notes == ("The copy of build from the start of the loop was changed and is not in the room.",)

    def test_they_are_removed_with_the_loop(self, built: Premises) -> None:
        built.rooms.shrink()
        assert built.says("ls") == "calc.py\ntests"

    def test_outputs_that_are_bigger_still_are_left_out(
        self, premises: Premises, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(recording, "KEPT_BYTES", 100)
        monkeypatch.setattr(recording, "OUTPUT_BYTES", 100)
        premises.write({"build/lib/dependency.a": "x" * 1000})
        premises.begin()
        with premises.room() as room:
            assert said(room, "ls") == "calc.py\ntests"
            assert room.absent() == ("build is ignored and is not in the room.",)
