"""Scripts of the person that settings name: a program outside of the box runs them, so no program in a box may change them.

An agent keeps its settings, its own state and the person's scripts in one folder, which it may write to. Data that settings name, such as
the file of a memory server, stays writable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice

from untildone.core.plugins.agent import OwnFile
from untildone.engine.boxes.own_files import text_of
from untildone.workspace.rooms.toolchain.caches import is_below

CODE = frozenset({
    ".sh", ".bash", ".zsh", ".fish", ".py", ".pyw", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".rb", ".pl", ".pm",
    ".php", ".lua", ".jar", ".ps1", ".awk", ".tcl", ".exs", ".r",
})  # fmt: skip
"""Endings of files that an interpreter runs."""
PROJECTS = frozenset({"pyproject.toml", "setup.py", "package.json", "deno.json", "Gemfile", "Makefile"})
"""A folder with one of these is a program, which settings may name as a whole."""
MOST_FILES, LARGEST = 100, 1 << 14
"""How many files of the folders with settings are read, and up to which size."""
_PATH = re.compile(r"(?:~|\$\w+|\$\{\w+\})?/[^\s\"'`;,()<>|&\\]+")
_DEFAULT = re.compile(r"\$\{(\w+):?-((?:[^{}]|\{[^{}]*\})*)\}")
"""A variable with a value for its absence: `${XDG_CACHE_HOME:-$HOME/.cache}`."""


@dataclass(slots=True)
class Scripts:
    """What is to be protected."""

    paths: set[str] = field(default_factory=set)
    """Files and folders, by their real paths."""
    links: dict[str, str] = field(default_factory=dict)
    """Links that lead to scripts elsewhere, with where they lead; an empty text for a script that does not exist."""


def named(
    settings: Iterable[OwnFile], folders: Collection[str], variables: Mapping[str, str], outside: Callable[[str], str]
) -> Scripts:
    """The scripts in these folders that settings name, and those that such scripts name. `outside` tells what a word with a variable
    at its beginning means."""
    marks = {f"{os.path.basename(each)}/" for folder in folders for each in (folder, os.path.realpath(folder))}
    marks |= {name for name, value in variables.items() if value in folders}
    search = _Search(tuple(dict.fromkeys(os.path.realpath(each) for each in folders)), frozenset(marks), outside)
    for text in _texts(settings):
        search.read(text, "")
    return search.found


def files_in(text: str, variables: Mapping[str, str], outside: Callable[[str], str]) -> Iterator[str]:
    """The paths that a text of a shell names."""
    text = _DEFAULT.sub(lambda found: variables.get(found[1]) or found[2], text)
    yield from (os.path.normpath(outside(word)) for word in _PATH.findall(text))


def _texts(settings: Iterable[OwnFile]) -> Iterator[str]:
    """The texts of files, and of the first files in folders of settings, such as commands and hooks."""
    folders = []
    for file in settings:
        if file.content is None:
            folders.append(file.path)
        elif os.path.isfile(file.path):
            yield text_of(file.path) or ""
    for path in islice(chain.from_iterable(map(_below, folders)), MOST_FILES):
        if os.path.isfile(path) and os.path.getsize(path) <= LARGEST:
            yield text_of(path) or ""


def _below(folder: str) -> Iterator[str]:
    """What lies in a folder and in the folders in there."""
    for place, folders, names in os.walk(folder):
        folders[:] = folders if place == folder else []
        yield from (os.path.join(place, name) for name in sorted(names))


class _Search:
    def __init__(self, folders: tuple[str, ...], marks: frozenset[str], outside: Callable[[str], str]) -> None:
        self.found = Scripts()
        self._folders = folders
        self._marks = marks
        """What a line contains that names something in the folders."""
        self._outside = outside

    def read(self, text: str, script: str) -> None:
        """Take what a text names. `script` is the file that it is, if it is a script."""
        if any(mark in text for mark in self._marks):
            lines = (line for line in text.splitlines() if any(mark in line for mark in self._marks))
            for path in files_in("\n".join(lines), {}, self._outside):
                self._take(path)
        if script and os.path.dirname(script) in self._folders:
            self._take_beside(text, script)

    def _take(self, path: str) -> None:
        real = os.path.realpath(path)
        lexical = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if os.path.exists(real):
            self._note_links(path)
            self._note_links(lexical)
        elif self._is_missing_script(lexical):
            self.found.links[lexical] = ""
        if (
            not any(is_below(real, folder) for folder in self._folders)
            or real in self._folders
            or real in self.found.paths
        ):
            return
        if os.path.isfile(real) and is_script(real):
            self._protect(real)
        elif os.path.isdir(real) and _is_program(real):
            self.found.paths.add(real)

    def _is_missing_script(self, path: str) -> bool:
        is_inside = any(is_below(path, folder) for folder in self._folders) and os.path.isdir(os.path.dirname(path))
        return is_inside and os.path.splitext(path)[1].lower() in CODE and not os.path.lexists(path)

    def _protect(self, script: str) -> None:
        """A script, with what lies beside it in a folder of its own."""
        beside = os.path.dirname(script)
        if beside in self.found.paths:
            return
        self.found.paths.add(script if beside in self._folders else beside)
        self.read(text_of(script) or "", script)

    def _take_beside(self, text: str, script: str) -> None:
        """Other scripts of the same folder that a script mentions."""
        folder = os.path.dirname(script)
        with suppress(OSError):
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if name in text and path not in self.found.paths and os.path.isfile(path) and is_script(path):
                    self._take(path)

    def _note_links(self, path: str) -> None:
        """Links on the way to a script, in a folder that a box may write to: it could put another one in their place."""
        while (path := path.rstrip(os.sep)) and any(
            is_below(path, folder) and path != folder for folder in self._folders
        ):
            if os.path.islink(path):
                place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
                self.found.links[place] = os.readlink(path)
            path = os.path.dirname(path)


def is_script(path: str) -> bool:
    """Whether a file is one that a program runs, and not data."""
    if os.path.splitext(path)[1].lower() in CODE:
        return True
    with suppress(OSError):
        return bool(os.stat(path).st_mode & 0o111) or (text_of(path) or "")[:2] == "#!"
    return False


def _is_program(folder: str) -> bool:
    with suppress(OSError):
        names = os.listdir(folder)
        return any(name in PROJECTS or os.path.splitext(name)[1].lower() in CODE for name in names)
    return False
