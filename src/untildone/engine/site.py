"""The folder in which the agents of a loop work, and how their work is kept after each turn."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Protocol

from untildone.core.loop import Loop
from untildone.core.protection.secrets import Redactor
from untildone.workspace.person_git.commits import Kept
from untildone.workspace.person_git.turn_commits import TurnCommits
from untildone.workspace.shadow import NoSnapshot, Shadow

if TYPE_CHECKING:
    from untildone.engine.stepper import Stepper
    from untildone.system.box.sandbox import Box


class Site(Protocol):
    """Where the agents of a loop work."""

    def enter(self, loop: Loop) -> str:
        """The folder to work in, with the work of the loop so far."""

    def keep_start(self, stepper: Stepper) -> None:
        """Keep what gates need to know of the loop's start, if no runner of this machine has done that."""

    def begin(self, loop: Loop) -> None:
        """Note that the worker starts a turn: what changes from now on is its work."""

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool], known: Redactor) -> Kept:
        """Keep the work of a turn that has ended. Gives up its attempts once `wants_out` returns True.

        A secret that `known` knows is neither committed nor published."""

    def secure(self, loop: Loop, title: str, known: Redactor) -> None:
        """Keep the work after an interrupted turn or a gate."""


class LocalSite:
    """The workspace of the settings, on this machine. Commits the agent's work after each turn if the settings ask for that."""

    def enter(self, loop: Loop) -> str:
        return loop.settings.workspace

    def keep_start(self, stepper: Stepper) -> None:
        """It is kept with the first look at the workspace."""

    def begin(self, loop: Loop) -> None:
        if loop.settings.commit:
            with suppress(NoSnapshot, OSError):
                self._commits(loop).begin()

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool], known: Redactor) -> Kept:
        if not loop.settings.commit:
            return Kept(None)
        return self._commits(loop).keep(title, wants_out, known)

    def secure(self, loop: Loop, title: str, known: Redactor) -> None:
        if loop.settings.commit:
            with suppress(NoSnapshot, OSError):
                self._commits(loop).end()

    def _commits(self, loop: Loop) -> TurnCommits:
        shadow = Shadow(loop.settings.workspace, loop_id=loop.loop_id)
        return TurnCommits(shadow, loop.start.tree, cache(lambda: _box(loop, shadow)))


def _box(loop: Loop, shadow: Shadow) -> Box | None:
    """The box for filters of the repository, if agents of the loop run in one."""
    from untildone.engine import boxes
    from untildone.engine.boxes import planning

    if not boxes.containment(loop.settings).boxed:
        return None
    name, root = os.path.join(loop.loop_id, "commits"), shadow.start.root if shadow.start else ""
    return boxes.box_of(planning.plan_for(loop.settings, loop.settings.workspace, None, os.environ, name, root=root))
