"""The modes, one pure package each: this folder is the registry, plugins add to it.

A mode's package has `mode.py` with MODE, and `options.py` with OPTIONS if the mode has options. The options are apart so that the
command line can list them without loading every mode.
"""

from __future__ import annotations

from untildone.core.plugins.mode import Mode
from untildone.core.plugins.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.plugins.option import Option

_REGISTRY: Registry[Mode] = Registry("mode", Mode)
find = _REGISTRY.find
names = _REGISTRY.names
own_names = _REGISTRY.own_names


def options(names: tuple[str, ...]) -> tuple[tuple[str, Option], ...]:
    """Every option of these modes, each with the name of its mode."""
    own = own_names()
    return tuple((name, option) for name in names for option in _options(name, is_own=name in own))


def _options(name: str, *, is_own: bool) -> tuple[Option, ...]:
    if not is_own:
        return find(name).declared_options
    declared: tuple[Option, ...] | None = _REGISTRY.part(name, "options", "OPTIONS")
    return declared or ()


def in_session() -> tuple[str, ...]:
    """The names of the modes whose loops can run inside a person's own agent session."""
    return tuple(name for name in names() if find(name).runs_in_session)
