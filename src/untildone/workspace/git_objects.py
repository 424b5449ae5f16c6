"""What git keeps in files of its own, read and written without a process: the last commit, its tree, an object of ours.

Only the plain way in which git keeps things is known here: whatever is kept in another way (packed, a reftable), git is asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path

from untildone.system import orphans
from untildone.system.disk import told_as_sentence
from untildone.system.runners import machine
from untildone.workspace.git import git, git_folder, git_folders, line_of

_NAME = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_START = 4096
"""Enough of an object to have its first line."""
MOST_READY = 8
"""Files that are made before there is an object for them."""
_numbers = count()
_GONE, _REPOSITORY = b"000000", b"160000"
"""What git says in the place of a mode: there is no such file any more, or it is in a repository of its own."""


def head_of(root: str) -> str:
    """The commit that the work tree stands at."""
    folder = Path(git_folder(root))
    try:
        told = (folder / "HEAD").read_bytes().strip()
        if told.startswith(b"ref: "):
            told = (folder / os.fsdecode(told.removeprefix(b"ref: "))).read_bytes().strip()
    except OSError:
        told = b""
    return told.decode() if _NAME.fullmatch(told) else line_of(git(root, "rev-parse", "HEAD"))


@lru_cache(maxsize=4096)
def tree_of(root: str, commit: str) -> str:
    """The tree of a commit, which never changes."""
    return _tree_in(root, commit) or line_of(git(root, "rev-parse", f"{commit}^{{tree}}"))


def _tree_in(root: str, commit: str) -> str | None:
    """As the commit's own file says, if it has one."""
    try:
        with open(_path(git_folders(root)[-1], commit), "rb") as file:
            content = zlib.decompressobj().decompress(file.read(), _START).partition(b"\0")[2]
    except (OSError, zlib.error):
        return None
    name = content.partition(b"\n")[0].removeprefix(b"tree ")
    return name.decode() if _NAME.fullmatch(name) else None


class Drafts:
    """Empty files that are made while there is time, for objects to be written when there is none: to make one takes a worn file
    system longer than all else."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._ready: list[str] = []
        self._taken = 0

    def take(self) -> str:
        """Where to write an object. Not into a file that a clone took for an object of git's and shares."""
        self._taken += 1
        while self._ready:
            draft = self._ready.pop()
            with suppress(OSError):
                if os.stat(draft).st_nlink == 1:
                    return draft
                os.unlink(draft)
        return _new_draft(self.folder)

    def make_ready(self) -> None:
        """As many as were needed since the last time."""
        wanted, self._taken = min(self._taken, MOST_READY), 0
        with suppress(OSError):
            while len(self._ready) < wanted:
                draft = _new_draft(self.folder)
                os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
                self._ready.append(draft)

    def close(self) -> None:
        while self._ready:
            with suppress(OSError):
                os.unlink(self._ready.pop())


def write_object(folder: str, kind: str, body: bytes, like: str, drafts: Drafts | None = None) -> str:
    """Write an object into a git folder; its name. `like` is any name that the repository has: it tells the hash in use."""
    name = object_name(kind, body, like)
    path = _path(folder, name)
    if not os.path.exists(path):
        draft = drafts.take() if drafts else _new_draft(folder)
        with told_as_sentence(Path(path)):
            try:
                _put(zlib.compress(_whole(kind, body), 1), draft, path)
            except OSError:
                Path(draft).unlink(missing_ok=True)
                raise
    return name


def _new_draft(folder: str) -> str:
    return os.path.join(folder, "objects", f"{_drafts_of(os.getpid())}_{next(_numbers)}")


@lru_cache(maxsize=1)
def _drafts_of(pid: int) -> str:
    """How the drafts of a process are called. As git names its own: what a crash leaves of them, git removes, if we do not."""
    return f"{_drafts_here()}_{pid}_{_start_of(pid)}"


def _drafts_here() -> str:
    return "tmp_obj_untildone_" + re.sub(r"\W|_", "-", machine())


def _start_of(pid: int) -> str:
    start = orphans.start_of(pid)
    return "gone" if start is None else f"{start:.0f}"


def tidy(folder: str) -> None:
    """Remove the drafts of processes on this machine that are gone."""
    with suppress(OSError), os.scandir(os.path.join(folder, "objects")) as entries:
        for name in [entry.name for entry in entries if entry.name.startswith(f"{_drafts_here()}_")]:
            pid, start = name.split("_")[-3:-1]
            if pid.isdecimal() and _start_of(int(pid)) != start:
                os.unlink(os.path.join(folder, "objects", name))


def _put(content: bytes, draft: str, path: str) -> None:
    with open(draft, "wb") as file:
        file.write(content)
    try:
        os.replace(draft, path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(draft, path)


def read_object(folder: str, name: str) -> bytes | None:
    """What is in an object that has a file of its own."""
    try:
        with open(_path(folder, name), "rb") as file:
            return zlib.decompress(file.read()).partition(b"\0")[2]
    except (OSError, zlib.error):
        return None


def made_since(root: str, commit: str | None, tree: str) -> Mapping[bytes, str]:
    """By their places, the objects of a tree that the commit does not have: nothing keeps git from removing these."""
    form = ("-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames")
    told = git(root, "diff-tree", *form, commit or empty_tree(tree), tree).split(b"\0")
    rows = ((facts.split(), place) for facts, place in zip(told[::2], told[1::2], strict=False))
    made = {place: name.decode() for (_, mode, _, name, _), place in rows if mode not in (_GONE, _REPOSITORY)}
    return {**made, b"": tree}


def are_there(root: str, names: Collection[str]) -> bool:
    """Whether git still has all of these. Most are in files of their own: it is asked only for the others."""
    folder = git_folders(root)[-1] if names else ""
    others = [name for name in names if not os.path.exists(_path(folder, name))]
    if not others:
        return True
    told = git(root, "cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in others).encode())
    return b" missing\n" not in told


def object_name(kind: str, body: bytes, like: str) -> str:
    return hashlib.new("sha256" if len(like) == 64 else "sha1", _whole(kind, body)).hexdigest()


def empty_tree(like: str) -> str:
    """The name of the empty tree, in the hash that the repository uses."""
    return object_name("tree", b"", like)


def _whole(kind: str, body: bytes) -> bytes:
    return b"%b %d\0%b" % (kind.encode(), len(body), body)


def _path(folder: str, name: str) -> str:
    return os.path.join(folder, "objects", name[:2], name[2:])
