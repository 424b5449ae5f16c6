"""What surrounds an author of acceptance tests: a checkout of the start to write in, and where its tests are kept.

The worker must not find the tests: they go into the shadow repository, in a cluster also into the store for the other machines; the
checkout is removed; and in a box everything else that the author's program writes, such as its sessions, goes into layers that are thrown
away.
"""

from __future__ import annotations

import ast
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from untildone import agents
from untildone.core.answers.authoring import AGAIN, AGAIN_SMALLER
from untildone.core.errors import UsageError
from untildone.core.judging.kinds.classify import has_test_name, is_cache, is_test_source
from untildone.core.loop import Loop
from untildone.core.model import AcceptanceTests, AgentChoice
from untildone.core.protection.sandbox import Sandbox
from untildone.engine import boxes
from untildone.engine.boxes import planning
from untildone.engine.boxes.home_mounts import LAYERS
from untildone.engine.place import BOXES, Place
from untildone.engine.verdicts import proving, reviewing
from untildone.store import packing
from untildone.system import disk, state_folder
from untildone.system.box import sandbox
from untildone.workspace.git import GitFailed
from untildone.workspace.look import Workspace
from untildone.workspace.rooms.contents import copy
from untildone.workspace.rooms.toolchain.caches import is_below
from untildone.workspace.shadow import PLAIN, Content, NoSnapshot, Shadow

NAME = "author"
"""The name of the checkout in the folder of the loop's rooms, and of the box in that of its boxes."""
LONGEST = 1 << 20
"""Bytes of a file that counts, and of a login."""
MOST_BYTES, MOST_NOTES = 64 << 20, 20
"""Of all files of an author, and of the sentences about those that do not count."""

_WHERE = "Your folder, {folder}, is a checkout of the project as it is before the work. Write your tests there."


def place(workspace: Workspace, loop: Loop, choice: AgentChoice, environment: Mapping[str, str]) -> Place:
    """A checkout of the tree of the start, which the author may write. UsageError if there can be none."""
    if not loop.start.tree:
        raise UsageError(
            f"There is no snapshot of the start to write acceptance tests for. {workspace.problem}".rstrip(),
            "leave out --acceptance",
        )
    forget(loop.loop_id, environment)
    try:
        copied, _ = reviewing.checked_out(workspace.shadow, loop, loop.start.tree, environment, NAME)
    except (NoSnapshot, GitFailed, OSError) as problem:
        raise UsageError(f"The start of the loop cannot be checked out: {problem}.", "look at the disk") from problem
    start = workspace.shadow.start
    root = start.root if start else workspace.path
    folder = os.path.normpath(os.path.join(copied.files, os.path.relpath(workspace.path, root)))
    os.makedirs(folder, exist_ok=True)
    return _contained(workspace, loop, choice, environment, root, str(copied.files), folder)


def _contained(
    workspace: Workspace,
    loop: Loop,
    choice: AgentChoice,
    environment: Mapping[str, str],
    root: str,
    files: str,
    folder: str,
) -> Place:
    held = boxes.containment(loop.settings)
    home = os.path.realpath(boxes.home_of(environment))
    if not held.boxed or is_below(home, root):
        why = held.reason or ("its own files are inside of the workspace" if held.boxed else "--sandbox off")
        if loop.settings.sandbox is Sandbox.ON:
            raise UsageError(f"The author of acceptance tests is in no box: {why}.", "allow it with --sandbox auto")
        note = f"The author is in no box ({why}): the worker may find its tests."
        return Place(folder, None, (note,), _WHERE.format(folder=folder))
    name = os.path.join(loop.loop_id, NAME)
    own = state_folder.made(BOXES, loop.loop_id, NAME, environment=environment)
    if not sandbox.has_layers(str(own)):
        raise UsageError(
            "This machine cannot throw away what an author's program writes, so the worker could read its tests.",
            "use --held-out with tests of your own, or --sandbox off",
        )
    plan = planning.plan_for(
        loop.settings, workspace.path, choice, environment, name, root=root, checkout=files, leaves_nothing=True
    )
    box = boxes.box_of(plan)
    return Place(folder, box, (), _WHERE.format(folder=box.folder))


def taken(
    workspace: Workspace,
    loop: Loop,
    choice: AgentChoice,
    environment: Mapping[str, str],
    keep: Callable[[str, str], None],
    *,
    failed: bool,
) -> AcceptanceTests | None:
    """Keep the tests that the author wrote, and remove everything else that it left. None: it failed, or wrote nothing. UsageError if none
    of its files counts, or if they are too large.

    `keep` has the store of a cluster carry a text under a name."""
    _keep_login(loop.loop_id, choice, environment)
    files = Path(state_folder.folder(environment), "rooms", loop.loop_id, NAME, "tree")
    try:
        written = None if failed else _kept(workspace.shadow, loop, choice.profile, str(files))
        if written is not None and loop.settings.remote is not None:
            carry(workspace.shadow, written, keep)
        return written
    except (NoSnapshot, OSError):
        return None
    finally:
        forget(loop.loop_id, environment)


def _kept(shadow: Shadow, loop: Loop, profile: str, folder: str) -> AcceptanceTests | None:
    tree = loop.start.tree or ""
    new = dict(_new(folder, shadow.files(tree)))
    unusable = {path: why for path, content in new.items() if (why := why_unusable(path, content))}
    notes = tuple(f"{path} does not count: {why}." for path, why in sorted(unusable.items())[:MOST_NOTES])
    tests = {path: content for path, content in new.items() if path not in unusable}
    if unusable and not tests:
        raise UsageError(f"{profile} wrote no acceptance tests that count. {' '.join(notes)}", AGAIN)
    if not tests:
        return None
    made = shadow.write_tree(tree, {path: Content(PLAIN, tests[path]) for path in tests}, kept_as="acceptance")
    return AcceptanceTests(profile, made, tuple(sorted(tests)), packing.digest(tests.items()), notes)


def why_unusable(path: str, content: bytes) -> str:
    """Why a file is no acceptance test, as a clause; empty: it is one, or belongs to one."""
    if not _is_test(path):
        return "it is no test by its name"
    if len(content) > LONGEST:
        return "it is too large"
    if not path.endswith(".py"):
        return ""
    try:
        ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"Python cannot read it ({type(error).__name__})"
    return ""


def _is_test(path: str) -> bool:
    return has_test_name(path) or is_test_source(path)


def _new(folder: str, known: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The new files of a checkout by path, each up to a byte more than counts; no links and no pipes, and nothing of files that are no
    tests by their names. UsageError if they are too large together."""
    size = 0
    for path in _files(folder):
        name = os.path.relpath(path, folder)
        if name in known or is_cache(name) or not stat.S_ISREG(os.lstat(path).st_mode):
            continue
        content = disk.read_promptly(Path(path), LONGEST + 1) if _is_test(name) else b""
        size += len(content)
        if size > MOST_BYTES:
            raise UsageError(f"The acceptance tests are too large: more than {MOST_BYTES >> 20} MB.", AGAIN_SMALLER)
        yield name, content


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("__pycache__", ".git"))
        yield from (os.path.join(place, name) for name in sorted(names))


def carry(shadow: Shadow, written: AcceptanceTests, keep: Callable[[str, str], None]) -> None:
    """Have the store of a cluster carry the tests to the other machines. The name has their hash, so that a machine which lost the loop
    meanwhile replaces nothing. Raises NoSnapshot, and UsageError if they are too large."""
    try:
        text = packing.packed(_snapshot(shadow, written).items(), f"The acceptance tests by {written.profile}")
    except UsageError as problem:
        raise UsageError(problem.sentence, AGAIN_SMALLER) from problem
    keep(proving.ACCEPTANCE.format(sha256=written.sha256), text)


def carried(written: AcceptanceTests, stored: proving.Carried) -> dict[str, bytes]:
    """The acceptance tests by path, from the store of a cluster. Raises NoSnapshot."""
    try:
        return packing.unpacked(stored(proving.ACCEPTANCE.format(sha256=written.sha256)), written.sha256)
    except ValueError:
        raise NoSnapshot("The acceptance tests in the database are not those that the author wrote.") from None


def contents(loop: Loop, shadow: Shadow, stored: proving.Carried) -> dict[str, bytes]:
    """The acceptance tests by path. Raises NoSnapshot."""
    if loop.acceptance is None:
        return {}
    in_cluster = loop.settings.remote is not None
    return carried(loop.acceptance, stored) if in_cluster else _snapshot(shadow, loop.acceptance)


def _snapshot(shadow: Shadow, written: AcceptanceTests) -> dict[str, bytes]:
    files = shadow.files(written.tree)
    missing = [path for path in written.paths if path not in files]
    if missing:
        raise NoSnapshot(f"Acceptance tests are missing in the snapshot: {', '.join(missing)}.")
    found = shadow.read(files[path].blob for path in written.paths)
    return {path: found[files[path].blob] for path in written.paths}


def _keep_login(loop_id: str, choice: AgentChoice, environment: Mapping[str, str]) -> None:
    """Put back a login that the program renewed in its box: the old one may not be valid any more."""
    layers = Path(state_folder.folder(environment), BOXES, loop_id, NAME, LAYERS)
    home = os.path.realpath(boxes.home_of(environment))
    agent = agents.find(choice.agent)
    partly = [each.path for each in agent.needs(environment, choice.args).partly]
    for layer in layers.iterdir() if layers.is_dir() else ():
        for name in agent.login.files:
            path, below = os.path.join(home, name), os.path.realpath(layer / "below")
            new = layer / "above" / os.path.relpath(path, below)
            if path not in partly and is_below(path, below) and _is_own(new, layer / "above"):
                with suppress(OSError):
                    disk.replace_file(Path(path), disk.read_promptly(new, LONGEST), mode=0o600)


def _is_own(file: Path, above: Path) -> bool:
    """Whether a file was written in a layer, and is no link to somewhere else: the author can leave anything there."""
    inside = os.path.join(os.path.realpath(above), file.relative_to(above))
    return os.path.realpath(file) == inside and os.path.isfile(inside) and os.path.getsize(inside) <= LONGEST


def forget(loop_id: str, environment: Mapping[str, str]) -> None:
    """Remove the author's checkout and the files of its box."""
    state = Path(state_folder.folder(environment))
    layers = state / BOXES / loop_id / NAME / LAYERS
    for layer in layers.iterdir() if layers.is_dir() else ():
        with suppress(OSError):
            sandbox.make_removable(str(layer))
    for folder in (state / BOXES / loop_id / NAME, state / "rooms" / loop_id / NAME):
        with suppress(OSError):
            copy.remove(folder)
        shutil.rmtree(folder, ignore_errors=True)
