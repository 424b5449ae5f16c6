"""Why no room can be made for a claim."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from untildone.core.errors import UntilDoneError
from untildone.core.values.printable import printable

MOST_NAMED = 5


class RoomRefused(UntilDoneError):
    """The claim cannot be judged in a room: something that the check would use was changed in a way that nothing explains, or the room
    cannot be made. A gate that meets it fails. `paths` are the files that were changed; empty: the machine is the reason."""

    exit_code = 6

    def __init__(self, sentence: str, hint: str = "", paths: Sequence[str] = ()) -> None:
        super().__init__(sentence, hint)
        self.paths = tuple(paths)


def hint_for(error: Exception) -> str:
    """What a person can do if the machine does not let a room be made."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some disk space"
    return "see that untildone can write to its state folder, or start the loop with --room plain"


def named(paths: Sequence[str]) -> str:
    """The first paths of a list in words: `a, b and 3 more`."""
    shown = ", ".join(map(printable, paths[:MOST_NAMED]))
    return shown if len(paths) <= MOST_NAMED else f"{shown} and {len(paths) - MOST_NAMED} more"
