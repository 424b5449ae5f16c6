"""Where the agents of a loop work, and what becomes of their work after each turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from untildone.core.loop import Loop
from untildone.workspace import commits


class Site(Protocol):
    def enter(self, loop: Loop) -> str:
        """The folder to work in, as the loop left it."""

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool]) -> str | None:
        """A turn is done: keep its work. `wants_out`, asked now and then, says that this must not take longer.

        The commit that holds all of it, if one does."""

    def secure(self, loop: Loop, title: str) -> None:
        """A turn was cut short, or a gate ran: what they left must not get lost."""


class Here:
    """The loop's own folder on this machine, where nothing gets lost; a commit after each turn, if the loop wants that."""

    def enter(self, loop: Loop) -> str:
        return loop.settings.workspace

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool]) -> str | None:
        return commits.keep(loop.settings.workspace, title).all_in if loop.settings.commit else None

    def secure(self, loop: Loop, title: str) -> None:
        return
