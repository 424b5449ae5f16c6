"""The workspace of a loop: what changed in it, as git or the file system tells; its own worktree; diffs.

Nothing here touches the person's index, hooks, configuration or stash.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import time_ns

from untildone.core.errors import StoreError, UsageError
from untildone.core.model import Changes
from untildone.core.receipt import FileChange
from untildone.core.value import replace
from untildone.system.disk import COARSEST_NANOSECONDS
from untildone.workspace import glance
from untildone.workspace.commits import repository_at
from untildone.workspace.git import (
    GitFailed,
    Status,
    add_all,
    git,
    git_folder,
    git_folders,
    line_of,
    root_of,
    status_of,
)
from untildone.workspace.git_objects import Drafts, are_there, empty_tree, made_since, tidy, tree_of
from untildone.workspace.glance import Glance, Stamp, is_racy, stamp_of
from untildone.workspace.snapshot import OnlyGitTells, Snapshot, Step, ignore_files, places_of

MOST_FILES_WALKED = 200_000
MOST_WORKSPACES = 64
BIG_FILE = 64 * 1024 * 1024
"""A file from this size on is not copied into git's object store for a snapshot; its size and times stand for it."""
UNWALKED = frozenset({".git", ".loop", "node_modules", ".venv", "__pycache__"})


class _OwnIndex:
    """A copy of the person's index, in which the whole work tree is staged for a snapshot."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._copied: tuple[str, Stamp | None] | None = None
        self._staged: dict[bytes, bool] = {}
        """What differs in it from the person's own, and whether there is such a file."""

    def write_tree(self, root: str, status: Status, left_out: Collection[bytes]) -> tuple[str, bool]:
        """The work tree as a git tree, and whether every file could be read."""
        wanted = {entry.path for entry in status.entries}.difference(left_out, status.foreign)
        env, complete = {"GIT_INDEX_FILE": self._prepared(root, wanted)}, True
        try:
            add_all(root, status, left_out=left_out, env=env)
        except GitFailed:
            add_all(root, status, "--ignore-errors", left_out=left_out, env=env)
            complete = False
        self._staged = {path: _is_there(root, path) for path in wanted}
        tree = line_of(git(root, "write-tree", "--missing-ok", env=env))
        _as_coarse_as_any(env["GIT_INDEX_FILE"])
        return tree, complete

    def environment(self) -> dict[str, str]:
        """For git to use it."""
        return {"GIT_INDEX_FILE": os.path.join(self._folder.name, "index")} if self._folder else {}

    def forget(self) -> None:
        """Begin anew with the next snapshot."""
        self._copied = None

    def _prepared(self, root: str, wanted: AbstractSet[bytes]) -> str:
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="untildone-", ignore_cleanup_errors=True)
        own, theirs = os.path.join(self._folder.name, "index"), os.path.join(git_folder(root), "index")
        current = (theirs, stamp_of(theirs))
        if self._copied != current or self._misleads(root, wanted):
            Path(own).unlink(missing_ok=True)
            if current[1]:
                # With its time: git compares it with the times of the files to know which of them it must read.
                shutil.copy2(theirs, own)
            self._copied = current
        return own

    def _misleads(self, root: str, wanted: AbstractSet[bytes]) -> bool:
        """Whether a file is in it that is not to be any more (it is ignored by now, or too big), or was taken out of it and is
        there again: what git ignores, it looks for only if it is in the index."""
        return any(_is_there(root, path) for path, there in self._staged.items() if not there or path not in wanted)


def _as_coarse_as_any(index: str) -> None:
    """Git reads files again that are not older than its index. This one may lie where times are finer than those of the files."""
    with suppress(FileNotFoundError):
        written = os.stat(index).st_mtime_ns
        coarse = written - written % COARSEST_NANOSECONDS
        os.utime(index, ns=(coarse, coarse))


def _is_there(root: str, path: bytes) -> bool:
    return os.path.lexists(os.path.join(os.fsencode(root), path))


@dataclass(frozen=True, slots=True)
class _Cheap:
    """What can be known without reading a file: if it is the same, so is the work tree, unless it is racy."""

    raw: bytes
    stamps: tuple[Stamp | None, ...]
    nested: tuple[str, ...]

    def is_racy(self, taken_at: int) -> bool:
        return any(is_racy(stamp, taken_at) for stamp in self.stamps)


@dataclass(frozen=True, slots=True)
class _Facts:
    head: str | None
    tree: str
    clean: bool
    beside: str = ""
    """Stands for what changed and is not in the tree: nested repositories, very big files, unreadable ones."""
    made: Mapping[bytes, str] = field(default_factory=dict, compare=False)
    """By their places, the objects of the tree that the commit does not have: git may have removed them by the next look."""

    @property
    def fingerprint(self) -> str:
        return ":".join(filter(None, (self.head or "unborn", self.tree, self.beside)))


@dataclass(slots=True)
class _Glanced:
    """A small work tree at the last look."""

    seen: Glance
    at: int
    facts: _Facts
    snapshot: Snapshot | None = None
    """Of just this, once it was needed."""


class Workspace:
    """Looks at one folder, and remembers the last look: an unchanged one costs a `git status`, a small one not even that,
    nor do plain changes in it."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._lock = threading.Lock()
        self._index = _OwnIndex()
        self._known: tuple[_Cheap, _Facts] | None = None
        self._glanced: _Glanced | None = None
        self._step: Step | None = None
        self._drafts: Drafts | None = None
        self._only_git_tells = False
        self._walked: tuple[str, dict[bytes, Stamp]] = ("", {})
        self._ignored_by: dict[str, bool] = {}

    def look(self, previous: Changes | None = None, commit: str | None = None) -> Changes:
        """The folder as it is, and what changed since `previous` (without one: since the last commit). Never fails.

        `commit` was made just now and holds everything: git need not be asked what does."""
        with self._lock:
            try:
                root = self._root()
                if root is None:
                    return self._walk(previous)
                facts = _Facts(commit, tree_of(root, commit), clean=True) if commit else self._facts(root)
                return _compared(root, facts, previous, self._step)
            except (GitFailed, OSError, ValueError):
                return self._walk(previous)

    def make_ready(self) -> None:
        """While there is time: what the next look will need, if it is like the last."""
        if self._drafts:
            self._drafts.make_ready()

    def close(self) -> None:
        """Leave nothing behind that was made ready."""
        if self._drafts:
            self._drafts.close()

    def _root(self) -> str | None:
        """The top of the repository that the folder is part of: not of one that only ignores it."""
        root = root_of(self.path)
        if root is None or root == self.path:
            return root
        if root not in self._ignored_by:
            answer = git(root, "check-ignore", "-z", "--stdin", stdin=os.fsencode(self.path), fine=(0, 1))
            self._ignored_by[root] = bool(answer)
        return None if self._ignored_by[root] else root

    def _facts(self, root: str) -> _Facts:
        """Glanced at first, read second: what changes in between differs from the glance, and is seen next time."""
        now, last = time_ns(), self._glanced
        # Which files say what to ignore is a question to git, which one who looks only once need not ask.
        seen = glance.look(root, ignore_files(root) if last else ())
        if seen is None:
            return self._asked(root)
        if last is None:
            tidy(git_folders(root)[-1])
        if last and not are_there(root, last.facts.made.values()):
            last = None
        touched = glance.touched(last.seen, last.at, seen) if last else frozenset()
        if last and not touched:
            return last.facts
        facts = self._followed(root, last, touched, seen) if last else None
        snapshot = last.snapshot if last and facts else None
        self._glanced = last = _Glanced(seen, now, facts or self._asked(root), snapshot)
        return last.facts

    def _followed(self, root: str, last: _Glanced, touched: AbstractSet[bytes], seen: Glance) -> _Facts | None:
        """From the last look, without git, if all that was touched are plain files."""
        if self._only_git_tells or last.facts.beside:
            return None
        try:
            places = places_of(root, touched, seen)
            snapshot, last.snapshot = last.snapshot or self._read(root, last), None
            self._step = snapshot.follow(places)
        except (OnlyGitTells, GitFailed, OSError, ValueError, StoreError):
            return None
        last.snapshot = snapshot
        unchanged = snapshot.tree == last.facts.tree
        return last.facts if unchanged else _Facts(last.facts.head, snapshot.tree, clean=False, made=snapshot.made)

    def _read(self, root: str, last: _Glanced) -> Snapshot:
        env = {} if last.facts.clean else self._index.environment()
        try:
            return Snapshot(root, last.facts.tree, last.facts.made, last.seen, self._drafts_in(root), env)
        except OnlyGitTells:
            self._only_git_tells = True
            raise

    def _drafts_in(self, root: str) -> Drafts:
        folder = git_folders(root)[-1]
        if self._drafts is None or self._drafts.folder != folder:
            self.close()
            self._drafts = Drafts(folder)
        return self._drafts

    def _asked(self, root: str) -> _Facts:
        status, now = status_of(root), time_ns()
        paths = [os.path.join(os.fsencode(root), entry.path) for entry in status.entries]
        nested = (path for path, entry in zip(paths, status.entries, strict=True) if entry.nested)
        cheap = _Cheap(status.raw, tuple(map(stamp_of, paths)), tuple(_digest(_files_below(path)) for path in nested))
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
        tree, complete, made = self._written(root, status, too_big)
        beside = (cheap.nested, tuple(too_big.items()), () if complete else cheap.stamps)
        mark = hashlib.sha256(repr(beside).encode()).hexdigest()[:16] if any(beside) else ""
        return _Facts(status.head, tree, clean=False, beside=mark, made=made)

    def _written(self, root: str, status: Status, left_out: Collection[bytes]) -> tuple[str, bool, Mapping[bytes, str]]:
        """The tree, whether it holds every file, and what of it is new. What git has removed since it was staged is staged anew."""
        tree, complete = self._index.write_tree(root, status, left_out)
        made = made_since(root, status.head, tree)
        if not are_there(root, made.values()):
            self._index.forget()
            tree, complete = self._index.write_tree(root, status, left_out)
            made = made_since(root, status.head, tree)
        return tree, complete, made

    def _walk(self, previous: Changes | None) -> Changes:
        files = dict(_files_below(os.fsencode(self.path)))
        fingerprint, (known, before) = _digest(files.items()), self._walked
        self._walked = (fingerprint, files)
        if previous is None or previous.fingerprint != known:
            return Changes(fingerprint)
        changed = sum(files.get(path) != before.get(path) for path in files.keys() | before.keys())
        return Changes(fingerprint, files=changed)


def _compared(root: str, facts: _Facts, previous: Changes | None, step: Step | None) -> Changes:
    changes = Changes(facts.fingerprint, facts.head, facts.tree)
    before = previous.tree if previous else None
    if before == facts.tree or (before is None and facts.clean):
        return changes
    if step and step.lines and (step.before, step.after) == (before, facts.tree):
        return replace(changes, files=step.files, insertions=step.lines[0], deletions=step.lines[1])
    for base in filter(None, (before, facts.head or empty_tree(facts.tree))):
        try:
            shortstat = line_of(git(root, "diff-tree", "-r", "--shortstat", base, facts.tree))
        except GitFailed:
            continue
        found = [re.search(rf"(\d+) {word}", shortstat) for word in ("file", "insertion", "deletion")]
        files, insertions, deletions = (int(number[1]) if number else 0 for number in found)
        return replace(changes, files=files, insertions=insertions, deletions=deletions)
    return changes


def _files_below(folder: bytes) -> Iterator[tuple[bytes, Stamp]]:
    """Every file, by its path, with size, time and mode; bounded, in a stable order."""
    pending, left = [b""], MOST_FILES_WALKED
    while pending and left > 0:
        below = pending.pop()
        for name, is_folder in _entries_of(os.path.join(folder, below)):
            path = os.path.join(below, name)
            if is_folder:
                pending.append(path)
            elif stamp := stamp_of(os.path.join(folder, path)):
                left -= 1
                yield path, stamp[:3]


def _entries_of(folder: bytes) -> list[tuple[bytes, bool]]:
    try:
        with os.scandir(folder) as found:
            listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    except (OSError, ValueError):
        return []
    return sorted(entry for entry in listed if not _is_unwalked(os.fsdecode(entry[0])))


def _is_unwalked(name: str) -> bool:
    return name in UNWALKED or (name.startswith("ralph-delta") and name.endswith(".local.md"))


def _digest(files: Iterable[tuple[bytes, Stamp]]) -> str:
    digest = hashlib.sha256()
    for path, stamp in files:
        digest.update(b"%b\0%b\n" % (path, repr(stamp).encode()))
    return digest.hexdigest()


_known_workspace = lru_cache(maxsize=MOST_WORKSPACES)(Workspace)


def look(path: str, previous: Changes | None = None) -> Changes:
    """As `Workspace.look`, with the last look at each folder kept in mind."""
    return _known_workspace(os.path.realpath(path)).look(previous)


@dataclass(frozen=True, slots=True)
class Description:
    """Where a workspace stands, for receipts. All None: no git repository."""

    commit: str | None = None
    branch: str | None = None
    clean: bool | None = None


def describe(path: str) -> Description:
    root = root_of(path)
    try:
        status = status_of(root) if root else None
    except GitFailed:
        return Description()
    return Description(status.head, status.branch, not status.entries) if status else Description()


def diff(path: str, start_tree: str, end_tree: str | None = None, *, stat: bool = False, colour: bool = False) -> str:
    """What lies between two snapshots or commits; without an end, up to the work tree as it is now."""
    root = repository_at(path)
    end = end_tree or look(path).tree or ""
    if not all(re.fullmatch(r"[0-9a-f]{7,64}|HEAD", name) for name in (start_tree, end)):
        raise UsageError(f"There is no snapshot of {path} to compare with.", "was it a git repository from the start?")
    options = ("--stat=100" if stat else "--patch", "--color=always" if colour else "--color=never")
    try:
        shown = git(root, "diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", *options, start_tree, end)
    except GitFailed as error:
        raise UsageError(f"The changes in {path} cannot be shown: {error}.", "git removes old snapshots") from error
    return shown.decode(errors="replace")


def changed_files(path: str, start_tree: str | None, end_tree: str | None) -> tuple[FileChange, ...] | None:
    """The files that differ between two snapshots; None: there are no snapshots, or one is gone, and it is not known."""
    root = root_of(path)
    if root is None or not start_tree or not end_tree:
        return None
    try:
        listed = git(root, "diff-tree", "-r", "--numstat", "-z", "--no-renames", start_tree, end_tree)
    except GitFailed:
        return None
    rows = (row.split("\t", 2) for row in listed.decode(errors="replace").split("\0") if row)
    return tuple(FileChange(name, _lines(added), _lines(removed)) for added, removed, name in rows)


def _lines(told: str) -> int:
    """Git says `-` for a binary file."""
    return int(told) if told.isdigit() else 0


def create_worktree(repository: str, loop_id: str, folder: Path) -> str:
    """A work tree of its own in `folder`, on the branch `untildone/<loop_id>`, from the last commit; one that is there
    already stays. Returns where to work: the same place below `folder` as `repository` is in its own work tree."""
    root, branch, target = repository_at(repository), f"untildone/{loop_id}", os.path.abspath(folder)
    try:
        if not status_of(root).head:
            raise UsageError(f"The repository {root} has no commit yet.", "commit something: a worktree starts from it")
        if not _is_worktree(root, target):
            known = git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", fine=(0, 1))
            place = ("--force", target, branch) if known else ("-b", branch, target, "HEAD")
            git(root, "worktree", "add", "--quiet", *place)
    except GitFailed as error:
        raise UsageError(f"No worktree can be made in {target}: {error}.", "name an empty folder") from error
    inside = os.path.normpath(os.path.join(target, os.path.relpath(os.path.realpath(repository), root)))
    return inside if os.path.isdir(inside) else target


def _is_worktree(root: str, folder: str) -> bool:
    listed = git(root, "worktree", "list", "--porcelain").splitlines()
    return os.path.isdir(folder) and b"worktree " + os.fsencode(os.path.realpath(folder)) in listed


def remove_worktree(repository: str, folder: Path, *, discard: bool = False) -> None:
    """Remove the work tree; its branch stays. What is not committed is an error, unless it is to be discarded."""
    root, target = repository_at(repository), os.path.abspath(folder)
    try:
        if not discard and os.path.exists(target) and status_of(target).entries:
            raise UsageError(f"The worktree {target} has changes that are not committed.", "commit or discard them")
        git(root, "worktree", "remove", "--force", target)
    except GitFailed as error:
        raise UsageError(f"The worktree {target} cannot be removed: {error}.", "look at: git worktree list") from error
