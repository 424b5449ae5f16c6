"""Watches the judge files in a room: a build step could rewrite the tests before they run, and put them back, or write a hook of their
runner."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from untildone.core.judging.kinds import steering
from untildone.core.judging.trees import ancestors
from untildone.core.judging.versions import meaning
from untildone.system import disk
from untildone.workspace.rooms.room import File, Touched, Trees
from untildone.workspace.shadow import objects

Stamp = tuple[int, int, int, int]
LARGEST = 1 << 20
"""Bytes of settings that are read."""


class Watch:
    """Looks which files of a folder were written to. The change time of a file cannot be set by a program."""

    def __init__(self, folder: str, paths: Iterable[str], files: Mapping[str, File], trees: Trees) -> None:
        """`files` are those of the tree that the folder shows."""
        self._folder = folder
        self._files = files
        self._trees = trees
        self._stamps = {path: self._stamp(path) for path in paths}
        self._places = sorted({"", *(place for path in self._stamps for place in ancestors(path))})
        self._steering = dict(self._found_steering())

    def touched(self) -> Touched:
        """The files that were written to since the last call."""
        found = {path: now for path, then in self._stamps.items() if (now := self._stamp(path)) != then}
        self._stamps |= found
        same = tuple(path for path in found if self._is_same(path))
        return Touched((*(path for path in found if path not in same), *self._steered()), same)

    def _steered(self) -> tuple[str, ...]:
        """Hooks and settings of runners that are new or others, beside tests or above them."""
        before, now = self._steering, dict(self._found_steering())
        self._steering = now
        differing = (path for path in sorted({**before, **now}) if before.get(path, b"") != now.get(path, b""))
        return tuple(path for path in differing if not self._is_copy(path))

    def _found_steering(self) -> Iterator[tuple[str, bytes]]:
        for place in self._places:
            try:
                names = [entry.name for entry in os.scandir(os.path.join(self._folder, place))]
            except OSError:
                continue
            for path in (os.path.join(place, name) for name in names):
                if path not in self._stamps and steering.may_steer(path):
                    yield path, self._steering_part(path)

    def _steering_part(self, path: str) -> bytes:
        try:
            content = disk.read_promptly(Path(self._folder, path), LARGEST)
        except OSError as problem:
            return str(problem.strerror).encode()
        return steering.steering_part(path, content)

    def _is_copy(self, path: str) -> bool:
        """Whether it has the content of a file of its name in the tree, as in a copy of the whole project."""
        name, full = path.rpartition("/")[2], os.path.join(os.fsencode(self._folder), os.fsencode(path))
        same = (file for other, file in self._files.items() if other.rpartition("/")[2] == name)
        return any(objects.is_same(full, file.mode, file.blob) for file in same)

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
