"""What a form shows at first: for a new loop, and for the file of a project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from untildone.faces.web.forms.fields import USUAL_ROUNDS, Content, Field, Kind, content
from untildone.settings import HIDDEN

TYPED = (Kind.WORDS, Kind.WHOLE, Kind.NUMBER, Kind.SECRET)
"""Fields that are empty where nothing is set, with the value in effect as placeholder."""

AGENTS = ("agent", "instructor", "supervisor", "acceptance", "fallback_agent")
"""The settings that name an agent."""
NOT_INSTALLED = "not installed"


class Source(StrEnum):
    """Where the value in effect comes from."""

    DEFAULT = "default"
    PERSON = "person"
    PROJECT = "project"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a field."""

    value: str
    note: str = ""
    """A remark in one word, to be translated."""
    hint: str = ""
    """What it needs, shown once it is chosen."""


@dataclass(frozen=True, slots=True)
class Widget:
    """A field with what it shows."""

    field: Field
    content: Content
    placeholder: str = ""
    options: tuple[Option, ...] = ()
    usual: Mapping[str, str] | None = None
    """The rounds that hold if nothing is set, by mode; None: something is set, or they do not depend on the mode."""
    otherwise: Content = ""
    """What it shows once the file no longer sets it."""
    source: Source | None = None
    """None: it is the same for all fields of the form."""
    is_set: bool = False
    """Whether the file that the form writes sets it."""
    hidden: bool = False
    place: str = ""
    """What makes the id unique on the page, for the fields of a profile."""

    @property
    def id(self) -> str:
        return f"{self.place}{self.field.name}"


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a form starts from, as JSON and without secrets."""

    effective: Mapping[str, Any]
    explicit: frozenset[str] = frozenset()
    """The names of those that a file, the environment or the duplicated loop sets."""
    usual_rounds: Mapping[str, int | None] | None = None
    """The rounds of each mode if none are set."""
    missing: Mapping[str, str] | None = None
    """How to install the agents that are not on this machine, by name."""


def for_new(all_fields: Iterable[Field], values: Values) -> Iterator[Widget]:
    """The widgets of the form for a new loop. What is not changed there is not sent, and the project's settings hold."""
    now = values.effective
    for field in all_fields:
        value, is_typed = now.get(field.name), _is_typed(field)
        yield Widget(
            field,
            content="" if is_typed else _first(field, values),
            placeholder=_placeholder(field, value) if is_typed else field.placeholder,
            options=_options(field, value, values.missing or {}, may_be_empty=field.optional and not value),
            usual=_usual(field, values),
            hidden=not field.is_shown_with(now),
        )


def for_file(
    all_fields: Iterable[Field], file: Mapping[str, Any], below: Mapping[str, Any], values: Values, place: str = ""
) -> Iterator[Widget]:
    """The widgets for the settings of a file. `below` are the values that hold without it, `file` are its own."""
    now = {**below, **file}
    for field in all_fields:
        is_set = field.name in file
        value, lower = file.get(field.name), below.get(field.name)
        otherwise: Content = "" if _is_typed(field) else _of_file(field, lower, values)
        yield Widget(
            field,
            content=_of_file(field, value, values) if is_set else otherwise,
            placeholder=HIDDEN if field.kind is Kind.SECRET and is_set else _placeholder(field, lower),
            options=_options(field, value, values.missing or {}, may_be_empty=field.optional),
            otherwise=otherwise,
            is_set=is_set,
            hidden=not field.is_shown_with(now),
            place=place,
        )


def sourced(widgets: Iterable[Widget], person: Iterable[str], environment: Iterable[str]) -> Iterator[Widget]:
    """The widgets with the source of the value in effect. The environment wins over files, the project's file over the person's."""
    own, around = frozenset(person), frozenset(environment)
    for each in widgets:
        name = each.field.name
        usual = Source.PROJECT if each.is_set else Source.PERSON if name in own else Source.DEFAULT
        yield replace(each, source=Source.ENVIRONMENT if name in around else usual)


def _is_typed(field: Field) -> bool:
    return field.kind in TYPED and not field.counts_empty


def _first(field: Field, values: Values) -> Content:
    value = values.effective.get(field.name)
    if field.kind is Kind.ROUNDS and value is None:
        return str(_usual_of(values, str(values.effective.get("mode", ""))))
    return content(field, value)


def _of_file(field: Field, value: Any, values: Values) -> Content:
    if field.kind is Kind.SECRET:
        return ""
    if field.kind is Kind.ROUNDS and value is None:
        return str(_usual_of(values, str(values.effective.get("mode", ""))))
    if field.kind is Kind.SWITCH and value is None:  # a profile that does not set this follows the settings
        return field.name == "loop_enabled"
    return content(field, value)


def _usual_of(values: Values, mode: str) -> int | str:
    usual = (values.usual_rounds or {}).get(mode, USUAL_ROUNDS)
    return "none" if usual is None else usual


def _usual(field: Field, values: Values) -> Mapping[str, str] | None:
    if field.kind is not Kind.ROUNDS or field.name in values.explicit or values.effective.get(field.name) is not None:
        return None
    return {mode: str(_usual_of(values, mode)) for mode in values.usual_rounds or ()}


def _placeholder(field: Field, value: Any) -> str:
    """The value that holds if the field stays empty; else an example."""
    if field.kind is Kind.SECRET:
        return HIDDEN if value else ""
    return str(content(field, value)) or field.placeholder


def _options(field: Field, value: Any, missing: Mapping[str, str], *, may_be_empty: bool) -> tuple[Option, ...]:
    """The choices of a field, with the present value even if it is no longer among them."""
    if field.kind is not Kind.CHOICE:
        return ()
    names = dict.fromkeys((*field.choices, *((str(value),) if value else ())))
    empty = (Option(""),) if may_be_empty else ()
    return (*empty, *(_option(name, missing if field.name in AGENTS else {}) for name in names))


def _option(name: str, missing: Mapping[str, str]) -> Option:
    return Option(name, NOT_INSTALLED, missing[name]) if name in missing else Option(name)
