"""Parts of documents such as `pyproject.toml` and `package.json`: taking them out, putting them in, writing the result.

Written documents are for rooms only: they keep every value and no comment.
"""

from __future__ import annotations

import copy
import datetime
import json
import re
import tomllib
from collections.abc import Iterable, Mapping

from untildone.core.values.hints import Any

Document = dict[str, Any]
Key = tuple[str, ...]
"""The way to a value. `*` in a pattern stands for every key of a table, or for every item of a list that has a name."""

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def loaded_toml(content: bytes | None) -> Document:
    """Raises ValueError if it is no TOML. No content is an empty document."""
    try:
        return tomllib.loads((content or b"").decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def loaded_json(content: bytes | None) -> Document:
    """Raises ValueError if it is no JSON object, or if a key occurs twice. No content is an empty document."""
    try:
        document = json.loads((content or b"{}").decode("utf-8-sig"), object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("it is no object")
    return document


def _unique(pairs: list[tuple[str, Any]]) -> Document:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key occurs twice")
    return document


def found(document: Document, patterns: Iterable[Key]) -> dict[Key, Any]:
    """The values at the patterns, by their keys."""
    values: dict[Key, Any] = {}
    for pattern in patterns:
        values.update(_found(document, pattern, ()))
    return values


def _found(value: Any, pattern: Key, way: Key) -> Iterable[tuple[Key, Any]]:
    if not pattern:
        yield way, value
        return
    children = _children(value)
    names = list(children) if pattern[0] == "*" else [pattern[0]]
    for name in names:
        if name in children:
            yield from _found(children[name], pattern[1:], (*way, name))


def _children(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {str(item.get("name", position)): item for position, item in enumerate(value) if isinstance(item, dict)}
    return {}


def replaced(document: Document, drop: Iterable[Key], put: Mapping[Key, Any]) -> Document:
    """A copy of the document without the values at `drop`, and with those of `put`."""
    made = copy.deepcopy(document)
    for key in drop:
        holder = _holder(made, key, create=False)
        if holder is not None:
            holder.pop(key[-1], None)
    for key, value in put.items():
        holder = _holder(made, key, create=True)
        if holder is not None:
            holder[key[-1]] = copy.deepcopy(value)
    return made


def _holder(document: Document, key: Key, *, create: bool) -> Document | None:
    """The table that holds the value at `key`; None: there is none."""
    table: Any = document
    for name in key[:-1]:
        children = _children(table)
        if name not in children and create and isinstance(table, dict):
            table[name] = {}
        table = _children(table).get(name)
        if table is None:
            return None
    return table if isinstance(table, dict) else None


def written_json(document: Document) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def written_toml(document: Document) -> bytes:
    """The document as TOML. Raises ValueError if it does not read back as the same values."""
    content = "".join(_table(document, ())).encode()
    if tomllib.loads(content.decode()) != document:
        raise ValueError("it cannot be written as TOML")
    return content


def _table(table: Mapping[str, Any], way: Key) -> Iterable[str]:
    plain = {name: value for name, value in table.items() if not isinstance(value, dict)}
    if way and (plain or not table):
        yield f"\n[{'.'.join(map(_key, way))}]\n"
    for name, value in plain.items():
        yield f"{_key(name)} = {_value(value)}\n"
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _table(value, (*way, name))


def _key(name: str) -> str:
    return name if _BARE.match(name) else _string(name)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case int() | float():
            return repr(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case list():
            return "[" + ", ".join(map(_value, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + "}"
        case _:
            raise ValueError("it cannot be written as TOML")
