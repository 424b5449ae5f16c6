"""Error messages about invalid values of settings, made from the declarations."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from untildone.core.errors import UsageError
from untildone.settings.declared import PROFILE_SETTINGS, by_any_name, every
from untildone.settings.setting import Setting

GIVEN_TWICE = "given_twice"
REFUSED = "refused"
_LIST_OF_NAMES = "`untildone config --schema` lists what is allowed"
_LONGEST = 60


def about(
    place: tuple[str | int, ...], kind: str, value: Any, context: Mapping[str, Any], where: str = ""
) -> UsageError:
    """The error for one value. `place` and `kind` are those of pydantic, `where` names the source of the value."""
    declared, rest = _declared(place)
    inside = rest[:1] if declared is not None and isinstance(declared.default, tuple | Mapping) else ()
    name = ".".join(map(str, (*place[: len(place) - len(rest)], *inside)))[:200]
    if kind == "extra_forbidden":
        return UsageError(f"Setting '{name}'{where}: there is no setting of this name.", _similar(place))
    if kind == GIVEN_TWICE:
        several = context["names"]
        return UsageError(
            f"Settings {several}{where}: they are one setting, and the values differ.", "keep one of them"
        )
    if declared is None:
        return UsageError(f"Setting '{name}'{where}: {shown(value)} is not a table.", _LIST_OF_NAMES)
    if kind == "missing":
        return UsageError(f"Setting '{name}'{where}: it is missing.", expected(declared))
    if kind == REFUSED:
        return UsageError(f"Setting '{name}'{where}: {context['reason']}.", expected(declared))
    return UsageError(f"Setting '{name}'{where}: {_wrong(declared, rest, kind, value)}.", expected(declared))


def _declared(place: tuple[str | int, ...]) -> tuple[Setting | None, tuple[str | int, ...]]:
    """The setting at a place, and the part of the place that is inside its value or inside its type."""
    if len(place) == 2 and place[0] == "profiles":
        return None, ()
    if len(place) > 2 and place[0] == "profiles":
        return PROFILE_SETTINGS.get(str(place[2])), place[3:]
    return every().get(str(place[0])) if place else None, place[1:]


def _similar(place: Iterable[str | int]) -> str:
    *parents, name = map(str, place)
    known = PROFILE_SETTINGS if parents else by_any_name()
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean '{close[0]}'? {_LIST_OF_NAMES}" if close else _LIST_OF_NAMES


def _wrong(declared: Setting, rest: tuple[str | int, ...], kind: str, value: Any) -> str:
    if kind == "string_too_short":
        return "it is empty"
    if isinstance(declared.default, tuple | Mapping):
        container = "list" if isinstance(declared.default, tuple) else "table"
        return f"{shown(value)} is not text" if rest else f"{shown(value)} is not a {container}"
    return f"{shown(value)} is {_not(declared)}"


_EXAMPLES = {
    "checks": "pytest -q",
    "allow_host": "example.org",
    "allow_write": "~/.foo",
    "allow_read": "~/.aws",
    "pass_env": "KUBECONFIG",
    "protect": "fixtures/**",
    "keep_running": "postgres",
}
"""A value of settings that are lists, by the name of the setting."""


def _not(declared: Setting) -> str:
    if declared.choices:
        return "not one of the choices"
    if declared.unit:
        return f"not a number of {declared.unit}"
    if declared.is_switch:
        return "neither true nor false"
    return f"not {declared.shape.noun}" if declared.shape else "not text"


def expected(declared: Setting) -> str:
    """What to give instead, as a hint."""
    if declared.choices:
        return f"choose one of: {', '.join(declared.choices)}"
    if declared.unit:
        kind = "a whole number" if declared.whole else "a number"
        return f"give {kind} {_bounds(declared)}{', or none' if declared.unlimited else ''}"
    if declared.is_switch:
        return "give true or false"
    if isinstance(declared.default, tuple):
        example = _EXAMPLES.get(declared.name, "")
        return f'give a list of texts, such as ["{example}"]' if example else "give a list of texts"
    if isinstance(declared.default, Mapping):
        return _LIST_OF_NAMES if declared.name == "profiles" else "give a table of texts by name"
    return declared.shape.hint if declared.shape else "give a text"


def _bounds(declared: Setting) -> str:
    if declared.above is not None:
        most = "" if declared.highest is None else f" and up to {int(declared.highest):,}"
        return f"above {declared.above:g}{most}"
    if declared.highest is not None:
        return f"from {declared.lowest:,g} to {int(declared.highest):,}"
    return f"from {declared.lowest:g}"


def shown(value: Any) -> str:
    """A value as its file or form has it, at most one short line."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, int | float):
        return "nothing" if value is None else _shortened(str(value))
    if isinstance(value, str):
        return f"'{_shortened(value)}'"
    return "a list" if isinstance(value, list | tuple) else "a table" if isinstance(value, Mapping) else "this value"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
