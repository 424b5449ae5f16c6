"""The modes, one pure package each: this folder is the registry, plugins add to it.

A mode's package has `mode.py` with MODE, and `options.py` with OPTIONS if the mode has options. The options are apart so that the
command line can list them without loading every mode.
"""

from __future__ import annotations

from untildone.core.errors import UsageError
from untildone.core.plugins.mode import Mode, PlainMode
from untildone.core.plugins.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.actions import Ask
    from untildone.core.events import AnswerRead
    from untildone.core.loop import Loop
    from untildone.core.model import Answer, Role
    from untildone.core.plugins.option import Option

_REGISTRY: Registry[Mode] = Registry("mode", Mode)
find = _REGISTRY.find
names = _REGISTRY.names
own_names = _REGISTRY.own_names


def of(name: str) -> Mode:
    """The mode of a loop. One that is not there any more, such as that of a plugin, has the defaults: its loops are shown, and obey."""
    try:
        return find(name)
    except UsageError as problem:
        return _Missing(name, problem)


class _Missing(PlainMode):
    """Stands for a mode that cannot be found. UsageError if it is asked for a prompt, or to read an answer."""

    default_iterations: int | None = None

    def __init__(self, name: str, problem: UsageError) -> None:
        self.name = name
        self._problem = problem

    def next(self, loop: Loop) -> Ask:
        raise self._problem

    def read(self, loop: Loop, role: Role, answer: Answer) -> AnswerRead:
        raise self._problem


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
