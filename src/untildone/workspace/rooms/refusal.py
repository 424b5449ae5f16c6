"""Why no room can be made for a claim."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import TypeVar

from untildone.core.errors import UntilDoneError
from untildone.core.values.printable import printable

MOST_NAMED = 5
Result = TypeVar("Result")


class RoomRefused(UntilDoneError):
    """The claim cannot be judged in a room: something that the check would use was changed in a way that nothing explains, or the room
    cannot be made. A gate that meets it fails. `paths` are the files that were changed; empty: the machine is the reason."""

    exit_code = 6

    def __init__(self, sentence: str, hint: str = "", paths: Sequence[str] = ()) -> None:
        super().__init__(sentence, hint)
        self.paths = tuple(paths)


class RoomNotMade(RoomRefused):
    """The sealed room could not be made. What it hides or shows may have vanished after it was planned."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The sealed room cannot be made: {reason}.", "start the loop with --room plain")


class RoomVoid(Exception):
    """A room was made before everything around it had been compared, and it shows what must be hidden: see `Room.holds`."""


def again_if_void(work: Callable[[], Result]) -> Result:
    """Do work that makes a room and runs commands in it. If the room could not be made or does not hold, do it again, once: then it is
    planned anew, and all is compared before."""
    try:
        return work()
    except (RoomVoid, RoomNotMade):
        return work()


def hint_for(error: Exception) -> str:
    """What a person can do if the machine does not let a room be made."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some disk space"
    return "see that untildone can write to its state folder, or start the loop with --room plain"


def named(paths: Sequence[str]) -> str:
    """The first paths of a list in words: `a, b and 3 more`."""
    shown = ", ".join(map(printable, paths[:MOST_NAMED]))
    return shown if len(paths) <= MOST_NAMED else f"{shown} and {len(paths) - MOST_NAMED} more"
