"""Defaults and helpers that the hook setups of agents share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.core.hook_setup import Setting

SETTINGS_FILE = "settings.json"


class CommonSetup:
    """Defaults of a `HookSetup`."""

    settings: tuple[Setting, ...] = ()
    hint = ""

    def entry(self, kind: str, command: str, seconds: int) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}

    def folder_of_runs(self, environment: Mapping[str, str]) -> Path | None:
        return None


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Join lists and merge objects; any other value of `above` replaces that of `below`."""
    result = dict(below)
    for name, value in above.items():
        before = below.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            result[name] = merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            result[name] = [*before, *value]
        else:
            result[name] = value
    return result
