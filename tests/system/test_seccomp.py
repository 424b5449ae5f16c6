"""The filter of system calls in boxes: keys of the kernel are refused, control groups stay as they are, ordinary programs run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.boxes import boxes, ran, sandbox_as_nobody, shared_folder

from untildone.system.box import sandbox, seccomp

__all__ = ["boxes", "shared_folder"]

pytestmark = [
    pytest.mark.usefixtures("boxes"),
    pytest.mark.skipif(not seccomp.program(), reason="there is no filter for this kind of machine"),
]
ADD_KEY = {"x86_64": 248, "aarch64": 217}.get(os.uname().machine, 0)
KEYS = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in range({ADD_KEY}, {ADD_KEY} + 3):
    print(libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno())
"""
TYPES = """
import ctypes, os, pty
libc = ctypes.CDLL(None, use_errno=True)
_, terminal = pty.openpty()
print(libc.ioctl(terminal, 0x5412, b"x"), ctypes.get_errno(), os.isatty(terminal))
"""


def box(filter_file: str) -> sandbox.Box:
    return sandbox.Box("/", sandbox.system_read_only(), filter=filter_file)


@pytest.fixture
def filter_file(tmp_path: Path) -> str:
    path = tmp_path / "filter"
    path.write_bytes(seccomp.program())
    return str(path)


def test_keys_of_the_kernel_are_refused(filter_file: str, tmp_path: Path) -> None:
    script = tmp_path / "keys.py"
    script.write_text(KEYS)
    code, output = ran(box(filter_file), f"{sys.executable} -I {script}")
    assert (code, output.splitlines()) == (0, ["-1 1"] * 3)


def test_without_the_filter_the_kernel_answers_otherwise(tmp_path: Path) -> None:
    script = tmp_path / "keys.py"
    script.write_text(KEYS)
    _, output = ran(box(""), f"{sys.executable} -I {script}")
    assert output.splitlines() != ["-1 1"] * 3


def test_typing_into_a_terminal_is_refused_and_terminals_work(filter_file: str, tmp_path: Path) -> None:
    script = tmp_path / "types.py"
    script.write_text(TYPES)
    assert ran(box(filter_file), f"{sys.executable} -I {script}") == (0, "-1 1 True")


def test_nothing_runs_if_the_filter_cannot_be_opened(tmp_path: Path) -> None:
    code, output = ran(box(str(tmp_path / "missing")), "echo ran")
    assert code != 0
    assert output.splitlines()[-1] != "ran"


NEW_GROUPS = "bwrap --ro-bind / / --unshare-user --unshare-cgroup -- echo made"
CALLS_OF_AGENTS = ("--unshare-user --unshare-pid --unshare-net", "--unshare-user --unshare-pid")
"""How codex and claude call bubblewrap, for root without a new `/proc`, which has been covered."""


def test_no_namespace_of_control_groups_is_made(filter_file: str) -> None:
    assert ran(box(""), NEW_GROUPS) == (0, "made")
    code, output = ran(box(filter_file), NEW_GROUPS)
    assert code != 0
    assert "namespace" in output


@pytest.mark.parametrize("options", CALLS_OF_AGENTS)
def test_sandboxes_of_agents_run_inside(filter_file: str, options: str) -> None:
    command = f"bwrap --new-session --die-with-parent --ro-bind / / --dev /dev {options} -- echo inside"
    assert ran(box(filter_file), command) == (0, "inside")


def test_threads_and_processes_start(filter_file: str, tmp_path: Path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(
        "import os, subprocess, threading\nthread = threading.Thread(target=print, args=('thread',))\nthread.start()\nthread.join()\n"
        "print(subprocess.check_output(['echo', 'child'], text=True).strip(), os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1])"
    )
    code, output = ran(box(filter_file), f"{sys.executable} -I {script}")
    assert (code, output.splitlines()) == (0, ["thread", "child 0"])


OUTER = """
import subprocess, sys, sandbox
mounts = (*sandbox.system_read_only(), sandbox.Mount(sandbox.Access.EMPTY, "/var/tmp"))
inner = (sys.executable, "-B", "-c", "import sandbox; print(sandbox.problem() or 'inside')")
command = sandbox.Box("/", mounts, filter="filter").argv(inner)
print(subprocess.run(["env", "TMPDIR=/var/tmp", *command], capture_output=True, text=True).stdout)
"""


def test_a_box_of_ours_runs_inside_of_another_that_has_the_filter(filter_file: str, shared_folder: Path) -> None:
    shutil.copy(filter_file, shared_folder / "filter")
    assert sandbox_as_nobody(shared_folder, OUTER).strip() == "inside"
