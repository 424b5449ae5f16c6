"""Codex's hooks file, and its hook for one run: `-c hooks.…`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from untildone.agents._setups import CommonSetup
from untildone.core.plugins.hook_setup import RUN_VARIABLE, Injected, Location, Run

_OF_COMMAND_LINE = "/<session-flags>/config.toml"
"""The file in which, to Codex, settings of its command line are."""


class CodexSetup(CommonSetup):
    hint = "Codex asks once whether it may run new hooks; without a terminal, it needs --dangerously-bypass-hook-trust."

    def location(self, folder: Path, home: Path, environment: Mapping[str, str], *, for_person: bool) -> Location:
        return Location(Path(environment.get("CODEX_HOME") or home / ".codex") / "hooks.json")

    def inject(self, run: Run) -> Injected:
        """Pass the run's folder in a variable: Codex asks the person again about every hook command that has changed."""
        hooks = run.hooks(f"${RUN_VARIABLE}")
        values = {**hooks, "state": {key: {"trusted_hash": digest} for key, digest in _trusted(hooks)}}
        flags = [word for name, value in values.items() for word in ("-c", f"hooks.{name}={_toml(value)}")]
        return Injected((*flags, *run.arguments), {RUN_VARIABLE: str(run.folder)})


def _trusted(hooks: Mapping[str, list[dict[str, Any]]]) -> Iterator[tuple[str, str]]:
    """The name under which Codex keeps its trust in each hook of the command line, and the digest of the hook.

    Otherwise Codex asks the person, and cannot keep the answer in a box: it is kept in its settings, which are read-only there. Where the
    digest is not the one that Codex computes, Codex asks."""
    for event, entries in hooks.items():
        label = re.sub("(?<!^)(?=[A-Z])", "_", event).lower()
        for index, entry in enumerate(entries):
            (hook,) = entry["hooks"]
            identity = {"event_name": label, "hooks": [{"async": False, **hook}]}
            text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            yield f"{_OF_COMMAND_LINE}:{label}:{index}:0", f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _toml(value: Any) -> str:
    """A TOML value on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(name)} = {_toml(entry)}" for name, entry in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value)
