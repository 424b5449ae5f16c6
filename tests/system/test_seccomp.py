"""The filter of system calls in boxes: keys of the kernel are refused, ordinary programs run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.support.boxes import boxes, ran

from untildone.system.box import sandbox, seccomp

__all__ = ["boxes"]

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
