"""What lies in a workspace beside its snapshot: ignored files that a check may need. Kept or listed at the start of a loop.

- Folders of installed packages, and other big folders, are shown in a room if they are as they were at the start. Packages that differ
  count too if dependency files differ; else the room is refused.
- Small files and outputs of builds are shown as they were at the start, from copies. Caches are not shown.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from untildone.system import disk
from untildone.workspace.rooms import stamps
from untildone.workspace.rooms.ignored.kinds import (
    INNER_CACHES,
    Kind,
    is_output,
    kind_of,
    may_hold_packages,
    package_folders,
)
from untildone.workspace.rooms.refusal import RoomRefused

_RECORD, FILES, LISTINGS, OUTPUTS = "start.json", "files", "listings", "outputs"
"""Names in the folder of the record."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A folder that is shown in rooms if it is as it was at the start."""

    kind: Kind
    digest: str
    """Of its listing; empty: it has too many files to be watched."""
    link: str = ""
    """The target, if it is a symbolic link to a folder."""
    saved: str = ""
    """A hash of the saved listing."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The outline of a library outside of the workspace."""

    digest: str
    """Of its names; empty: it has too many files to be watched."""
    saved: str
    """Of the saved outline."""
    place: str = ""
    """Identifies the folder: see `searching.place_of`."""


@dataclass(frozen=True, slots=True)
class Start:
    """What lay beside the snapshot at the start of a loop."""

    began: int
    """The time of the start, in nanoseconds."""
    root: str
    watched: Mapping[str, Watched] = field(default_factory=dict)
    """Folders by their path below the root."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Files of which there is a copy, with a hash of the content."""
    left: tuple[str, ...] = ()
    """Files and folders that are in no room: outputs that are too big to be kept."""
    outside: Mapping[str, int] = field(default_factory=dict)
    """Files outside of the workspace that decide what a check means, with their change times."""
    libraries: Mapping[str, Recorded] = field(default_factory=dict)
    """Folders of libraries outside of the workspace."""
    rules: str = ""
    """A hash of what decides which files belong to snapshots."""
    settings: str = ""
    """A hash of the settings of the person's repository, which rooms have."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Big folders with the outputs of builds of which there is a copy, with a hash of the copy's listing."""

    @property
    def has_outputs(self) -> bool:
        return bool(self.outputs) or any(map(is_output, self.kept))

    def save(self, folder: Path) -> str:
        """Write the record and return a hash of it."""
        content = json.dumps(asdict(self)).encode()
        disk.replace_file(folder / _RECORD, content)
        return hashlib.sha256(content).hexdigest()


def entries(root: str, tree: Collection[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Files and folders below the root that are not in a tree, which is given by the paths of its files. A folder without any file of
    the tree is one entry."""
    folders = {""}
    for path in tree:
        while (path := path.rpartition("/")[0]) not in folders:
            folders.add(path)
    pending = [""]
    while pending:
        below = pending.pop()
        try:
            listed = list(os.scandir(os.path.join(root, below)))
        except OSError:
            continue
        for entry in listed:
            path = f"{below}/{entry.name}" if below else entry.name
            if path in folders and entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif path not in tree:
                yield path, entry


def kind(path: str, entry: os.DirEntry[str]) -> Kind:
    """What an entry beside the tree is for."""
    is_folder = is_folder_or_link(entry)
    environment = is_folder and os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
    return kind_of(path, is_folder=is_folder, is_environment=environment)


def is_folder_or_link(entry: os.DirEntry[str]) -> bool:
    """Whether the entry is a folder, or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def packages(root: str, tree: Collection[str]) -> set[str]:
    """Folders of packages that are there now, beside the dependency files of a tree and at the top."""
    beside = {""} | {path.rpartition("/")[0] for path in tree if may_hold_packages(path)}
    named = (os.path.join(folder, name) for folder in beside for name in package_folders())
    found = {path for path in named if path not in tree and os.path.isdir(os.path.join(root, path))}
    return found | {path for path, entry in _at_the_top(root, tree) if kind(path, entry) is Kind.PACKAGES}


def _at_the_top(root: str, tree: Collection[str]) -> list[tuple[str, os.DirEntry[str]]]:
    try:
        return [(entry.name, entry) for entry in os.scandir(root) if entry.name not in tree]
    except OSError:
        return []


def listing(path: str) -> stamps.Listing:
    """The files of a folder, or of what a link leads to."""
    return stamps.listing(real(path), leave_out=INNER_CACHES.__contains__)


def listing_file(folder: Path, path: str) -> Path:
    """Where the listing of a watched folder is saved."""
    return folder / LISTINGS / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def output_folder(folder: Path, path: str) -> Path:
    """Where the copy of a folder with outputs is."""
    return folder / OUTPUTS / hashlib.sha256(os.fsencode(path)).hexdigest()[:32]


def real(path: str) -> bytes:
    return os.fsencode(os.path.realpath(path))


def load(folder: Path, digest: str = "") -> Start:
    """The record of the start. With `digest`, it must be the record of which `record` returned that hash."""
    try:
        content = (folder / _RECORD).read_bytes()
        if digest and hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("it is not the one that was written")
        fields = json.loads(content)
        watched = {
            path: Watched(Kind(each["kind"]), each["digest"], each["link"], each["saved"])
            for path, each in fields["watched"].items()
        }
        found = {path: Recorded(**each) for path, each in fields["libraries"].items()}
        return Start(**{**fields, "watched": watched, "libraries": found, "left": tuple(fields["left"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RoomRefused(
            f"The record of the workspace at the start of the loop, {folder}, cannot be used: {error}.",
            "start a new loop; nothing but untildone may change that folder",
        ) from error
