"""`untildone agents`: which agents are installed, what they can do, and whether one works."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import click

from untildone import agents, settings
from untildone.core import failures, limits
from untildone.core.agent import Agent
from untildone.core.agent_io import Request
from untildone.core.codec import to_json
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.model import Outcome
from untildone.engine import programs, trial
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.commands.run import existing_folder
from untildone.faces.cli.parameters import Amount
from untildone.faces.text.plain import one_line
from untildone.operations import loop_settings
from untildone.settings import Settings


@dataclass(frozen=True, slots=True)
class Known:
    """An agent or a profile, as it is on this machine."""

    name: str
    agent: str
    program: str
    path: str | None
    version: str
    capabilities: tuple[str, ...]
    install: str

    def line(self) -> str:
        kind = "" if self.name == self.agent else f" (profile of {self.agent})"
        if not self.program:
            return f"{self.name}{kind}: {self.install}"
        if self.path is None:
            return f"{self.name}{kind}: missing: there is no '{self.program}' on PATH; {self.install}"
        able = ", ".join(self.capabilities).replace("_", " ") or "nothing beyond answering"
        return f"{self.name}{kind}: {' '.join(word for word in (self.version, self.path) if word)}; can: {able}"


@click.group(invoke_without_command=True)
@parameters.folder
@parameters.as_json
@click.pass_context
def command(ctx: click.Context, folder: str, as_json: bool) -> int:
    """The agents: where each is, its version, what it can do, and how to install what is missing."""
    if ctx.invoked_subcommand is not None:
        return 0
    chosen = settings.load(existing_folder(folder), {})
    names = [*agents.names(), *(name for name in chosen.profiles if name not in agents.names())]
    with ThreadPoolExecutor(max_workers=8) as pool:
        for known in pool.map(lambda name: look(chosen, name), names):
            if as_json:
                streams.data().record({**to_json(known), "found": known.path is not None})
            else:
                streams.data().line(known.line())
    return 0


def look(chosen: Settings, name: str) -> Known:
    profile = settings.profile(chosen, name)
    agent = agents.find(profile.agent)
    program = _program(agent, profile.command)
    path = programs.find(program, {**os.environ, **profile.env}) if program else None
    version = programs.version_of(path) if path and agent.program else ""
    return Known(name, profile.agent, program, path, version, tuple(_abilities(agent)), agent.install)


def _program(agent: Agent, own: str | None) -> str:
    try:
        return agent.invocation(Request(prompt="", command=own)).argv[0]
    except UsageError:
        return agent.program


def _abilities(agent: Agent) -> Iterator[str]:
    for field in fields(agent.capabilities):
        if getattr(agent.capabilities, field.name):
            yield field.name
    if agent.hook is not None:
        yield "hooks"


@command.command("check")
@click.argument("name")
@click.option("--command", "program", metavar="WORDS", help="For the agent `command`.")
@click.option("--model", metavar="M", help="Handed to the agent as it is.")
@click.option("--timeout", metavar="S", type=Amount("seconds"), default=trial.PATIENCE, help="Seconds to wait (120).")
@parameters.folder
@parameters.as_json
def check(name: str, program: str | None, model: str | None, timeout: float, folder: str, as_json: bool) -> int:
    """One tiny real call: does the agent NAME answer?"""
    flags: dict[str, Any] = {"agent": name, "command": program, "model": model}
    chosen = settings.load(existing_folder(folder), flags)
    try:
        choice = loop_settings.loop_settings(chosen, folder).worker
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
    environment = {**os.environ, **settings.profile(chosen, name).env}
    tried = trial.try_agent(choice, environment, timeout)
    failure = tried.answer.failure
    if as_json:
        streams.data().record(
            {
                "agent": name,
                "ok": failure is None,
                "seconds": round(tried.seconds, 3),
                "notices": list(tried.notices),
                **to_json(tried.answer),
            }
        )
    elif failure is None:
        streams.data().line(_told(name, tried))
    if failure is None:
        return 0
    streams.tell_error(
        f"{name} does not work ({failure.kind.value.replace('_', ' ')}): {one_line(failure.message, 600)}",
        failures.hint(failure.kind, name),
    )
    return Outcome.FAILED.exit_code


def _told(name: str, tried: trial.Trial) -> str:
    usage = tried.answer.usage
    used = [f"{tried.seconds:.1f} s", *limits.shown(usage)]
    return f"{name} works: it said “{one_line(tried.answer.text)}” ({', '.join(used)})"
