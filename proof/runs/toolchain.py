"""A small Python environment for the checks of a run: pytest and little else, so that it starts quickly and may be tampered with."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
XDIST = ("pytest-xdist", "execnet")
COVERAGE = ("pytest-cov", "coverage")


def make(folder: Path, distributions: Iterable[str] = PYTEST, *, system_site: bool = False) -> Path:
    """Make an environment with copies of distributions that are installed here; return its folder of programs."""
    venv.EnvBuilder(symlinks=True, with_pip=False, system_site_packages=system_site).create(folder)
    for name in distributions:
        _copy(name, site_packages(folder))
    programs = folder / "bin"
    _script(
        programs / "pytest",
        f"#!{programs / 'python'}\nimport sys\nfrom pytest import main\nsys.exit(main())\n",
    )
    _script(programs / "untildone", f'#!/bin/sh\nexec {sys.executable} -m untildone "$@"\n')
    return programs


def site_packages(folder: Path) -> Path:
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _copy(name: str, target: Path) -> None:
    for file in importlib.metadata.files(name) or ():
        if file.parts[0] != ".." and (source := Path(str(file.locate()))).exists():
            place = target / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@cache
def other_programs() -> tuple[str, ...]:
    """Folders of the other programs that checks use: those of Rust without its launcher, which needs the real home folder."""
    folders = ["/usr/local/bin", "/usr/bin", "/bin"]
    if shutil.which("rustc"):
        asked = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, timeout=60, check=False)
        if asked.returncode == 0:
            folders.insert(0, os.path.join(asked.stdout.strip(), "bin"))
    return tuple(folders)
