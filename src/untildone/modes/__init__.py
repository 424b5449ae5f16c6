"""The modes, one pure file each: this folder is the registry."""

from __future__ import annotations

import importlib
from functools import cache

from untildone.core.errors import UsageError
from untildone.core.mode import Mode


@cache
def names() -> tuple[str, ...]:
    """The modes there are: the modules of this folder that define MODE."""
    import pkgutil

    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


@cache
def find(name: str) -> Mode:
    module = f"{__name__}.{name}"
    try:
        mode: Mode = importlib.import_module(
            module if name.isidentifier() and not name.startswith("_") else __name__
        ).MODE
    except (ModuleNotFoundError, AttributeError):
        if name in names():
            raise
        raise UsageError(f"There is no mode named '{name[:60]}'.", f"choose one of: {', '.join(names())}") from None
    return mode
