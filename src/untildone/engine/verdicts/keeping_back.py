"""Keeps a share of the project's own tests back (`--held-out 20%`): from the agent's box, from rooms, and from reviewers.

The files stay where they are in the workspace, so that no crash can lose them; every machine of a cluster finds the same ones in the
start. A box shows something else in their place, and gates judge trees without them; only the proof `held_out` puts them in, as they were
when the loop began.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from untildone.core.judging.project_tests import keeping_back
from untildone.core.loop import Loop
from untildone.core.receipts.proving import HELD_OUT
from untildone.core.values.value import replace
from untildone.workspace import copies
from untildone.workspace.shadow import LINK, NoSnapshot, Shadow

MOST_TESTS = 5_000


def share(loop: Loop) -> float | None:
    """The share of tests that is kept back; None: none is."""
    return keeping_back.share_of(loop.settings.options.get(HELD_OUT) or "")


def contents(loop: Loop, shadow: Shadow) -> dict[str, bytes]:
    """The files that are kept back, by path, as they were when the loop began. Raises NoSnapshot, also if there are too few tests."""
    wanted = share(loop)
    if wanted is None:
        return {}
    files = shadow.files(loop.start.tree or "")
    # Content that two files have could be read in the other one, and what a link leads to in its own place.
    tests = [path for path in sorted(files) if keeping_back.is_candidate(path) and files[path].mode != LINK][
        :MOST_TESTS
    ]
    found = shadow.read(files[path].blob for path in tests)
    texts = {path: found[files[path].blob].decode("utf-8", "replace") for path in tests}
    number = Counter(file.blob for file in files.values())
    chosen = keeping_back.chosen(texts, wanted, {path for path in tests if number[files[path].blob] > 1})
    if not chosen:
        raise NoSnapshot("There are not enough test files to keep a share of them back.")
    kept = [path for test in chosen for path in (test, *keeping_back.snapshots(test)) if path in files]
    all_found = {**found, **shadow.read(files[path].blob for path in kept if path not in texts)}
    return {path: all_found[files[path].blob] for path in kept}


def without(loop: Loop, shadow: Shadow) -> Loop:
    """The loop as gates and reviewers see it: its trees do not contain what is kept back. Raises NoSnapshot."""
    if share(loop) is None or not loop.start.tree:
        return loop
    paths = contents(loop, shadow)

    def stripped(tree: str | None) -> str | None:
        here = {path: None for path in shadow.files(tree) if keeping_back.tells_of(path, paths)} if tree else {}
        return shadow.write_tree(tree, here, kept_as="stripped") if tree else tree

    start, now = stripped(loop.start.tree), stripped(loop.changes.tree)
    return replace(loop, start=replace(loop.start, tree=start), changes=replace(loop.changes, tree=now))


def telling(loop: Loop, shadow: Shadow) -> tuple[str, ...]:
    """Files and folders that are in no tree, and from which an agent could read what is kept back. Raises NoSnapshot."""
    if share(loop) is None or shadow.start is None:
        return ()
    root, paths, tree = os.path.realpath(shadow.start.root), contents(loop, shadow), shadow.files(loop.start.tree or "")
    found = (
        _of_cluster(loop, root),
        copies.repositories(root, paths),
        copies.elsewhere(root, paths),
        copies.beside(root, paths, tree, loop.created_at),
    )
    return tuple(dict.fromkeys(path for each in found for path in each))


def _of_cluster(loop: Loop, root: str) -> Iterator[str]:
    """Where a machine of a cluster has the tests as well: in the clones of other loops, and in a remote on its own disk."""
    if loop.settings.remote is None:
        return
    yield os.path.dirname(root)
    remote = loop.settings.remote.removeprefix("file://")
    yield from [os.path.realpath(remote)] if os.path.isabs(remote) and os.path.isdir(remote) else []


def stubs(loop: Loop, shadow: Shadow) -> dict[str, str]:
    """What the agent finds in the place of each file that is kept back, by path. Raises NoSnapshot."""
    return {
        path: keeping_back.stub(path, content.decode("utf-8", "replace"))
        for path, content in contents(loop, shadow).items()
    }
