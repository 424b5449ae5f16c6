"""Starts one run of an agent with the hook, by arguments or variables: nothing is installed anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone import agents
from untildone.core.errors import UsageError
from untildone.core.plugins.hook_setup import HookSetup, Injected, Run
from untildone.hosts.hook import agent_settings
from untildone.system import json_text
from untildone.system.json_text import Broken


def place_for_runs(agent: str, environment: Mapping[str, str]) -> Path | None:
    """Where the folder of a run must be created; None: anywhere."""
    return _setup(agent).folder_of_runs(environment)


def inject(
    agent: str, arguments: tuple[str, ...], folder: Path, status: str, environment: Mapping[str, str]
) -> Injected:
    """Arguments and variables with the hook; writes the files for it into `folder`. The agent shows `status` while the hook works."""
    run = Run(arguments, folder, status, environment, lambda word: agent_settings.hooks_of_run(agent, word), _read)
    injected = _setup(agent).inject(run)
    for name, text in injected.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return injected


def check(agent: str) -> None:
    """Raise UsageError if the agent cannot be wrapped."""
    _setup(agent)


def _setup(agent: str) -> HookSetup:
    hook = agents.find(agent).hook
    if hook is None:
        raise UsageError(
            f"{agent} cannot be wrapped: it has no hook that is asked before it stops.",
            f"`untildone run --mode supervise --agent {agent}`",
        )
    return hook.setup


def _read(value: str) -> dict[str, Any]:
    """The person's settings in `value`: JSON, or the path of a JSON file."""
    try:
        text = value if value.lstrip().startswith("{") else Path(value).read_text(encoding="utf-8")
        settings = json_text.parse(text).plain
    except (OSError, UnicodeDecodeError, Broken) as problem:
        raise _unreadable(value, str(problem)) from None
    if not isinstance(settings, dict):
        raise _unreadable(value, "it is not a JSON object")
    return settings


def _unreadable(value: str, why: str) -> UsageError:
    return UsageError(
        f"The agent's settings {value[:200]} cannot be read: {why}.", "give valid JSON, or a file with it"
    )
