"""The settings as a form: fields made from the JSON Schema, so that a new setting shows up by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from untildone.core.errors import UsageError
from untildone.core.limits import Limit
from untildone.operations import output

Schema = Mapping[str, Any]


class Kind(StrEnum):
    """What a field looks like."""

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


_MODE_OPTIONS = tuple(option.name for _, option in output.mode_options())
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Agent": ("mode", *_MODE_OPTIONS, "agent", "command", "model", "permissions", "context", "args"),
    "Loop Settings": ("loop_enabled", "max_iterations", "promise"),
    "Gates": ("checks", "check_timeout", "require_change", "review"),
    "Budget": tuple(limit.row.setting for limit in Limit if limit is not Limit.ITERATIONS),
    "Other agents": ("supervisor", "instructor", "fallback_agent", "marker"),
    "Workspace": ("worktree", "commit", "interactive", "retry_delay"),
    "Notifications": ("notify_desktop", "notify_webhook", "notify_secret", "notify_command"),
    "Cluster": ("store", "cluster", "remote", "branch", "group"),
    "Profiles": ("profiles",),
}
ICONS = {"Loop Settings": "sync"}
LOOP_ONLY = ("max_iterations", "promise", "completion_promise")
"""Fields that mean something only where the loop is on."""
_SECRETS = ("notify_secret", "store")


def fields(schema: Schema, choices: Mapping[str, tuple[str, ...]]) -> tuple[Field, ...]:
    """Every property of an object's schema. `choices`: what the schema does not know, such as the agents there are."""
    root = schema.get("$defs", {})
    return tuple(_field(name, about, root, choices) for name, about in schema["properties"].items())


def profile_schema(schema: Schema) -> Schema:
    """The schema of one profile."""
    return {**schema["$defs"]["AgentProfile"], "$defs": schema["$defs"]}


def grouped(found: tuple[Field, ...]) -> Iterator[tuple[str, tuple[Field, ...]]]:
    """By their groups, in order; what belongs to none comes last."""
    by_name = {field.name: field for field in found}
    for group, names in GROUPS.items():
        members = tuple(by_name.pop(name) for name in names if name in by_name)
        if members:
            yield group, members
    if by_name:
        yield "More", tuple(by_name.values())


def _field(name: str, about: Schema, root: Schema, choices: Mapping[str, tuple[str, ...]]) -> Field:
    ways = [_resolved(way, root) for way in about.get("anyOf", (about,))]
    optional = any(way.get("type") == "null" for way in ways)
    way = next(way for way in ways if way.get("type") != "null")
    named = choices.get(name, tuple(way.get("enum", ())))
    return Field(
        name=name,
        kind=_kind(name, way, named),
        title=about.get("title") or way.get("title", name),
        hint=about.get("description", ""),
        default=about.get("default"),
        choices=named,
        lowest=way.get("minimum", way.get("exclusiveMinimum")),
        highest=way.get("maximum"),
        optional=optional,
    )


def _resolved(way: Schema, root: Schema) -> Schema:
    reference = way.get("$ref")
    return way if reference is None else root[reference.rpartition("/")[2]]


def _kind(name: str, way: Schema, choices: tuple[str, ...]) -> Kind:
    if name == Limit.ITERATIONS.row.setting:
        return Kind.ROUNDS
    if choices:
        return Kind.CHOICE
    match way.get("type"):
        case "boolean":
            return Kind.SWITCH
        case "integer":
            return Kind.WHOLE
        case "number":
            return Kind.NUMBER
        case "array":
            return Kind.LINES
        case "object":
            return Kind.PAIRS if way["additionalProperties"].get("type") == "string" else Kind.PROFILES
        case _:
            return Kind.SECRET if name in _SECRETS else Kind.WORDS


def shown(field: Field, value: Any) -> Any:
    """A setting's value as its field shows it."""
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


def meant(field: Field, value: Any) -> Any:
    """A field's content as the setting's value; UsageError if it cannot be one. Empty is None."""
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
