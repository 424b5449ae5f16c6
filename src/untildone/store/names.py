"""Valid loop ids, and the loop that a name given by a person refers to."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from untildone.core.errors import LoopNotFound, UsageError

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST = 100
_SHOWN = 60


def is_id(name: str) -> bool:
    """Whether a loop or group may have this name."""
    return 0 < len(name) <= _LONGEST and name[0] not in "_-" and _LETTERS.issuperset(name)


def checked_id(loop_id: str) -> str:
    """The id, if it is valid as a file name; else UsageError."""
    if not is_id(loop_id):
        raise UsageError(
            f"{_shown(loop_id)} is not a loop id.",
            "ids are up to 100 letters, digits, '-' and '_', the first a letter or digit; `untildone list` shows them",
        )
    return loop_id


def checked_group(name: str) -> str:
    """The name of a group, if it is valid; else UsageError."""
    if not is_id(name):
        raise UsageError(
            f"{_shown(name)} is not a name for a group.",
            "up to 100 letters, digits, '-' and '_', the first a letter or digit",
        )
    return name


def resolve_id(name: str, known: tuple[str, ...], where: str, is_ours: Callable[[str], bool] | None = None) -> str:
    """The id for `name`: an id, a unique part of one, or `last`. `known` is sorted, oldest first; `last` is ours."""
    if name in known:
        return name
    matches = tuple(each for each in known if name and name in each)
    if name == "last":
        matches = tuple(islice((each for each in reversed(known) if is_ours is None or is_ours(each)), 1))
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise LoopNotFound(
            f"{_shown(name)} fits {len(matches)} loops {where}.", f"give more of the id: {', '.join(matches[:5])}"
        )
    if name == "last" and known:
        raise LoopNotFound(
            f"No loop {where} is ours: untildone did not write them here, or the folder was moved.",
            "move it back, or look at them with `untildone list`",
        )
    if name == "last":
        raise LoopNotFound(f"There are no loops {where} yet.", '`untildone run "…"` starts one')
    raise LoopNotFound(f"There is no loop {_shown(name)} {where}.", "`untildone list` shows the loops there are")


def _shown(name: str) -> str:
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…")
