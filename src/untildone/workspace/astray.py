"""Links that lead from what agents write to somewhere else. An agent may have made one, so that the next box shows where it leads."""

from __future__ import annotations

import os
from collections.abc import Iterable

from untildone.workspace.rooms.toolchain.caches import is_below

MOST_LINKS = 40
"""Links on the way to one file, as the kernel follows them."""


class Written:
    """The folders that agents write to, by their real paths."""

    def __init__(self, folders: Iterable[str]) -> None:
        """A folder counts only if no link in an earlier one leads to it."""
        self._folders: set[str] = set()
        for folder in folders:
            if (real := self._followed(folder)) is not None:
                self.add(real)

    def add(self, real: str) -> None:
        self._folders.add(real)

    def contain(self, real: str) -> bool:
        return any(is_below(real, folder) for folder in self._folders)

    def lead_astray(self, path: str) -> bool:
        """Whether a link in one of the folders lies on the way to an absolute path, which leads out of them."""
        return self._followed(path) is None

    def _followed(self, path: str) -> str | None:
        """The real path of an absolute path; None if a link in one of the folders leads out of them on the way."""
        here, waiting, links = os.sep, path.split(os.sep)[:0:-1], 0
        while waiting:
            name = waiting.pop()
            if name in ("", os.curdir):
                continue
            full = os.path.dirname(here) if name == os.pardir else f"{here.rstrip(os.sep)}/{name}"
            if name == os.pardir or not os.path.islink(full):
                here = full
                continue
            links += 1
            if self.contain(here) or links > MOST_LINKS:
                return real if self.contain(real := os.path.realpath(path)) else None
            try:
                target = os.readlink(full)
            except OSError:
                return None
            here = os.sep if os.path.isabs(target) else here
            waiting += reversed(target.split(os.sep))
        return here
