"""One snapshot that is being taken: which files were touched, and what they contain."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator

from untildone.workspace.git import Interrupted
from untildone.workspace.shadow.cache import Cache, Known
from untildone.workspace.shadow.reading import BIG_FILE, Read, Special, TooBig, blob_name, read
from untildone.workspace.shadow.values import Content, File, Stamp, Unkept, Why, stamp_of

_PAUSE = 0.002

Listed = list[tuple[bytes, os.stat_result]]


class Taking:
    """One snapshot that is being taken: reads what was touched, and collects what is known of each file."""

    def __init__(self, root: str, listed: Listed, known: Cache, wants_out: Callable[[], bool]) -> None:
        self.known = known
        self.files: dict[bytes, Known] = {}
        self.unkept: list[Unkept] = []
        self._new: dict[bytes, Stamp] = {}
        """Stamps of files that had just been written when they were read."""
        self._top = os.fsencode(root)
        self._listed = listed
        self._wants_out = wants_out
        self._format = "sha256" if known.tree and len(known.tree) == 64 else "sha1"

    def changes(self) -> Iterator[tuple[bytes, File | Content | None]]:
        """What differs from the known tree. Removed files come first: one may make room for a folder."""
        names = {path for path, _ in self._listed}
        yield from ((path, None) for path in self.known.files if path not in names)
        for path, status in self._listed:
            if self._wants_out():
                raise Interrupted("interrupted")
            before = self.known.files.get(path)
            if before is not None and before.stamp == stamp_of(status):
                self.files[path] = before
            else:
                yield from self._read(path, status, before)

    def _read(
        self, path: bytes, status: os.stat_result, before: Known | None
    ) -> Iterator[tuple[bytes, File | Content | None]]:
        content = self._found(path, status)
        if content is not None:
            known = Known(
                File(content.content.mode, blob_name(content.content, self._format)),
                content.stamp if content.sure else None,
            )
            self.files[path] = known
            if not content.sure:
                self._new[path] = content.stamp
            if before is None or before.file != known.file:
                yield path, content.content
        elif before is not None:
            yield path, None

    def changing(self) -> dict[bytes, Stamp]:
        """Files that changed after they were read, among those that had just been written: their content may be half of something."""
        if self._new:
            time.sleep(_PAUSE)
        now = dict(existing(os.fsdecode(self._top), set(self._new)))
        stamps = {path: stamp_of(now[path]) if path in now else () for path in self._new}
        return {path: stamp for path, stamp in stamps.items() if stamp != self._new[path]}

    def _found(self, path: bytes, status: os.stat_result) -> Read | None:
        why = _refusal(path, status)
        if why is None:
            try:
                return read(os.path.join(self._top, path), status)
            except (FileNotFoundError, NotADirectoryError, Special):
                return None
            except TooBig:
                why = Why.BIG
            except (OSError, ValueError):
                why = Why.UNREADABLE
        self.unkept.append(Unkept(os.fsdecode(path), why, stamp_of(status)))
        return None


def _refusal(path: bytes, status: os.stat_result) -> Why | None:
    parts = path.lower().split(b"/")
    if b".git" in parts or (stat.S_ISLNK(status.st_mode) and parts[-1] == b".gitmodules"):
        return Why.NAME
    return Why.BIG if stat.S_ISREG(status.st_mode) and status.st_size >= BIG_FILE else None


def existing(root: str, names: set[bytes]) -> Iterator[tuple[bytes, os.stat_result]]:
    top = os.path.join(os.fsencode(root), b"")
    for name in sorted(names):
        try:
            status = os.lstat(top + name)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            yield name, status
