"""A new loop with the task and settings of another one, any of which can be changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from untildone import settings
from untildone.core.errors import NotOurs
from untildone.core.kinds import Host
from untildone.core.limits import Limit
from untildone.core.loop import Loop
from untildone.core.model import AgentChoice, LoopSettings
from untildone.core.values.codec import to_json
from untildone.operations.creating import creation
from untildone.operations.creating.creation import Created
from untildone.settings import Settings
from untildone.settings.declared import SETTINGS
from untildone.store import Store

_MADE = ("remote", "branch")
"""Settings that creation makes anew."""


def duplicate(
    store: Store,
    loop_id: str,
    changed: Mapping[str, Any],
    task: str = "",
    environment: Mapping[str, str] = os.environ,
    *,
    host: Host = Host.NONE,
    starts: bool = False,
    tidies: bool = True,
) -> Created:
    """Create a loop with the task, settings and budget of another one. `changed` are settings that differ, `task` another task."""
    loop = store.load(loop_id)
    if loop.not_ours:
        # Its author chose the commands that the duplicate would run.
        raise NotOurs(f"Loop {loop_id} is not ours: {loop.not_ours}.", "`untildone run` starts a new loop")
    folder = folder_of(store, loop)
    chosen = chosen_for(loop, folder, changed, environment)
    in_cluster = loop.settings.remote is not None
    return creation.create(
        store,
        task or loop.description,
        chosen,
        folder,
        environment,
        tidies=tidies,
        host=Host.CLUSTER if in_cluster else host,
        starts=starts,
    )


def folder_of(store: Store, loop: Loop) -> Path:
    """The workspace of the duplicate. A loop in a worktree of its own gets another one."""
    return store.home if loop.settings.worktree else Path(loop.settings.workspace)


def chosen_for(loop: Loop, folder: Path, changed: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """The settings of the loop as those of a new one, with some changed. Another agent brings its own model and arguments."""
    own = values(loop, settings.load(folder, {}, environment))
    if {"agent", "command"} & changed.keys():
        own = {name: value for name, value in own.items() if name not in ("agent", "command", "model", "args")}
        own["escalate"] = _names(loop.settings, models=False)
    if "mode" in changed and changed["mode"] != loop.settings.mode:
        own = {name: value for name, value in own.items() if name in SETTINGS and name != "max_iterations"}
    return settings.load(folder, {**own, **changed}, environment)


def values(loop: Loop, usual: Settings) -> dict[str, Any]:
    """The settings that a loop was created with, by name, with its budget as it is now. `usual` has the profiles."""
    kept, budget = loop.settings, loop.budget
    same: dict[str, Any] = {
        name: to_json(getattr(kept, name)) for name in LoopSettings.__match_args__ if name in SETTINGS
    }
    limits = {limit.row.setting: getattr(budget, limit.row.field) for limit in Limit}
    agents = {
        **_worker(kept.worker, usual),
        "instructor": kept.instructor and kept.instructor.profile,
        "supervisor": kept.supervisor and kept.supervisor.profile,
        "acceptance": kept.acceptance and kept.acceptance.profile,
        "fallback_agent": kept.fallback and kept.fallback.profile,
        "escalate": _names(kept, models=True),
    }
    made = {
        "promise": kept.promise or "",
        "loop_enabled": not kept.once,
        "max_iterations": "none" if budget.iterations is None else budget.iterations,
        **{name: getattr(kept, name) for name in _MADE},
    }
    chosen: dict[str, Any] = {**same, **limits, **agents, **kept.options, **made}
    return {name: value for name, value in chosen.items() if value is not None}


def _names(kept: LoopSettings, *, models: bool) -> list[str]:
    """The agents that take over after rounds without progress, as settings name them: profiles, and with `models` models of the worker
    too."""
    taking_over = ((choice, choice.profile == kept.worker.profile) for choice in kept.escalate)
    names = (choice.model if is_model else choice.profile for choice, is_model in taking_over if models or not is_model)
    return [name for name in names if name]


def _worker(worker: AgentChoice, usual: Settings) -> dict[str, Any]:
    """The settings of the worker. Arguments of its profile come from there."""
    profile = settings.profile(usual, worker.profile)
    args = worker.args[len(profile.args) :] if worker.args[: len(profile.args)] == profile.args else worker.args
    return {
        "agent": worker.profile,
        "command": worker.command,
        "model": worker.model,
        "args": list(args),
        "permissions": worker.permissions.value,
    }
