"""The network of an agent's box, if hosts are allowed by name: a proxy beside the box, as long as its program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from untildone import agents
from untildone.agents._needs import hosts_of
from untildone.core.errors import UsageError
from untildone.core.model import AgentChoice, LoopSettings
from untildone.core.plugins.agent import Agent
from untildone.core.protection import hosts
from untildone.core.protection.hosts import HostRule, Hosts
from untildone.core.protection.sandbox import HostAsked, SandboxNet
from untildone.engine.place import Place
from untildone.system import disk
from untildone.system.box import scoping
from untildone.system.box.proxy import Proxy
from untildone.system.box.sandbox import Network

LARGEST = 1 << 20
"""Bytes of a settings file that are read."""


@dataclass(frozen=True, slots=True)
class Connected:
    """Where an agent runs, with the proxy of its box."""

    place: Place
    asked: Callable[[], tuple[HostAsked, ...]] = tuple
    """Returns what programs in the box have asked for since the last call."""


@contextmanager
def connected(
    place: Place, settings: LoopSettings, choice: AgentChoice, environment: Mapping[str, str]
) -> Iterator[Connected]:
    """The place with a way to the hosts that settings and agent name. Without a box, or without such a setting, nothing changes."""
    box = place.box
    if box is None or settings.sandbox_net is not SandboxNet.HOSTS:
        yield Connected(place)
        return
    with Proxy(allowed(settings, choice, environment), environment) as proxy:
        launcher, variables = (*proxy.launcher, *box.launcher), {**box.variables, **proxy.environment}
        mounts = (*box.mounts, *scoping.interpreter_for(box))
        own = replace(box, network=Network.NONE, launcher=launcher, variables=variables, mounts=mounts)
        yield Connected(replace(place, box=own, descriptors=(*place.descriptors, proxy.descriptor)), proxy.asked)


def allowed(settings: LoopSettings, choice: AgentChoice, environment: Mapping[str, str]) -> Hosts:
    """The hosts of the agent's API and login, those in its settings, and those that the person names. UsageError if one of the latter is
    malformed."""
    agent = agents.of(choice)
    needed = (*agent.needs(environment, choice.args).hosts, *_in_settings(agent, environment))
    try:
        named = hosts.hosts(settings.allow_host)
    except ValueError as problem:
        raise UsageError(f"The setting allow_host is wrong: {problem}.", "correct it") from None
    return Hosts(tuple(dict.fromkeys((*named.rules, *_valid(needed)))))


def _in_settings(agent: Agent, environment: Mapping[str, str]) -> Iterator[str]:
    """The hosts of addresses in the person's settings of the agent, such as another provider of models. In a box they are read-only."""
    for file in agent.settings_files(environment):
        try:
            text = disk.read_promptly(Path(file.path), LARGEST).decode(errors="replace")
        except OSError:
            continue
        yield from hosts_of(text)


def _valid(rules: Iterable[str]) -> Iterator[HostRule]:
    """The rules without malformed ones: they come from variables that may hold anything."""
    for rule in rules:
        try:
            yield hosts.parse(rule)
        except ValueError:
            continue
