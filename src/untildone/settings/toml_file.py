"""Changes a TOML file in place: comments, order and formatting stay. Needs tomlkit, which the extra `serve` installs."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from untildone.core.errors import MissingPackage


def edited(text: str, target: Mapping[str, Any]) -> str:
    """`text`, changed so that it holds exactly the values of `target`. None is left out: TOML has no null."""
    import tomllib

    try:
        import tomlkit
    except ImportError:
        raise MissingPackage("Saving settings needs the package tomlkit, which is not installed.", "serve") from None
    values = _without_none(target)
    for start in (_with_new_settings(text, values), text):
        try:
            document = tomlkit.parse(start)
            _change(document, values)
            changed = tomlkit.dumps(document)
            if tomllib.loads(changed) == values:
                return changed
        except (tomlkit.exceptions.TOMLKitError, ValueError, KeyError):
            continue
    # tomlkit cannot edit every legal file, such as one whose tables are split into several parts.
    return tomlkit.dumps(values)


def _with_new_settings(text: str, target: Mapping[str, Any]) -> str:
    """`text` with the settings that it lacks, above the first table and above the comments of that table.

    tomlkit would write them between the table and its comments.
    """
    import tomlkit

    present = tomlkit.parse(text)
    new = {name: value for name, value in target.items() if name not in present and not isinstance(value, Mapping)}
    lines = text.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    while end > 0 and lines[end - 1].lstrip()[:1] in ("", "#"):
        end -= 1
    return "".join((*lines[:end], tomlkit.dumps(new), *lines[end:])) if 0 < end < len(lines) else text


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_none(value) if isinstance(value, Mapping) else _plain(value)
        for name, value in values.items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _change(table: MutableMapping[str, Any], target: Mapping[str, Any]) -> None:
    for name in [name for name in table if name not in target]:
        del table[name]
    for name, value in target.items():
        present = table.get(name)
        if isinstance(present, MutableMapping) and isinstance(value, Mapping):
            _change(present, value)
        elif name not in table:
            _add(table, name, value)
        elif _differs(present, value):
            table[name] = value


def _add(table: MutableMapping[str, Any], name: str, value: Any) -> None:
    """Add a setting above the comments at the end of a table: they belong to the table that follows."""
    from tomlkit.items import Table

    body = table.value.body if isinstance(table, Table) else []
    comments: list[Any] = []
    while body and body[-1][0] is None:
        comments.insert(0, body.pop())
    table[name] = value
    body.extend(comments)


def _differs(present: Any, value: Any) -> bool:
    """Whether two values are unequal in TOML, where 1, 1.0 and true are three different values."""
    return present != value or isinstance(present, bool) != isinstance(value, bool)
