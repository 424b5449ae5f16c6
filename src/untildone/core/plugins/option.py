"""The declaration of an option of a mode: its setting, environment variable, flags, form field and help all come from it."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.values.hints import Any
from untildone.core.values.value import dataclass


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A flag that stands for one value of an option: `--quick` for `--route direct`."""

    flag: str
    """Without the dashes."""
    value: str


@dataclass(frozen=True, slots=True)
class Option:
    """One option. Its name is that of the setting, of the variable UNTILDONE_NAME and of the flag (`_` becomes `-`).

    The type of the default is the type of the option: str, int, float or bool.
    """

    name: str
    title: str
    """The label of its form field."""
    help: str
    """What it means, as a phrase without a full stop."""
    default: str | int | float | bool
    choices: tuple[str, ...] = ()
    """The values that are allowed; empty: any value of the type within the bounds."""
    lowest: float | None = None
    highest: float | None = None
    has_flag: bool = True
    """Whether `run` and the hook have a flag for it; without one, settings files and the environment can set it."""
    shortcuts: tuple[Shortcut, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Whether a value has the option's type and is within its choices and bounds."""
        if self.choices:
            return value in self.choices
        if isinstance(value, bool) or isinstance(self.default, bool | str):
            return type(value) is type(self.default)
        if not isinstance(value, int if isinstance(self.default, int) else int | float):
            return False
        return (self.lowest is None or value >= self.lowest) and (self.highest is None or value <= self.highest)

    def of(self, values: Mapping[str, Any]) -> Any:
        """The option's value among those that a loop was created with; the default if there is none that it accepts."""
        value = values.get(self.name)
        return value if self.accepts(value) else self.default
