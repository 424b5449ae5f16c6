"""The modes, one pure file each: this folder is the registry."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from untildone.core.errors import UsageError
from untildone.core.mode import Mode


@cache
def names() -> tuple[str, ...]:
    """The modes there are: the modules of this folder that define MODE."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


@cache
def find(name: str) -> Mode:
    if name not in names():
        raise UsageError(f"There is no mode named '{name}'.", f"choose one of: {', '.join(names())}")
    mode: Mode = importlib.import_module(f"{__name__}.{name}").MODE
    return mode
