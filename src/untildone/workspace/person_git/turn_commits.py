"""Commits what the agent of a loop changed, and nothing else: what the person had changed, staged or not added stays theirs.

What the agent changed is the difference between two snapshots of the shadow repository: after its turn, and before it (`base`). Git applies
that difference to the last commit, in an index of its own. Where the person had changed a file as well, that happens line by line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from tempfile import TemporaryDirectory

from untildone.core.errors import UsageError
from untildone.core.protection.secrets import Redactor
from untildone.core.values.value import dataclass, field, replace
from untildone.system import disk
from untildone.workspace.git import (
    MANY_FILES,
    GitFailed,
    Interrupted,
    git,
    line_of,
    never,
    repository_at,
)
from untildone.workspace.git_links import refuse_outward
from untildone.workspace.person_git import index, three_way
from untildone.workspace.person_git.commits import NONE_KNOWN, Kept, refuse_leak, signature, unfinished
from untildone.workspace.person_git.index import LINKED_REPOSITORY, Entry
from untildone.workspace.shadow import LINK, Change, Content, File, NoSnapshot, Shadow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.system.box.sandbox import Box

KEPT_AS = "bases"
_FILE = "commits.json"
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
"""The name of an empty file in the shadow repository."""
_LATER = "the next round is committed together with this one"


def unboxed() -> None:
    """No box: filters of the repository run as the person."""


class Tangled(Exception):
    """The changes of person and agent cannot be separated. The text is the second half of a sentence."""

    def __init__(self, problem: str, hint: str = "commit or stash your own changes") -> None:
        super().__init__(problem)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class State:
    """The state of the commits of a loop."""

    base: str | None = None
    """The snapshot up to which the agent's changes are committed; None: that of the start."""
    seen: str | None = None
    """The snapshot when the agent's last turn ended: later changes are the person's. None: the agent may be at work since."""
    links: Mapping[bytes, str] | None = None
    """The commits of submodules that belong to `base`; None: those of the start."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to put into the next commit."""

    files: tuple[bytes, ...] = ()
    """Files of the work tree, as they are."""
    entries: Mapping[bytes, Entry | None] = field(default_factory=dict)
    """Other entries; None: the file is removed."""


class TurnCommits:
    """The commits of one loop in the person's repository."""

    def __init__(self, shadow: Shadow, start_tree: str | None, box: Callable[[], Box | None] = unboxed) -> None:
        """`start_tree` is the snapshot before the first turn. `box` makes the box in which filters of the repository run."""
        self._shadow = shadow
        self._start_tree = start_tree
        self._new_box = box
        self._path = shadow.own_file(_FILE)

    def begin(self) -> None:
        """Note that the agent starts to work. What changed since its last turn is the person's."""
        state = self._load()
        now = self._shadow.take().tree if state.seen else None
        if now and state.seen and now != state.seen:
            state = replace(state, base=self._shifted(self._base_of(state), state.seen, now))
        self._save(replace(state, seen=None))

    def end(self) -> None:
        """Note that the agent's turn has ended without a commit."""
        self._save(replace(self._load(), seen=self._shadow.take().tree))

    def keep(self, message: str, wants_out: Callable[[], bool] = never, known: Redactor = NONE_KNOWN) -> Kept:
        """Commit what the agent changed since the last commit of this loop. `Kept.note` says what is not committed, and why.

        Once `wants_out` returns True, a commit that takes long is given up: a filter of the person may never end."""
        try:
            root = repository_at(self._shadow.workspace)
            refuse_outward(root)
            return self._kept(root, message, wants_out, known)
        except Interrupted:
            return self._not_kept("")
        except UsageError as problem:
            return self._not_kept(f"{problem.sentence} {problem.hint.capitalize()}.")
        except Tangled as problem:
            return self._not_kept(
                f"The work of this round is not committed: {problem}. Hint: {problem.hint}; {_LATER}."
            )
        except (GitFailed, NoSnapshot, OSError) as problem:
            reason = f"The work of this round is not committed: {str(problem).rstrip('.')}."
            return self._not_kept("" if wants_out() else reason)

    def _not_kept(self, note: str) -> Kept:
        with suppress(NoSnapshot, OSError):
            self.end()
        return Kept(None, note=note)

    # The state

    def _load(self) -> State:
        try:
            fields = json.loads(self._path.read_bytes())
            links = {os.fsencode(path): commit for path, commit in fields["links"].items()}
            return State(fields["base"], fields["seen"], links)
        except FileNotFoundError:
            return State()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NoSnapshot(f"what is known about the commits of this loop, {self._path}, is damaged") from error

    def _save(self, state: State) -> None:
        links = {os.fsdecode(path): commit for path, commit in self._links_of(state).items()}
        text = json.dumps({"base": state.base, "seen": state.seen, "links": links})
        disk.replace_file(self._path, text.encode(), sync=False)

    def _base_of(self, state: State) -> str:
        base = state.base or self._start_tree
        if base is None:
            raise NoSnapshot("there is no snapshot of the start to compare with")
        return base

    def _links_of(self, state: State) -> Mapping[bytes, str]:
        if state.links is not None:
            return state.links
        start = self._shadow.start
        return {} if start is None else start.submodules

    def _shifted(self, base: str, since: str, now: str) -> str:
        """`base` with the changes of a person from `seen` to `now`."""
        files = self._shadow.files(base)
        changes = {
            change.path: self._with_edit(files.get(change.path), change) for change in self._shadow.changed(since, now)
        }
        return self._shadow.write_tree(base, changes, KEPT_AS)

    def _with_edit(self, file: File | None, edit: Change) -> File | Content | None:
        """A file of the base after an edit of the person. Lines that the agent changed too count as the person's."""
        if file == edit.before or file is None or edit.before is None or edit.after is None:
            return edit.after
        texts = self._shadow.read((file.blob, edit.before.blob, edit.after.blob))
        three = (texts[name] for name in (file.blob, edit.before.blob, edit.after.blob))
        text = three_way.merged(self._shadow.workspace, *three)
        return edit.after if text is None else Content(edit.after.mode, text)

    # One commit

    def _kept(self, root: str, message: str, wants_out: Callable[[], bool], known: Redactor) -> Kept:
        state, snapshot = self._load(), self._shadow.take(wants_out)
        if (what := unfinished(root)) is not None:
            raise Tangled(f"{what} is unfinished in {root}", "finish or abort it")
        changes = dict(
            self._in_repository(root, snapshot.root, self._shadow.changed(self._base_of(state), snapshot.tree))
        )
        own, nested = _divided(root, changes)
        refuse_leak(root, own, known)
        heads = index.committed(root)
        before, links = self._links_of(state), index.submodules(root, heads)
        plan = self._plan(root, {path: changes[path] for path in own}, heads, wants_out)
        plan = replace(plan, entries={**plan.entries, **_moved(before, links, heads)})
        made = self._commit(root, plan, message, wants_out)
        self._save(State(snapshot.tree, snapshot.tree, links))
        return Kept(made, made is not None, whole=made is not None, note=self._note(root, nested, wants_out))

    def _in_repository(self, root: str, top: str, changes: Iterable[Change]) -> Iterator[tuple[bytes, Change]]:
        """The changes below `root`, with paths relative to it."""
        for change in changes:
            path = os.path.relpath(os.path.join(top, change.path), root)
            if not path.startswith(f"..{os.sep}"):
                yield os.fsencode(path), change

    def _plan(
        self, root: str, changes: Mapping[bytes, Change], heads: Mapping[bytes, Entry], wants_out: Callable[[], bool]
    ) -> Plan:
        ignored = _ignored(root, [path for path, change in changes.items() if change.before is None])
        mine = _Separation(root, self._shadow, heads, wants_out, self._box(root))
        files: list[bytes] = []
        entries: dict[bytes, Entry | None] = {}
        moved = mine.untracked_and_gone(changes)
        for path, change in changes.items():
            if path in ignored or (change.before is None and change.after and change.after.blob in moved):
                continue
            if mine.is_committed(path, change.before):
                if change.after is None:
                    entries[path] = None
                else:
                    files.append(path)
            elif (entry := mine.entry(path, change)) != heads.get(path):
                entries[path] = entry
        return Plan(tuple(files), entries)

    def _commit(self, root: str, plan: Plan, message: str, wants_out: Callable[[], bool]) -> str | None:
        """The new commit; None: there is nothing to commit. The index of the person changes only where the commit does."""
        if not plan.files and not plan.entries:
            return None
        with TemporaryDirectory(prefix="index-", dir=self._path.parent) as folder:
            box = self._box(root, folder)
            private = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            git(root, "read-tree", index.head_tree(root), env=private)
            index.put(root, plan.entries, private, box)
            in_one_pack = ("-c", "core.bigFileThreshold=1") if len(plan.files) >= MANY_FILES else ()
            index.put_files(root, plan.files, private, in_one_pack, wants_out, box)
            new = index.staged(root, private)
            if not new:
                return None
            # A git command that writes an index reads files that are as new as the index again, through filters.
            tree = line_of(git(root, "write-tree", env=private, box=box))
        return self._recorded(root, tree, new, message)

    def _note(self, root: str, nested: set[bytes], wants_out: Callable[[], bool]) -> str:
        """What a commit cannot contain."""
        names = sorted(os.fsdecode(path) for path in nested)
        folders = ((name, os.path.join(root, name)) for name in names)
        dirty = [name for name, folder in folders if index.is_dirty(folder, wants_out, self._box(folder))]
        if not dirty:
            return ""
        return f"Changes inside another repository are not part of the commit: {', '.join(dirty)}. Commit them there."

    def _box(self, root: str, *writable: str) -> Box | None:
        """The box for filters, with more folders that can be written."""
        box = self._new_box()
        if box is None:
            return None
        import dataclasses

        from untildone.system.box.sandbox import Access, Mount

        more = (Mount(Access.WRITE, folder) for folder in writable)
        return dataclasses.replace(box, folder=root, mounts=(*box.mounts, *more))

    def _recorded(self, root: str, tree: str, new: index.Changes, message: str) -> str:
        head = line_of(git(root, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1)))
        parents = ("-p", head) if head else ()
        text = message.encode(errors="replace")
        # What writes into `.git` runs in the box too: a program of the agent that is still there could put a link in its way.
        box, names = self._box(root), signature(root)
        commit = line_of(git(root, "commit-tree", tree, *parents, "-F", "-", env=names, stdin=text, box=box))
        after, before = self._index_after(root, new)
        index.put(root, after, box=box)
        try:
            title = message.partition("\n")[0]
            moved = (f"commit: {title}", "HEAD", commit, head or "0" * len(commit))
            git(root, "update-ref", "-m", *moved, env=names, box=box)
        except GitFailed:
            index.put(root, before, box=box)
            raise
        return commit

    def _index_after(self, root: str, new: index.Changes) -> tuple[index.Changes, index.Changes]:
        """The entries of the person's index that change with the commit, and what they were."""
        heads, staged = index.committed(root), index.staged(root)
        start = self._shadow.start
        theirs = {} if start is None else start.staged
        mine = _Separation(root, self._shadow, heads, never, self._box(root))
        after: dict[bytes, Entry | None] = {}
        for path, entry in new.items():
            own = staged.get(path)
            is_theirs = path in staged and path in theirs and theirs[path] == own
            after[path] = mine.staged(path, own, entry) if is_theirs else entry
        return after, {path: staged.get(path, heads.get(path)) for path in after}


class _Separation:
    """Separates the agent's changes from those of the person."""

    def __init__(
        self,
        root: str,
        shadow: Shadow,
        heads: Mapping[bytes, Entry],
        wants_out: Callable[[], bool],
        box: Box | None,
    ) -> None:
        """`heads` are the entries of the last commit."""
        self._box = box
        self._root = root
        self._shadow = shadow
        self._heads = heads
        self._wants_out = wants_out

    def is_committed(self, path: bytes, file: File | None) -> bool:
        """Whether a file of a snapshot is that of the last commit."""
        head = self._heads.get(path)
        if head is None or file is None:
            return head is None and file is None
        return head.mode == file.mode and (head.name == file.blob or head.name == self._stored(path, file))

    def untracked_and_gone(self, changes: Mapping[bytes, Change]) -> frozenset[str]:
        """The contents of files that git did not know, and that are gone: the same content elsewhere is still the person's file."""
        return frozenset(
            change.before.blob
            for path, change in changes.items()
            if change.before and change.after is None and path not in self._heads and change.before.blob != _EMPTY
        )

    def entry(self, path: bytes, change: Change) -> Entry | None:
        """The entry of a file that differs from the last commit before the agent's change. Raises Tangled."""
        head, before, after = self._heads.get(path), change.before, change.after
        shown = os.fsdecode(path)
        if head is None and after is None:
            return None
        if head is None:
            raise Tangled(f"{shown} was there before the loop began and is not in your last commit")
        if after is not None and self.is_committed(path, after):
            return head
        if before is None or after is None or LINK in (head.mode, before.mode, after.mode):
            raise Tangled(
                f"{shown} had changes of yours, and the agent {'removed' if after is None else 'replaced'} it"
            )
        mode = after.mode if after.mode != before.mode else head.mode
        return Entry(mode, self._merged(path, head.name, self._stored(path, before), self._stored(path, after)))

    def staged(self, path: bytes, own: Entry | None, new: Entry | None) -> Entry | None:
        """What the person staged, with the changes of the new commit. Raises Tangled."""
        head = self._heads.get(path)
        if own == new:
            return own
        if own is None or new is None or head is None or {own.mode, new.mode, head.mode} - {"100644", "100755"}:
            raise Tangled(f"{os.fsdecode(path)} is staged by you, and the agent changed it as well")
        mode = new.mode if new.mode != head.mode else own.mode
        return Entry(mode, self._merged(path, own.name, head.name, new.name))

    def _merged(self, path: bytes, ours: str, base: str, theirs: str) -> str:
        contents = self._contents((ours, base, theirs))
        text = three_way.merged(self._root, *contents)
        if text is None:
            raise Tangled(f"{os.fsdecode(path)} has changes of yours in the lines that the agent changed")
        return line_of(git(self._root, "hash-object", "-w", "--stdin", stdin=text, box=self._box))

    def _contents(self, names: Iterable[str]) -> list[bytes]:
        return [git(self._root, "cat-file", "blob", name) for name in names]

    def _stored(self, path: bytes, file: File) -> str:
        """The name of a file's content in the person's repository, through the person's filters."""
        text = self._shadow.read((file.blob,))[file.blob]
        filters = ("--no-filters",) if file.mode == LINK else (f"--path={os.fsdecode(path)}",)
        command = ("hash-object", "-w", "--stdin", *filters)
        return line_of(git(self._root, *command, stdin=text, wants_out=self._wants_out, box=self._box))


def _divided(root: str, paths: Iterable[bytes]) -> tuple[list[bytes], set[bytes]]:
    """The paths of the repository itself, and the repositories inside that contain the others."""
    top, known = os.fsencode(root), {b"": b""}

    def holder(folder: bytes) -> bytes:
        if folder not in known:
            is_repository = os.path.lexists(os.path.join(top, folder, b".git"))
            known[folder] = holder(os.path.dirname(folder)) or (folder if is_repository else b"")
        return known[folder]

    holders = {path: holder(os.path.dirname(path)) for path in paths}
    return [path for path, inside in holders.items() if not inside], {inside for inside in holders.values() if inside}


def _ignored(root: str, paths: list[bytes]) -> frozenset[bytes]:
    """The new files that git ignores: the agent may have added rules."""
    if not paths:
        return frozenset()
    names = b"".join(path + b"\0" for path in paths)
    return frozenset(git(root, "check-ignore", "-z", "--stdin", stdin=names, fine=(0, 1)).split(b"\0")[:-1])


def _moved(
    before: Mapping[bytes, str], now: Mapping[bytes, str], heads: Mapping[bytes, Entry]
) -> dict[bytes, Entry | None]:
    """Submodules that the agent moved to another commit."""
    moved = {path: commit for path, commit in now.items() if before.get(path) not in (None, commit)}
    for path in moved:
        if heads[path].name not in (before[path], moved[path]):
            raise Tangled(f"you and the agent moved the submodule {os.fsdecode(path)}")
    return {path: Entry(LINKED_REPOSITORY, commit) for path, commit in moved.items()}
