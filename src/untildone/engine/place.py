"""Where an agent runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from untildone.system import state_folder
from untildone.system.box.sandbox import Box

CHECKOUT = "review"
"""The folder of the reviewers' checkout, in the folder of the loop's rooms."""
BOXES = "boxes"
"""The folder with the files of boxes, in the state folder: their temporary files, copies of settings."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folder, and the box if there is one, in which an agent runs."""

    folder: str
    """The folder from which its program is started."""
    box: Box | None = None
    notes: tuple[str, ...] = ()
    """Restrictions of the place, as sentences for the person."""
    where: str = ""
    """What the prompt says about the folder."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that its program must inherit, such as the way to a proxy."""

    def argv(self, command: Sequence[str]) -> tuple[str, ...]:
        return tuple(command) if self.box is None else self.box.argv(command)

    def environment(self, outside: Mapping[str, str]) -> Mapping[str, str]:
        """The environment of a program there."""
        return outside if self.box is None else self.box.environment(outside)


def forget(loop_id: str, environment: Mapping[str, str] = os.environ) -> None:
    """Remove the checkout of a loop's reviewers, and the files of its agents' boxes."""
    for folder in (("rooms", loop_id, CHECKOUT), (BOXES, loop_id)):
        shutil.rmtree(os.path.join(state_folder.folder(environment), *folder), ignore_errors=True)
