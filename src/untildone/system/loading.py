"""Variables by which every program loads libraries from folders that they name, such as `LD_LIBRARY_PATH`.

Such a folder may be one of the work, and an empty entry is the present folder. So programs that untildone itself runs outside of boxes,
such as git and bubblewrap, do not get these variables: they would load libraries of an agent. Programs in a box do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMES = re.compile(r"LD_\w+|DYLD_\w+|GCONV_PATH")


def named(environment: Mapping[str, str]) -> dict[str, str]:
    """These variables."""
    return {name: value for name, value in environment.items() if _NAMES.fullmatch(name)}


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without them."""
    return {name: value for name, value in environment.items() if not _NAMES.fullmatch(name)}
