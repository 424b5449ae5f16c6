"""Libraries outside of a workspace, compared with the start of the loop: an agent that edits an installed pytest would judge itself.

- A file that was there and is another now refuses the room, unless an installation explains it or a person approved it.
- A new file that nothing explains is hidden in a sealed room; where it cannot be hidden, it refuses the room.
- Bytecode that was written since the start may not belong to its source: a sealed room leaves it out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.ignored import beside
from untildone.workspace.rooms.ignored.beside import Recorded
from untildone.workspace.rooms.refusal import RoomRefused, named
from untildone.workspace.rooms.stamps import Listing
from untildone.workspace.rooms.toolchain import searching
from untildone.workspace.rooms.toolchain.installed import ORIGIN, Declared, Explanation
from untildone.workspace.rooms.toolchain.library_folders import Growth, Library

_WRITTEN_AGAIN = re.compile(rb"\.pth$|__editable__|\.egg-link$")
SMALL = 64 * 1024
"""Bytes. Launchers of programs are smaller, and are often written again unchanged."""
MOST_NAMED = 20
"""Paths of one refusal: a person approves the folder if there are more."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What of a library must not be seen in a room."""

    path: str
    hidden: tuple[bytes, ...] = ()
    """Files and folders that are new and that nothing explains."""
    bytecode: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """How the libraries differ from the start."""

    hidden: tuple[Hidden, ...] = ()
    notes: tuple[str, ...] = ()


def listing(library: Library) -> Listing:
    """The files of a library."""
    path = os.fsencode(library.path)
    return stamps.with_folders(path, stamps.listing(path, leave_out=_left_out(library)))


def _left_out(library: Library) -> Callable[[bytes], bool]:
    return frozenset(map(os.fsencode, library.left_out)).__contains__


def record(libraries: Mapping[str, Library], folder: Path) -> dict[str, Recorded]:
    """Save outlines of the libraries below `folder`; return hashes of them by path. A library has tens of thousands of files, and the
    person waits for the first round: the change time of each file says at a claim whether it is still the same."""
    recorded = {}
    for path, library in libraries.items():
        listed = stamps.outline(os.fsencode(path), leave_out=_left_out(library))
        recorded[path] = Recorded("", "")
        if listed.whole:
            saved = stamps.save(_with_content(os.fsencode(path), listed), beside.listing_file(folder, path))
            recorded[path] = Recorded(listed.names_digest(), saved, searching.place_of(path))
    return recorded


def _with_content(folder: bytes, listed: Listing) -> Listing:
    """The outline with stamps and hashes of files that another installation of the same project writes again."""
    origin = b"/" + ORIGIN.encode()
    local = tuple(os.path.dirname(path) + b"/" for path in listed.files if path.endswith(origin))
    programs = folder.endswith(b"/bin")
    again = {path for path in listed.files if programs or _WRITTEN_AGAIN.search(path) or path.startswith(local)}
    some = stamps.looked_at(folder, again)
    small = Listing({path: each for path, each in some.items() if not programs or each.size <= SMALL})
    hashed = stamps.with_content(folder, small, small.files.__contains__).files
    return replace(listed, files={**listed.files, **some, **hashed})


@dataclass(frozen=True)
class Libraries:
    """Compares libraries with their record."""

    folder: Path
    """Where the record of the start is."""
    recorded: Mapping[str, Recorded]
    began: int
    root: str
    declared: Callable[[], Declared]
    approved: Collection[str] = ()
    unchanged: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    """`Search.unchanged`."""

    def compare(self, now: Iterable[Library], *, can_hide: bool) -> Compared:
        """What of the libraries a room must hide. Raises RoomRefused for what it cannot show and cannot hide."""
        hidden: list[Hidden] = []
        notes: list[str] = []
        for library in now:
            differences = _Differences(self, library)
            differences.refuse(can_hide=can_hide)
            notes += differences.notes
            if differences.new or differences.bytecode:
                hidden.append(Hidden(library.path, differences.new, differences.bytecode))
        return Compared(tuple(hidden), tuple(notes))


@dataclass(frozen=True)
class _Differences:
    """How one library differs from its record."""

    record: Libraries
    library: Library

    @cached_property
    def _now(self) -> Listing:
        return listing(self.library)

    @cached_property
    def _then(self) -> Listing:
        """The files at the start. Of a folder that was not recorded: those that did not change since."""
        path = self.library.path
        if path not in self.record.recorded:
            old = {name: each for name, each in self._now.files.items() if not self._is_since(each.changed)}
            return Listing(old)
        try:
            then = stamps.load(beside.listing_file(self.record.folder, path), self.record.recorded[path].saved)
        except (OSError, ValueError) as error:
            raise RoomRefused(
                f"The record of {path} at the start of the loop is damaged: {error}.", "start a new loop"
            ) from error
        return stamps.since(then, self._now, self.record.began)

    def _is_since(self, changed: int) -> bool:
        return stamps.is_since(changed, self.record.began)

    @property
    def _digest(self) -> str | None:
        recorded = self.record.recorded.get(self.library.path)
        return recorded.digest if recorded else None

    @cached_property
    def _glance(self) -> stamps.Glance:
        bytecode = self.record.unchanged.get(self.library.path)
        if bytecode is not None and self._digest:
            return stamps.Glance(self._digest, is_touched=False, bytecode=bytecode)
        return stamps.glance(os.fsencode(self.library.path), self.record.began, leave_out=_left_out(self.library))

    @property
    def bytecode(self) -> tuple[bytes, ...]:
        return self._glance.bytecode

    @property
    def _may_differ(self) -> bool:
        return self._digest != "" and (self._glance.is_touched or self._digest != self._glance.names)

    @cached_property
    def _differing(self) -> tuple[bytes, ...]:
        path = self.library.path
        if path in self.record.approved or not self._may_differ:
            return ()
        return tuple(stamps.differences(os.fsencode(path), self._then, self._now))

    @cached_property
    def _unexplained(self) -> tuple[bytes, ...]:
        path, record = self.library.path, self.record
        if not self._differing:
            return ()
        is_environment = self.library.is_environment
        declared = replace(record.declared(), is_new_folder=is_environment and not self._then.files)
        explanation = Explanation(path, self._then, self._now, declared, record.root, is_environment=is_environment)
        explained = explanation.explain(self._differing)
        rest = (name for name in self._differing if name not in explained.paths)
        return tuple(name for name in rest if os.path.join(path, os.fsdecode(name)) not in record.approved)

    @cached_property
    def changed(self) -> tuple[bytes, ...]:
        return tuple(name for name in self._unexplained if name in self._then.files)

    @cached_property
    def new(self) -> tuple[bytes, ...]:
        """New files, or the highest folders that hold nothing else."""
        new = [name for name in self._unexplained if name not in self._then.files]
        if not new or self.library.growth is Growth.NEW_VERSIONS:
            return ()
        return topmost(new, self._now.files.keys() - set(new))

    @property
    def notes(self) -> Iterator[str]:
        path = self.library.path
        if self._digest == "":
            yield f"{path} has too many files to be compared with the start of the loop."
        if self.new:
            yield f"New in {path} since the loop began, and not in the room: {self._named(self.new)}."
        if self._differing and (more := len(self._differing) - len(self._unexplained)):
            yield f"{path} has {more} files that were installed since the loop began."

    def refuse(self, *, can_hide: bool) -> None:
        changed = self.changed if can_hide else (*self.changed, *self.new)
        if changed:
            paths = [os.path.join(self.library.path, os.fsdecode(name)) for name in changed]
            shown = paths if len(paths) <= MOST_NAMED else [self.library.path]
            raise RoomRefused(
                f"Files of a library that a check may use were changed since the loop began: {named(paths)}.",
                "undo the change, or approve it if it is yours; packages that the project needs belong into its dependency files",
                shown,
            )

    def _named(self, names: Iterable[bytes]) -> str:
        return named([os.fsdecode(name) for name in names])


def topmost(names: Iterable[bytes], others: Iterable[bytes]) -> tuple[bytes, ...]:
    """The files, or the highest folders that hold none of the others."""
    kept = {parent for name in others for parent in _parents(name)}
    return tuple(dict.fromkeys(next((each for each in _parents(name) if each not in kept), name) for name in names))


def _parents(path: bytes) -> list[bytes]:
    """The folders above a path, the highest first."""
    parts = path.split(b"/")[:-1]
    return [b"/".join(parts[: number + 1]) for number in range(len(parts))]
