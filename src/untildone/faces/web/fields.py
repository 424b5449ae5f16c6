"""The settings as a form: fields made from their declarations, so that a new setting appears without more code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from untildone.core.errors import UsageError
from untildone.settings.setting import Group, Setting


class Kind(StrEnum):
    """The widget of a field."""

    SWITCH = "switch"
    ROUNDS = "rounds"
    WHOLE = "whole"
    NUMBER = "number"
    WORDS = "words"
    SECRET = "secret"
    CHOICE = "choice"
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
    group: Group = Group("More")
    placeholder: str = ""
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


def grouped(all_fields: tuple[Field, ...]) -> Iterator[tuple[Group, tuple[Field, ...]]]:
    """The fields by their groups, both in the order of declaration."""
    for group in dict.fromkeys(field.group for field in all_fields):
        yield group, tuple(field for field in all_fields if field.group == group)


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
        group=declared.group,
        placeholder=form.placeholder,
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
            return Kind.LINES
        case Mapping():
            return Kind.PROFILES if declared.name == "profiles" else Kind.PAIRS
        case _:
            return Kind.SECRET if declared.form.secret else Kind.WORDS


def shown(field: Field, value: Any) -> Any:
    """The content of a field for the value of its setting."""
    match field.kind:
        case Kind.LINES:
            return "\n".join(value or ())
        case Kind.PAIRS:
            return "\n".join(f"{name}={text}" for name, text in (value or {}).items())
        case Kind.SWITCH:
            return bool(value)
        case Kind.WORDS | Kind.SECRET:
            return value or ""
        case _:
            return value


def parsed(field: Field, value: Any) -> Any:
    """The value of the setting for the content of its field; None if the field is empty. UsageError if it is invalid."""
    match field.kind:
        case Kind.LINES:
            return [line.strip() for line in str(value or "").splitlines() if line.strip()]
        case Kind.PAIRS:
            return dict(_pair(field, line) for line in str(value or "").splitlines() if line.strip())
        case Kind.WHOLE if value is not None:
            if value != int(value):
                raise UsageError(f"{field.title}: {value:g} is not a whole number.")
            return int(value)
        case Kind.WORDS | Kind.SECRET:
            return value or (None if field.name != "promise" else "")
        case _:
            return value


def _pair(field: Field, line: str) -> tuple[str, str]:
    name, mark, text = line.partition("=")
    if not mark or not name.strip():
        raise UsageError(f"{field.title}: '{line[:60]}' is not of the form NAME=value.")
    return name.strip(), text.strip()
