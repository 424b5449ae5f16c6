"""Changes in the workspace of a loop, from snapshots in the shadow repository, or from the timestamps of files where none can be taken."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from untildone.core.model import Changes
from untildone.workspace.git import never
from untildone.workspace.person_git.person import Head
from untildone.workspace.shadow import NoSnapshot, Reading, Shadow, Snapshot
from untildone.workspace.shadow.values import Stamp
from untildone.workspace.walk import digest, files_below


class Workspace:
    """Looks at one folder and remembers the last look."""

    def __init__(
        self,
        path: str,
        loop_id: str = "",
        environment: Mapping[str, str] = os.environ,
        start: Changes | None = None,
    ) -> None:
        """`loop_id` names the loop whose start decides which files count: see `Shadow`. `start` is what its first look returned."""
        self.path = os.path.realpath(path)
        self._start = start
        self.shadow = Shadow(self.path, environment, loop_id)
        self.problem = ""
        """Why the last look took no snapshot, as a sentence; empty if it took one."""
        self._lock = threading.Lock()
        self._head = Head(self.path)
        self._walked: tuple[str, dict[bytes, Stamp]] = ("", {})

    def look(
        self,
        previous: Changes | None = None,
        commit: str | None = None,
        wants_out: Callable[[], bool] = never,
        reading: Reading = Reading.TOUCHED,
    ) -> Changes:
        """The current fingerprint of the folder, and its changes since `previous`. Never fails: without a snapshot, `tree` is None and
        `problem` says why.

        `commit`, if given, was made just now, so that git is not asked for the last commit."""
        with self._lock:
            try:
                self.problem = ""
                self._recall()
                snapshot = self.shadow.take(wants_out, reading)
            except NoSnapshot as problem:
                self.problem = str(problem)
                return self._walk(previous)
            return self._compared(snapshot, commit or self._head.commit(wants_out), previous)

    def forget_start(self) -> None:
        """Let the next look be the first of the loop: what decides which files count is taken from the folder as it is then."""
        with self._lock:
            self.shadow.forget_start()

    def _recall(self) -> None:
        """Bring the snapshot of the start here, if the loop began on another machine."""
        if self._start and self._start.tree and self.shadow.start is None:
            # Without it, the caller that needs the start reports that.
            with suppress(NoSnapshot):
                self.shadow.recall(self._start.tree, self._start.head)

    def _compared(self, snapshot: Snapshot, head: str | None, previous: Changes | None) -> Changes:
        fingerprint = ":".join(filter(None, (head or "unborn", snapshot.tree, snapshot.beside)))
        before = previous.tree if previous else None
        if before is None or before == snapshot.tree:
            return Changes(fingerprint, head, snapshot.tree)
        try:
            counts = self.shadow.counts(before, snapshot.tree)
        except NoSnapshot:
            counts = (0, 0, 0)
        return Changes(fingerprint, head, snapshot.tree, *counts)

    def _walk(self, previous: Changes | None) -> Changes:
        files = dict(files_below(os.fsencode(self.path)))
        fingerprint, (known, before) = digest(files.items()), self._walked
        self._walked = (fingerprint, files)
        if previous is None or previous.fingerprint != known:
            return Changes(fingerprint)
        changed = sum(files.get(path) != before.get(path) for path in files.keys() | before.keys())
        return Changes(fingerprint, files=changed)
