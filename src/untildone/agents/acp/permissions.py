"""Which requests for permission are granted, by the permissions of the agent."""

from __future__ import annotations

from collections.abc import Sequence

from untildone.agents._lines import Object, text_field
from untildone.core.model import Permissions

_READING = ("read", "search", "think")
_EDITING = (*_READING, "edit", "delete", "move")


def grants(permissions: Permissions, kind: str) -> bool:
    """Whether a tool of that kind may be used. A tool of unknown kind may do anything."""
    match permissions:
        case Permissions.WORK:
            return True
        case Permissions.EDIT:
            return kind in _EDITING
        case Permissions.READ:
            return kind in _READING


def option(options: Sequence[Object], *, granted: bool) -> str | None:
    """The id of the option to choose: what holds for this one call, if the program offers that; None: no option fits."""
    kinds = ("allow_once", "allow_always") if granted else ("reject_once", "reject_always")
    for kind in kinds:
        for each in options:
            if text_field(each, "kind") == kind and text_field(each, "optionId"):
                return text_field(each, "optionId")
    return None
