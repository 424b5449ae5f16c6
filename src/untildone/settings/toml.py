"""Settings as TOML: what the standard library reads but does not write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def text(values: Mapping[str, Any]) -> str:
    """A table with its plain values first, then its tables. None is left out: TOML has no word for it."""
    return "".join(f"{line}\n" for line in _lines(values, ())).lstrip("\n")


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {name: value for name, value in table.items() if not isinstance(value, Mapping) and value is not None}
    if path and (plain or not table):
        yield ""
        yield f"[{'.'.join(map(_key, path))}]"
    yield from (f"{_key(name)} = {_value(value)}" for name, value in plain.items())
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, name))


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else _string(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return _string(str(value))


def _string(value: str) -> str:
    """JSON's form, with the one control character more that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
