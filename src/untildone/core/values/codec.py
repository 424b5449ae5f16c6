"""Converts values to JSON and back by their type hints: frozen dataclasses, enums, tuples, mappings and plain values."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache

from untildone.core.values.hints import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import UTC, datetime
    from typing import TypeVar

    T = TypeVar("T")
else:
    try:
        # In Python 3.11 `datetime` defines its classes in Python as well, which takes the stop hook two milliseconds.
        from _datetime import UTC, datetime
    except ImportError:
        # Not every Python has the accelerator.
        from datetime import UTC, datetime


TIMES = frozenset({"started_at", "not_before", "until", "reset_at"})
"""Fields that hold epoch seconds. JSON has them as RFC 3339, where that is exact; older files have numbers."""


class CodecError(ValueError):
    """A JSON value does not fit its type."""


def to_json(value: Any, text: Callable[[str], str] = str) -> Any:
    """The JSON form of a value; mappings and tuples become plain dicts and lists.

    `text` is applied to every free text, but not to the names of fields and enum members.
    """
    if isinstance(value, Enum):
        return _word(value)
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, tuple | list):
        return [to_json(item, text) for item in value]
    if isinstance(value, Mapping):
        return {text(str(to_json(key))): to_json(item, text) for key, item in value.items()}
    fields = {name: to_json(getattr(value, name), text) for name in _field_names(value.__class__)}
    for name in TIMES & fields.keys():
        fields[name] = _time(fields[name])
    for name, holder in _nested(value.__class__).items():
        nested = fields.pop(name)
        fields[holder] = {**fields[holder], name: nested} if nested else fields[holder]
    return fields


def from_json(kind: type[T], data: Any) -> T:
    """The value of type `kind` in `data`. Unknown fields are ignored; missing fields get their default."""
    decoder: Any = _decoder
    decode: Callable[[Any], T] = decoder(kind)
    return decode(data)


def timestamp(at: float) -> str:
    """Epoch seconds as RFC 3339 in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def epoch(text: str) -> float:
    """RFC 3339 as epoch seconds."""
    return datetime.fromisoformat(text).timestamp()


def moment(at: float) -> float:
    """Epoch seconds, rounded so that RFC 3339 is exact."""
    return epoch(timestamp(at))


def _time(at: Any) -> Any:
    """Epoch seconds as RFC 3339, unless that would be another moment."""
    try:
        return timestamp(at) if at.__class__ is float and moment(at) == at else at
    except (ValueError, OverflowError, OSError):
        return at


def _seconds(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The decoder of a field that holds a time."""

    def read(data: Any) -> Any:
        try:
            return epoch(data) if isinstance(data, str) else decode(data)
        except (ValueError, OverflowError, OSError) as problem:
            raise CodecError(str(problem)) from None

    return read


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = kind.__match_args__
    return names


@cache
def _nested(kind: Any) -> Mapping[str, str]:
    """Fields of a class that JSON holds inside another field: the name of each, with the name of the field around it."""
    nested: Mapping[str, str] = getattr(kind, "WRITTEN_IN", {})
    return nested


def _unnested(kind: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a JSON object, with nested fields (see `_nested`) moved out of the field around them."""
    for name, holder in _nested(kind).items():
        inside = fields.get(holder)
        if isinstance(inside, dict) and name in inside:
            rest = {each: entry for each, entry in inside.items() if each != name}
            fields = {**fields, name: inside[name], holder: rest}
    return fields


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, types.UnionType):
        return _union(kind.__args__)
    origin = getattr(kind, "__origin__", None)
    if origin is tuple:
        item = _decoder(kind.__args__[0])
        return lambda data: tuple(item(entry) for entry in _need(list, data))
    if origin is not None:
        key, item = (_decoder(argument) for argument in kind.__args__)
        return lambda data: {key(name): item(entry) for name, entry in _need(dict, data).items()}
    return _plain(kind)


def _plain(kind: Any) -> Callable[[Any], Any]:
    if kind is Any:
        return lambda data: data
    if kind is float:
        return _number
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind)
    if hasattr(kind, "__match_args__"):
        return _record(kind)
    return lambda data: data if data.__class__ is kind else _need(kind, data)


def _union(kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    (inner,) = (kind for kind in kinds if kind is not types.NoneType)
    decode = _decoder(inner)
    return lambda data: None if data is None else decode(data)


def _record(kind: Any) -> Callable[[Any], Any]:
    hints = _hints(kind)
    decoders = {name: _decoder(hints[name]) for name in _field_names(kind)}
    decoders |= {name: _seconds(decoders[name]) for name in TIMES & decoders.keys()}

    def decode(data: Any) -> Any:
        fields = _unnested(kind, _need(dict, data))
        try:
            return kind(**{name: decoders[name](entry) for name, entry in fields.items() if name in decoders})
        except CodecError:
            raise _named(decoders, fields) from None
        except TypeError as problem:
            raise CodecError(f"{kind.__name__}: {problem}") from None

    return decode


def _named(decoders: Mapping[str, Callable[[Any], Any]], fields: Mapping[str, Any]) -> CodecError:
    """The error with the name of the field that does not fit. Searched only after a failure, so that valid records stay fast."""
    for name in (each for each in fields if each in decoders):
        try:
            decoders[name](fields[name])
        except CodecError as problem:
            return CodecError(f"{name}: {problem}")
    return CodecError("it does not fit")


def _hints(kind: Any) -> dict[str, Any]:
    """The type of each field. Annotations are strings; they are evaluated in the module of their class."""
    written = {(each.__module__, name): text for each in reversed(kind.__mro__) for name, text in _annotations(each)}
    return {name: _evaluated(module, text) for (module, name), text in written.items()}


@cache
def _evaluated(module: str, text: str) -> Any:
    """What an annotation means in a module. Most are names, and compiling these would take longer than reading a checkpoint."""
    names = vars(sys.modules[module])
    value = names.get(text) or getattr(builtins, text, None)
    return value if value is not None else eval(text, names)


def _annotations(kind: Any) -> Iterable[tuple[str, str]]:
    # `inspect.get_annotations` would import modules, which takes longer than all of this.
    own: dict[str, str] = kind.__dict__.get("__annotations__", {})  # noqa: RUF063
    return own.items()


def _member(kind: type[Enum]) -> Callable[[Any], Any]:
    members = {_word(member): member for member in kind}

    def decode(data: Any) -> Any:
        member = members.get(_need(str, data).lower())
        if member is None:
            raise CodecError(f"{data!r} is no {kind.__name__}")
        return member

    return decode


def _word(member: Enum) -> str:
    """The JSON form of an enum member: its value if that is a string, else its name."""
    return str(member.value) if isinstance(member, str) else member.name.lower()


def _number(data: Any) -> float:
    if data.__class__ is float:
        return data
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise CodecError(f"{type(data).__name__} where a number belongs")
    try:
        return float(data)
    except OverflowError:
        raise CodecError("the number is too large") from None


def _need(kind: type, data: Any) -> Any:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise CodecError(f"{type(data).__name__} where {kind.__name__} belongs")
    return data
