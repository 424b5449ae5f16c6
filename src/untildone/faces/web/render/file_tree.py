"""The files of a diff as a tree of folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from untildone.faces.web.render.diffs import FileDiff


@dataclass(frozen=True, slots=True)
class Leaf:
    """A file, with its place in the diff."""

    name: str
    place: int
    file: FileDiff


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder. One with a single folder in it is one line with it: `src/app`."""

    name: str
    folders: tuple[Folder, ...]
    files: tuple[Leaf, ...]


def tree(files: Sequence[FileDiff]) -> Folder:
    """The root folder, which has no name."""
    return _folder("", [(file.path.split("/"), place, file) for place, file in enumerate(files)])


_Entry = tuple[list[str], int, FileDiff]


def _folder(name: str, entries: Sequence[_Entry]) -> Folder:
    inside: dict[str, list[_Entry]] = {}
    files = []
    for parts, place, file in entries:
        if len(parts) == 1:
            files.append(Leaf(parts[0], place, file))
        else:
            inside.setdefault(parts[0], []).append((parts[1:], place, file))
    folders = tuple(_folder(each, inside[each]) for each in sorted(inside))
    if name and len(folders) == 1 and not files:
        only = folders[0]
        return Folder(f"{name}/{only.name}", only.folders, only.files)
    return Folder(name, folders, tuple(sorted(files, key=lambda leaf: leaf.name)))
