"""Boxes: what programs in them see, may write and may reach; as root and as an ordinary user."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.boxes import boxes, ran, sandbox_as_nobody, shared_folder
from tests.support.command_line import until

from untildone.system.box import sandbox
from untildone.system.box.sandbox import Access, Box, Mount, Network

__all__ = ["boxes", "shared_folder"]

SYSTEM = sandbox.system_read_only()
needs_boxes = pytest.mark.usefixtures("boxes")
SELF_TEST = "from untildone.system.box import sandbox; print(repr(str(sandbox.problem())))"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("hidden", "open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"{name}\n")
    return tmp_path


def seen(place: Path, *mounts: Mount, network: Network = Network.NONE) -> Box:
    """A box with the file system read-only, the mounts on top, and `place` as its working folder."""
    return Box(str(place), (*SYSTEM, *mounts), network)


@needs_boxes
class TestMounts:
    def test_what_is_not_named_can_be_read_and_not_written(self, place: Path) -> None:
        assert ran(seen(place), "cat closed/file") == (0, "closed")
        code, output = ran(seen(place), "echo changed > closed/file")
        assert code != 0
        assert "Read-only" in output
        assert (place / "closed/file").read_text() == "closed\n"

    def test_a_writable_folder_is_written_outside_too(self, place: Path) -> None:
        box = seen(place, Mount(Access.WRITE, str(place / "open")))
        assert ran(box, "echo changed > open/file") == (0, "")
        assert (place / "open/file").read_text() == "changed\n"

    def test_a_hidden_folder_is_empty_and_read_only(self, place: Path) -> None:
        box = seen(place, Mount(Access.HIDDEN, str(place / "hidden")))
        assert ran(box, "ls -A hidden") == (0, "")
        assert ran(box, "touch hidden/new")[0] != 0

    def test_a_hidden_file_cannot_be_opened_and_a_missing_one_stays_missing(self, place: Path) -> None:
        box = seen(place, *(Mount(Access.HIDDEN, str(place / name)) for name in ("hidden/file", "hidden/none")))
        assert ran(box, "ls hidden; cat hidden/file 2>/dev/null || echo closed") == (0, "file\nclosed")
        assert ran(box, "echo x > hidden/file")[0] != 0
        assert (place / "hidden/file").read_text() == "hidden\n"

    def test_a_folder_shown_below_a_hidden_one_is_there_in_whatever_order_they_are_given(self, place: Path) -> None:
        (place / "hidden/below").mkdir()
        shown = Mount(Access.WRITE, str(place / "hidden/below"), str(place / "open"))
        hidden = Mount(Access.HIDDEN, str(place / "hidden"))
        for mounts in ((shown, hidden), (hidden, shown)):
            assert ran(seen(place, *mounts), "ls hidden; cat hidden/below/file; touch hidden/below/new") == (
                0,
                "below\nopen",
            )

    def test_an_empty_folder_is_writable_and_ends_with_the_box(self, place: Path) -> None:
        box = seen(place, Mount(Access.EMPTY, str(place / "open")))
        assert ran(box, "touch open/new; ls open") == (0, "new")
        assert ran(box, "ls open") == (0, "")
        assert os.listdir(place / "open") == ["file"]

    @pytest.mark.parametrize("name", ["a b", "new\nline", os.fsdecode(b"\xff\xfe"), "a,b:c\\d", "-- --bind"])
    def test_strange_names_are_mounted_like_others(self, place: Path, name: str) -> None:
        (place / name).mkdir()
        (place / name / "file").write_text("strange\n")
        box = seen(place, Mount(Access.READ, str(place / "open"), str(place / name)))
        assert ran(box, "cat open/file") == (0, "strange")
        assert ran(seen(place, Mount(Access.HIDDEN, str(place / name))), "ls -A ./*/file") == (
            0,
            "./closed/file\n./hidden/file\n./open/file",
        )

    def test_shared_memory_and_a_terminal_of_their_own(self, place: Path) -> None:
        program = "from multiprocessing import Queue, Lock; Lock(); import pty; pty.openpty(); print('fine')"
        assert ran(seen(place), f'{sys.executable} -c "{program}"') == (0, "fine")


LATER = """
import os, subprocess, sys, time
from untildone.system.box.sandbox import Access, Box, Mount, system_read_only
box = Box(sys.argv[1], (*system_read_only(), Mount(Access.WRITE, sys.argv[1] + "/open")))
script = "touch open/ready; while ! [ -e open/go ]; do sleep 0.05; done; touch closed/new && echo written; ls closed"
with subprocess.Popen(box.argv(("/bin/sh", "-c", script)), stdout=subprocess.PIPE, text=True) as process:
    deadline = time.monotonic() + 30
    while not os.path.exists(sys.argv[1] + "/open/ready") and time.monotonic() < deadline:
        time.sleep(0.02)
    subprocess.run(("mount", "-t", "tmpfs", "later", sys.argv[1] + "/closed"), check=True)
    open(sys.argv[1] + "/open/go", "w").close()
    print(process.communicate(timeout=30)[0])
"""


@needs_boxes
def test_what_is_mounted_outside_later_does_not_appear_in_a_box(place: Path) -> None:
    """As a disk that a person connects: it would be writable."""
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    shared = ("unshare", "--mount", "--propagation", "shared", *as_root, sys.executable, "-c", LATER, str(place))
    said = subprocess.run(shared, capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.split() == ["file"]


@needs_boxes
class TestLayers:
    def test_reads_see_what_is_below_and_writes_leave_it_alone(self, place: Path) -> None:
        below = place / "a,b:c"
        (place / "open").rename(below)
        layer = sandbox.make_layer(str(place / "layer"), str(below))
        assert ran(seen(below, layer), "cat file; echo changed > file; touch new; cat file; ls") == (
            0,
            "open\nchanged\nfile\nnew",
        )
        assert sorted(os.listdir(below)) == ["file"]
        assert (below / "file").read_text() == "open\n"

    def test_a_later_box_sees_what_an_earlier_one_wrote(self, place: Path) -> None:
        for expected in ("open", "changed"):
            layer = sandbox.make_layer(str(place / "layer"), str(place / "open"))
            assert ran(seen(place, layer), "cat open/file; echo changed > open/file") == (0, expected)

    def test_a_folder_that_can_hold_layers_is_left_as_it_was(self, place: Path) -> None:
        assert sandbox.has_layers(str(place / "open"))
        assert os.listdir(place / "open") == ["file"]

    def test_an_ordinary_user_has_layers_too(self, shared_folder: Path) -> None:
        program = "import os, sandbox; print(sandbox.has_layers(os.getcwd()))"
        assert sandbox_as_nobody(shared_folder, program) == "True\n"


@needs_boxes
class TestReach:
    def test_processes_outside_are_out_of_sight(self, place: Path) -> None:
        assert ran(seen(place), "ls -d /proc/[0-9]* | wc -l; kill -0 $PPID")[1].splitlines()[0] in ("2", "3", "4")

    def test_its_own_network_has_a_loopback_interface_and_nothing_else(self, place: Path) -> None:
        with Port() as port:
            program = (
                "import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
                "socket.create_connection(s.getsockname()).close(); print('own loopback')\n"
                f"sys.exit(socket.socket().connect_ex(('127.0.0.1', {port})))"
            )
            code, output = ran(seen(place), f'{sys.executable} -c "{program}"')
            assert (code != 0, output) == (True, "own loopback")
            assert ran(seen(place, network=Network.HOST), f'{sys.executable} -c "{program}"')[0] == 0

    def test_it_cannot_undo_its_mounts_nor_change_the_kernel(self, place: Path) -> None:
        for attempt in (
            "mount -o remount,rw /",
            "mount -o bind,remount,rw /",
            "umount -l /proc",
            "unshare -rm sh -c 'mount -o remount,bind,rw / && touch closed/new'",
            "echo 60 > /proc/sys/vm/swappiness",
            f"mknod {place}/open/device b 254 0",
        ):
            box = seen(place, Mount(Access.WRITE, str(place / "open")))
            assert ran(box, attempt)[0] != 0, attempt
        assert sorted(os.listdir(place / "closed")) == ["file"]

    def test_everything_in_it_ends_when_its_parent_is_killed(self, place: Path) -> None:
        box = seen(place, Mount(Access.WRITE, str(place / "open")))
        script = "(setsid sh -c 'while :; do date +%N > open/alive; sleep 0.01; done' &) ; sleep 60"
        starter = f"import subprocess, sys; subprocess.run({list(box.argv(('/bin/sh', '-c', script)))!r})"
        parent = subprocess.Popen([sys.executable, "-c", starter], stdin=subprocess.DEVNULL)
        until(lambda: (place / "open/alive").exists())
        parent.kill()
        parent.wait()
        until(lambda: is_quiet(place / "open/alive"))

    def test_the_environment_is_that_of_its_parent(self, place: Path) -> None:
        output = ran(seen(place), "env", {"COLOUR": "blue"})[1]
        assert "COLOUR=blue" in output.splitlines()


class Port:
    """A port on this machine that accepts connections."""

    def __enter__(self) -> int:
        self.socket = socket.create_server(("127.0.0.1", 0))
        return int(self.socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def is_quiet(file: Path) -> bool:
    """Whether the file is not written for a while that is long for its writer."""
    before = file.stat().st_mtime_ns
    time.sleep(0.2)
    return file.stat().st_mtime_ns == before


class TestSelfTest:
    @needs_boxes
    def test_an_ordinary_user_has_boxes_too(self, shared_folder: Path) -> None:
        assert sandbox_as_nobody(shared_folder, "import sandbox; print(sandbox.problem() or 'none')") == "none\n"

    @needs_boxes
    def test_a_box_of_an_ordinary_user_may_hold_another(self, shared_folder: Path) -> None:
        program = (
            "import subprocess, sandbox; box = sandbox.Box('/', sandbox.system_read_only())\n"
            "print(subprocess.check_output(box.argv(box.argv(('echo', 'inside'))), text=True))"
        )
        assert sandbox_as_nobody(shared_folder, program).strip() == "inside"

    def test_it_says_which_package_is_missing(self, tmp_path: Path) -> None:
        program = f"from untildone.system.box import sandbox; sandbox.SYSTEM_FOLDERS = (); {SELF_TEST}"
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=30)
        assert "install the package `bubblewrap`" in ended.stdout

    @pytest.mark.parametrize(
        ("script", "sentence"),
        [
            ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new name"),
            ("exit 0", "a box says nothing"),
            (
                'while [ "$1" != -- ]; do [ "$1" != --chdir ] || cd "$2"; shift; done; shift; exec "$@"',
                "a hidden folder is visible",
            ),
        ],
    )
    def test_a_bubblewrap_that_does_not_hold_is_found_out(self, tmp_path: Path, script: str, sentence: str) -> None:
        fake = tmp_path / "bwrap"
        fake.write_text(f"#!/bin/sh\n{script}\n")
        fake.chmod(0o755)
        program = f"from untildone.system.box import sandbox; sandbox.SYSTEM_FOLDERS = (); {SELF_TEST}"
        path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, timeout=30)
        assert sentence in ended.stdout
