"""`untildone wrap`: the agent's own terminal interface, with a supervisor at every stop."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from untildone.faces.cli import parameters, streams
from untildone.faces.cli.setting_flags import given, setting_flags
from untildone.settings.setting import Command


@click.command(
    short_help="Your agent at its own terminal, with a supervisor at every stop.",
    context_settings={"allow_interspersed_args": False},
)
@setting_flags(Command.WRAP)
@parameters.folder
@click.argument("words", metavar="[AGENT [ARGUMENTS…]]", nargs=-1, type=click.UNPROCESSED)
def command(words: Sequence[str], folder: str, **flags: Any) -> int:
    """Run your agent's own terminal interface, exactly as if untildone were not there; but when it stops, a supervisor looks.

    Without AGENT, the one in your settings runs. What follows AGENT is passed to it unchanged.

    Options of untildone stand before AGENT. With --no-review, the checks alone decide.
    """
    from untildone.faces.cli.views.changed_settings import resolve
    from untildone.operations.sessions import wrap

    place = parameters.existing_folder(folder)
    resolve(place, os.environ, accept=False, asking=True)
    chosen = {**given(flags), "mode": "supervise", **({"agent": words[0]} if words else {})}
    status = wrap.run(place, chosen, tuple(words[1:]), streams.talk().line)
    streams.close_quietly()
    return wrap.end_like(status)


@click.command(hidden=True)
@click.option("--run", "run_folder", required=True)
@click.option("--session", required=True)
def begin(run_folder: str, session: str) -> int:
    """Begin a loop in a wrapped session. The task is the person's message, on standard input."""
    from untildone.operations.sessions import wrap

    begun = wrap.begin(run_folder, session, sys.stdin.buffer.read().decode("utf-8", "replace"))
    streams.data().record({"loop_id": begun.loop.loop_id, "prompt": begun.prompt})
    return 0
