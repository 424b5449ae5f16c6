"""Boxes in tests: skipped where the machine has none, and run as root and as another user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from untildone.system.box import sandbox

NOBODY = 65534
WITHOUT_BUBBLEWRAP = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", os.devnull, "/usr/bin/bwrap", "--")
"""Begins the command line of a program on a machine without bubblewrap."""


@pytest.fixture
def boxes() -> None:
    """Skips the test if this machine has no boxes."""
    if problem := sandbox.problem():
        pytest.skip(str(problem))


def ran(box: sandbox.Box, script: str, environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Exit code and output, errors too, of a shell script in a box."""
    command = box.argv(("/bin/sh", "-c", script))
    ended = subprocess.run(
        command,
        env={"PATH": os.environ["PATH"], **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    return ended.returncode, ended.stdout.decode(errors="replace").strip()


def as_nobody(*command: str) -> tuple[str, ...]:
    """The command, run by an ordinary user if the tests are run by root."""
    if os.geteuid() != 0:
        return command
    return ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command)


def system_python() -> str:
    """An interpreter that an ordinary user can run."""
    path = os.pathsep.join(("/usr/bin", "/usr/local/bin", os.environ["PATH"]))
    return shutil.which("python3", path=path) or sys.executable


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that an ordinary user may enter and write."""
    with tempfile.TemporaryDirectory(prefix="shared-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


def sandbox_as_nobody(folder: Path, program: str) -> str:
    """The output of a Python program that may `import sandbox`, run by an ordinary user in `folder`.

    The user may be unable to enter the folders of this interpreter and of the source, so both are others."""
    shutil.copy(sandbox.__file__, folder / "sandbox.py")
    command = as_nobody(system_python(), "-B", "-c", program)
    environment = {"PATH": os.defpath, "PYTHONPATH": str(folder)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, cwd=folder)
    return ended.stdout + ended.stderr
