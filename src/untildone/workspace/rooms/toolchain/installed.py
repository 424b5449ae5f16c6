"""Python packages in a folder such as `site-packages`: which changes of its files an installation explains.

A package manager writes a list of the files that belong to a distribution, with their hashes (`RECORD`). A file counts if such a list
vouches for it, and the list is that of the start, or that of a distribution which the project's dependency files ask for.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from untildone.system import disk
from untildone.workspace.rooms.stamps import Listing
from untildone.workspace.rooms.toolchain.caches import is_below

RECORD, METADATA, ORIGIN, ENTRY_POINTS = "RECORD", "METADATA", "direct_url.json", "entry_points.txt"
PLUGINS = "pytest11"
"""The entry points by which pytest loads plugins."""
_ENVIRONMENT = re.compile(
    r"(?:[^/]+/)?(?:pyvenv\.cfg|\.gitignore|CACHEDIR\.TAG|\.lock|lib64|(?:include|share)/.*"
    r"|(?:bin|Scripts)/(?:[Aa]ctivate(?:_this)?[\w.]*|deactivate[\w.]*|python[\w.]*|pydoc\.bat))"
)
"""What makes an environment, and belongs to no distribution."""
_INFO = re.compile(r"(?:.*/)?([^/]+?)-([^-/]+)\.dist-info/")
MANAGERS = frozenset(("pip", "uv", "wheel"))
"""Distributions that install others and that no test loads."""
_OF_TESTS = re.compile(
    r"(?:^|[-/@])(?:pytest|pluggy|iniconfig|coverage|hypothesis|nose2?|tox|nox|testfixtures|assertpy|pyhamcrest|behave|robotframework|ward"
    r"|jest|vitest|mocha|chai|ava|tap|tape|jasmine|karma|sinon|qunit|uvu|nyc|c8|cypress|playwright|expect|should|supertest"
    r"|tests?|testing|asserts?|assertions?)(?:[-/]|$)"
)
MOST_BYTES = 16 << 20
"""Of one file of metadata."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What the dependency files of the claimed tree say, as text."""

    every: str = ""
    changed: str = ""
    """What of them differs from the start."""
    is_new_folder: bool = False
    """Whether the packages lie in a folder that was not there: then every distribution counts."""

    def asks_for(self, name: str, *, is_new: bool) -> bool:
        """Whether a distribution is named: a new one in any file, one that was there in what changed of the files."""
        if self.is_new_folder or name in MANAGERS:
            return True
        pattern = rf"(?<![a-z0-9-]){re.escape(normalized(name))}(?![a-z0-9-])"
        return bool(re.search(pattern, self.every if is_new else self.changed))


def declared(every: Iterable[str], changed: Iterable[str]) -> Declared:
    return Declared(normalized("\n".join(every)), normalized("\n".join(changed)))


def is_of_tests(name: str) -> bool:
    """Whether a package is, by its name, one that runs tests or that tests compare with. Another version of one that was there may be
    anything that the agent wrote: no dependency file explains it, because the agent writes these too."""
    return _OF_TESTS.search(normalized(name)) is not None


def normalized(name: str) -> str:
    """A name, or a text with names, as package indexes compare them."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution that is installed in a folder."""

    folder: str
    info: str
    """The path of its folder of metadata."""
    name: str
    version: str
    is_fresh: bool
    """Whether it was installed since the start."""
    is_new: bool
    """Whether no version of it was there at the start."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def text(self, file: str) -> str:
        """A file of its metadata; empty if it cannot be read."""
        try:
            with disk.open_promptly(os.path.join(self.folder, self.info, file)) as opened:
                return opened.read(MOST_BYTES).decode(errors="replace")
        except OSError:
            return ""

    def hashes(self) -> dict[str, str]:
        """The files that the package says it installed, by path in the folder, each with its hash."""
        top = self.info.rpartition("/")[0]
        rows = csv.reader(self.text(RECORD).splitlines())
        return {os.path.normpath(os.path.join(top, row[0])): row[1] for row in rows if len(row) > 1}

    def requires(self) -> Iterator[str]:
        for found in re.findall(r"^Requires-Dist:\s*([\w.-]+)", self.text(METADATA), re.MULTILINE):
            yield normalized(found)

    def is_project(self, root: str) -> bool:
        """Whether it was installed from the workspace."""
        try:
            url = urlsplit(str(json.loads(self.text(ORIGIN))["url"]))
        except (ValueError, KeyError, TypeError):
            return False
        return url.scheme == "file" and is_below(os.path.realpath(unquote(url.path)), root)


@dataclass(frozen=True, slots=True)
class Explained:
    """The files of a folder that an installation explains."""

    paths: frozenset[bytes] = frozenset()
    packages: tuple[str, ...] = ()
    """The distributions that were installed, in words."""
    plugins: tuple[str, ...] = ()
    """Those of them that pytest loads by itself."""


@dataclass(slots=True)
class Explanation:
    """Explains the differences between two listings of a folder."""

    folder: str
    then: Listing
    now: Listing
    declared: Declared
    root: str
    is_environment: bool = False
    """Whether the folder is a virtual environment, and not only its packages."""
    _hashes: dict[str, str] = field(default_factory=dict)

    def explain(self, differing: Iterable[bytes]) -> Explained:
        paths = [os.fsdecode(path) for path in differing]
        every = tuple(self._distributions()) if paths else ()
        wanted = self._wanted([each for each in every if each.is_fresh])
        trusted = [each for each in every if not each.is_fresh or each.name in wanted]
        for each in trusted:
            self._hashes |= each.hashes()
        mine = [each for each in every if each.is_fresh and each.is_project(self.root)]
        fresh = [each for each in trusted if each.is_fresh] + [each for each in mine if each not in trusted]
        replaced = self._places(fresh)
        good = (path for path in paths if self._is_good(path, fresh, replaced))
        plugins = (each for each in fresh if PLUGINS in each.text(ENTRY_POINTS))
        return Explained(frozenset(map(os.fsencode, good)), *(tuple(map(str, some)) for some in (fresh, plugins)))

    def _distributions(self) -> Iterator[Distribution]:
        before = {path: match for path in self.then.files if (match := _INFO.match(os.fsdecode(path)))}
        names = {normalized(match[1]) for match in before.values()}
        for path, stamp in self.now.files.items():
            name = os.fsdecode(path)
            if name.endswith(f".dist-info/{RECORD}") and (match := _INFO.match(name)):
                known = self.then.files.get(path)
                fresh = known is None or (known.changed, known.inode) != (stamp.changed, stamp.inode)
                info = os.path.dirname(name)
                yield Distribution(
                    self.folder, info, normalized(match[1]), match[2], fresh, normalized(match[1]) not in names
                )

    def _wanted(self, fresh: list[Distribution]) -> set[str]:
        """The names of distributions that dependency files ask for, with all that these require."""
        by_name = {each.name: each for each in fresh}
        pending = [each.name for each in fresh if self.declared.asks_for(each.name, is_new=each.is_new)]
        wanted: set[str] = set()
        while pending:
            name = pending.pop()
            if name in by_name and name not in wanted and (by_name[name].is_new or not is_of_tests(name)):
                wanted.add(name)
                pending += by_name[name].requires()
        return wanted

    def _places(self, fresh: list[Distribution]) -> frozenset[str]:
        """Folders of files that another version of a distribution may have left: those of its files, and its old metadata."""
        tops = {path.split("/")[0] for each in fresh for path in each.hashes()} - {"..", ""}
        names = {each.name for each in fresh}
        matches = (_INFO.match(os.fsdecode(path)) for path in self.then.files)
        old = {match[0].split("/")[0] for match in matches if match and normalized(match[1]) in names}
        return frozenset(tops | old)

    def _is_good(self, path: str, fresh: list[Distribution], replaced: frozenset[str]) -> bool:
        if os.fsencode(path) not in self.now.files:
            return path.split("/")[0] in replaced
        for each in fresh:
            if path.startswith(f"{each.info}/") and each.is_project(self.root):
                return not path.endswith(f"/{ENTRY_POINTS}") or PLUGINS not in each.text(ENTRY_POINTS)
            if path == f"{each.info}/{RECORD}":
                return True
        if path.endswith(".pth") and self._leads_into_workspace(path):
            return True
        if self.is_environment and _ENVIRONMENT.fullmatch(path):
            return os.fsencode(path) not in self.then.files and self._is_of_environment(path)
        expected = self._hashes.get(path, "")
        return bool(expected) and _record_hash(os.path.join(self.folder, path)) == expected

    def _is_of_environment(self, path: str) -> bool:
        """Whether a file that only making an environment writes is what it should be: its Python is a link to one outside."""
        full = os.path.join(self.folder, path)
        if not path.rpartition("/")[2].startswith("python"):
            return True
        return os.path.islink(full) and not is_below(os.path.realpath(full), self.root)

    def _leads_into_workspace(self, path: str) -> bool:
        """Whether a `.pth` file only names folders of the workspace: a line that begins with `import` would be run."""
        try:
            with disk.open_promptly(os.path.join(self.folder, path)) as file:
                lines = file.read(MOST_BYTES).decode().splitlines()
        except (OSError, ValueError):
            return False
        return all(
            os.path.isabs(line) and is_below(os.path.realpath(line), self.root) for line in lines if line.strip()
        )


def _record_hash(path: str) -> str:
    """The hash of a file as a `RECORD` writes it."""
    try:
        with disk.open_promptly(path) as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
