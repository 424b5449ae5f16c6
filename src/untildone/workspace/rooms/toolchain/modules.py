"""JavaScript packages in a folder `node_modules`: which changes of its files an installation explains.

A package counts if dependency files ask for it, or another package that counts does. Of a package that was there, these must be files that
changed, and no test tool is. `.bin` counts as far as its links lead into packages that count.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from untildone.system import disk
from untildone.workspace.rooms.stamps import Listing
from untildone.workspace.rooms.toolchain.installed import Declared, Explained, is_of_tests

_PACKAGE = re.compile(r"(?:.*/)?node_modules/(@[^/]+/[^/]+|[^/@.][^/]*)(?:/|$)")
_BOOKS = (".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".modules.yaml", ".pnpm/lock.yaml")
"""What package managers write down about their own work."""
_BIN = re.compile(r"(?:.*/)?\.bin/[^/]+$")
_NEEDS = ("dependencies", "optionalDependencies", "peerDependencies")
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Explanation:
    """Explains the differences between two listings of a folder of packages."""

    folder: str
    then: Listing
    now: Listing
    declared: Declared

    def explain(self, differing: Iterable[bytes]) -> Explained:
        paths = {os.fsdecode(path): package_of(os.fsdecode(path)) for path in differing}
        touched = {name for name in paths.values() if name}
        known = {package_of(os.fsdecode(path)) for path in self.then.files}
        wanted = self._wanted(touched, known)
        good = (path for path, name in paths.items() if name in wanted or path in _BOOKS or self._is_link(path, wanted))
        return Explained(frozenset(map(os.fsencode, good)), tuple(sorted(touched & wanted)))

    def _wanted(self, touched: set[str], known: set[str]) -> set[str]:
        pending = [name for name in touched if self.declared.asks_for(name, is_new=name not in known)]
        wanted: set[str] = set()
        while pending:
            name = pending.pop()
            if name in touched and name not in wanted and (name not in known or not is_of_tests(name)):
                wanted.add(name)
                pending += self._needs(name)
        return wanted

    def _needs(self, name: str) -> Iterator[str]:
        try:
            with disk.open_promptly(os.path.join(self.folder, name, "package.json")) as file:
                document = json.loads(file.read(MOST_BYTES))
            for section in _NEEDS:
                yield from map(str, document.get(section, {}))
        except (OSError, ValueError, AttributeError, TypeError):
            return

    def _is_link(self, path: str, wanted: set[str]) -> bool:
        """Whether a program in `.bin` is a link to a file of a package that counts, or is gone."""
        if not _BIN.match(path):
            return False
        full = os.path.join(self.folder, path)
        if not os.path.lexists(full):
            return True
        target = os.path.relpath(os.path.realpath(full), os.path.realpath(self.folder))
        return os.path.islink(full) and package_of(target) in wanted


def package_of(path: str) -> str:
    """The name of the package to which a file in a folder of packages belongs; empty: to none."""
    match = _PACKAGE.match(f"node_modules/{path}")
    return match[1] if match else ""
