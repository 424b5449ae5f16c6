"""Restored and plain rooms: the workspace itself, with files put in for a check; safe over a crash at any point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.rooms import LOOP, Premises, said

from untildone.core.model import RoomKind
from untildone.workspace.rooms import RoomRefused
from untildone.workspace.shadow import LINK, PLAIN, PROGRAM, Content

RESTORED = RoomKind.RESTORED
JUDGED = {
    "tests/test_a.py": Content(PLAIN, b"original\n"),
    "tests/test_new.py": None,
    "run.sh": Content(PROGRAM, b"#!/bin/sh\necho original\n"),
    "deleted/test_c.py": Content(PLAIN, b"original c\n"),
    "data": Content(LINK, b"tests/test_a.py"),
    "folder": Content(PLAIN, b"was a file\n"),
    "folder/below.py": None,
}


@pytest.fixture
def premises(tmp_path: Path) -> Premises:
    made = Premises(tmp_path)
    made.write({"a.py": "start\n", ".gitignore": "*.log\n"})
    made.begin()
    made.write({
        "a.py": "work\n",
        "tests/test_a.py": "weak\n",
        "tests/test_new.py": "new\n",
        "run.sh": "#!/bin/sh\necho weak\n",
        "data": "weak\n",
        "folder/below.py": "below\n",
    })  # fmt: skip
    (made.workspace / "tests/test_a.py").chmod(0o640)
    return made


def state(premises: Premises) -> dict[str, tuple[str, int, int]]:
    """Content, mode and modification time of every file."""
    found = {}
    for folder, _, names in os.walk(premises.workspace):
        for path in (Path(folder, name) for name in names):
            status = path.lstat()
            content = os.readlink(path) if path.is_symlink() else path.read_text()
            found[str(path.relative_to(premises.workspace))] = (content, status.st_mode, status.st_mtime_ns)
    return found


class TestRestored:
    def test_the_files_are_put_in_and_back(self, premises: Premises) -> None:
        before = state(premises)
        with premises.room(RESTORED, JUDGED) as room:
            assert room.kind is RESTORED
            assert said(room, "cat a.py tests/test_a.py data folder deleted/test_c.py; ./run.sh; ls tests") == (
                "work\noriginal\noriginal\nwas a file\noriginal c\noriginal\ntest_a.py"
            )
        assert state(premises) == before
        assert sorted(os.listdir(premises.workspace)) == [".gitignore", "a.py", "data", "folder", "run.sh", "tests"]

    def test_what_a_command_does_to_them_is_undone(self, premises: Premises) -> None:
        before = state(premises)
        premises.says("rm -r tests data; echo x > run.sh; mkdir data; touch a.log", RESTORED, JUDGED)
        after = state(premises)
        assert after.pop("a.log")
        assert {path: each[0] for path, each in after.items()} == {path: each[0] for path, each in before.items()}

    def test_nothing_to_put_in(self, premises: Premises) -> None:
        assert premises.says("cat tests/test_a.py", RESTORED) == "weak"

    def test_no_link_is_followed_out_of_the_workspace(self, premises: Premises, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        (premises.workspace / "tests").rename(outside)
        (premises.workspace / "tests").symlink_to(outside)
        changes = {"tests": None, "tests/test_a.py": Content(PLAIN, b"original\n")}
        assert premises.says("cat tests/test_a.py", RESTORED, changes) == "original"
        assert (outside / "test_a.py").read_text() == "weak\n"
        assert os.readlink(premises.workspace / "tests") == str(outside)

    def test_a_folder_with_other_files_in_the_place_of_a_file_is_refused(self, premises: Premises) -> None:
        premises.write({"folder/x.log": "x\n"})
        before = {path: each[0] for path, each in state(premises).items()}
        with pytest.raises(RoomRefused, match=r"folder \(Directory not empty\)"):
            premises.says("true", RESTORED, JUDGED)
        assert {path: each[0] for path, each in state(premises).items()} == before

    def test_a_plain_room_is_the_workspace_as_it_is(self, premises: Premises) -> None:
        assert premises.says("cat tests/test_a.py; echo x > a.py", RoomKind.PLAIN, JUDGED) == "weak"
        assert (premises.workspace / "a.py").read_text() == "x\n"


CRASHING = """
import os, signal, sys
from pathlib import Path
from tests.support.rooms import Premises
from tests.workspace.test_rooms_restored import JUDGED, RESTORED, state
from untildone.workspace.rooms import Claimed

premises = Premises(Path(sys.argv[1]))
premises.start, premises.record, claimed, tree = sys.argv[2:]
before = state(premises)
STEPS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.utime")

def killed_at(last):
    steps = 0
    def look(event, arguments):
        nonlocal steps
        steps += event in STEPS
        if event in STEPS and steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
    with premises.rooms.claim(Claimed(premises.start, claimed)) as claim:
        sys.addaudithook(look)
        with claim.room(RESTORED, tree, {}):
            pass

def recovers(last):
    rooms = premises.rooms
    rooms.recover()
    assert state(premises) == before, (last, state(premises), before)
    assert not rooms.recover()

def status_of(work, *arguments):
    # This process only forks: whatever runs git has a thread beside it for a moment, and may not fork then.
    if child := os.fork():
        return os.waitpid(child, 0)[1]
    work(*arguments)
    os._exit(0)

last = 1
while ended := status_of(killed_at, last):
    assert ended == signal.SIGKILL
    assert not status_of(recovers, last)
    last += 1
print(last)
"""


class TestCrash:
    @pytest.mark.slow
    def test_a_kill_at_any_step_loses_nothing(self, premises: Premises, tmp_path: Path) -> None:
        before = state(premises)
        claimed = premises.shadow.take().tree
        trees = (claimed, premises.shadow.write_tree(claimed, JUDGED))
        command = [sys.executable, "-c", CRASHING, str(tmp_path), premises.start, premises.record, *trees]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[2]), *sys.path))}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100)
        assert not ended.stderr
        assert int(ended.stdout) > 20
        assert state(premises) == before

    def test_what_a_person_wrote_after_the_crash_is_kept_aside(self, premises: Premises) -> None:
        note = premises.home / ".local/state/untildone/rooms" / LOOP / "restoring.json"
        with premises.room(RESTORED, JUDGED):
            kept = note.read_bytes()
            premises.write({"tests/test_a.py": "a person's\n"})
            premises_now = (premises.workspace / "tests/test_a.py").read_text()
            assert premises_now == "a person's\n"
        premises.write({"tests/test_a.py": "a person's\n"})
        note.write_bytes(kept)
        done, aside = premises.rooms.recover()
        assert done == "A check was cut off; 7 of the agent's files were put back."
        folder = Path(aside.removeprefix("Files that were there instead are in ").removesuffix("."))
        assert (folder / "tests/test_a.py").read_text() == "a person's\n"
        assert (premises.workspace / "tests/test_a.py").read_text() == "weak\n"

    def test_a_note_that_cannot_be_read_is_told(self, premises: Premises) -> None:
        note = premises.home / ".local/state/untildone/rooms" / LOOP / "restoring.json"
        note.write_text("{")
        with pytest.raises(RoomRefused, match="cannot be read"):
            premises.says("true", RESTORED, JUDGED)
