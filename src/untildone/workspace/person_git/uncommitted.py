"""Which files of a snapshot differ from the person's last commit. Compares contents, so that no flag of an index can hide a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from untildone.workspace.git import QUICK_SECONDS, GitFailed, git, root_of
from untildone.workspace.shadow import NoSnapshot, Shadow
from untildone.workspace.shadow.values import File

_CONVERTS = re.compile(rb"\b(filter|working-tree-encoding)=|\bident\b")
"""Attributes with which a file in a commit is not what it is in the work tree."""
_LINKED_REPOSITORY = "160000"


def uncommitted(path: str, shadow: Shadow, tree: str) -> frozenset[str] | None:
    """The paths that differ between the last commit and a snapshot; None if there is no commit, or if they are unknown."""
    root = root_of(path)
    try:
        committed = None if root is None else _committed(root)
        files = shadow.files(tree)
        if committed is None or _are_converted(shadow, files):
            return None
    except (GitFailed, NoSnapshot, ValueError):
        return None
    now = {name: (file.mode, file.blob) for name, file in files.items()}
    return frozenset(name for name in committed.keys() | now.keys() if committed.get(name) != now.get(name))


def _committed(root: str) -> dict[str, tuple[str, str]]:
    """Mode and content of each file in the last commit."""
    listed = git(root, "ls-tree", "-r", "-z", "--full-tree", "HEAD", seconds=QUICK_SECONDS)
    rows = (row.partition(b"\t") for row in listed.split(b"\0") if row)
    files = ((facts.decode().split(), os.fsdecode(name)) for facts, _, name in rows)
    return {name: (mode, blob) for (mode, _, blob), name in files if mode != _LINKED_REPOSITORY}


def _are_converted(shadow: Shadow, files: Mapping[str, File]) -> bool:
    """Whether git converts some files on their way into a commit."""
    blobs = {file.blob for name, file in files.items() if name.rpartition("/")[2] == ".gitattributes"}
    return any(_CONVERTS.search(text) for text in shadow.read(blobs).values())
