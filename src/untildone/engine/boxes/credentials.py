"""Credentials of other projects: files with logins that lie beside the code of a project, or beside programs. A bounded walk finds them."""

from __future__ import annotations

import glob
import os
import re
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from untildone.engine.boxes import home
from untildone.engine.boxes.own_files import text_of
from untildone.store import layout

HIDDEN = (".env", ".envrc", ".netrc", ".pypirc", ".git-credentials")
"""Files that hold logins and little else; `.env.local` and the like too."""
EXAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")
"""Files of these names are published with the code."""
SETTINGS = frozenset({".npmrc", ".yarnrc", ".yarnrc.yml", "gradle.properties"})
"""Settings of a project that may hold logins. A box shows them without these lines; those of git and Bundler too."""
SKIPPED = frozenset({"node_modules", "venv", "site-packages", "__pycache__", "target", "vendor", "snap"})
"""Folders that are not the work of people; those whose name begins with a dot are skipped as well."""
MOST_MODULES = 500
MOST_FOLDERS, DEEPEST = 2_000, 5
"""How many folders are looked at, and how far below the starting point: the nearest first."""


_OF_PROGRAMS = frozenset({
    *SKIPPED, "bin", "lib", "lib64", "libexec", "share", "include", "opt", "versions", "sbin", "shims", "etc", "man", "pkgs", "Cellar",
})  # fmt: skip
"""Folders beside programs that hold parts of them."""
_MANIFESTS = frozenset(
    {
        "package.json",
        "package-lock.json",
        "tsconfig.json",
        "pyproject.toml",
        "Cargo.toml",
        "pyvenv.cfg",
        "manifest.json",
    }
)
_OF_LOGIN = re.compile(r"(?i)(credential|token|keystore|secret|passw)|^(auth|login)\b|^\.netrc$|^id_\w+$|\.key$")
_TEXTS = (
    "",
    ".json",
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".conf",
    ".cfg",
    ".env",
    ".properties",
    ".xml",
    ".txt",
    ".db",
    ".key",
    ".keystore",
)
_PRIVATE_KEY = "PRIVATE KEY-----"
MOST_BESIDE, LARGEST_BESIDE = 300, 1 << 18


@dataclass(frozen=True, slots=True)
class Logins:
    """Files with logins of one folder, as paths."""

    hidden: list[str]
    """Files that hold logins and little else."""
    settings: list[str]
    """Files of which only some lines may hold logins."""


def logins(start: str, without: Collection[str]) -> Iterator[Logins]:
    """Those of a folder and of the folders below it, the nearest first, but for `without` and what lies in there."""
    waiting = deque([(start, 0)])
    for _ in range(MOST_FOLDERS):
        if not waiting:
            return
        folder, depth = waiting.popleft()
        names, below = _listed(folder)
        yield _logins(folder, names)
        if depth < DEEPEST:
            waiting.extend((path, depth + 1) for path in below if path not in without)


def _listed(folder: str) -> tuple[set[str], list[str]]:
    """The names of what lies in a folder, and the folders among it that are looked at. Links are not followed."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError:
        return set(), []
    visible = (entry for entry in listed if entry.name[0] != "." and entry.name not in SKIPPED)
    return {entry.name for entry in listed}, sorted(
        entry.path for entry in visible if entry.is_dir(follow_symlinks=False)
    )


def _logins(folder: str, names: set[str]) -> Logins:
    hidden = [name for name in names if name[0] == "." and name not in EXAMPLES and _is_hidden(name)]
    # What loops of other projects told and did.
    hidden += [layout.FOLDER] if layout.FOLDER in names else []
    settings = [
        *(names & SETTINGS),
        *([".bundle/config"] if ".bundle" in names else []),
        *(_of_git(folder) if ".git" in names else []),
    ]
    return Logins([os.path.join(folder, name) for name in hidden], [os.path.join(folder, name) for name in settings])


def _is_hidden(name: str) -> bool:
    return name in HIDDEN or name.startswith(".env.")


def _of_git(folder: str) -> list[str]:
    """The settings of a repository and of its submodules, whose names may be paths and which may have submodules themselves."""
    found, waiting = [".git/config", *glob.glob(".git/worktrees/*/config.worktree", root_dir=folder)], [".git/modules"]
    for _ in range(MOST_MODULES):
        if not waiting:
            break
        below = waiting.pop()
        if os.path.isfile(os.path.join(folder, below, "HEAD")):
            found.append(f"{below}/config")
            waiting += [f"{below}/modules"]
        else:
            waiting += glob.glob(f"{glob.escape(below)}/*/", root_dir=folder)
    return [os.path.normpath(path) for path in found]


def sounds_secret(path: str) -> bool:
    """Whether a part of a path is named as what holds logins is."""
    return any(_OF_LOGIN.search(part) or "private" in part.lower() for part in path.split(os.sep))


def beside_programs(package: str) -> Iterator[str]:
    """Files with logins in a folder of programs and in the folders in there: tools keep both in one folder of the home folder."""
    looked_at = 0
    for folder in (package, *_folders_of_data(package)):
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                looked_at += 1
                if looked_at > MOST_BESIDE:
                    return
                if entry.is_file(follow_symlinks=False) and _holds_login(entry):
                    yield entry.path


def _folders_of_data(package: str) -> list[str]:
    with suppress(OSError), os.scandir(package) as entries:
        return sorted(
            each.path for each in entries if each.is_dir(follow_symlinks=False) and each.name not in _OF_PROGRAMS
        )
    return []


def _holds_login(entry: os.DirEntry[str]) -> bool:
    stem, suffix = os.path.splitext(entry.name)
    found = entry.stat()
    is_program = suffix.lower() not in _TEXTS or found.st_mode & 0o111 or entry.name in _MANIFESTS
    if is_program or found.st_size > LARGEST_BESIDE:
        return False
    if _OF_LOGIN.search(stem) or _OF_LOGIN.search(entry.name):
        return True
    text = text_of(entry.path) or ""
    return _PRIVATE_KEY in text or home.without_auth(text) != text
