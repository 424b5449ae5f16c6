"""The environments of agents and checks: what passes on of the person's, with the mark by which all processes of a loop are found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from untildone import agents
from untildone.core.model import AgentChoice, LoopSettings
from untildone.core.plugins.agent import Agent
from untildone.core.protection import passing
from untildone.system import disk, orphans

if TYPE_CHECKING:
    from untildone.core.loop import Loop
    from untildone.engine.surroundings import Surroundings

LARGEST = 1 << 20
"""Bytes of a settings file that are read."""


def of_checks(around: Surroundings, loop: Loop) -> dict[str, str]:
    """The environment of the checks of a loop."""
    return _marked(for_checks(around.environment, loop, around.pass_env), loop.loop_id)


def of_agent(around: Surroundings, loop: Loop, choice: AgentChoice) -> dict[str, str]:
    """The environment of an agent of a loop, outside of its box."""
    names = named(loop.settings, around.pass_env)
    own = for_agent(around.environment, choice, names)
    return {**_marked(_of_loop(own, loop), loop.loop_id), **around.profile_environment(choice.profile)}


def for_checks(environment: Mapping[str, str], loop: Loop, more: tuple[str, ...] = ()) -> dict[str, str]:
    """What checks of a loop get of an environment, without its mark. `more` are names that the person lets pass now."""
    return _of_loop(passing.passed(environment, (), named(loop.settings, more)), loop)


def for_agent(environment: Mapping[str, str], choice: AgentChoice, names: tuple[str, ...]) -> dict[str, str]:
    """What an agent gets of an environment, without the variables of its profile. `names` are those that the person lets pass."""
    return passing.passed(environment, variables(choice, environment), names)


def not_passed(environment: Mapping[str, str], loop: Loop, more: tuple[str, ...] = ()) -> frozenset[str]:
    """The names of the variables that the checks of a loop do not get."""
    return passing.left_out(environment, (), named(loop.settings, more))


def named(settings: LoopSettings, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The names that the person lets pass."""
    return (*settings.pass_env, *more, *(passing.SSH if settings.allow_ssh else ()))


def variables(choice: AgentChoice, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of an agent's own program: its login, its needs, and those to which the person's own settings of it refer."""
    agent = agents.of(choice)
    known = (*agent.login.variables, *agent.needs(environment, choice.args).variables)
    return (*known, *_in_settings(agent, environment, passing.left_out(environment, known)))


def _in_settings(agent: Agent, environment: Mapping[str, str], names: frozenset[str]) -> tuple[str, ...]:
    referred: list[str] = []
    for file in agent.settings_files(environment) if names else ():
        try:
            text = disk.read_promptly(Path(file.path), LARGEST).decode(errors="replace")
        except OSError:
            continue
        referred.extend(passing.refer_to(text, names))
    return tuple(referred)


def without_database(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables with which libpq finds and opens databases: agents must not open untildone's own."""
    return {name: value for name, value in environment.items() if not name.startswith("PG")}


def _of_loop(environment: Mapping[str, str], loop: Loop) -> dict[str, str]:
    return {**environment, "UNTILDONE_LOOP_ID": loop.loop_id}


def _marked(environment: Mapping[str, str], loop_id: str) -> dict[str, str]:
    name, value = orphans.mark(loop_id)
    return {**environment, name: value}
