"""Snapshots as values, and the edits that turn one into the tree of a room."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from untildone.core.values.hints import Protocol
from untildone.core.values.value import dataclass

PROGRAM, LINK = "100755", "120000"
REPOSITORY = "160000"
READABLE = 1_000_000
"""A file of more bytes than this is compared as a whole and never parsed."""


MOST_PROJECTS = 50
"""Python projects of one repository from which modules are looked for."""


class File(Protocol):
    """One entry of a snapshot, as git keeps it."""

    @property
    def blob(self) -> str:
        """The name of its content; for a link, of its target."""

    @property
    def mode(self) -> str:
        """`100644`, `100755`, `120000` for a link, `160000` for a repository."""


Read = Callable[[Iterable[str]], Mapping[str, bytes]]
"""Returns contents by the names of blobs."""


class Tree:
    """A snapshot: its files by path (relative, with `/`), and their contents on demand."""

    def __init__(self, files: Mapping[str, File], read: Read) -> None:
        self.files = files
        self._read = read
        self._known: dict[str, bytes | None] = {}
        self._folders: frozenset[str] | None = None
        self._packages: dict[str, str] | None = None
        self._roots: tuple[str, ...] | None = None
        self._below: dict[str, list[str]] | None = None
        self._named: dict[str, list[str]] | None = None
        self.imported: dict[tuple[str, str], frozenset[str]] = {}
        """What files import, by path and text: `references.imports` keeps it here."""

    def fetch(self, paths: Iterable[str]) -> None:
        """Read several files at once, because reading one by one may cost a process each. What cannot be read is left out."""
        blobs = {self.files[path].blob for path in paths if path in self.files and self.files[path].mode != REPOSITORY}
        # Not the difference of two sets: this is called for every file, and that would copy the names of all known ones.
        wanted = sorted(blob for blob in blobs if blob not in self._known)
        if not wanted:
            return
        try:
            contents = self._read(wanted)
        except (OSError, LookupError, ValueError):
            contents = {}
        self._known |= {blob: _bounded(contents.get(blob)) for blob in wanted}

    def content(self, path: str) -> bytes | None:
        """The content of a file that is small enough to be parsed; None: there is no such file, it is large or cannot be read."""
        file = self.files.get(path)
        return None if file is None or file.mode in (LINK, REPOSITORY) else self._content(path)

    def _content(self, path: str) -> bytes | None:
        self.fetch((path,))
        return self._known.get(self.files[path].blob)

    def text(self, path: str) -> str:
        """The content as text; empty if it cannot be read."""
        content = self.content(path)
        return "" if content is None else content.decode("utf-8-sig", "replace")

    def is_link(self, path: str) -> bool:
        return path in self.files and self.files[path].mode == LINK

    def link(self, path: str) -> str:
        """What a link points to, as it is written; empty if the path is no link or cannot be read."""
        content = self._content(path) if self.is_link(path) else None
        return "" if content is None else content.decode("utf-8", "surrogateescape")

    def target(self, path: str) -> str | None:
        """The path inside the tree that a link names; None: the path is no link, or the link points out of the tree."""
        named = self.link(path)
        return resolved(named, parent(path)) if named else None

    @property
    def folders(self) -> frozenset[str]:
        """Every folder that holds a file, directly or not."""
        if self._folders is None:
            self._folders = frozenset(folder for path in self.files for folder in ancestors(path))
        return self._folders

    def ending_in(self, parts: str) -> Sequence[str]:
        """The files in some folder whose last parts are these."""
        return [path for path in self.named(parts.rpartition("/")[2]) if path.endswith(f"/{parts}")]

    def named(self, name: str) -> Sequence[str]:
        """The files of this name in all folders."""
        if self._named is None:
            self._named = {}
            for path in self.files:
                self._named.setdefault(path.rpartition("/")[2], []).append(path)
        return self._named.get(name, ())

    def below(self, folder: str) -> Sequence[str]:
        """The files in a folder and in the folders in it."""
        if self._below is None:
            self._below = {}
            for path in self.files:
                for each in ancestors(path):
                    self._below.setdefault(each, []).append(path)
        return self._below.get(folder, ())

    @property
    def packages(self) -> dict[str, str]:
        """The folders of JavaScript packages of the tree, by the names under which other packages import them."""
        if self._packages is None:
            manifests = [path for path in self.files if path.endswith("/package.json") and "node_modules/" not in path]
            self.fetch(manifests)
            named = ((_NAME.search(self.text(path)), parent(path)) for path in manifests)
            self._packages = {found[1]: folder for found, folder in named if found}
        return self._packages

    @property
    def python_roots(self) -> tuple[str, ...]:
        """The folders of Python projects below the root, and their `src`, from which an installation of them imports."""
        if self._roots is None:
            names = ("/pyproject.toml", "/setup.py", "/setup.cfg")
            projects = sorted(
                {parent(path) for path in self.files if path.endswith(names) and "site-packages" not in path}
            )
            self._roots = tuple(
                each
                for folder in projects[:MOST_PROJECTS]
                for each in (folder, f"{folder}/src")
                if each in self.folders
            )
        return self._roots


_NAME = re.compile(r'"name"\s*:\s*"([^"\n]+)"')


def _bounded(content: bytes | None) -> bytes | None:
    return content if content is None or len(content) <= READABLE else None


def parent(path: str) -> str:
    """The folder of a path; empty for the root."""
    return path.rpartition("/")[0]


def ancestors(path: str) -> tuple[str, ...]:
    """The folders around a path, innermost first, without the root."""
    found = []
    while path := parent(path):
        found.append(path)
    return tuple(found)


def resolved(name: str, folder: str) -> str | None:
    """The path in the tree that `name` means in `folder`; None: it is absolute or leaves the tree."""
    if name.startswith(("/", "~")):
        return None
    parts = folder.split("/") if folder else []
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class Remove:
    """Delete the file."""

    path: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Put the file as it is in the start tree: content, mode, link."""

    path: str


@dataclass(frozen=True, slots=True)
class Write:
    """Write this content; the mode is that of the start tree if the file is there, else that of the claimed tree."""

    path: str
    content: bytes


Edit = Remove | Restore | Write


def in_order(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits, deletions first: a file may take the place of a folder."""
    return tuple(sorted(edits, key=lambda edit: (not isinstance(edit, Remove), edit.path)))
