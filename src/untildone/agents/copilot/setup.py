"""GitHub Copilot CLI's settings, and its hook for one run: a plugin that is loaded for this run only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.agents._setups import CommonSetup
from untildone.core.plugins.hook_setup import Injected, Location, Run

_PLUGIN = {
    "name": "untildone",
    "description": "A supervisor at every stop",
    "version": "1.0.0",
    "hooks": "hooks.json",
}


class CopilotSetup(CommonSetup):
    def location(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_person: bool) -> Location:
        return Location(Path(environment.get("COPILOT_HOME") or home / ".copilot") / "settings.json")

    def entry(self, kind: str, command: str, seconds: int) -> dict[str, Any]:
        return {"type": "command", "bash": command, "powershell": f"& {command}", "timeoutSec": seconds}

    def inject(self, run: Run) -> Injected:
        hooks = {"version": 1, "hooks": run.hooks(str(run.folder))}
        files = {"plugin.json": json.dumps(_PLUGIN), "hooks.json": json.dumps(hooks)}
        return Injected((f"--plugin-dir={run.folder}", *run.arguments), files=files)
