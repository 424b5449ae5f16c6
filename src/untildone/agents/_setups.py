"""Defaults and helpers that the hook setups of agents share."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.core.plugins.agent import SettingsFile
from untildone.core.plugins.hook_setup import Setting

SETTINGS_FILE = "settings.json"


class CommonSetup:
    """Defaults of a `HookSetup`."""

    settings: tuple[Setting, ...] = ()
    hint = ""
    reads_comments = True

    def entry(self, kind: str, command: str, seconds: int) -> dict[str, Any]:
        return {"hooks": [{"type": "command", "command": command, "timeout": seconds}]}

    def folder_of_runs(self, environment: Mapping[str, str]) -> Path | None:
        return None


def own_folder(environment: Mapping[str, str], variable: str, name: str) -> str:
    """The folder of a program's own files: what the variable names, else `name` in the person's home folder."""
    home = environment.get("HOME") or os.path.expanduser("~")
    return environment.get(variable) or os.path.join(home, name)


def below(folder: str, *names: str) -> tuple[SettingsFile, ...]:
    """One `SettingsFile` for each name, relative to `folder`; a name may lead out of it (`../.env`)."""
    return tuple(SettingsFile(os.path.normpath(os.path.join(folder, name))) for name in names)


def session_files(home: str, folders: str, name: str) -> str:
    """A glob pattern for the file of a session; one that matches nothing if the name could lead elsewhere."""
    return os.path.join(glob.escape(home), folders, name) if re.fullmatch(r"[\w.*-]{1,200}", name) else ""


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
