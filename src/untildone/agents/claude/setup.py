"""Claude Code's settings, and its hook for one run: `--settings`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone.agents._setups import SETTINGS_FILE, CommonSetup, merged
from untildone.core.errors import UsageError
from untildone.core.plugins.hook_setup import Injected, Location, Run, Setting

_WITHOUT_HOOKS = ("--bare", "--safe-mode")
"""With these, the program runs no hook at all."""
_BLOCK_CAP = Setting(
    ("env", "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"), "0", "after so many rounds without a tool call, the agent stops"
)
"""How often in a row a stop hook may block; 0: without limit."""


class ClaudeSetup(CommonSetup):
    settings: tuple[Setting, ...] = (_BLOCK_CAP,)
    reads_comments = False

    def location(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_person: bool) -> Location:
        persons = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
        if for_person:
            return Location(persons / "settings.json", persons / "commands")
        # `settings.json` of a project belongs to the team; the command of the hook has paths of this machine.
        own = folder / ".claude"
        return Location(own / "settings.local.json", own / "commands")

    def inject(self, run: Run) -> Injected:
        refused = next((word for word in run.arguments if word in _WITHOUT_HOOKS), None)
        if refused is not None:
            raise UsageError(f"With {refused}, claude runs no hook, so its stops cannot be checked.", "leave it out")
        own, rest = _settings_among(run.arguments)
        settings: dict[str, Any] = {}
        for value in own:
            settings = merged(settings, run.read_settings(value))
        content = json.dumps(merged(settings, _settings_of(run)))
        return Injected((f"--settings={run.folder / SETTINGS_FILE}", *rest), files={SETTINGS_FILE: content})


def _settings_of(run: Run) -> dict[str, Any]:
    hooks = run.hooks(str(run.folder))
    for entry in hooks["Stop"]:
        entry["hooks"] = [{**hook, "statusMessage": run.status} for hook in entry["hooks"]]
    section, name = _BLOCK_CAP.path
    return {"hooks": hooks, section: {name: _BLOCK_CAP.value}}


def _settings_among(arguments: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The values of the person's own `--settings`, and all other arguments."""
    own: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--settings":
            own += [value for value in (next(words, None),) if value is not None]
        elif word.startswith("--settings="):
            own.append(word.partition("=")[2])
        else:
            rest.append(word)
    return own, rest
