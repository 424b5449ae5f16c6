"""`untildone hook`: the loop inside a person's own agent session."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from untildone import agents, modes
from untildone.core import rounds
from untildone.core.errors import AgentMissing, UsageError
from untildone.core.kinds import Host
from untildone.core.loop import Loop
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.setting_flags import given, setting_flags
from untildone.faces.cli.views import summaries
from untildone.hosts.hook import agent_settings, program
from untildone.hosts.hook.agent_settings import Installation
from untildone.hosts.hook.beginnings import Begun
from untildone.settings.declared import SETTINGS
from untildone.settings.setting import Command
from untildone.store.files import FileStore

MODES = modes.in_session()


class HookedAgent(click.ParamType[str]):
    """The name of an agent that has a stop hook."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        agents.hook_of(value)
        return value


_HOOKED = agents.hooked_names()
for_agent = click.option(
    "--agent",
    type=HookedAgent(),
    default=agents.DEFAULT,
    help=f"Whose settings: {', '.join(_HOOKED)} ({agents.DEFAULT}).",
)
for_person = click.option("--user", is_flag=True, help="For all your projects, not this one alone.")
of_session = click.option(
    "--session",
    metavar="ID",
    envvar=[variable for name in _HOOKED if (variable := agents.hook_of(name).session_variable)],
    default="",
    help="The agent's session; inside one, its own.",
)


@click.group()
def command() -> None:
    """The loop inside your own agent session: when the agent wants to stop, it is asked whether it is done.

    `untildone hook install`, then in the agent: /until-done "make the tests pass" --check "pytest -q"
    """


@command.command()
@for_agent
@for_person
@parameters.folder
def install(agent: str, user: bool, folder: str) -> int:
    """Add the hook to the agent's settings. Everything else in them stays as it is."""
    place = _installation(agent, folder, user=user)
    for sentence in agent_settings.install(place):
        streams.talk().line(sentence)
    streams.data().line(str(place.file))
    streams.talk().line(f'In {agent}: /until-done "make the tests pass" --check "pytest -q" --max-iterations 20')
    if hint := place.hook.setup.hint:
        streams.talk().line(f"hint: {hint}")
    return 0


@command.command()
@for_agent
@for_person
@parameters.folder
def uninstall(agent: str, user: bool, folder: str) -> int:
    """Take exactly that out again."""
    place = _installation(agent, folder, user=user)
    for sentence in agent_settings.uninstall(place):
        streams.talk().line(sentence)
    streams.data().line(str(place.file))
    return 0


def _installation(agent: str, folder: str, *, user: bool) -> Installation:
    from untildone.faces.cli.commands.run import existing_folder

    return agent_settings.installation(agent, existing_folder(folder), os.environ, for_person=user)


@command.command(hidden=True)
def where() -> int:
    """The interpreter and the program of the hook, each on a line."""
    streams.data().line(sys.executable)
    streams.data().line(os.path.abspath(program.__file__))
    return 0


@command.command()
@of_session
@parameters.folder
@parameters.as_json
def status(session: str, folder: str, as_json: bool) -> int:
    """Where the hook is installed, and which loops sessions have here."""
    from untildone.hosts.hook import beginnings
    from untildone.operations import stores

    store = stores.open_files(Path(folder))
    loop = beginnings.loop_of(store, session) if session else None
    if as_json:
        streams.data().record({"message": _standing(loop), **(_fields(loop) if loop else {})})
        return 0
    places = (_installation(agent, folder, user=for_all) for agent in _HOOKED for for_all in (False, True))
    for place in dict.fromkeys(places):
        if agent_settings.is_installed(place):
            streams.data().line(f"{place.agent}: {place.file}")
    for each in beginnings.loops_of_sessions(store):
        streams.data().line(f"{each.loop_id} {summaries.rounds(each)} {each.status.value} {each.title}")
    return 0


def _standing(loop: Loop | None) -> str:
    if loop is None:
        return "This session has no loop."
    checks = "; ".join(loop.settings.checks) or "no checks"
    return f"Loop {loop.loop_id} is {loop.status.value}, round {summaries.rounds(loop)}, {checks}: {loop.title}"


def _fields(loop: Loop) -> dict[str, Any]:
    return summaries.fields(loop, driven=False)


@command.command()
@of_session
@parameters.folder
@parameters.as_json
def cancel(session: str, folder: str, as_json: bool) -> int:
    """End the session's loop: the agent may stop."""
    from untildone.core.model import Outcome, Urgency
    from untildone.hosts.hook import beginnings
    from untildone.operations import control, stores

    store = stores.open_files(Path(folder))
    loop = beginnings.loop_of(store, beginnings.checked_session(session))
    if loop is None:
        raise UsageError("This session has no loop.", "`untildone list` shows the loops there are")
    loop = control.stop(store, loop.loop_id, Urgency.NOW, Outcome.STOPPED)
    beginnings.forget(store, session)
    message = f"Loop {loop.loop_id} is {loop.outcome.word if loop.outcome else loop.status.value}."
    if as_json:
        streams.data().record({"message": message, **_fields(loop)})
    else:
        streams.data().line(message)
    return 0


@command.command(short_help="Begin a loop in a session.")
@click.argument("task", nargs=-1)
@of_session
@click.option("--agent", type=HookedAgent(), default=agents.DEFAULT, help=f"Whose session it is ({agents.DEFAULT}).")
@setting_flags(
    Command.HOOK, mode={"type": click.Choice(MODES), "metavar": None, "help": f"{SETTINGS['mode'].default} (default)."}
)
@click.option("--prompted-at", type=float, default=0.0, hidden=True)
@parameters.folder
@parameters.as_json
def start(
    task: Sequence[str],
    session: str,
    prompted_at: float,
    folder: str,
    as_json: bool,
    **flags: Any,
) -> int:
    """Begin a loop in an agent's session, whose running turn is the first round. Without a task, a paused loop goes on.

    /until-done in the agent does this for you. Prints what the agent should be told.
    """
    from untildone.faces.cli.commands.run import existing_folder

    place = existing_folder(folder)
    begun, new = _begin(place, " ".join(task), session, given(flags), prompted_at)
    loop = begun.loop
    message = f"Loop {loop.loop_id} has begun, round {summaries.rounds(loop)}, {'; '.join(loop.settings.checks) or 'no checks'}."
    if as_json:
        told = {
            "loop_id": loop.loop_id,
            "task": loop.description,
            "prompt": begun.prompt,
            "message": message,
            "new": new,
        }
        streams.data().record(told)
    else:
        streams.talk().line(message)
        streams.data().line(begun.prompt)
    return 0


def _begin(place: Path, task: str, session: str, flags: dict[str, Any], asked_at: float) -> tuple[Begun, bool]:
    """A new loop in the session, or the paused one that it has; and whether it did not go on already."""
    from untildone.hosts.hook import beginnings, presence
    from untildone.operations import stores

    store = stores.open_files(place, create=True)
    beginnings.checked_session(session)
    with beginnings.one_at_a_time(store):
        present = beginnings.loop_of(store, session)
        if present is not None and present.works_in_session:
            return _again(present, asked_at), False
        words = rounds.parse(task, None).rest.strip()
        if present is not None and not words:
            return _go_on(store, present, task, session, flags["agent"]), True
        new = created(store, task, place, session, {**flags, "interactive": False})
        return beginnings.take_up(store, new, session, presence.of_agent(flags["agent"], os.environ)), True


def _again(present: Loop, asked_at: float) -> Begun:
    """Two hooks may have heard the same prompt: what the first one began is what the second one was asked for."""
    if present.turn is not None and present.turn.started_at > asked_at > 0:
        return Begun(present, "")
    raise UsageError(
        f"This session has a loop already: {present.loop_id}, round {summaries.rounds(present)}: {present.title}",
        "/until-done-cancel ends it",
    )


def _go_on(store: FileStore, present: Loop, task: str, session: str, agent: str) -> Begun:
    from untildone.hosts.hook import beginnings, presence
    from untildone.operations import control

    if task.strip():
        control.say(store, present.loop_id, task)
    control.resume(store, present.loop_id, host=Host.HOOK)
    return beginnings.take_up(store, present.loop_id, session, presence.of_agent(agent, os.environ))


def created(
    store: FileStore, task: str, place: Path, session: str, flags: dict[str, Any], *, reviewed: bool | None = None
) -> str:
    """A new loop in a session, started; its id."""
    from untildone import settings
    from untildone.operations import creation

    fixed = {"context": "continue", "worktree": False, "loop_enabled": True}
    chosen = settings.load(place, {**flags, **fixed})
    try:
        loop = creation.create(
            store, task, chosen, place, hook_session=session, reviewed=reviewed, host=Host.HOOK, starts=True
        ).loop
    except AgentMissing as problem:
        raise UsageError(problem.sentence, problem.hint) from None
    return loop.loop_id
