"""A repository for a room: the person's history, with configuration and hooks as they were when the loop began.

Checks call git: to list files, to name a version. The agent may have put programs into the configuration of the real repository, hidden
files by flags of its index, or replaced objects, so a room has a git folder of its own. Objects are read from the real one.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from pathlib import Path

from untildone.system import disk
from untildone.workspace.git import GitFailed, git, git_folders

OBJECTS = "kept-objects"
"""The folder inside `.git` where the objects of the real repository are mounted."""
_SETTINGS = ("config", "config.worktree", "info", "hooks")
_SAMPLE = ".sample"
"""How the names of hooks end that git does not run."""
_MOST = 8 << 20
"""Bytes. A bigger file of settings is not the person's."""
_REPLACED = "refs/replace/"
MOST_REFS = 64 << 20
"""Bytes of the packed references that a room gets."""
_ELSEWHERE = re.compile(rb"^\s*(bare|worktree)\s*=", re.MULTILINE | re.IGNORECASE)
_rewritten: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
"""The stamps of indexes and of the copies that this process made of them. A copy of another process may be an agent's."""
_HERE = b"\n[core]\n\tbare = false\n\tworktree = ..\n"


def keep_settings(root: str, folder: Path) -> str:
    """Copy configuration, hooks and rules of the repository at `root`, if there is one. Returns `settings_digest` of them."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(os.path.join(root, ".git")):
        folder.mkdir(parents=True)
        own, *shared = _folders(root)
        for name in _SETTINGS:
            _copy(shared[-1] if shared and name != "config.worktree" else own, folder, name)
    return settings_digest(folder)


def settings_digest(folder: Path) -> str:
    """A hash of kept settings: of the names, permissions and contents of all files."""
    summed = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        summed.update(b"%b\0%o %d\0%b" % (os.fsencode(path.relative_to(folder)), status.st_mode, len(content), content))
    return summed.hexdigest()


def _folders(root: str) -> list[Path]:
    """The folder of this work tree and, for a linked one, the folder that it shares."""
    return [Path(root, folder) for folder in git_folders(root)]


def _copy(source: Path, target: Path, name: str) -> None:
    """Copy a file, or all files below a folder. Links are not followed, and what is no file or too big is left out."""
    try:
        status = os.lstat(source / name)
        if stat.S_ISDIR(status.st_mode):
            (target / name).mkdir(parents=True, exist_ok=True)
            for entry in os.scandir(source / name):
                if not entry.name.endswith(_SAMPLE):
                    _copy(source, target, os.path.join(name, entry.name))
        elif stat.S_ISREG(status.st_mode) and status.st_size <= _MOST:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name, follow_symlinks=False)
    except FileNotFoundError:
        return


def make(root: str, settings: Path, target: Path) -> Path | None:
    """Make a git folder in `target` for a copy of the work tree `root`. Returns the folder of the real objects, to be mounted at
    `OBJECTS` in it; None: there was no repository at the start, or there is none now."""
    shutil.rmtree(target, ignore_errors=True)
    if not settings.is_dir() or not os.path.lexists(os.path.join(root, ".git")):
        return None
    try:
        own, *shared = _folders(root)
        common = shared[-1] if shared else own
        shutil.copytree(settings, target)
        _settle(target / "config")
        _copy(own, target, "HEAD")
        _copy(common, target, "shallow")
        _copy_refs(common, target)
        (target / OBJECTS).mkdir()
        (target / "objects" / "info").mkdir(parents=True)
        (target / "objects" / "info" / "alternates").write_text(f"../{OBJECTS}\n", encoding="ascii")
        _copy_index(own / "index", target)
    except (OSError, ValueError, GitFailed):
        shutil.rmtree(target, ignore_errors=True)
        return None
    return (common / "objects").resolve()


def _settle(config: Path) -> None:
    """Make the configuration one of a repository whose work tree is the folder around it."""
    content = config.read_bytes() if config.exists() else b""
    if _ELSEWHERE.search(content):
        config.write_bytes(content + _HERE)


def _copy_refs(common: Path, target: Path) -> None:
    (target / "refs").mkdir()
    for entry in os.scandir(common / "refs"):
        if entry.name != "replace":
            _copy(common, target, f"refs/{entry.name}")
    packed = common / "packed-refs"
    if packed.is_file():
        lines = disk.read_promptly(packed, MOST_REFS).splitlines(keepends=True)
        (target / "packed-refs").write_bytes(b"".join(line for line in lines if _REPLACED.encode() not in line))


def _copy_index(index: Path, target: Path) -> None:
    """Copy the entries of an index without their flags, by which an agent could hide changes. A copy is kept for the next room."""
    if not index.is_file():
        return
    kept = target.with_name("git-index")
    stamps = (_stamp(index), _stamp(kept) if kept.is_file() else ())
    if _rewritten.get(str(kept)) != stamps:
        _rewrite(index, kept, target)
        _rewritten[str(kept)] = (_stamp(index), _stamp(kept))
    shutil.copy(kept, target / "index")


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.lstat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _rewrite(index: Path, kept: Path, folder: Path) -> None:
    here = {"GIT_DIR": str(folder), "GIT_WORK_TREE": str(folder.parent)}
    listed = git(str(folder.parent), "ls-files", "--stage", "-z", env={**here, "GIT_INDEX_FILE": str(index)})
    kept.unlink(missing_ok=True)
    own = {**here, "GIT_INDEX_FILE": str(kept)}
    git(str(folder.parent), "update-index", "-z", "--index-info", env=own, stdin=listed)
