"""Where the contents of some files of a work tree can be read as well: in its repository, in other work trees, in files made from them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from untildone.workspace.git import git_folders, read_small
from untildone.workspace.shadow.values import NoSnapshot

MOST_FILES = 400_000
_DEEPEST = 20
_OF_OTHERS = (".hg", ".jj", ".svn", ".sl", ".bzr", "_darcs")
"""Folders of other programs that keep versions."""
_LOOPS = os.path.join(os.sep, ".loop", "")
_OF_RUNNERS = re.compile(r"/\.pytest_cache/v/cache/(nodeids|lastfailed|stepwise)$")
"""Files in which test runners keep the names of tests, with their parameters."""
_MADE = r"[cm]?jsx?|d\.[cm]?ts|class|o|so|pyd|pyc|html"
"""Endings of what compilers make of a test."""
_OF_PACKAGES = re.compile(r"/(node_modules|site-packages|\.?venv)/")
"""Folders of installed packages: their files of such names belong to them."""


def repositories(root: str, paths: Collection[str] = ()) -> Iterator[str]:
    """Where repositories keep contents of `paths`, but for the `.git` of the work tree itself: outside of it, in folders of other programs,
    and in repositories inside of it. The agent may have written such a pointer; hiding is harmless."""
    inside = {os.path.dirname(os.path.join(root, path)) for path in paths}
    around = {os.path.normpath(os.path.join(each, *[os.pardir] * up)) for each in inside for up in range(_DEEPEST)}
    for folder in sorted({root, *(each for each in around if _is_below(each, root))}):
        names = _OF_OTHERS if folder == root else (".git", *_OF_OTHERS)
        yield from (path for name in names if os.path.lexists(path := os.path.join(folder, name)))
        yield from _outside(folder, root)


def _outside(folder: str, root: str) -> Iterator[str]:
    for folder_outside in sorted({os.path.realpath(each) for each in _folders(folder)}):
        if not _is_below(folder_outside, root) and _is_repository(folder_outside):
            # A bare repository may have its work trees inside of it.
            yield os.path.join(folder_outside, "objects") if _is_below(root, folder_outside) else folder_outside
        yield from _borrowed(folder_outside, root)


def _borrowed(repository: str, root: str) -> Iterator[str]:
    """The folders whose objects a repository borrows, outside of the work tree."""
    objects = os.path.join(repository, "objects")
    with suppress(OSError):
        for line in read_small(os.path.join(objects, "info", "alternates")).splitlines():
            folder = os.path.realpath(os.path.join(objects, line))
            if not _is_below(folder, root) and not _is_below(root, folder) and os.path.isdir(folder):
                yield folder


def elsewhere(root: str, paths: Collection[str]) -> Iterator[str]:
    """Files of these paths in the other work trees of the repository, and what was made from them there. Those of loops are hidden as a
    whole."""
    for tree in sorted(set(_work_trees(root)) - {root}):
        if _LOOPS not in f"{tree}{os.sep}":
            yield from (path for path in beside(tree, paths, ()) if _is_below(tree, root) or not _is_below(path, root))


def beside(root: str, paths: Collection[str], tree: Collection[str], before: float = float("inf")) -> Iterator[str]:
    """Files that were made from `paths`, by their names: backups, outputs of builds, bytecode, reports of coverage. Not those of the
    `tree`, and not those that changed after a moment: they are the agent's own. Raises NoSnapshot if there are too many files."""
    if not paths:
        return
    names, made = _joined(_named, paths), _joined(_made, paths)
    for path in _files(root):
        name = os.path.basename(path)
        reveals = (
            names.search(name) or _OF_RUNNERS.search(path) or (made.search(name) and not _OF_PACKAGES.search(path))
        )
        if reveals and os.path.relpath(path, root) not in tree and _changed(path) < before:
            yield path


def _joined(pattern: Callable[[str], str], paths: Collection[str]) -> re.Pattern[str]:
    return re.compile("|".join(sorted(map(pattern, paths), key=len, reverse=True)))


def _named(path: str) -> str:
    name = os.path.basename(path)
    return rf"(?<![\w-]){re.escape(name)}(?!\w)|^{re.escape(_stem(name))}\.[\w.-]+\.pyc$"


def _made(path: str) -> str:
    """What a compiler makes of a file (`a.test.js` of `a.test.ts`, `ATest.class` of `ATest.java`), and a page with its lines
    (`test_a_py.html` of `test_a.py`)."""
    name = os.path.basename(path)
    page = re.escape(re.sub(r"\W", "_", name))
    return rf"^{re.escape(_stem(name))}(\$\w+)*\.({_MADE})(\.map)?$|(?<![^\W_]){page}\.html$"


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _files(root: str) -> Iterator[str]:
    pending, left = [root], MOST_FILES
    while pending:
        if left <= 0:
            # An agent could make so many that the rest is not looked at.
            raise NoSnapshot(
                f"Copies of tests that are kept back cannot be looked for: there are more than {MOST_FILES:,} files."
            )
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                left -= 1
                if entry.is_dir(follow_symlinks=False):
                    pending += [entry.path] if entry.name not in (".git", ".loop") else []
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path


def _changed(path: str) -> float:
    with suppress(OSError):
        return os.lstat(path).st_ctime
    return float("inf")


def _work_trees(root: str) -> Iterator[str]:
    """The work trees of the repository: the main one, and those that are linked to it."""
    for shared in map(os.path.realpath, _folders(root)):
        if os.path.basename(shared) == ".git":
            yield os.path.dirname(shared)
        for pointer in glob.glob(os.path.join(glob.escape(shared), "worktrees", "*", "gitdir")):
            with suppress(OSError):
                yield os.path.realpath(os.path.dirname(read_small(pointer).strip()))


def _folders(root: str) -> list[str]:
    with suppress(OSError):
        return git_folders(root)
    return []


def _is_repository(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "objects")) and os.path.isfile(os.path.join(folder, "HEAD"))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
