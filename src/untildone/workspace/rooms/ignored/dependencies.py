"""What the dependency files of a claimed tree ask for, beside those of the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from untildone.workspace.rooms.ignored import kinds
from untildone.workspace.rooms.room import Change, File, Trees
from untildone.workspace.rooms.toolchain import installed
from untildone.workspace.rooms.toolchain.installed import Declared

MOST_FILES = 200
"""Dependency files that are read."""


class Dependencies:
    """The dependency files of two trees."""

    def __init__(self, trees: Trees, start_tree: str, claimed_tree: str) -> None:
        self._trees = trees
        self._start = start_tree
        self._claimed = claimed_tree

    def changed(self, folder: str) -> tuple[str, ...]:
        """The changed dependency files that explain why the packages in a folder changed."""
        names = kinds.dependency_files(folder, self._changes)
        contents = self._contents(names)
        return tuple(name for name in names if kinds.installs_otherwise(name, *contents[name]))

    def declared(self, folder: str = kinds.PYTHON_PACKAGES) -> Declared:
        """What packages the files ask for that belong to a folder of packages."""
        files = self._trees.files(self._claimed)
        every = kinds.dependency_files(folder, files)[:MOST_FILES]
        read = self._trees.read({files[name].blob for name in every}) if every else {}
        changed = kinds.dependency_files(folder, self._changes)
        contents = self._contents(changed)
        return installed.declared(
            (kinds.differing(name, b"", read[files[name].blob]) for name in every),
            (kinds.differing(name, *contents[name]) for name in changed),
        )

    @cached_property
    def _changes(self) -> Mapping[str, Change]:
        return {change.path: change for change in self._trees.changed(self._start, self._claimed)}

    def _contents(self, names: Iterable[str]) -> dict[str, tuple[bytes, bytes]]:
        """The files as they were and as they are; empty where there is none."""
        both = {name: (self._changes[name].before, self._changes[name].after) for name in names}
        blobs = {file.blob for pair in both.values() for file in pair if file}
        read = self._trees.read(blobs) if blobs else {}

        def content(file: File | None) -> bytes:
            return read[file.blob] if file else b""

        return {name: (content(before), content(after)) for name, (before, after) in both.items()}
