"""Digests of the files whose changes a person approves."""

from __future__ import annotations

import os

from untildone.core.errors import UsageError
from untildone.core.loop import Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.workspace.shadow import Shadow


def contents_of(loop: Loop, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Digests of the present contents, so that the approval of a file does not cover a later change of it."""
    from untildone.workspace import approvals
    from untildone.workspace.shadow import Shadow

    if loop.settings.remote is not None:
        return _published_contents(loop, paths)
    shadow = Shadow(loop.settings.workspace, loop_id=loop.loop_id)
    root = shadow.start.root if shadow.start else loop.settings.workspace
    _refuse_unknown(loop, paths, shadow, root)
    return approvals.contents(paths, root)


def _refuse_unknown(loop: Loop, paths: tuple[str, ...], shadow: Shadow, root: str) -> None:
    """Raise UsageError if a path names no file that was changed or could have been: nothing would be approved."""
    from untildone.workspace.shadow import NoSnapshot

    refused = {path for result in loop.gates for path in result.tampered}
    try:
        files = {path for tree in (loop.start.tree, loop.changes.tree) if tree for path in shadow.files(tree)}
    except NoSnapshot:
        return
    for path in paths if files else ():
        full = os.path.join(root, path)
        if path in refused or path in files:
            continue
        if path == os.curdir or any(file.startswith(f"{path}/") for file in files):
            raise UsageError(f"{path} is a folder with files of the work.", "name the files: each is approved as it is")
        if not os.path.lexists(full):
            where = "in the workspace, and there was none when the loop began"
            raise UsageError(f"There is no {path} {where}.", "name it as the refusal does")


def _published_contents(loop: Loop, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Digests of what a loop of a cluster has published. Programs and packages of its machine cannot be seen from here."""
    from untildone.operations import look

    with look.place_of(loop) as place:
        return tuple(_published_content(loop, path, place) for path in paths)


def _published_content(loop: Loop, path: str, place: str) -> str:
    """The digest of a published file. A file that the work has deleted is approved as deleted: any later content is another change."""
    from untildone.workspace import approvals
    from untildone.workspace.git import holds

    if os.path.isabs(path):
        return approvals.UNKNOWN
    was_there = os.path.lexists(os.path.join(place, path)) or holds(place, loop.start.head or "HEAD", path)
    return approvals.content(os.path.join(place, path)) if was_there else approvals.UNKNOWN
