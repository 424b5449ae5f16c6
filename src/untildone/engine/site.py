"""The folder in which the agents of a loop work, and how their work is kept after each turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from untildone.core.loop import Loop
from untildone.workspace import commits


class Site(Protocol):
    """Where the agents of a loop work."""

    def enter(self, loop: Loop) -> str:
        """The folder to work in, with the work of the loop so far."""

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool]) -> str | None:
        """Keep the work of a turn that has ended. Gives up its attempts once `wants_out` returns True.

        Returns the commit that contains all of the work; None: there is no such commit."""

    def secure(self, loop: Loop, title: str) -> None:
        """Keep the work after an interrupted turn or a gate."""


class LocalSite:
    """The workspace of the settings, on this machine. Commits after each turn if the settings ask for that."""

    def enter(self, loop: Loop) -> str:
        return loop.settings.workspace

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool]) -> str | None:
        return commits.keep(loop.settings.workspace, title).all_in if loop.settings.commit else None

    def secure(self, loop: Loop, title: str) -> None:
        return
