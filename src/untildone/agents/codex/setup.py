"""Codex's hooks file, and its hook for one run: `-c hooks.…`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.agents._setups import CommonSetup
from untildone.core.plugins.hook_setup import RUN_VARIABLE, Injected, Location, Run


class CodexSetup(CommonSetup):
    hint = "Codex asks once whether it may run new hooks; without a terminal, it needs --dangerously-bypass-hook-trust."

    def location(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_person: bool) -> Location:
        return Location(Path(environment.get("CODEX_HOME") or home / ".codex") / "hooks.json")

    def inject(self, run: Run) -> Injected:
        """Pass the run's folder in a variable: Codex asks the person again about every hook command that has changed."""
        hooks = run.hooks(f"${RUN_VARIABLE}")
        flags = [word for event, entries in hooks.items() for word in ("-c", f"hooks.{event}={_toml(entries)}")]
        return Injected((*flags, *run.arguments), {RUN_VARIABLE: str(run.folder)})


def _toml(value: Any) -> str:
    """A TOML value on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{name} = {_toml(entry)}" for name, entry in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value)
