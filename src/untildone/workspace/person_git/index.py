"""Entries of the person's index and trees: read them, and change some of them with git."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from untildone.core.model import EMPTY
from untildone.core.values.value import dataclass
from untildone.workspace.git import QUICK_SECONDS, GitFailed, git, line_of, never

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.system.box.sandbox import Box

LINKED_REPOSITORY = "160000"
"""The mode of a submodule."""
_ABSENT = "000000"

Changes = Mapping[bytes, "Entry | None"]
"""Entries by path; None: there is none."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or submodule in a tree or an index of the person's repository."""

    mode: str
    name: str
    """The name of its content; of a submodule, its commit."""


def head_tree(root: str) -> str:
    """A name for the tree of the last commit; before the first commit, the empty tree."""
    if git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1), seconds=QUICK_SECONDS):
        return "HEAD"
    return _empty_tree(root)


def _empty_tree(root: str) -> str:
    return line_of(git(root, "hash-object", "-t", "tree", "--stdin"))


def committed(root: str) -> dict[bytes, Entry]:
    """The entries of the last commit, by path."""
    rows = git(root, "ls-tree", "-r", "-z", "--full-tree", head_tree(root)).split(b"\0")
    facts = ((row.partition(b"\t")) for row in rows if row)
    return {path: Entry(head[:6].decode(), head.split()[2].decode()) for head, _, path in facts}


def staged(root: str, env: Mapping[str, str] = EMPTY) -> dict[bytes, Entry | None]:
    """The entries of the index that differ from the last commit, by path."""
    form = ("--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    listed = git(root, "diff-index", *form, head_tree(root), "--", env=env).split(b"\0")
    rows = zip(listed[::2], listed[1::2], strict=False)
    return {path: _after(facts.decode().split()) for facts, path in rows}


def _after(facts: list[str]) -> Entry | None:
    _, mode, _, name, *_ = facts
    return None if mode == _ABSENT else Entry(mode, name)


def put(root: str, entries: Changes, env: Mapping[str, str] = EMPTY, box: Box | None = None) -> None:
    """Replace entries of the index. Removed ones come first: a file may make room for a folder."""
    gone = [path for path, entry in entries.items() if entry is None]
    zeros = "0" * len(_empty_tree(root)) if gone else ""
    removed = (f"0 {zeros}\t".encode() + path for path in gone)
    placed = (f"{entry.mode} {entry.name}\t".encode() + path for path, entry in entries.items() if entry is not None)
    rows = b"".join(row + b"\0" for row in (*removed, *placed))
    if rows:
        git(root, "update-index", "-z", "--index-info", env=env, stdin=rows, box=box)


def put_files(
    root: str,
    paths: Iterable[bytes],
    env: Mapping[str, str],
    options: tuple[str, ...],
    wants_out: Callable[[], bool],
    box: Box | None = None,
) -> None:
    """Put files of the work tree into the index, through the filters of the person."""
    names = b"".join(path + b"\0" for path in paths)
    if names:
        command = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
        git(root, *options, *command, env=env, stdin=names, wants_out=wants_out, box=box)


def submodules(root: str, entries: Mapping[bytes, Entry] | None = None) -> dict[bytes, str]:
    """The commit that each submodule is at, by path, as far as it is checked out. `entries` are those of the last commit."""
    links: dict[bytes, str] = {}
    if entries is None and not os.path.lexists(os.path.join(root, ".gitmodules")):
        return links
    with suppress(GitFailed):
        known = committed(root) if entries is None else entries
        for path in (path for path, entry in known.items() if entry.mode == LINKED_REPOSITORY):
            folder = os.path.join(root, os.fsdecode(path))
            if os.path.lexists(os.path.join(folder, ".git")):
                at = git(folder, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1), seconds=QUICK_SECONDS)
                links[path] = line_of(at)
    return {path: commit for path, commit in links.items() if commit}


def is_dirty(folder: str, wants_out: Callable[[], bool] = never, box: Box | None = None) -> bool:
    """Whether a repository has changes that are not committed. Runs its filters."""
    try:
        return bool(git(folder, "status", "--porcelain", seconds=QUICK_SECONDS, wants_out=wants_out, box=box))
    except GitFailed:
        return True
