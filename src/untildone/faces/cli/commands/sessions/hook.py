"""`untildone hook`: the loop inside a person's own agent session."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from untildone.core.loop import Loop
from untildone.faces.cli import parameters, streams
from untildone.faces.cli.setting_flags import given, setting_flags
from untildone.faces.cli.views import summaries
from untildone.operations.sessions import hook
from untildone.settings.declared import SETTINGS
from untildone.settings.setting import Command


class HookedAgent(click.ParamType[str]):
    """The name of an agent that has a stop hook."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        hook.check_agent(value)
        return value


for_agent = click.option(
    "--agent",
    type=HookedAgent(),
    default=hook.DEFAULT_AGENT,
    help=f"Whose settings: {', '.join(hook.agent_names())} ({hook.DEFAULT_AGENT}).",
)
for_user = click.option("--user", is_flag=True, help="For all your projects, not this one alone.")
of_session = click.option(
    "--session",
    metavar="ID",
    envvar=hook.session_variables(),
    default="",
    help="The agent's session; inside one, its own.",
)


@click.group()
def command() -> None:
    """The loop inside your own agent session: when the agent wants to stop, it is asked whether it is done.

    `untildone hook install`, then in the agent: /until-done "make the tests pass" --check "pytest -q" (in some agents without the slash)
    """


@command.command()
@for_agent
@for_user
@parameters.folder
def install(agent: str, user: bool, folder: str) -> int:
    """Add the hook to the agent's settings. Everything else in them stays as it is."""
    installed = hook.install(agent, parameters.existing_folder(folder), for_user=user)
    _show(installed)
    streams.talk().prose(
        f'In {agent}: {hook.typed(agent)} "make the tests pass" --check "pytest -q" --max-iterations 20'
    )
    if installed.hint:
        streams.talk().prose(f"hint: {installed.hint}")
    return 0


@command.command()
@for_agent
@for_user
@parameters.folder
def uninstall(agent: str, user: bool, folder: str) -> int:
    """Remove the hook from the agent's settings. Everything else in them stays as it is."""
    _show(hook.uninstall(agent, parameters.existing_folder(folder), for_user=user))
    return 0


def _show(installed: hook.Installed) -> None:
    for sentence in installed.notices:
        streams.talk().prose(sentence)
    streams.data().line(str(installed.file))


@command.command(hidden=True)
def where() -> int:
    """The interpreter and the program of the hook, each on a line."""
    streams.data().line(sys.executable)
    streams.data().line(hook.program_file())
    return 0


@command.command()
@of_session
@parameters.folder
@parameters.as_json
def status(session: str, folder: str, as_json: bool) -> int:
    """Where the hook is installed, and which loops sessions have here."""
    from untildone.operations import stores

    store = stores.open_files(Path(folder))
    loop = hook.loop_of(store, session)
    if as_json:
        streams.data().record({"message": _sentence(loop), **(_fields(loop) if loop else {})})
        return 0
    for agent, file in hook.installations(parameters.existing_folder(folder)):
        streams.data().line(f"{agent}: {file}")
    for each in hook.loops_of_sessions(store):
        streams.data().line(f"{each.loop_id} {summaries.rounds(each)} {each.status.value} {each.title}")
    return 0


def _sentence(loop: Loop | None) -> str:
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
    from untildone.operations import stores

    loop = hook.cancel(stores.open_files(Path(folder)), session)
    message = f"Loop {loop.loop_id} is {loop.outcome.word if loop.outcome else loop.status.value}."
    if as_json:
        streams.data().record({"message": message, **_fields(loop)})
    else:
        streams.data().line(message)
    return 0


@command.command(short_help="Begin a loop in a session.")
@click.argument("task", nargs=-1)
@of_session
@click.option(
    "--agent", type=HookedAgent(), default=hook.DEFAULT_AGENT, help=f"Whose session it is ({hook.DEFAULT_AGENT})."
)
@setting_flags(
    Command.HOOK,
    mode={
        "type": click.Choice(hook.mode_names()),
        "metavar": None,
        "help": f"{SETTINGS['mode'].default} (default).",
    },
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

    /until-done in the agent does this for you. Prints the prompt for the agent.
    """
    begun = hook.begin(parameters.existing_folder(folder), " ".join(task), session, given(flags), prompted_at)
    loop = begun.loop
    how = "has begun" if loop.spend.iterations <= 1 else "goes on"
    message = (
        f"Loop {loop.loop_id} {how}, round {summaries.rounds(loop)}, {'; '.join(loop.settings.checks) or 'no checks'}."
    )
    if as_json:
        streams.data().record(
            {
                "loop_id": loop.loop_id,
                "task": loop.description,
                "prompt": begun.prompt,
                "message": message,
                "new": begun.new,
            }
        )
    else:
        streams.talk().prose(message)
        streams.data().line(begun.prompt)
    return 0
