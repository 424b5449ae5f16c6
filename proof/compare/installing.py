"""Installs the tools, each into a folder of its own in the user's cache, by name, with the registry's ordinary client."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from proof.compare.pinned import PACKAGES, Package

PATIENCE = 900.0
STAMP = ".complete"


def say(text: str) -> None:
    """Talk; the table alone goes to standard output."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def root() -> Path:
    chosen = os.environ.get("UNTILDONE_COMPARE_DIR")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(chosen) if chosen else cache / "untildone" / "compare"


def folder(package: Package) -> Path:
    return root() / package.folder


def programs(package: Package) -> Path:
    """Where its programs lie."""
    return folder(package) / ("bin" if package.registry == "pip" else "node_modules/.bin")


def is_installed(package: Package) -> bool:
    return (folder(package) / STAMP).exists()


def why_not(package: Package) -> str:
    """Why it is not there: what its client said, if it was tried."""
    said = root() / f"{package.folder}.failed"
    told = said.read_text() if said.exists() else "`python -m proof.compare --install` installs it"
    return f"{package.version} is not installed: {told}"


def install_all() -> None:
    for package in PACKAGES:
        if not is_installed(package):
            install(package)


def install(package: Package) -> None:
    """A stamp comes last, so that what an interrupted run left is done anew: programs name their folder and cannot be moved."""
    place, said = folder(package), root() / f"{package.folder}.failed"
    say(f"Installing {package.name} {package.version} into {place}")
    shutil.rmtree(place, ignore_errors=True)
    said.unlink(missing_ok=True)
    place.mkdir(parents=True)
    try:
        for command in commands(package, place):
            subprocess.run(
                command, check=True, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
            )
        (place / STAMP).touch()
    except (subprocess.SubprocessError, OSError) as failure:
        shutil.rmtree(place, ignore_errors=True)
        said.write_text(last_words(failure))
        say(f"{package.name} could not be installed: {last_words(failure)}")


def commands(package: Package, place: Path) -> list[list[str]]:
    if package.registry == "pip":
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check"]
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", *quiet]
        return [
            [sys.executable, "-m", "venv", str(place)],
            [*pip, f"{package.name}=={package.version}", *package.beside],
        ]
    npm = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    return [[*npm, f"{package.name}@{package.version}", *package.beside]]


def last_words(failure: Exception) -> str:
    said = (failure.stderr or "") if isinstance(failure, subprocess.CalledProcessError) else str(failure)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:200] if lines else type(failure).__name__
