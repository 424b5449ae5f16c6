"""Files of a workspace that no snapshot contains, because rules ignore them: which are new or changed since the start of a loop.

A check may depend on them all the same: a `.pth` file in a virtual environment, a program in `node_modules/.bin`. They are known by
their stamps only. Caches of tools are left out: they change with every run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from time import monotonic

from untildone.core.live_file import is_live_file
from untildone.core.values.value import dataclass, field
from untildone.system import disk
from untildone.workspace.shadow.listing import HEAVY
from untildone.workspace.shadow.values import Stamp, stamp_of

MOST_FILES, MOST_SECONDS = 100_000, 3.0
"""How many files are compared, and for how long. A sentence says so if there are more."""
MOST_NAMED = 50
_SKIPPED = frozenset({
    b".git", b".loop", b"__pycache__", b".pytest_cache", b".mypy_cache", b".ruff_cache", b".hypothesis", b".cache", b".eslintcache",
    b".parcel-cache", b".turbo", b".nx", b".tox", b".nox", b".gradle", b".import_linter_cache",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manifest:
    """The stamps of ignored files."""

    files: Mapping[bytes, Stamp] = field(default_factory=dict)
    complete: bool = True
    """Whether there were few enough of them to look at all."""

    def save(self, path: Path) -> None:
        rows = {os.fsdecode(name): stamp for name, stamp in self.files.items()}
        content = json.dumps({"complete": self.complete, "files": rows}, separators=(",", ":"))
        disk.replace_file(path, content.encode(), sync=False)


@dataclass(frozen=True, slots=True)
class IgnoredChanges:
    """What differs between two manifests. Paths are relative to the top of the work tree."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    packages: Mapping[str, int] = field(default_factory=dict)
    """Folders of installed packages and build results, with the number of new and changed files in each."""
    complete: bool = True

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences for people; empty if nothing differs."""
        named = [*_named(self.new, "new"), *_named(self.changed, "changed")]
        folders = [f"{folder}/: {count} ignored files are new or changed" for folder, count in self.packages.items()]
        unknown = [] if self.complete else [f"only the first {MOST_FILES:,} ignored files were compared"]
        return (*named, *folders, *unknown)


def manifest(root: str, kept: Collection[bytes], left_out: Path) -> Manifest:
    """The ignored files below `root`: all that are not among `kept`, the files of a snapshot, nor in the folder `left_out`."""
    files: dict[bytes, Stamp] = {}
    deadline = monotonic() + MOST_SECONDS
    for path, stamp in _files(os.fsencode(root), os.fsencode(left_out), kept):
        files[path] = stamp
        if len(files) >= MOST_FILES or monotonic() > deadline:
            return Manifest(files, complete=False)
    return Manifest(files)


def load(path: Path) -> Manifest | None:
    """The saved manifest; None if there is none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return Manifest({os.fsencode(name): tuple(stamp) for name, stamp in content["files"].items()}, content["complete"])


def compared(before: Manifest, now: Manifest) -> IgnoredChanges:
    """What is new or changed. Of two incomplete manifests, files that both contain are compared."""
    complete = before.complete and now.complete
    new = sorted(now.files.keys() - before.files.keys()) if complete else []
    changed = sorted(path for path, stamp in now.files.items() if before.files.get(path, stamp) != stamp)
    packages: dict[str, int] = {}
    for path in (*new, *changed):
        if folder := _package_folder(path):
            packages[folder] = packages.get(folder, 0) + 1
    single = [tuple(os.fsdecode(path) for path in paths if not _package_folder(path)) for paths in (new, changed)]
    return IgnoredChanges(single[0], single[1], packages, complete)


def _package_folder(path: bytes) -> str:
    """The topmost folder of packages that contains a file; empty if none does."""
    parts = path.split(b"/")
    place = next((number for number, part in enumerate(parts[:-1], 1) if part in HEAVY), 0)
    return os.fsdecode(b"/".join(parts[:place]))


def _named(paths: tuple[str, ...], how: str) -> Iterator[str]:
    yield from (f"{path} is ignored, and {how}" for path in paths[:MOST_NAMED])
    if len(paths) > MOST_NAMED:
        yield f"{len(paths) - MOST_NAMED} more ignored files are {how}"


def _files(top: bytes, left_out: bytes, kept: Collection[bytes]) -> Iterator[tuple[bytes, Stamp]]:
    pending = [b""]
    while pending:
        below = pending.pop()
        try:
            entries = list(os.scandir(os.path.join(top, below)))
        except OSError:
            continue
        for entry in entries:
            path = below + b"/" + entry.name if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED and entry.path != left_out:
                    pending.append(path)
            elif path not in kept and entry.name not in _SKIPPED and not is_live_file(os.fsdecode(entry.name)):
                try:
                    yield path, stamp_of(entry.stat(follow_symlinks=False))
                except OSError:
                    continue
