"""Installs each tool into its own folder in the user's cache, with pip or npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from proof.compare.pinned import PACKAGES, Package

PATIENCE = 900.0
STAMP = ".complete"


def log(text: str) -> None:
    """Print to standard error; only the table goes to standard output."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def root() -> Path:
    chosen = os.environ.get("UNTILDONE_COMPARE_DIR")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) if chosen else cache / "untildone" / "compare"


def folder(package: Package) -> Path:
    return root() / package.folder


def programs(package: Package) -> Path:
    """The folder of its programs."""
    return folder(package) / ("bin" if package.registry == "pip" else "node_modules/.bin")


def is_installed(package: Package) -> bool:
    return (folder(package) / STAMP).exists()


def reason_not_installed(package: Package) -> str:
    """Why the package is not installed: the error of the last attempt, if there was one."""
    failure = root() / f"{package.folder}.failed"
    reason = failure.read_text() if failure.exists() else "`python -m proof.compare --install` installs it"
    return f"{package.version} is not installed: {reason}"


def install_all() -> None:
    for package in PACKAGES:
        if not is_installed(package):
            install(package)


def install(package: Package) -> None:
    """Install a package. The stamp file is written last, so that an interrupted installation is repeated."""
    place, error_file = folder(package), root() / f"{package.folder}.failed"
    log(f"Installing {package.name} {package.version} into {place}")
    shutil.rmtree(place, ignore_errors=True)
    error_file.unlink(missing_ok=True)
    place.mkdir(parents=True)
    try:
        for command in commands(package, place):
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
            )
        (place / STAMP).touch()
    except (subprocess.SubprocessError, OSError) as failure:
        shutil.rmtree(place, ignore_errors=True)
        error_file.write_text(last_line(failure))
        log(f"{package.name} could not be installed: {last_line(failure)}")


def commands(package: Package, place: Path) -> list[list[str]]:
    if package.registry == "pip":
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", *quiet]
        return [
            [sys.executable, "-m", "venv", str(place)],
            [*pip, f"{package.name}=={package.version}", *package.extra_requirements],
        ]
    npm = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    return [[*npm, f"{package.name}@{package.version}", *package.extra_requirements]]


def last_line(failure: Exception) -> str:
    output = (failure.stderr or "") if isinstance(failure, subprocess.CalledProcessError) else str(failure)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(failure).__name__
