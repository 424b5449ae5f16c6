"""Objects of a git repository: the tree of a commit, and whether the objects of a snapshot still exist."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from functools import lru_cache

from untildone.workspace.git import git, git_folders, line_of

_DELETED, _SUBMODULE = b"000000", b"160000"
"""Modes in the output of `git diff-tree`."""


@lru_cache(maxsize=4096)
def tree_of(root: str, commit: str) -> str:
    """The tree of a commit, which never changes."""
    return line_of(git(root, "rev-parse", f"{commit}^{{tree}}"))


def empty_tree(like: str) -> str:
    """The name of the empty tree, in the same hash function as the object name `like`."""
    return hashlib.new("sha256" if len(like) == 64 else "sha1", b"tree 0\0").hexdigest()


def made_since(root: str, commit: str | None, tree: str) -> Mapping[bytes, str]:
    """The objects of `tree` that `commit` does not contain, by path. No ref protects them, so `git gc` may delete them."""
    form = ("-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames")
    listed = git(root, "diff-tree", *form, commit or empty_tree(tree), tree).split(b"\0")
    rows = ((facts.split(), path) for facts, path in zip(listed[::2], listed[1::2], strict=False))
    made = {path: name.decode() for (_, mode, _, name, _), path in rows if mode not in (_DELETED, _SUBMODULE)}
    return {**made, b"": tree}


def are_there(root: str, names: Collection[str]) -> bool:
    """Whether all of these objects exist. Most are loose files, which need no git process to find."""
    folder = git_folders(root)[-1] if names else ""
    others = [name for name in names if not os.path.exists(os.path.join(folder, "objects", name[:2], name[2:]))]
    if not others:
        return True
    answer = git(root, "cat-file", "--batch-check", stdin="".join(f"{name}\n" for name in others).encode())
    return b" missing\n" not in answer
