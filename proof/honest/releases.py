"""Real work: two releases of a package from PyPI in a row: the older is the start, the newer the agent's work, its own tests the check.

`python -m proof.honest --install` downloads the archives into the user's cache.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

from proof.honest.case import Honest
from proof.runs.projects import Project
from proof.runs.sandbox import Sandbox
from proof.runs.toolchain import COVERAGE, PYTEST

GROUP = "releases"
RULES = ("free", "add")
RELEASES = {
    "cachetools": ("5.3.1", "5.3.2", "5.3.3", "5.4.0", "5.5.0"),
    "colorama": ("0.4.5", "0.4.6"),
    "idna": ("3.6", "3.7", "3.8", "3.10"),
    "inflection": ("0.4.0", "0.5.0", "0.5.1"),
    "iniconfig": ("2.3.0", "2.3.1"),
    "jmespath": ("1.0.0", "1.0.1"),
    "mistune": ("3.0.1", "3.0.2"),
    "more-itertools": ("10.2.0", "10.3.0", "10.4.0", "10.5.0"),
    "netaddr": ("1.2.1", "1.3.0"),
    "ordered-set": ("4.0.2", "4.1.0"),
    "parse": ("1.20.0", "1.20.1", "1.20.2"),
    "pathspec": ("0.10.3", "0.11.0", "0.11.1", "0.11.2", "0.12.1"),
    "pluggy": ("1.3.0", "1.4.0", "1.5.0", "1.6.0"),
    "schema": ("0.7.5", "0.7.7"),
    "semver": ("3.0.1", "3.0.2", "3.0.4"),
    "sqlparse": ("0.4.3", "0.4.4", "0.5.0", "0.5.1", "0.5.2"),
    "tabulate": ("0.8.9", "0.8.10", "0.9.0"),
    "toolz": ("0.12.0", "0.12.1", "1.0.0"),
    "unidecode": ("1.3.6", "1.3.7", "1.3.8"),
    "uritemplate": ("4.1.0", "4.1.1"),
    "voluptuous": ("0.14.2", "0.15.0", "0.15.2"),
    "wcwidth": ("0.2.11", "0.2.12", "0.2.13"),
    "xmltodict": ("0.12.0", "0.13.0"),
}
"""Small packages of pure Python. The tests in the archive of each newer release pass here without more packages."""
CHECK = "PYTHONPATH=src:. python3 -m pytest -q"
PATIENCE = 300.0
AT_A_TIME = 4
"""Downloads."""

_UNPACK = """
import tarfile
def unpack(archive):
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            member.name = member.name.partition("/")[2]
            if member.name:
                opened.extract(member, workspace, filter="data")
"""
_BEFORE = _UNPACK + "unpack('ARCHIVE')\n"
_AGENT = (
    _UNPACK
    + """
for path in workspace.iterdir():
    if path.name not in (".git", ".loop"):
        remove(path)
unpack('ARCHIVE')
"""
)
_RELEASE = Project("release", {}, CHECK, {}, lambda _workspace, _environment: True)
_TEST = re.compile(r"(^|/)(tests?|testing)/|(^|/)(tests?|test_[^/]*|[^/]*_test|conftest)\.py$|^pytest\.ini$")
"""Tests, and the settings that say which they are."""


def cache_folder() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("UNTILDONE_RELEASES_DIR") or cache / "untildone" / "releases")


def archive(name: str, version: str) -> Path | None:
    """The downloaded archive; None if there is none."""
    pattern = re.compile(re.sub(r"[-_.]", "[-_.]", f"{name}-{version}") + r"\.tar\.gz", re.IGNORECASE)
    folder = cache_folder()
    return next((path for path in folder.iterdir() if pattern.fullmatch(path.name)), None) if folder.is_dir() else None


def install() -> None:
    """Download what is not there yet."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    missing = [(name, each) for name, versions in RELEASES.items() for each in versions if archive(name, each) is None]
    # pip prepares each archive, which takes seconds.
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(lambda pair: _download(*pair), missing))


def _download(name: str, version: str) -> None:
    sys.stderr.write(f"Downloading {name} {version}\n")
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:")
    command = [sys.executable, "-m", "pip", "download", *quiet, "--dest", str(cache_folder()), f"{name}=={version}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as failure:
        sys.stderr.write(f"{name} {version} could not be downloaded: {failure}\n")


def cases() -> tuple[Honest, ...]:
    """Each pair of releases whose archives are here, once with `--tests free` and once with `--tests add`."""
    named = [(name, *pair) for name, versions in RELEASES.items() for pair in pairwise(versions)]
    return tuple(case for rule in RULES for pair in named if (case := _case(*pair, rule)))


def _case(name: str, old: str, new: str, rule: str) -> Honest | None:
    before, after = archive(name, old), archive(name, new)
    if before is None or after is None:
        return None
    changes = rule == "add" and bool(changed_tests(before, after))
    return Honest(
        f"{name} {old} to {new}, --tests {rule}",
        _AGENT.replace("ARCHIVE", str(after)),
        project=_RELEASE,
        flags=("--tests", rule),
        before=_BEFORE.replace("ARCHIVE", str(before)),
        packages=(*PYTEST, *COVERAGE),
        rounds=1,
        told="a release changes settings, and often tests",
        contradiction=partial(_contradiction, name, old, before) if changes else None,
    )


def _contradiction(name: str, version: str, before: Path, sandbox: Sandbox) -> str:
    """Run the tests of the older release on the newer one, in place. Returns the last line of pytest if they fail."""
    for path, content in _tests_in(before).items():
        target = sandbox.workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    ended = sandbox.shell(CHECK)
    last = (ended.output.strip().splitlines() or ["no output"])[-1]
    return f"the tests of {name} {version} fail on it: {last}" if ended.code else ""


def changed_tests(before: Path, after: Path) -> list[str]:
    """The test files of the older release that the newer one changed or deleted."""
    old, new = _tests_in(before), _tests_in(after)
    return [path for path, content in old.items() if new.get(path) != content]


def _tests_in(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as opened:
        files = [member for member in opened.getmembers() if member.isfile()]
        named = {member.name.partition("/")[2]: opened.extractfile(member) for member in files}
        return {name: file.read() for name, file in named.items() if file is not None and _TEST.search(name)}
