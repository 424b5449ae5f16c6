"""Turns settings into the settings of a loop: agents, gates, limits. Flags overrule the agent's profile, which overrules the files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from untildone import agents, gates, modes, settings
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.limits import Limit
from untildone.core.model import AgentChoice, Budget, LoopSettings, Permissions, Role
from untildone.core.plugins.agent import Agent
from untildone.core.plugins.agent_io import Request
from untildone.core.plugins.mode import FromFiles, Mode
from untildone.core.values.value import replace
from untildone.operations.creating import known_secrets, proofs
from untildone.settings import Settings, guidance
from untildone.settings.declared import SETTINGS
from untildone.system import ssh_signing


def loop_settings(
    chosen: Settings,
    folder: str,
    environment: Mapping[str, str] = os.environ,
    *,
    files: FromFiles | None = None,
    elsewhere: Collection[Role] = (),
    reviewed: bool | None = None,
) -> LoopSettings:
    """The settings as the loop keeps them. The agents of roles that are `elsewhere` need not be on PATH here."""
    mode = modes.find(chosen.mode)
    files = files or guidance.from_files(mode, Path(folder))
    worker = _choice(chosen, chosen.agent, environment, own=True, checked=Role.WORKER not in elsewhere)
    here = Role.SUPERVISOR not in elsewhere
    reviewed = chosen.review or mode.reviewed if reviewed is None else reviewed
    kept: dict[str, Any] = {name: getattr(chosen, name) for name in LoopSettings.__match_args__ if name in SETTINGS}
    made: dict[str, Any] = {
        "worker": worker,
        "workspace": folder,
        "instructor": _other(chosen, chosen.instructor, environment, checked=here),
        "supervisor": _other(chosen, chosen.supervisor, environment, checked=here),
        "acceptance": _other(chosen, chosen.acceptance, environment, checked=here),
        "fallback": _other(chosen, chosen.fallback_agent, environment, checked=here),
        "escalate": tuple(_taking_over(chosen, worker, environment, checked=here)),
        "review": reviewed,
        "promise": _value(chosen, "promise", settings.profile(chosen, chosen.agent).completion_promise) or None,
        "once": not _loops(chosen),
        "signing_key": _signing_key(chosen, folder, here=here),
        "remote": None,
        "branch": None,
        "warn_from": files.warn_from,
        "supervisor_prompt": guidance.supervisor_text(Path(folder), environment) if reviewed else "",
        "options": _options(chosen, mode, files),
    }
    chosen_for_loop = LoopSettings(**{**kept, **made})
    gates.gates_of(
        chosen_for_loop
    )  # a gate that cannot be loaded is an error now, not when the agent claims to be done
    _check_ratchet(chosen_for_loop, in_cluster=not here)
    _check_native_goal(chosen_for_loop, mode)
    known_secrets.refuse_in_commands(chosen_for_loop, known_secrets.redactor(environment, chosen))
    return proofs.checked(chosen_for_loop, in_session=here and Role.WORKER in elsewhere, in_cluster=not here)


def _check_ratchet(kept: LoopSettings, *, in_cluster: bool) -> None:
    if not kept.ratchet:
        return
    if not kept.checks:
        raise UsageError("--ratchet needs checks: it undoes rounds that break them.", "name some with --check")
    if in_cluster:
        raise UsageError("--ratchet makes no sense in a cluster, where snapshots stay on one machine.", "leave it out")


def _check_native_goal(kept: LoopSettings, mode: Mode) -> None:
    if not kept.native_goal:
        return
    if not mode.claims_by_promise:
        raise UsageError(
            f"--native-goal makes no sense in the mode {mode.name}.", "use a mode whose agent claims by a promise"
        )
    for choice in (kept.worker, kept.fallback, *kept.escalate):
        if choice is not None and not agents.of(choice).capabilities.native_goal:
            able = ", ".join(name for name in agents.own_names() if agents.find(name).capabilities.native_goal)
            raise UsageError(
                f"{choice.profile} has no goal loop of its own for --native-goal.", f"choose one of: {able}"
            )


def _signing_key(chosen: Settings, folder: str, *, here: bool) -> str | None:
    """The path of the key that signs the receipt. UsageError if it lies in the workspace or, with `here`, cannot sign now."""
    if chosen.signing_key is None:
        return None
    path = os.path.realpath(os.path.join(folder, os.path.expanduser(chosen.signing_key)))
    if Path(path).is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"The signing key {path} lies in the workspace, where the agent can read it.", "move it out")
    if here:
        ssh_signing.sign(path, b"")
    return path


def _options(chosen: Settings, mode: Mode, files: FromFiles) -> dict[str, Any]:
    """The options of the mode and of the gates, as they are when the loop is created."""
    declared = (*mode.declared_options, *gates.options())
    return {**{option.name: chosen.options.get(option.name, option.default) for option in declared}, **files.options}


def _value(chosen: Settings, name: str, own: Any) -> Any:
    """The value for this run, else that of the agent's profile (`own`), else that of the settings files."""
    return getattr(chosen, name) if own is None or chosen.overrides_profile(name) else own


def _loops(chosen: Settings) -> bool:
    own = settings.profile(chosen, chosen.agent).loop_enabled
    return chosen.loop_enabled and (own is not False or chosen.overrides_profile("loop_enabled"))


def loop_budget(chosen: Settings, files: FromFiles) -> Budget:
    """The limits of the settings; else those of the mode's files in the workspace; else those of the mode."""
    usual = files.iteration_timeout or modes.find(chosen.mode).default_iteration_timeout
    given = Budget(**{limit.row.field: getattr(chosen, limit.row.setting) for limit in Limit})
    iterations = _iterations(chosen, files)
    return replace(given, iterations=iterations, iteration_timeout=given.iteration_timeout or usual)


def _iterations(chosen: Settings, files: FromFiles) -> int | None:
    if not _loops(chosen):
        return 1
    most = _value(chosen, "max_iterations", settings.profile(chosen, chosen.agent).max_iterations)
    if most == "none":
        return None
    return most or files.iterations or modes.find(chosen.mode).default_iterations


def _taking_over(
    chosen: Settings, worker: AgentChoice, environment: Mapping[str, str], *, checked: bool
) -> Iterator[AgentChoice]:
    """The agents of `escalate`. What names no agent and no profile is a model of the worker's agent."""
    for name in (part.strip() for entry in chosen.escalate for part in entry.split(",")):
        if name in chosen.profiles or agents.exists(name):
            yield _choice(chosen, name, environment, own=False, checked=checked)
        elif name:
            yield replace(worker, model=name)


def _other(chosen: Settings, name: str | None, environment: Mapping[str, str], *, checked: bool) -> AgentChoice | None:
    return None if name is None else _choice(chosen, name, environment, own=False, checked=checked)


def _choice(chosen: Settings, name: str, environment: Mapping[str, str], *, own: bool, checked: bool) -> AgentChoice:
    """The agent behind a name. Model, arguments and command of the settings are the worker's."""
    profile = settings.profile(chosen, name)
    permissions = profile.permissions if "permissions" in profile.explicit else None
    agent = agents.find_with(profile.agent, profile.program or "")
    choice = AgentChoice(
        profile=name,
        agent=profile.agent,
        program=profile.program or "",
        model=_value(chosen, "model", profile.model) if own else profile.model,
        args=(*profile.args, *(chosen.args if own else ())),
        command=_value(chosen, "command", profile.command) if own else profile.command,
        permissions=(_value(chosen, "permissions", permissions) if own else permissions) or Permissions.WORK,
        abilities=tuple(name for name in ("resume", "fork", "system_prompt") if getattr(agent.capabilities, name)),
    )
    if checked:
        _check_program(agent, choice, {**environment, **profile.env})
    return choice


def _check_program(agent: Agent, choice: AgentChoice, environment: Mapping[str, str]) -> None:
    program = agent.invocation(Request(prompt="", command=choice.command)).argv[0]
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise AgentMissing(f"The program '{program}' for agent '{choice.profile}' is not on PATH.", agent.install)
