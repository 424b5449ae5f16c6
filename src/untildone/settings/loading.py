"""Defaults, settings files, environment and flags become one value."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.core.errors import UsageError
from untildone.core.values.value import replace
from untildone.settings.declared import AgentProfile, Settings, by_any_name
from untildone.settings.setting import PREFIX, Setting

_TABLES = ("cluster", "gates", "notify_templates", "prices", "profiles")


def load(workspace: Path, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings of a workspace. Later sources win: defaults, the user's file, the project's file, environment, flags."""
    merged: dict[str, Any] = {}
    for path in files(workspace, environment):
        merged = _merged(merged, read(path))
    given = {name: value for name, value in flags.items() if value is not None}
    for_this_run = _merged(_from_environment(environment), _checked(given, ""))
    return replace(validated(_merged(merged, for_this_run), ""), overriding=frozenset(for_this_run))


def files(workspace: Path, environment: Mapping[str, str] = os.environ) -> tuple[Path, Path]:
    """The settings files: the user's own, then the project's, which need not exist."""
    from untildone.store import places

    return places.settings_files(workspace, environment)


def read(path: Path) -> dict[str, Any]:
    """The values in one settings file as it counts (see `system.trust`), checked; empty if there is no such file."""
    import tomllib

    from untildone.system import trust

    try:
        content = trust.content(path)
        values = {} if content is None else tomllib.loads(content.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"Cannot read the settings in {path}: {problem}.", "fix or delete the file") from None
    return _checked(values, f" in {path}")


def profile(chosen: Settings, name: str) -> AgentProfile:
    """The profile of that name. The name of an agent is a profile with nothing set."""
    from untildone import agents
    from untildone.core.errors import UnknownName

    own = chosen.profiles.get(name)
    if own is not None:
        agents.find_with(own.agent, own.program or "")
        return own
    try:
        agents.find(name)
    except UnknownName:
        known = ", ".join((*agents.names(), *chosen.profiles))
        raise UsageError(f"There is no agent or profile named '{name}'.", f"choose one of: {known}") from None
    return AgentProfile(agent=name)


def _checked(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values of one source, each under the name of its setting. UsageError if one is invalid."""
    validated(values, where)
    known = by_any_name()
    return {known[name].name: value for name, value in values.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings in the environment. Variables with our prefix that name no setting are ignored."""
    known = by_any_name()
    values = {
        name: _from_variable(known[name], value)
        for variable, value in environment.items()
        if variable.startswith(PREFIX) and (name := variable.removeprefix(PREFIX).lower()) in known
    }
    return _checked(values, " in the environment")


def _from_variable(declared: Setting, value: str) -> Any:
    """Lists and tables are JSON; a list of one text may be the bare text. Empty means none."""
    if not isinstance(declared.default, tuple | Mapping):
        return value if value else None
    if not value:
        return {} if isinstance(declared.default, Mapping) else []
    import json

    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return [value]


def _merged(old: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`new` over `old`; tables are merged by name."""
    both = ((name, old.get(name), new.get(name)) for name in _TABLES)
    tables = {
        name: {**mine, **theirs} for name, mine, theirs in both if isinstance(mine, dict) and isinstance(theirs, dict)
    }
    return {**old, **new, **tables}


def validated(values: Mapping[str, Any], where: str) -> Settings:
    """The settings with these values. `where` names their source. UsageError if a value is invalid or there is no such mode."""
    from untildone import modes
    from untildone.settings import schema

    settings = schema.validated(values, where)
    try:
        modes.find(settings.mode)
    except UsageError as problem:
        source = f"Setting 'mode'{where}: " if where else ""
        raise UsageError(f"{source}{problem.sentence}", problem.hint) from None
    return settings
