"""Changes in the workspace of a loop, from snapshots by git, or from the timestamps of the files outside a repository.

Nothing here touches the person's index, hooks, configuration or stash.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Collection, Mapping
from functools import lru_cache
from time import time_ns

from untildone.core.model import Changes
from untildone.core.value import dataclass, field, replace
from untildone.workspace import glance
from untildone.workspace.git import GitFailed, Status, git, line_of, root_of, status_of
from untildone.workspace.glance import Glance, Stamp, is_racy, stamp_of
from untildone.workspace.objects import are_there, empty_tree, made_since, tree_of
from untildone.workspace.private_index import PrivateIndex
from untildone.workspace.walk import digest, files_below

MOST_WORKSPACES = 64
BIG_FILE = 64 * 1024 * 1024
"""A file from this size on is not copied into git's object store for a snapshot; its size and times represent it."""


@dataclass(frozen=True, slots=True)
class _Cheap:
    """Facts that need no file to be read. If they are equal, the work tree is equal, unless a stamp is racy."""

    raw: bytes
    """The output of `git status`."""
    stamps: tuple[Stamp | None, ...]
    nested: tuple[str, ...]
    """A digest of each nested repository."""

    def is_racy(self, taken_at: int) -> bool:
        return any(is_racy(stamp, taken_at) for stamp in self.stamps)


@dataclass(frozen=True, slots=True)
class _Written:
    """A tree that git has written."""

    tree: str
    complete: bool
    """Whether git could read every file."""
    made: Mapping[bytes, str]


@dataclass(frozen=True, slots=True)
class _Facts:
    """A work tree as git sees it."""

    head: str | None
    tree: str
    clean: bool
    beside: str = ""
    """A digest of changes that are not in the tree: nested repositories, very big files, unreadable files."""
    made: Mapping[bytes, str] = field(default_factory=dict)
    """The objects of the tree that the commit does not contain, by path: `git gc` may delete them before the next look."""

    @property
    def fingerprint(self) -> str:
        return ":".join(filter(None, (self.head or "unborn", self.tree, self.beside)))


@dataclass(frozen=True, slots=True)
class _Glanced:
    """A small work tree at the last look."""

    glance: Glance
    at: int
    """When the glance was taken, in nanoseconds."""
    facts: _Facts


class Workspace:
    """Looks at one folder and remembers the last look: an unchanged folder costs a `git status`, a small one not even that."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._lock = threading.Lock()
        self._index = PrivateIndex()
        self._known: tuple[_Cheap, _Facts] | None = None
        self._glanced: _Glanced | None = None
        self._rule_files: tuple[str, ...] | None = None
        self._walked: tuple[str, dict[bytes, Stamp]] = ("", {})
        self._ignored_by: dict[str, bool] = {}

    def look(self, previous: Changes | None = None, commit: str | None = None) -> Changes:
        """The current fingerprint of the folder, and its changes since `previous` (default: since the last commit). Never fails.

        `commit`, if given, was made just now and contains every change, so git is not asked for a snapshot."""
        with self._lock:
            try:
                root = self._root()
                if root is None:
                    return self._walk(previous)
                facts = _Facts(commit, tree_of(root, commit), clean=True) if commit else self._facts(root)
                return _compared(root, facts, previous)
            except (GitFailed, OSError, ValueError):
                return self._walk(previous)

    def _root(self) -> str | None:
        """The top of the repository that contains the folder; None if that repository ignores the folder."""
        root = root_of(self.path)
        if root is None or root == self.path:
            return root
        if root not in self._ignored_by:
            answer = git(root, "check-ignore", "-z", "--stdin", stdin=os.fsencode(self.path), fine=(0, 1))
            self._ignored_by[root] = bool(answer)
        return None if self._ignored_by[root] else root

    def _facts(self, root: str) -> _Facts:
        """The facts of the last look if no file was touched since, else those that git returns. The glance is taken first: the next look
        detects a change in between."""
        now, last = time_ns(), self._glanced
        current = glance.look(root, self._rules(root) if last else ())
        if current is None:
            return self._from_git(root)
        touched = glance.touched(last.glance, last.at, current) if last else set()
        if last and not touched and are_there(root, last.facts.made.values()):
            return last.facts
        if touched.intersection(map(os.fsencode, self._rule_files or ())):
            self._rule_files = None
        self._glanced = _Glanced(current, now, self._from_git(root))
        return self._glanced.facts

    def _rules(self, root: str) -> tuple[str, ...]:
        """Cached until one of them is touched. The first look does without: a caller that looks once need not pay for it."""
        self._rule_files = self._rule_files or glance.rule_files(root)
        return self._rule_files

    def _from_git(self, root: str) -> _Facts:
        status, now = status_of(root), time_ns()
        paths = [os.path.join(os.fsencode(root), entry.path) for entry in status.entries]
        nested = (path for path, entry in zip(paths, status.entries, strict=True) if entry.nested)
        cheap = _Cheap(status.raw, tuple(map(stamp_of, paths)), tuple(digest(files_below(path)) for path in nested))
        if self._known and self._known[0] == cheap and are_there(root, self._known[1].made.values()):
            return self._known[1]
        facts = self._snapshot(root, status, cheap)
        self._known = None if cheap.is_racy(now) else (cheap, facts)
        return facts

    def _snapshot(self, root: str, status: Status, cheap: _Cheap) -> _Facts:
        if status.head and not status.entries:
            return _Facts(status.head, tree_of(root, status.head), clean=True)
        stamped = zip(status.entries, cheap.stamps, strict=True)
        too_big = {entry.path: stamp for entry, stamp in stamped if stamp and stamp[0] >= BIG_FILE}
        written = self._written(root, status, too_big)
        beside = (cheap.nested, tuple(too_big.items()), () if written.complete else cheap.stamps)
        mark = hashlib.sha256(repr(beside).encode()).hexdigest()[:16] if any(beside) else ""
        return _Facts(status.head, written.tree, clean=False, beside=mark, made=written.made)

    def _written(self, root: str, status: Status, left_out: Collection[bytes]) -> _Written:
        """If git has deleted objects that were staged earlier, everything is staged again."""
        try:
            written = self._staged(root, status, left_out)
            if are_there(root, written.made.values()):
                return written
        except GitFailed:
            pass
        self._index.forget()
        return self._staged(root, status, left_out)

    def _staged(self, root: str, status: Status, left_out: Collection[bytes]) -> _Written:
        tree, complete = self._index.write_tree(root, status, left_out)
        return _Written(tree, complete, made_since(root, status.head, tree))

    def _walk(self, previous: Changes | None) -> Changes:
        files = dict(files_below(os.fsencode(self.path)))
        fingerprint, (known, before) = digest(files.items()), self._walked
        self._walked = (fingerprint, files)
        if previous is None or previous.fingerprint != known:
            return Changes(fingerprint)
        changed = sum(files.get(path) != before.get(path) for path in files.keys() | before.keys())
        return Changes(fingerprint, files=changed)


def _compared(root: str, facts: _Facts, previous: Changes | None) -> Changes:
    changes = Changes(facts.fingerprint, facts.head, facts.tree)
    before = previous.tree if previous else None
    if before == facts.tree or (before is None and facts.clean):
        return changes
    for base in filter(None, (before, facts.head or empty_tree(facts.tree))):
        try:
            shortstat = line_of(git(root, "diff-tree", "-r", "--shortstat", base, facts.tree))
        except GitFailed:
            continue
        counts = [re.search(rf"(\d+) {word}", shortstat) for word in ("file", "insertion", "deletion")]
        files, insertions, deletions = (int(number[1]) if number else 0 for number in counts)
        return replace(changes, files=files, insertions=insertions, deletions=deletions)
    return changes


_known_workspace = lru_cache(maxsize=MOST_WORKSPACES)(Workspace)


def look(path: str, previous: Changes | None = None) -> Changes:
    """As `Workspace.look`, with the last look at each folder remembered."""
    return _known_workspace(os.path.realpath(path)).look(previous)
