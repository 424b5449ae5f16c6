"""The settings as fields of a form, made from their declarations, so that a new setting appears without more code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from untildone.settings import complaints
from untildone.settings.setting import Group, Setting

MOST_ON_SLIDER = 50
USUAL_ROUNDS = 5


class Kind(StrEnum):
    """The widget of a field."""

    SWITCH = "switch"
    ROUNDS = "rounds"
    WHOLE = "whole"
    NUMBER = "number"
    WORDS = "words"
    SECRET = "secret"
    CHOICE = "choice"
    CHECKS = "checks"
    LINES = "lines"
    PAIRS = "pairs"
    PROFILES = "profiles"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    kind: Kind
    title: str
    hint: str
    default: Any = None
    choices: tuple[str, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    optional: bool = False
    """Whether it may be left empty."""
    unlimited: bool = False
    """Whether it may be `none`."""
    counts_empty: bool = False
    """Whether an empty text is a value of its own: no promise at all, and not the usual one."""
    group: Group = Group("More")
    placeholder: str = ""
    variable: str = ""
    """The variable of the environment that sets it."""
    expected: str = ""
    """What to give, as a hint beside an error."""
    only_with: str = ""
    """Another setting without which this one has no effect: its name, or `name=value`."""

    def is_shown_with(self, values: Mapping[str, Any]) -> bool:
        """Whether the field has an effect, given the present values of the form."""
        name, _, required = self.only_with.partition("=")
        if not name or name not in values:
            return True
        fits = values[name] == required if required else bool(values[name])
        return fits or bool(required and self.optional and values.get(self.name))


def fields(declared: Mapping[str, Setting], choices: Mapping[str, tuple[str, ...]]) -> tuple[Field, ...]:
    """A field for each setting. `choices` holds values that are not declared, such as the names of agents."""
    return tuple(_field(each, choices.get(name, each.choices)) for name, each in declared.items())


def _field(declared: Setting, choices: tuple[str, ...]) -> Field:
    form = declared.form
    return Field(
        name=declared.name,
        kind=_kind(declared, choices),
        title=form.title or declared.title,
        hint=form.help or declared.help,
        default=declared.default,
        choices=choices,
        lowest=declared.lowest if declared.above is None else declared.above,
        highest=None if declared.unlimited else declared.highest,
        optional=declared.default is None,
        unlimited=declared.unlimited,
        counts_empty=isinstance(declared.default, str) and bool(declared.default) and not declared.filled,
        group=declared.group,
        placeholder=form.placeholder,
        variable=declared.variable,
        expected=complaints.expected(declared),
        only_with=form.only_with,
    )


def _kind(declared: Setting, choices: tuple[str, ...]) -> Kind:
    if declared.unit:
        return Kind.ROUNDS if declared.unit == "rounds" else Kind.WHOLE if declared.whole else Kind.NUMBER
    if choices:
        return Kind.CHOICE
    if declared.is_switch:
        return Kind.SWITCH
    match declared.default:
        case tuple():
            return Kind.CHECKS if declared.name == "checks" else Kind.LINES
        case Mapping():
            return Kind.PROFILES if declared.name == "profiles" else Kind.PAIRS
        case _:
            return Kind.SECRET if declared.form.secret else Kind.WORDS


Content = bool | str | tuple[str, ...]
"""What a widget shows: on or off, a text, or texts one below the other."""


def content(field: Field, value: Any) -> Content:
    """What the widget of a field shows for the value of its setting."""
    match field.kind:
        case Kind.SWITCH:
            return bool(value)
        case Kind.CHECKS:
            return tuple(value or ())
        case Kind.LINES:
            return "\n".join(value or ())
        case Kind.PAIRS:
            return "\n".join(f"{name}={text}" for name, text in (value or {}).items())
        case Kind.WHOLE | Kind.NUMBER | Kind.ROUNDS:
            return _number(value)
        case _:
            return str(value or "")


def _number(value: Any) -> str:
    """A number as a person writes it: 600, not 600.0."""
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)
