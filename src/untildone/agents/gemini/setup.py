"""Gemini CLI's settings, and its hook for one run: in the system defaults, whose hooks are added to all others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.agents._setups import SETTINGS_FILE, CommonSetup, merged
from untildone.core.plugins.hook_setup import Injected, Location, Run

_DEFAULTS = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"


class GeminiSetup(CommonSetup):
    def location(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_person: bool) -> Location:
        """Always the person's own settings: those of a project belong to the team, and the hook's command has paths of this machine."""
        return Location(home / ".gemini" / "settings.json")

    def entry(self, kind: str, command: str, seconds: int) -> dict[str, Any]:
        named = {"name": f"untildone-{kind}", "type": "command", "command": command, "timeout": seconds * 1000}
        return {"hooks": [named]}

    def inject(self, run: Run) -> Injected:
        present = run.environment.get(_DEFAULTS)
        defaults = run.read_settings(present) if present else {}
        content = json.dumps(merged(defaults, {"hooks": run.hooks(str(run.folder))}))
        return Injected(run.arguments, {_DEFAULTS: str(run.folder / SETTINGS_FILE)}, {SETTINGS_FILE: content})

    def folder_of_runs(self, environment: Mapping[str, str]) -> Path:
        """A folder of the person: the program ignores settings below a folder that other users can write to, such as /tmp."""
        cache = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".cache"
        return Path(cache) / "untildone"
