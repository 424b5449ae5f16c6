"""What surrounds a reviewer: what it is shown of the work, and a checkout of its own in which it reads.

The reviewer must not depend on anything that the worker can still change or has left for it: it reads the claimed tree out of the shadow
repository, without the files that steer agents, and where boxes hold, its checkout lies read-only at the workspace's own path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice
from untildone.core.protection.sandbox import Sandbox
from untildone.engine import boxes
from untildone.engine.boxes import planning
from untildone.engine.place import CHECKOUT, Place
from untildone.engine.verdicts import comparing, keeping_back
from untildone.gates.review import shown
from untildone.gates.review.shown import Changed, Work
from untildone.system import state_folder
from untildone.system.box.sandbox import Box
from untildone.workspace.git import GitFailed, git
from untildone.workspace.look import Workspace
from untildone.workspace.rooms.contents import copy
from untildone.workspace.rooms.toolchain.caches import is_below
from untildone.workspace.shadow import Change, NoSnapshot, Shadow

MOST_PATCHED = 2_000
"""Files of which a diff is made. There is no room to show more."""
MOST_LINES = 20_000
"""A file with more changed lines than this is listed and not shown."""


def work(workspace: Workspace, loop: Loop) -> Work:
    """What the agent changed since the loop began, up to its claim."""
    try:
        loop = keeping_back.without(loop, workspace.shadow)
    except NoSnapshot as problem:
        return Work(problem=str(problem))
    start, claimed = loop.start.tree, loop.changes.tree
    if not start or not claimed:
        return Work(problem=workspace.problem or "no snapshot of it was taken.")
    try:
        return _compared(workspace.shadow, loop, start, claimed)
    except NoSnapshot as problem:
        return Work(problem=str(problem))


def steered(workspace: Workspace, loop: Loop) -> str:
    """Why a fork of the worker's session would be steered by the worker: its session read files that the worker changed; else empty."""
    start, claimed = loop.start.tree, loop.changes.tree
    if not start or not claimed:
        return "it is not known what changed in the workspace."
    names = agents.steering_files()
    try:
        changed = [
            change.path for change in workspace.shadow.changed(start, claimed) if agents.steers(change.path, names)
        ]
    except NoSnapshot as problem:
        return str(problem)
    return (
        f"the agent changed files that steer its session: {', '.join(map(shown.plain, changed[:5]))}."
        if changed
        else ""
    )


def _compared(shadow: Shadow, loop: Loop, start: str, claimed: str) -> Work:
    changes = {change.path: change for change in shadow.changed(start, claimed)}
    judges = _judges(loop, shadow)
    counts = {path: (added, removed) for path, added, removed in shadow.line_counts(start, claimed)}
    files = tuple(_changed(change, counts.get(path, (0, 0)), path in judges) for path, change in changes.items())
    wanted = sorted(
        (file for file in files if file.lines <= MOST_LINES), key=lambda file: (shown.rank(file), file.lines)
    )
    paths = sorted((file.path for file in wanted[:MOST_PATCHED]), key=os.fsencode)
    patches = shown.by_file(paths, shadow.patch_of(start, claimed, paths)) if paths else {}
    signs = loop.signs or comparing.signs(loop, shadow, shadow.workspace)
    return Work(files, patches, (*(each.sentence for each in loop.refused), *signs), _ignored(shadow))


def _judges(loop: Loop, shadow: Shadow) -> frozenset[str]:
    """Judge files that changed or are new, approved ones too."""
    found = comparing.compared(loop, shadow, shadow.workspace, loop.settings.checks).survey
    return frozenset(file.path for file in (*found.changed, *found.added, *found.approved))


def _ignored(shadow: Shadow) -> tuple[str, ...]:
    """Ignored files that are new or changed, and how many of them are in folders of packages."""
    ignored = shadow.ignored_changes()
    packages = (f"{folder}/: {count} files" for folder, count in ignored.packages.items())
    return (*ignored.new, *ignored.changed, *packages)


def _changed(change: Change, lines: tuple[int, int], judges: bool) -> Changed:  # noqa: FBT001
    how = "new" if change.before is None else "deleted" if change.after is None else "changed"
    return Changed(change.path, how, *lines, binary=lines == (0, 0) and _has_content(change), judges=judges)


def _has_content(change: Change) -> bool:
    """Whether the content differs, and not only the mode: without a line that differs, the file is binary or empty."""
    before, after = change.before, change.after
    return before is None or after is None or before.blob != after.blob


_CHECKED_OUT = """\
Your folder, {folder}, is a checkout of the workspace as the agent left it. {paths}Files that steer agents are not in it{names}."""
_OTHER_PATHS = "Paths below {root} in the agent's messages mean the same files there. "


def place(workspace: Workspace, loop: Loop, choice: AgentChoice, environment: Mapping[str, str]) -> Place:
    """A checkout of the claimed tree. What the reviewer writes there is thrown away. Without a snapshot, the workspace itself.

    UsageError if there is no box for the reviewer, and there must be one."""
    if not loop.changes.tree:
        return _in_place(workspace, loop, workspace.problem or "there is no snapshot of it.")
    try:
        telling = keeping_back.telling(loop, workspace.shadow)
        loop = keeping_back.without(loop, workspace.shadow)
        copied, left_out = checked_out(workspace.shadow, loop, loop.changes.tree or "", environment)
    except (NoSnapshot, GitFailed, OSError) as problem:
        return _in_place(workspace, loop, f"it cannot be checked out: {problem}")
    return _placed(workspace, loop, choice, environment, str(copied.files), left_out, telling)


def _in_place(workspace: Workspace, loop: Loop, problem: str) -> Place:
    return _unboxed(loop, Place(workspace.path), f"The supervisor looks at the workspace itself: {problem}")


def _unboxed(loop: Loop, place: Place, note: str) -> Place:
    """The place with the note why it has no box. UsageError if the settings require a box, or if the supervisor could read tests that
    are kept back from agents."""
    if keeping_back.share(loop) is not None:
        raise UsageError(
            f"{note} Tests that are kept back can be read there.", "name a folder with --held-out, or leave it out"
        )
    if loop.settings.sandbox is Sandbox.ON:
        raise UsageError(note, "allow it with --sandbox auto")
    return replace(place, notes=(note,))


def checked_out(
    shadow: Shadow, loop: Loop, tree: str, environment: Mapping[str, str], name: str = CHECKOUT
) -> tuple[copy.Copy, tuple[str, ...]]:
    """The copy of the tree, and the files that steer agents, which are left out of it. It is kept for the next question."""
    names = agents.steering_files()
    steering = tuple(path for path in shadow.files(tree) if agents.steers(path, names))
    tree = shadow.write_tree(tree, dict.fromkeys(steering))
    copied = copy.Copy(shadow, Path(state_folder.made("rooms", loop.loop_id, name, environment=environment)))
    copied.become(tree, shadow.files(tree).keys(), copy.nothing)
    # Programs look for memory files in the folders above, up to the top of a repository.
    git(str(copied.files), "init", "--quiet", "--template=")
    return copied, steering


def _placed(
    workspace: Workspace,
    loop: Loop,
    choice: AgentChoice,
    environment: Mapping[str, str],
    files: str,
    left_out: tuple[str, ...],
    telling: tuple[str, ...],
) -> Place:
    start = workspace.shadow.start
    root = start.root if start else workspace.path
    folder = os.path.normpath(os.path.join(files, os.path.relpath(workspace.path, root)))
    os.makedirs(folder, exist_ok=True)
    box, note = _box(workspace, loop, choice, environment, root, files, telling)
    paths = "" if box else _OTHER_PATHS.format(root=root)
    names = (
        f": {', '.join(map(shown.plain, left_out[:10]))}{' and others' if len(left_out) > 10 else ''}"
        if left_out
        else ""
    )
    where = _CHECKED_OUT.format(folder=box.folder if box else folder, paths=paths, names=names)
    made = Place(folder, box, (), where)
    return _unboxed(loop, made, note) if note else made


def _box(
    workspace: Workspace,
    loop: Loop,
    choice: AgentChoice,
    environment: Mapping[str, str],
    root: str,
    files: str,
    telling: tuple[str, ...],
) -> tuple[Box | None, str]:
    """The reviewer's box, which shows the checkout read-only in the place of the workspace; or why there is none."""
    held = boxes.containment(loop.settings)
    if not held.boxed:
        why = held.reason or ("the sandbox is off." if keeping_back.share(loop) is not None else "")
        return None, f"The supervisor is in no box: {why}" if why else ""
    home = os.path.realpath(boxes.home_of(environment))
    if is_below(home, root):
        return None, f"The supervisor is in no box: its own files are inside of {root}."
    name = os.path.join(loop.loop_id, "review")
    plan = planning.plan_for(
        loop.settings, workspace.path, choice, environment, name, root=root, checkout=files, telling=telling
    )
    return boxes.box_of(plan), ""
