"""Watches the judge files in a room: a build step could rewrite the tests before they run, and put them back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from untildone.core.judging.versions import meaning
from untildone.workspace.rooms.room import File, Touched, Trees

Stamp = tuple[int, int, int, int]


class Watch:
    """Looks which files of a folder were written to. The change time of a file cannot be set by a program."""

    def __init__(self, folder: str, paths: Iterable[str], files: Mapping[str, File], trees: Trees) -> None:
        """`files` are those of the tree that the folder shows."""
        self._folder = folder
        self._files = files
        self._trees = trees
        self._stamps = {path: self._stamp(path) for path in paths}

    def touched(self) -> Touched:
        """The files that were written to since the last call."""
        found = {path: now for path, then in self._stamps.items() if (now := self._stamp(path)) != then}
        self._stamps |= found
        same = tuple(path for path in found if self._is_same(path))
        return Touched(tuple(path for path in found if path not in same), same)

    def _stamp(self, path: str) -> Stamp | None:
        try:
            status = os.lstat(os.path.join(self._folder, path))
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino

    def _is_same(self, path: str) -> bool:
        blob = self._files[path].blob
        try:
            descriptor = os.open(os.path.join(self._folder, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "rb") as file:
                return meaning.is_same(path, self._trees.read([blob])[blob], file.read())
        except OSError:
            return False
