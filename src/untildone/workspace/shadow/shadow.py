"""The shadow repository of a workspace: takes snapshots, and answers what is in them."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from untildone.core.values.digest import sha256
from untildone.core.values.value import dataclass
from untildone.system import disk, locks, state_folder
from untildone.workspace.beside import Beside
from untildone.workspace.git import QUICK_SECONDS, GitFailed, Interrupted, git, line_of, never
from untildone.workspace.shadow import cache, facts, glance, ignored, rules, start
from untildone.workspace.shadow.cache import Cache
from untildone.workspace.shadow.facts import GitChange
from untildone.workspace.shadow.ignored import IgnoredChanges
from untildone.workspace.shadow.listing import HEAVY, Listing, TooMany, read_rules
from untildone.workspace.shadow.reading import BIG_FILE
from untildone.workspace.shadow.repository import Repository
from untildone.workspace.shadow.start import Limits, Start, tracked_although_ignored
from untildone.workspace.shadow.taking import Listed, Taking, existing
from untildone.workspace.shadow.trees import Trees, as_no_snapshot
from untildone.workspace.shadow.values import (
    Content,
    File,
    NoSnapshot,
    Reading,
    Snapshot,
    Stamp,
    Unkept,
    Why,
    stamp_of,
)

LOCKED_WITHIN = 60.0
"""Seconds to wait for another process that takes a snapshot of the same workspace."""
MOST_LATE = 5000
"""How many files that were ignored at the start may come into a snapshot because the rules have changed."""
_TRIES = 3
"""How often files are read that change meanwhile."""
_LOOK_EVERY = 0.02
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")


@dataclass(frozen=True, slots=True)
class _Last:
    """The last snapshot for a loop."""

    glance: str
    """The digest of all stamps when it was taken; empty if it is not sure that they change with the files."""
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class _Way:
    """How a snapshot is taken."""

    reading: Reading
    wants_out: Callable[[], bool]


class Shadow(Trees):
    """The snapshots of one workspace. Several processes and threads may use it at once."""

    def __init__(self, workspace: str, environment: Mapping[str, str] = os.environ, loop_id: str = "") -> None:
        """`loop_id` names the loop whose start decides which files count. Without one, the first `take` of this object is a start."""
        self.workspace = os.path.realpath(workspace)
        digest = sha256(os.fsencode(self.workspace)).hexdigest()[:32]
        self._state = Path(os.path.realpath(state_folder.folder(environment)))
        self.folder = self._state / "snapshots" / digest
        self.environment = environment
        self._named = bool(_SAFE_NAME.fullmatch(loop_id))
        name = loop_id if self._named else f"unnamed-{os.getpid()}"
        super().__init__(Repository(self.folder / "repository", self.workspace), name)
        self._own = self.folder / "loops" / self.name
        self._start: Start | None = None
        self._last: _Last | None = None
        self._cache: tuple[Stamp, Cache] | None = None

    # Taking

    def take(self, wants_out: Callable[[], bool] = never, reading: Reading = Reading.TOUCHED) -> Snapshot:
        """Take a snapshot of the files as they are now. Raises NoSnapshot, also once `wants_out` returns True.

        Files are those of the start's ignore rules: what an agent ignores later still counts, and what it no longer ignores counts too.
        An unchanged small workspace costs no process."""
        wants_out = _throttled(wants_out)
        try:
            with self._locked(wants_out):
                return self._taken(wants_out, reading)
        except TooMany as error:
            raise NoSnapshot(f"{self.workspace} is too big for a snapshot: {error}.") from error
        except (GitFailed, OSError, ValueError) as error:
            raise NoSnapshot(f"No snapshot of {self.workspace} can be taken: {error}.") from error

    @property
    def start(self) -> Start | None:
        """What was kept when the loop's first snapshot was taken; None before it."""
        return self._start or (start.load(self._own / "start.json") if self._named else None)

    def forget_start(self) -> None:
        """Forget what was kept when the loop's first snapshot was taken: the next `take` is a start. Snapshots stay."""
        for name in ("start.json", "ignored.json", "last.json"):
            (self._own / name).unlink(missing_ok=True)
        self._start = self._last = None

    def rules_digest(self) -> str:
        """A hash of what was kept at the start of the loop: which files count, and which ignored ones there were."""
        contents = (self._own / name for name in ("start.json", "ignored.json"))
        return sha256(b"\0".join(path.read_bytes() if path.is_file() else b"" for path in contents)).hexdigest()

    @contextmanager
    def _locked(self, wants_out: Callable[[], bool]) -> Iterator[None]:
        state_folder.made("snapshots", self.folder.name, "loops", self.name, environment=self.environment)
        deadline = time.monotonic() + LOCKED_WITHIN
        while (descriptor := locks.try_lock(self.folder / "lock")) is None:
            if wants_out():
                raise Interrupted("interrupted")
            if time.monotonic() > deadline:
                raise GitFailed("another process holds the lock of its snapshots")
        try:
            yield
        finally:
            os.close(descriptor)

    def _taken(self, wants_out: Callable[[], bool], reading: Reading) -> Snapshot:
        self.repository.ensure()
        known = self.start
        begun = known or start.begin(self.workspace, self._listing)
        last = self._last or self._load_last(begun.root)
        is_big = last is not None and last.snapshot.files > glance.MOST_ENTRIES
        glanced = None if is_big else glance.look(begun.root, self._state)
        if reading is Reading.TOUCHED and glanced and last and glanced.digest == last.glance and self._is_kept:
            return last.snapshot
        limits = begun.limits.times(start.GROWTH) if known else begun.limits
        names, late = self._names(begun, limits, wants_out)
        snapshot = self._written(begun, names, late, limits, _Way(reading, wants_out))
        if known is None and self._named:
            ignored.manifest(begun.root, self._known().files, self._state).save(self._own / "ignored.json")
            begun.save(self._own / "start.json")
        self._start = begun
        self._last = _Last(glanced.digest if glanced and glanced.sure else "", snapshot)
        self._save_last(self._last)
        return snapshot

    @property
    def _is_kept(self) -> bool:
        """Whether the last snapshot of the loop is still there."""
        return self.repository.has_ref(self._ref)

    def _listing(self, root: str) -> Listing:
        return Listing(self.repository, root, self._own / "index", self._own, self._state)

    @property
    def _ref(self) -> str:
        return f"refs/loops/{self.name}"

    def recall(self, tree: str, commit: str | None) -> bool:
        """Make sure that the tree of a loop's start is here: another machine may have taken it. If it is not, it is copied from the
        person's repository, where it belongs to `commit`. False: it is neither here nor there."""
        with as_no_snapshot("The snapshot of the start cannot be copied"), self._locked(never):
            self.repository.ensure()
            if self.repository.has(tree):
                return True
            return commit is not None and self._copied(tree, commit)

    def _copied(self, tree: str, commit: str) -> bool:
        try:
            if line_of(git(self.workspace, "rev-parse", f"{commit}^{{tree}}", seconds=QUICK_SECONDS)) != tree:
                return False
            names = git(self.workspace, "ls-tree", "-r", "-t", "--format=%(objecttype) %(objectname)", tree).split()
            objects = b"\n".join((tree.encode(), *names[1::2]))
            self.repository.git(
                "index-pack", "--stdin", stdin=git(self.workspace, "pack-objects", "-q", "--stdout", stdin=objects)
            )
            self.repository.write(f"refs/starts/{self.name}", tree, ())
        except GitFailed:
            return False
        return self.repository.has(tree)

    def own_file(self, name: str) -> Path:
        """A file for this loop, which is removed with its snapshots."""
        return self._own / name

    def write_tree(self, base: str, changes: Mapping[str, File | Content | None], kept_as: str = "made") -> str:
        """A tree that is `base` with some files put in, replaced, or removed (None). It is kept until the loop writes the next one that
        is `kept_as` the same."""
        if not changes:
            return base
        encoded = (
            (os.fsencode(path), changes[path]) for path in sorted(changes, key=lambda path: changes[path] is not None)
        )
        with as_no_snapshot("A tree cannot be written"), self._locked(never):
            return self.repository.write(f"refs/{kept_as}/{self.name}", base, encoded)

    # Beside the snapshots

    def git_changes(self) -> tuple[GitChange, ...]:
        """What has changed in the person's repository since the start of the loop beside its files: configuration, hooks, rules, replaced
        objects, index flags, history. Empty before the start."""
        begun = self.start
        if begun is None:
            return ()
        changes = facts.compared(begun.git, facts.facts_of(begun.root))
        history = facts.history_change(begun.root, begun.git)
        return (*changes, history) if history else changes

    def ignored_changes(self) -> IgnoredChanges:
        """Which files that no snapshot contains are new or changed since the start of the loop. Empty before the start."""
        begun, before = self.start, ignored.load(self._own / "ignored.json")
        last = self._last or (self._load_last(begun.root) if begun else None)
        if begun is None or before is None or last is None:
            return IgnoredChanges()
        unkept = (os.fsencode(each.path) for each in last.snapshot.unkept)
        with as_no_snapshot("The files of the last snapshot cannot be listed"):
            kept = {*map(os.fsencode, self.files(last.snapshot.tree)), *unkept}
        return ignored.compared(before, ignored.manifest(begun.root, kept, self._state))

    # Which files

    def _names(self, begun: Start, limits: Limits, wants_out: Callable[[], bool]) -> tuple[set[bytes], set[bytes]]:
        """The files that count, and those that would but are too many: they were ignored at the start, and are not now or are in the
        person's index."""
        listing = self._listing(begun.root)
        forced = Beside(lambda: tracked_although_ignored(begun.root) if begun.in_repository else ())
        names = listing.files(begun.rules, limits.files, wants_out=wants_out)
        names.update(begun.tracked)
        late = self._late(begun, listing, names, limits).union(forced.result()) - names
        late = {path for path in late if not HEAVY.intersection(path.split(b"/"))}
        if len(late) > MOST_LATE:
            return names, late
        return names | late, set()

    def _late(self, begun: Start, listing: Listing, names: set[bytes], limits: Limits) -> set[bytes]:
        """Files that were ignored at the start and are not now, because the rules have changed."""
        files = {path for path in names if path.rpartition(b"/")[2] == rules.NAME} | begun.files.keys()
        top = os.fsencode(begun.root)
        if all(read_rules(os.path.join(top, path)) == begun.files.get(path) for path in files):
            return set()
        changed = rules.combined(begun.base, listing.rule_files(begun.base, limits.files, files))
        return listing.files(changed, limits.files)

    # Writing

    def _written(self, begun: Start, names: set[bytes], late: set[bytes], limits: Limits, way: _Way) -> Snapshot:
        listed = list(existing(begun.root, names))
        if sum(status.st_size for _, status in listed if status.st_size < BIG_FILE) > limits.bytes:
            raise TooMany(f"its files have more than {limits.bytes >> 30} GB")
        unkept = [Unkept(os.fsdecode(path), Why.LATE, stamp_of(status)) for path, status in existing(begun.root, late)]
        for _ in range(_TRIES):
            tree, taking = self._read(begun, listed, way)
            changing = taking.changing()
            if not changing:
                break
            listed = list(existing(begun.root, names))
        unkept += (Unkept(os.fsdecode(path), Why.CHANGING, stamp) for path, stamp in changing.items())
        return Snapshot(tree, begun.root, len(taking.files), (*taking.unkept, *unkept))

    def _read(self, begun: Start, listed: Listed, way: _Way) -> tuple[str, Taking]:
        known = self._known() if way.reading is Reading.TOUCHED else self._sound().without_stamps()
        try:
            taking = Taking(begun.root, listed, known, way.wants_out)
            tree = self._imported(taking, way.wants_out)
        except Interrupted:
            raise
        except GitFailed:
            # Objects may be missing: everything is read and written again, and follows what is left.
            if not self.repository.has(self._ref):
                self.repository.delete(self._ref)
            taking = Taking(begun.root, listed, Cache(), way.wants_out)
            tree = self._imported(taking, way.wants_out)
        self._remember(Cache(tree, taking.files))
        return tree, taking

    def _imported(self, taking: Taking, wants_out: Callable[[], bool]) -> str:
        changes = taking.changes()
        first = next(changes, None)
        known, has_ref = taking.known.tree, self._is_kept
        if first is None and known and has_ref:
            return known
        parent = f"{self._ref}^0" if has_ref else None
        stream = chain(() if first is None else (first,), changes)
        tree = self.repository.write(self._ref, known, stream, parent, wants_out)
        self.repository.tidy()
        return tree

    def _sound(self) -> Cache:
        """The cache, if its tree has the files that it names; else an empty one: an agent could have written it."""
        known = self._known()
        try:
            files = self.repository.files(known.tree, from_disk=True) if known.tree else {}
        except GitFailed:
            return Cache()
        return known if files == {path: each.file for path, each in known.files.items()} else Cache()

    def _known(self) -> Cache:
        path = self.folder / "cache.json"
        try:
            stamp = stamp_of(os.stat(path))
        except OSError:
            return Cache()
        if self._cache is None or self._cache[0] != stamp:
            self._cache = (stamp, cache.load(path))
        return self._cache[1]

    def _remember(self, known: Cache) -> None:
        if self._cache is not None and self._cache[1] == known:
            return
        path = self.folder / "cache.json"
        known.save(path)
        self._cache = (stamp_of(os.stat(path)), known)

    def _save_last(self, last: _Last) -> None:
        unkept = [(each.path, each.why.name, each.stamp) for each in last.snapshot.unkept]
        fields = {"glance": last.glance, "tree": last.snapshot.tree, "files": last.snapshot.files, "unkept": unkept}
        disk.replace_file(self._own / "last.json", json.dumps(fields).encode(), sync=False)

    def _load_last(self, root: str) -> _Last | None:
        if not self._named:
            return None
        try:
            fields = json.loads((self._own / "last.json").read_bytes())
            unkept = tuple(Unkept(path, Why[why], tuple(stamp)) for path, why, stamp in fields["unkept"])
            return _Last(fields["glance"], Snapshot(fields["tree"], root, fields["files"], unkept))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _throttled(wants_out: Callable[[], bool]) -> Callable[[], bool]:
    """As `wants_out`, but asks it seldom enough to be called for each file."""
    next_at = 0.0

    def asked() -> bool:
        nonlocal next_at
        if wants_out is never or time.monotonic() < next_at:
            return False
        next_at = time.monotonic() + _LOOK_EVERY
        return wants_out()

    return asked
