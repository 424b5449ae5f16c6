"""Snapshots of a workspace in a repository of untildone's own, the shadow repository.

It lies in the state folder, outside the workspace: one bare git repository for each workspace, with its own configuration. What an agent
does to the person's repository (index flags, filters, replaced objects, another history, no `.git` at all) changes nothing in a snapshot,
and a snapshot changes nothing in the person's repository.

    shadow = Shadow(workspace, environment, loop_id)
    start = shadow.take()                        before the first turn: the rules of that moment are kept for the loop
    claimed = shadow.take(reading=Reading.ALL)   a `Snapshot`; `claimed.tree` is a plain git tree in `shadow.git_dir`
    shadow.changed(start.tree, claimed.tree)     `Change(path, before, after)` for each path
    shadow.files(claimed.tree)                   `{path: File(mode, blob)}`
    shadow.read([file.blob])                     `{blob: content}`
    shadow.write_tree(claimed.tree, {"tests/a.py": start_file, "new.txt": Content(PLAIN, b"..."), "gone.txt": None})
    shadow.git_changes()                         what changed in `.git` since the start, in sentences
    shadow.ignored_changes()                     ignored files that are new or changed since the start

All paths are relative to `Snapshot.root`, as text by `os.fsdecode`. Everything raises `NoSnapshot` when it cannot be done.
"""

from untildone.workspace.shadow.facts import GitChange
from untildone.workspace.shadow.ignored import IgnoredChanges
from untildone.workspace.shadow.shadow import Shadow
from untildone.workspace.shadow.trees import patch_options
from untildone.workspace.shadow.values import (
    LINK,
    PLAIN,
    PROGRAM,
    Change,
    Content,
    File,
    NoSnapshot,
    Reading,
    Snapshot,
    Unkept,
    Why,
)

__all__ = [
    "LINK",
    "PLAIN",
    "PROGRAM",
    "Change",
    "Content",
    "File",
    "GitChange",
    "IgnoredChanges",
    "NoSnapshot",
    "Reading",
    "Shadow",
    "Snapshot",
    "Unkept",
    "Why",
    "patch_options",
]
