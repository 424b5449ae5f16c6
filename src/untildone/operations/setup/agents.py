"""The agents on this machine: where each is installed, what it can do, and whether it answers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path

from untildone import agents, settings
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.plugins.agent import Agent
from untildone.core.plugins.agent_io import Request
from untildone.engine import environments
from untildone.engine.agent import programs, trial
from untildone.engine.agent.trial import Trial
from untildone.operations.creating import loop_settings
from untildone.settings import Settings

__all__ = ["DEFAULT", "TRIAL_SECONDS", "AgentInfo", "Trial", "look", "look_at_all", "missing", "try_agent"]
DEFAULT = agents.DEFAULT
"""The agent that works if none is named."""
TRIAL_SECONDS = trial.PATIENCE
"""How long a trial waits for an answer if no timeout is given."""


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """An agent or a profile of one, as it is installed on this machine."""

    name: str
    agent: str
    """The agent behind a profile; else the same as `name`."""
    program: str
    """The program to start; empty if only the settings can name one."""
    path: str | None
    """Where the program is; None if it is not on PATH."""
    version: str
    capabilities: tuple[str, ...]
    install: str
    """How to install the program."""
    problem: str = ""
    """A sentence about a problem of this version; empty: there is none."""


def look_at_all(folder: Path) -> Iterator[AgentInfo]:
    """Every agent, then every profile in the settings of the folder."""
    chosen = settings.load(folder, {})
    names = [*agents.names(), *(name for name in chosen.profiles if name not in agents.names())]
    with ThreadPoolExecutor(max_workers=8) as pool:
        yield from pool.map(lambda name: look(chosen, name), names)


def look(chosen: Settings, name: str) -> AgentInfo:
    """The agent or profile of that name. Starts its program to learn the version."""
    profile = settings.profile(chosen, name)
    agent = agents.find_with(profile.agent, profile.program or "")
    program = _program(agent, profile.command)
    path = programs.find(program, {**os.environ, **profile.env}) if program else None
    version = programs.version_of(path) if path and agent.program else ""
    problem = _problem(agent, version)
    return AgentInfo(name, profile.agent, program, path, version, tuple(_abilities(agent)), agent.install, problem)


def missing(chosen: Settings, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """How to install each agent or profile whose program is not on PATH, by name. Starts no program."""
    profiles = {name: settings.profile(chosen, name) for name in (*agents.names(), *chosen.profiles)}
    installed = (
        (name, agents.find_with(profile.agent, profile.program or ""), profile) for name, profile in profiles.items()
    )
    return {
        name: agent.install
        for name, agent, profile in installed
        if (program := _program(agent, profile.command))
        and programs.find(program, {**environment, **profile.env}) is None
    }


def _problem(agent: Agent, version: str) -> str:
    known = agent.versions
    if not known.is_too_old(version):
        return ""
    return f"older than {known.oldest}, the oldest version that was tried; upgrade it with {agent.install}"


def _program(agent: Agent, command: str | None) -> str:
    try:
        return agent.invocation(Request(prompt="", command=command)).argv[0]
    except UsageError:
        return agent.program


def _abilities(agent: Agent) -> Iterator[str]:
    for field in fields(agent.capabilities):
        if getattr(agent.capabilities, field.name):
            yield field.name
    if agent.hook is not None:
        yield "hooks"


def try_agent(folder: Path, name: str, command: str | None, model: str | None, timeout: float) -> Trial:
    """Call the agent once with a tiny prompt. UsageError if its program is missing."""
    chosen = settings.load(folder, {"agent": name, "command": command, "model": model})
    try:
        choice = loop_settings.loop_settings(chosen, str(folder)).worker
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
    passed = environments.for_agent(os.environ, choice, chosen.pass_env)
    return trial.try_agent(choice, {**passed, **settings.profile(chosen, name).env}, timeout)
